package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// everybody lists all in a pool that may have to go, cheapest first.
func (e *Engine) everybody(w *claimant, pool int32, allocated bool, now workload.Time) []victim {
	out := e.victims[:0]
	for _, v := range e.pools[pool].running {
		if e.givesWay(w, v, allocated) {
			out = append(out, e.priceOf(v, now))
		}
	}
	e.victims = out
	e.sortPriced(out)
	return out
}

// clearCount makes room on a cluster without nodes.
func (e *Engine) clearCount(d *decision, c *class, shape *place.Shape, w *claimant, span workload.Span, allocated bool) ([]victim, bool) {
	s := e.sharing
	if !e.roomBesideDates(d, shape.Pools[0], c, w.job, span, s.leaveTime()) {
		return nil, false
	}
	cand := e.everybody(w, shape.Pools[0], allocated, d.now)
	// Free, or being left and not claimed: what is loose less what unallocated work has.
	have := s.loose.all[0].Milli()
	for _, v := range e.pools[0].running {
		if j := &e.jobs[v]; s.jobs[v].unallocated && (j.state == running || j.state == starting) && !j.leaving {
			have -= j.milli
		}
	}
	need := shape.Milli - have
	got, n := int64(0), 0
	for n < len(cand) && got < need {
		got += e.jobs[cand[n].job].milli
		n++
	}
	if got < need {
		return nil, false
	}
	set := slices.Clone(cand[:n])
	for i := len(set) - 1; i >= 0; i-- {
		if m := e.jobs[set[i].job].milli; got-m >= need {
			got -= m
			set = slices.Delete(set, i, i+1)
		}
	}
	return set, true
}

// without fills a scratch index with a pool in which the victims are gone, and
// nobody else: what is free, what is being left, what the victims have, less what is barred.
func (e *Engine) without(pool int32, set []victim) *cluster.Free {
	s := e.sharing
	t := e.scratchOf(pool)
	t.CopyFrom(s.loose.all[pool])
	for _, v := range e.pools[pool].running {
		if j := &e.jobs[v]; s.jobs[v].unallocated && (j.state == running || j.state == starting) && !j.leaving &&
			!slices.ContainsFunc(set, func(x victim) bool { return x.job == v }) {
			t.Take(j.grants)
		}
	}
	for i := range set {
		if c := &s.jobs[set[i].job]; !c.unallocated {
			t.Give(e.jobs[set[i].job].grants)
		}
	}
	t.Take(e.veilOf(t, pool))
	return t
}

// clearAny lets victims go one by one, the cheapest first, until the shape fits,
// then spares those that are not needed, the dearest first.
func (e *Engine) clearAny(d *decision, shape *place.Shape, k int, w *claimant, allocated bool) ([]victim, bool) {
	pool := shape.Pools[k]
	cand := slices.Clone(e.everybody(w, pool, allocated, d.now))
	t := e.without(pool, cand)
	if !e.placer.FitsIn(t, shape, k) {
		return nil, false
	}
	s := e.sharing
	s.barNodes()
	defer s.unbarNodes()
	t = e.without(pool, nil)
	n := 0
	for n < len(cand) && !e.placer.FitsIn(t, shape, k) {
		t.Give(s.unbarred(e.jobs[cand[n].job].grants))
		n++
	}
	return e.spare(t, shape, k, cand[:n]), true
}

// spare takes victims off a set that fits without them. The nodes have to be barred.
func (e *Engine) spare(t *cluster.Free, shape *place.Shape, k int, set []victim) []victim {
	for i := len(set) - 1; i >= 0; i-- {
		g := e.sharing.unbarred(e.jobs[set[i].job].grants)
		t.Take(g)
		if e.placer.FitsIn(t, shape, k) {
			set = slices.Delete(set, i, i+1)
		} else {
			t.Give(g)
		}
	}
	return set
}
