package engine

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// makeRoom looks for work that has to stop so that a job fits, decides the stops
// and holds the place. Unallocated work goes first: allocated is looked at only
// where that is not enough. It refuses by counting before it searches.
func (e *Engine) makeRoom(d *decision, c *class, shape *place.Shape, n int32, span workload.Span, allocated, beside bool) bool {
	s := e.sharing
	e.veil(c, n, span, s.leaveTime())
	if allocated {
		if !beside && (e.failedFor(d, c) || e.failedForSibling(d, c)) || !e.mightFree(c.leaf, shape, c.known.debug) {
			return false
		}
		if s.pol.EvictAfter > 0 && d.now < e.jobs[n].since+s.pol.EvictAfter {
			return false
		}
	} else if e.roomless(d, c, shape) {
		return false
	}
	wait := s.leaveTime()
	bars := e.barredBy(d, c, n, span, wait)
	w := claimant{job: n, leaf: c.leaf, milli: shape.Milli}
	s.rejected = false
	e.keepOff(d, c, n, span, wait)
	if beside {
		e.keepOffDebug()
	}
	for k, pool := range shape.Pools {
		if s.priced() {
			var ok bool
			if span, ok = e.pays(d, c, n, pool); !ok {
				continue
			}
			e.keepOff(d, c, n, span, wait)
			if beside {
				e.keepOffDebug()
			}
		}
		w.more = area(e.rateOf(n, shape.Milli, pool, shape.Need.Tasks), span)
		s.mayAt++
		base := s.loose.of(pool, c.known.debug)
		if allocated {
			base = s.soft.of(pool, c.known.debug)
		}
		if !e.placer.FitsIn(base, shape, k) {
			continue
		}
		if allocated && !e.enoughOpen(d, c, shape, &w, pool) {
			continue
		}
		e.victimSets++
		if e.clear(d, c, shape, k, &w, span, allocated) {
			return true
		}
	}
	if allocated && !beside && !s.priced() && !s.rejected && e.marks() {
		g := s.groupOf(c)
		g.failed, g.failedBars, g.failedMore = s.stamp, bars, c.span
		e.noteFailure(c, bars)
	}
	if !allocated && !beside && !s.priced() && !s.rejected && e.marks() {
		c.known.noRoom, c.known.noRoomBars = e.roomVersion(shape), bars
	}
	return false
}

// clear finds the cheapest place in one pool and decides to clear it.
func (e *Engine) clear(d *decision, c *class, shape *place.Shape, k int, w *claimant, span workload.Span, allocated bool) bool {
	s := e.sharing
	pool := shape.Pools[k]
	var set []victim
	var hold []cluster.Grant
	var ok bool
	switch cut := shape.Cut(k); {
	case e.layout.Counted():
		set, ok = e.clearCount(d, c, shape, w, span, allocated)
	case shape.Plain() && cut.Tasks == 1 && cut.Rest == 0:
		set, hold, ok = e.clearNode(d, shape, k, w, c.known.debug, allocated)
	default:
		if shape.Plain() && cut.OnNode(e.layout.Pools[pool].MaxGPUs) == 1 && cut.Rest == 0 { // a node for each task
			set, ok = e.clearNodes(d, shape, k, w, c.known.debug, allocated)
		} else {
			set, ok = e.clearAny(d, shape, k, w, allocated)
		}
	}
	if !ok {
		return false
	}
	sum, small := e.smallEnough(w, set)
	if !small {
		s.rejected = true
		c.reason = fact.Reason{Code: fact.OverKill, For: none, Have: devices(sum), Want: devices(s.pol.OverKill * w.milli)}
		return false
	}
	if !e.fair(w, set) {
		s.rejected = true
		c.reason = e.guardReason(w)
		return false
	}
	if !e.layout.Counted() && hold == nil {
		t := e.without(pool, set)
		from := len(d.arena)
		if d.arena, ok = e.placer.PlaceIn(t, shape, k, d.arena); !ok {
			d.arena = d.arena[:from]
			return false
		}
		hold = d.arena[from:len(d.arena):len(d.arena)]
	}
	debug := s.isDebug(c)
	for i := range set {
		wait := s.pol.CheckpointWait
		if debug {
			wait = 0
		}
		e.stopFor(d, set[i].job, w.job, fact.Reason{Code: fact.GaveWay, For: w.job}, wait)
	}
	e.holdFor(d, shape, w.job, hold, d.now+span, fact.Reason{Code: fact.Leaving, For: firstOf(set), Want: int32(len(set))})
	return true
}

func firstOf(set []victim) int32 {
	if len(set) == 0 {
		return none
	}
	return set[0].job
}

// holdFor keeps a place for a job until who is there has gone.
func (e *Engine) holdFor(d *decision, shape *place.Shape, n int32, hold []cluster.Grant, until workload.Time, why fact.Reason) {
	a := fact.Action{Do: fact.Hold, Job: n, Attempt: e.jobs[n].attempt + 1, For: none, Count: devices(shape.Milli), Milli: shape.Milli,
		At: d.now, Until: until, Place: hold, Reason: why}
	if shape.Need.Tasks > 0 && e.jobs[n].spec.Need.MaxTasks > 0 {
		a.Tasks = shape.Need.Tasks
	}
	d.actions = append(d.actions, a)
	d.again = true
}

// guardReason says why shares do not let a job stop others: under the entitlement
// guard what its account would hold of what.
func (e *Engine) guardReason(w *claimant) fact.Reason {
	s := e.sharing
	r := fact.Reason{Code: fact.GuardOff, For: none}
	if s.pol.Guard == policy.GuardEntitlement && w.leaf != s.outside {
		num, den := s.tree.ProductShare(w.leaf)
		r.Have = devices(s.held[w.leaf] + w.milli)
		r.Want = int32(uint64(e.usable()) * num / den / 1000)
	}
	return r
}
