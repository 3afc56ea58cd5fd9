package place

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/cluster"
)

// placesMemo remembers how many tasks each place of a topology level holds, and
// is brought up to date by looking at changed nodes only: the first "no" costs
// O(places), one after a change O(changed nodes), one after nothing O(1).
type placesMemo struct {
	of    *cluster.Free
	pos   uint64
	slots []int32
	// good is the number of places that hold the whole gang.
	good int
}

func (m *placesMemo) refresh(f *cluster.Free, level int, c Cut) {
	pool := f.Pool()
	want := c.Tasks
	see := func(i int32) {
		b := pool.Blocks[level][i]
		now := int32(f.PlaceSlots(level, b, c.GPUs, c.PerNode, 1<<31-1))
		old := m.slots[b]
		m.slots[b] = now
		if old >= want {
			m.good--
		}
		if now >= want {
			m.good++
		}
	}
	if m.of == f {
		if pos, ok := f.ChangedSince(m.pos, see); ok {
			m.pos = pos
			return
		}
	}
	n := int(pool.BlockCount[level])
	if m.slots == nil {
		m.slots = make([]int32, n)
	}
	m.of, m.good = f, 0
	for b := range m.slots {
		if m.slots[b] = int32(f.PlaceSlots(level, int32(b), c.GPUs, c.PerNode, 1<<31-1)); m.slots[b] >= want {
			m.good++
		}
	}
	m.pos, _ = f.ChangedSince(^uint64(0), nil)
}

// placeWithin puts the whole gang into one place of the level: the one with the
// least free GPUs that holds it, lowest number on ties, so that large holes stay whole.
func (p *Placer) placeWithin(f *cluster.Free, s *Shape, k, level int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c := s.cuts[k]
	if s.Need.GPUs == 0 || !s.plain || c.GPUs == 0 {
		return p.tryPlaces(f, s, k, level, buf)
	}
	m := &s.memo[k].places
	m.refresh(f, level, c)
	if m.good == 0 {
		return buf, false
	}
	best, bestFree := int32(-1), int64(0)
	for b, n := range m.slots {
		if n < c.Tasks {
			continue
		}
		if w := f.PlaceWhole(level, int32(b)); best < 0 || w < bestFree {
			best, bestFree = int32(b), w
		}
	}
	return p.fill(f, s, k, area{level, best}, buf)
}

// tryPlaces is for needs that counting GPUs cannot decide: each place in turn, least free first.
func (p *Placer) tryPlaces(f *cluster.Free, s *Shape, k, level int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	for _, b := range placesByFree(f, level) {
		if g, ok := p.fill(f, s, k, area{level, b}, buf); ok {
			return g, true
		}
	}
	return buf, false
}

// placeCompact is the topology rule: one place if one holds the gang, else as
// few as possible, fullest holes first.
func (p *Placer) placeCompact(f *cluster.Free, s *Shape, k, level int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	if g, ok := p.placeWithin(f, s, k, level, buf); ok {
		return g, true
	}
	c, from := s.cuts[k], len(buf)
	if !s.plain || c.Rest > 0 {
		return p.fill(f, s, k, anywhere, buf)
	}
	left := int64(c.Tasks)
	for left > 0 {
		// The place that holds most of what is left; once one holds all of it, the tightest such.
		best, bestSlots, bestFree := int32(-1), int64(0), int64(0)
		for b := range f.Pool().BlockCount[level] {
			n := min(f.PlaceSlots(level, b, c.GPUs, c.PerNode, left), left)
			w := f.PlaceWhole(level, b)
			if n > bestSlots || n == bestSlots && n > 0 && w < bestFree {
				best, bestSlots, bestFree = b, n, w
			}
		}
		if best < 0 {
			f.Give(buf[from:])
			return buf[:from], false
		}
		at := len(buf)
		buf, _ = p.fillTight(f, s, k, area{level, best}, c.task(), bestSlots, c.PerNode, buf)
		f.Take(buf[at:])
		left -= bestSlots
	}
	f.Give(buf[from:])
	return buf, true
}

func placesByFree(f *cluster.Free, level int) []int32 {
	n := f.Pool().BlockCount[level]
	out := make([]int32, n)
	for b := range out {
		out[b] = int32(b)
	}
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(f.PlaceWhole(level, a), f.PlaceWhole(level, b)) })
	return out
}
