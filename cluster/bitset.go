package cluster

import "math/bits"

// bitset is a set of small integers with a summary level, so that the next
// member is found in two word operations for up to 4,096 members and in a
// handful for a million.
type bitset struct {
	words, summary []uint64
}

func newBitset(n int) bitset {
	w := (n + 63) / 64
	return bitset{words: make([]uint64, w), summary: make([]uint64, (w+63)/64)}
}

func (b *bitset) set(i int32) {
	b.words[i>>6] |= 1 << (i & 63)
	b.summary[i>>12] |= 1 << (i >> 6 & 63)
}

func (b *bitset) clear(i int32) {
	w := i >> 6
	b.words[w] &^= 1 << (i & 63)
	if b.words[w] == 0 {
		b.summary[w>>6] &^= 1 << (w & 63)
	}
}

// next returns the smallest member >= i, or -1.
func (b *bitset) next(i int32) int32 {
	w := int(i >> 6)
	if w >= len(b.words) {
		return -1
	}
	if rest := b.words[w] >> (i & 63); rest != 0 {
		return i + int32(bits.TrailingZeros64(rest))
	}
	w++
	s := w >> 6
	if s >= len(b.summary) {
		return -1
	}
	rest := b.summary[s] >> (w & 63) << (w & 63)
	for rest == 0 {
		if s++; s == len(b.summary) {
			return -1
		}
		rest = b.summary[s]
	}
	w = s<<6 + bits.TrailingZeros64(rest)
	return int32(w<<6 + bits.TrailingZeros64(b.words[w]))
}

func (b *bitset) copyFrom(o *bitset) {
	copy(b.words, o.words)
	copy(b.summary, o.summary)
}
