package engine

import (
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// mostMarked is the number of dates and windows that a set of bars can tell apart.
const mostMarked = 64

// keepOff lists what a class may not use: debug nodes, unless it is debug work, and
// what is reserved for others before its protection would be over (contract backfill).
// Nodes of windows take nothing while the class is looked at.
func (e *Engine) keepOff(d *decision, c *class, n int32, span, wait workload.Span) {
	s := e.sharing
	s.bars = s.bars[:0]
	if e.layout.Counted() {
		return
	}
	e.veil(c, n, span, wait)
	if s.nDebug > 0 && !c.fill && span > 0 && !c.known.debug {
		e.keepOffDebug()
	}
	for i := range s.dates {
		if x := &s.dates[i]; x.job != n && !e.overBy(d, x.at, s.safeFor(c, span), wait) {
			s.bars = append(s.bars, x.grants...)
		}
	}
}

// barredBy is the set of dates that keep a start of the class off their GPUs, and of windows.
func (e *Engine) barredBy(d *decision, c *class, n int32, span, wait workload.Span) (set uint64) {
	s := e.sharing
	for i := range s.dates {
		if x := &s.dates[i]; x.job != n && !e.overBy(d, x.at, s.safeFor(c, span), wait) {
			set |= 1 << (i & 63)
		}
	}
	for i := range e.windows.list {
		if e.bars(i, c, n, span, d.now+wait) {
			set |= 1 << (63 - i&63)
		}
	}
	return set
}

// marks tells whether a set of bars tells all dates and windows apart.
func (e *Engine) marks() bool { return len(e.sharing.dates)+len(e.windows.list) <= mostMarked }

// veilOf lists what is free of the barred GPUs of a pool, the rest of GPUs in part use
// included: who may not use them is placed with the veil taken.
func (e *Engine) veilOf(f *cluster.Free, pool int32) []cluster.Grant {
	s := e.sharing
	veil := s.veil[:0]
	seen := uint64(0)
	for i := range s.bars {
		g := &s.bars[i]
		if e.layout.PoolOf[g.Node] != pool {
			continue
		}
		at := e.layout.Local[g.Node]
		if i == 0 || s.bars[i-1].Node != g.Node {
			seen = 0
		}
		gpus := g.GPUs &^ seen // a node may be barred twice
		seen |= g.GPUs
		if now := gpus & f.Mask(at); now != 0 {
			veil = append(veil, cluster.WholeGrant(g.Node, now))
			gpus &^= now
		}
		for m := gpus; m != 0 && s.parts > 0; m &= m - 1 {
			if left := f.Left(at, bits.TrailingZeros64(m)); left > 0 {
				veil = append(veil, cluster.Grant{Node: g.Node, GPUs: m & -m, Milli: left, Count: 1})
			}
		}
	}
	s.veil = veil
	return veil
}

// keepOffDebug adds the debug nodes to what a class may not use.
func (e *Engine) keepOffDebug() {
	s := e.sharing
	for i := range e.layout.Pools {
		nodes := e.layout.Pools[i].Nodes
		for k := len(nodes) - 1; k >= 0 && s.debug[nodes[k]]; k-- {
			s.bars = append(s.bars, cluster.WholeGrant(nodes[k], uint64(1)<<e.layout.Spec.Nodes[nodes[k]].GPUs-1))
		}
	}
}

// overBy tells whether a run that starts after a wait is sure to be gone by a date.
func (e *Engine) overBy(d *decision, date workload.Time, span, wait workload.Span) bool {
	p := e.sharing.pol
	grace := p.GraceAllocated
	if span == 0 {
		grace = p.GraceUnallocated
	}
	return d.now+wait+e.defaults.StartLatency+span+grace <= date
}

// barNodes notes on each node what is barred, for searches that go by node; unbarNodes
// forgets it.
func (s *sharing) barNodes() {
	for i := range s.bars {
		s.barOn[s.bars[i].Node] |= s.bars[i].GPUs
	}
}

func (s *sharing) unbarNodes() {
	for i := range s.bars {
		s.barOn[s.bars[i].Node] = 0
	}
}

// unbarred is what a run gives of a place: GPUs that are barred are of no use. The nodes
// have to be barred.
func (s *sharing) unbarred(gs []cluster.Grant) []cluster.Grant {
	out := slices.Clone(gs)
	for i := range out {
		if g := &out[i]; g.GPUs&s.barOn[g.Node] != 0 {
			g.GPUs &^= s.barOn[g.Node]
			g.Count = count(g.GPUs)
		}
	}
	return out
}

// crosses returns the date of another job whose GPUs are among those of a place.
func (e *Engine) crosses(place []cluster.Grant, n int32) *date {
	for i := range e.sharing.dates {
		if x := &e.sharing.dates[i]; x.job != n && overlaps(x.grants, place) {
			return x
		}
	}
	return nil
}

// overlaps tells whether two places share GPUs.
func overlaps(a, b []cluster.Grant) bool {
	for i := range a {
		for k := range b {
			if a[i].Node == b[k].Node && a[i].GPUs&b[k].GPUs != 0 {
				return true
			}
		}
	}
	return false
}
