package horizon

import "math/bits"

// Where an application looks for a GPU first.
const (
	longest  = iota // one that stays free the longest, then the tightest
	tightest        // one in the smallest free block, then the longest
	topmost         // the last of the row
	bottom          // the first of the row
	taste
)

// layout gives every application its slots, step by step, from what open leaves. It
// writes d.rtNew and returns the cost of what is missing, or false where a hard rule
// cannot be kept. Applications never take each other's slots, unless each lays itself out
// solo: those that come earlier then push those that come later, as jobs do.
//
// In a step each application keeps what it has, gives up what is taken, then takes what it
// misses, in the given order. It looks ahead by counting: of the slots held now, those that
// open will take by step u must be given up by then, and replaced, at a swap each; if the
// swaps of the steps between are too few, it begins now (earliest due date).
func (d *decoder) layout(open []uint64, order []int32, tastes []uint8, solo bool) (int64, bool) {
	d.left = open
	if !solo {
		return d.layoutGroup(order, tastes)
	}
	cost := int64(0)
	for i := range order {
		c, ok := d.layoutGroup(order[i:i+1], tastes)
		if !ok {
			return 0, false
		}
		cost += c
		if i+1 < len(order) {
			if i == 0 {
				d.left = d.leftOver
				copy(d.left, open)
			}
			for k, x := range d.rtNew[order[i]] {
				d.left[k] &^= x
			}
		}
	}
	return cost, true
}

func (d *decoder) layoutGroup(order []int32, tastes []uint8) (int64, bool) {
	in := d.in
	open := d.left
	W := in.words
	d.foresee()
	for _, i := range order {
		copy(d.state[i].held, in.apps[i].current)
		d.state[i].n = d.state[i].held.Len()
	}
	cost := int64(0)
	for t := range in.steps {
		row := in.row(open, t)
		for _, a := range order {
			if !d.state[a].keep(&in.apps[a], row, t, in.p.Reading.CountSwaps) {
				return 0, false
			}
		}
		copy(d.spare, row)
		for _, a := range order {
			d.shrink(&d.state[a], &in.apps[a], t, tastes[a])
			for i, x := range d.state[a].held {
				d.spare[i] &^= x
			}
		}
		for _, a := range order {
			st, c := &d.state[a], &in.apps[a]
			d.grow(st, c, t, tastes[a])
			if st.n < max(c.min[t], st.low) || st.n > c.max[t] {
				return 0, false
			}
			cost += int64(max(0, c.demand[t]-st.n)) * c.penalty
			copy(d.rtNew[a][t*W:(t+1)*W], st.held)
		}
	}
	return cost, true
}

// foresee works out which of the slots that are left in each step are taken later on.
func (d *decoder) foresee() {
	W := d.in.words
	last := len(d.left) - W
	clear(d.closing[last:])
	for i := last - 1; i >= 0; i-- {
		d.closing[i] = d.closing[i+W] | d.left[i]&^d.left[i+W]
	}
}

// stays tells whether none of the slots, which are left in step t, is ever taken.
func (d *decoder) stays(s Set, t int) bool {
	closing := d.in.row(d.closing, t)
	for i, x := range s {
		if x&closing[i] != 0 {
			return false
		}
	}
	return true
}

// holding is an application in the middle of its layout.
type holding struct {
	held   Set
	n      int
	budget int // swaps left in this step
	low    int // fewest GPUs that it may end the step with for its swaps
}

// keep begins a step: what is taken from the application has to go.
func (h *holding) keep(a *app, row Set, t int, countSwaps bool) bool {
	before, swaps := h.n, a.swaps(t)
	for i, keep := range row {
		if a.may != nil {
			keep &= a.may[i]
		}
		h.n -= bits.OnesCount64(h.held[i] &^ keep)
		h.held[i] &= keep
	}
	if countSwaps {
		// Only the number matters: what went may come back elsewhere.
		h.low, h.budget = before-swaps, swaps+before-h.n
		return true
	}
	h.low = 0
	h.budget = swaps - (before - h.n)
	return h.budget >= 0
}

// shrink gives up what is more than the target.
func (d *decoder) shrink(h *holding, a *app, t int, like uint8) {
	for n := h.surplus(a, t); n > 0; n = h.surplus(a, t) {
		d.takenFirst(h.held, t)
		for ; n > 0 && !d.alive.empty(); n-- { // those taken at the same time are alike
			g := last(d.alive, like)
			d.alive.remove(g)
			h.held.remove(g)
			h.n--
			h.budget--
		}
	}
}

// surplus is how many GPUs an application may and should give up in step t.
func (h *holding) surplus(a *app, t int) int {
	return min(h.n-max(a.target[t], h.low), h.budget)
}

// grow takes what is missing, and what will be.
func (d *decoder) grow(h *holding, a *app, t int, like uint8) {
	for n := min(a.target[t]-h.n, h.budget); n > 0; n = min(a.target[t]-h.n, h.budget) {
		if d.takeSome(h, a, t, like, n) == 0 {
			break
		}
	}
	if d.in.p.Reading.CountSwaps {
		return
	}
	for h.budget > 0 {
		late, replace := d.late(h, a, t)
		if !late {
			return
		}
		// Take one first where the maximum allows it, so that the demand stays met; else, since
		// it must go, hold less for a while.
		if replace && h.n < a.max[t] && d.takeSome(h, a, t, like, 1) > 0 && h.budget == 0 {
			return
		}
		if h.n <= a.min[t] {
			return
		}
		g := d.soonest(h.held, t, like)
		h.held.remove(g)
		d.spare.Add(g)
		h.n--
		h.budget--
	}
}

// takeSome takes at most n of the slots that the application likes best, and equally well.
func (d *decoder) takeSome(h *holding, a *app, t int, like uint8, n int) int {
	d.liked(a, t, like)
	got := 0
	for ; got < n && !d.cand.empty(); got++ {
		g := first(d.cand, like)
		d.cand.remove(g)
		h.held.Add(g)
		d.spare.remove(g)
	}
	h.n += got
	h.budget -= got
	return got
}

// first is the slot of a set that an application of some taste takes first, last the one
// that it takes last, and gives up first.
func first(s Set, like uint8) int {
	if like == bottom {
		return s.lowest()
	}
	return s.highest()
}

func last(s Set, like uint8) int {
	if like == bottom {
		return s.highest()
	}
	return s.lowest()
}

// late tells whether swapping must begin in step t: by some step u more of held will be
// taken, and have to be replaced as far as there are slots then, than the swaps of the
// steps after t allow. replace tells whether there is anything to replace them with.
func (d *decoder) late(h *holding, a *app, t int) (must, replace bool) {
	if d.stays(h.held, t) {
		return false, false
	}
	in := d.in
	swaps := 0
	// Beyond this many steps the swaps suffice to change everything twice.
	reach := in.steps
	if a.cap > 0 {
		reach = min(reach, t+1+(2*h.n)/a.cap+1)
	}
	copy(d.alive, h.held)
	for u := t + 1; u < reach; u++ {
		swaps += a.cap
		keep, room := 0, 0
		row := in.row(d.left, u)
		for i, open := range row {
			if a.may != nil {
				open &= a.may[i]
			}
			d.alive[i] &= open
			keep += bits.OnesCount64(d.alive[i])
			room += bits.OnesCount64(open)
		}
		lost, gained := h.n-keep, min(max(0, a.target[u]-keep), room-keep)
		if lost+gained > swaps {
			return lost > 0, gained > 0
		}
	}
	return false, false
}

// takenFirst leaves in alive the held slots that open takes first.
func (d *decoder) takenFirst(held Set, t int) {
	in := d.in
	copy(d.alive, held)
	if d.stays(held, t) {
		return
	}
	for u := t + 1; u < in.steps; u++ {
		row := in.row(d.left, u)
		gone := uint64(0)
		for i := range d.alive {
			gone |= d.alive[i] &^ row[i]
		}
		if gone != 0 {
			for i := range d.alive {
				d.alive[i] &^= row[i]
			}
			return
		}
	}
}

// soonest is the held slot that is taken first; among equals the one a new choice
// would like least.
func (d *decoder) soonest(held Set, t int, like uint8) int {
	d.takenFirst(held, t)
	return last(d.alive, like)
}

// liked leaves in cand the free slots that the application would take next, none where there
// are none.
func (d *decoder) liked(a *app, t int, like uint8) {
	cand := d.cand
	any := uint64(0)
	for i := range cand {
		cand[i] = d.spare[i]
		if a.may != nil {
			cand[i] &= a.may[i]
		}
		any |= cand[i]
	}
	switch {
	case any == 0:
	case like == longest:
		d.keepLongest(cand, t)
		d.keepTightest(cand, d.spare)
	case like == tightest:
		d.keepTightest(cand, d.spare)
		d.keepLongest(cand, t)
	}
}

// pick is the slot that the application takes next, -1 for none.
func (d *decoder) pick(a *app, t int, like uint8) int {
	d.liked(a, t, like)
	return first(d.cand, like)
}

// keepLongest keeps of cand those that stay free the longest.
func (d *decoder) keepLongest(cand Set, t int) {
	in := d.in
	closing := in.row(d.closing, t)
	ever := uint64(0)
	for i, x := range cand {
		ever |= x &^ closing[i]
	}
	if ever != 0 {
		for i := range cand {
			cand[i] &^= closing[i]
		}
		return
	}
	for u := t + 1; u < in.steps; u++ {
		row := in.row(d.left, u)
		any := uint64(0)
		for i := range cand {
			any |= cand[i] & row[i]
		}
		if any == 0 {
			return
		}
		for i := range cand {
			cand[i] &= row[i]
		}
	}
}

// keepTightest keeps of cand those whose largest free aligned block is smallest.
func (d *decoder) keepTightest(cand, free Set) {
	// In blocks of 2, 4, ... 64: a candidate whose block of that size is not all free
	// is as tight as can be told at that size.
	copy(d.block, free)
	for size := 2; size <= 64; size <<= 1 {
		h := size >> 1
		tight := uint64(0)
		for i := range cand {
			x := d.block[i]
			x &= x >> h
			x &= evenBlocks(size)
			for s := 1; s < size; s <<= 1 {
				x |= x << s
			}
			d.next[i] = x
			tight |= cand[i] &^ x
		}
		if tight != 0 {
			for i := range cand {
				cand[i] &^= d.next[i]
			}
			return
		}
		copy(d.block, d.next)
	}
}

func evenBlocks(size int) uint64 {
	switch size {
	case 2:
		return 0x5555555555555555
	case 4:
		return 0x1111111111111111
	case 8:
		return 0x0101010101010101
	case 16:
		return 0x0001000100010001
	case 32:
		return 0x0000000100000001
	}
	return 1
}
