package horizon

import "math/bits"

// Set is a set of slots: bit s%64 of word s/64.
type Set []uint64

// Has tells whether slot s is in the set.
func (s Set) Has(slot int) bool { return s[slot>>6]&(1<<(slot&63)) != 0 }

// Len is the number of slots in the set.
func (s Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Slots returns the set's slots in ascending order.
func (s Set) Slots() []int {
	list := make([]int, 0, s.Len())
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			list = append(list, i<<6+bits.TrailingZeros64(w))
		}
	}
	return list
}

// Add puts a slot into the set.
func (s Set) Add(slot int)    { s[slot>>6] |= 1 << (slot & 63) }
func (s Set) remove(slot int) { s[slot>>6] &^= 1 << (slot & 63) }

// fillRange adds slots [first, first+n).
func (s Set) fillRange(first, n int) {
	for n > 0 {
		w, b := first>>6, first&63
		m := min(n, 64-b)
		s[w] |= ones(m) << b
		first, n = first+m, n-m
	}
}

// clearRange removes slots [first, first+n).
func (s Set) clearRange(first, n int) {
	for n > 0 {
		w, b := first>>6, first&63
		m := min(n, 64-b)
		s[w] &^= ones(m) << b
		first, n = first+m, n-m
	}
}

func ones(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// lowest and highest return the first and the last slot, -1 for none.
func (s Set) lowest() int {
	for i, w := range s {
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

func (s Set) highest() int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0 {
			return i<<6 + 63 - bits.LeadingZeros64(s[i])
		}
	}
	return -1
}

func (s Set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// shape is a block size and where blocks of it may begin.
type shape struct {
	// size slots, from a multiple of align on.
	size, align int
	// at holds the offsets inside a word, where align is at most 64.
	at uint64
	// within: blocks are aligned and lie inside one word.
	within bool
}

func newShape(size, align int) shape {
	sh := shape{size: size, align: align, within: size <= 64 && size&(size-1) == 0 && align >= size && align&(align-1) == 0}
	for o := 0; o < 64; o += align {
		sh.at |= 1 << o
	}
	return sh
}

// starts1 is starts for a row of at most 64 slots.
func (sh *shape) starts1(x uint64) uint64 {
	for have := 1; have < sh.size && x != 0; {
		step := min(have, sh.size-have)
		x &= x >> step
		have += step
	}
	return x & sh.at
}

// starts writes to dst the slots at which a block of the shape within src begins,
// and tells whether there is any. dst and src may be the same.
func (sh *shape) starts(dst, src Set) bool {
	if len(src) == 1 {
		dst[0] = sh.starts1(src[0])
		return dst[0] != 0
	}
	any := uint64(0)
	if sh.within {
		for i, x := range src {
			dst[i] = sh.starts1(x)
			any |= dst[i]
		}
		if sh.align <= 64 {
			return any != 0
		}
	} else {
		if &dst[0] != &src[0] {
			copy(dst, src)
		}
		for have := 1; have < sh.size; {
			step := min(have, sh.size-have)
			if andShifted(dst, step) == 0 {
				return false
			}
			have += step
		}
	}
	return sh.aligned(dst)
}

// aligned drops the slots of a row at which no block may begin.
func (sh *shape) aligned(s Set) bool {
	any := uint64(0)
	for i := range s {
		switch {
		case 64%sh.align == 0:
			s[i] &= sh.at
		case sh.align%64 == 0:
			s[i] &= 1
			if i<<6%sh.align != 0 {
				s[i] = 0
			}
		default:
			for b := range 64 {
				if (i<<6+b)%sh.align != 0 {
					s[i] &^= 1 << b
				}
			}
		}
		any |= s[i]
	}
	return any != 0
}

// andShifted does s &= s >> n over the whole row and returns the union of its words.
func andShifted(s Set, n int) uint64 {
	words, b := n>>6, n&63
	any := uint64(0)
	for i := range s {
		var x uint64
		if i+words < len(s) {
			x = s[i+words] >> b
			if b > 0 && i+words+1 < len(s) {
				x |= s[i+words+1] << (64 - b)
			}
		}
		s[i] &= x
		any |= s[i]
	}
	return any
}
