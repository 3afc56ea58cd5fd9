package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// outcome is what came of trying a job.
type outcome uint8

const (
	refusedNow outcome = iota
	tookPlace
	madeRoom
)

// walkWork goes through the charged work of the leaves of one standing; false if
// the decision is to be committed before it goes on.
func (e *Engine) walkWork(d *decision, standing budget.Standing) bool {
	s, w := e.sharing, &e.sharing.walk
	w.begin()
	some := false
	add := func(l int32, ci int32) {
		if c := &e.classes[ci]; c.cur != none && (e.worthTrying(d, c) || s.brute) {
			w.add(l, ci)
			some = true
			if k := c.known; k.inWalk != s.walks {
				k.inWalk = s.walks
				s.alive++
			}
		}
	}
	s.walks++
	s.alive = 0
	e.unveil()
	if !s.present.all {
		for _, ci := range s.present.fresh {
			if c := &e.classes[ci]; c.n > 0 && !c.fill && s.sits(c) && s.stands(c.leaf) == standing {
				add(c.leaf, ci)
			}
		}
	} else if s.waitingWork > 0 {
		for l := range s.leaves {
			if s.leaves[l].nWork == 0 || s.stands(int32(l)) != standing {
				continue
			}
			for i := range s.leaves[l].work {
				g := &s.leaves[l].work[i]
				if len(g.classes) == 0 || !e.groupWorth(int32(l), g.known) {
					continue
				}
				for _, ci := range g.classes {
					add(int32(l), ci)
				}
			}
		}
		for _, ci := range s.present.fresh { // these may have others stopped at once
			if c := &e.classes[ci]; c.n > 0 && !c.fill && s.sits(c) && s.stands(c.leaf) == standing && !e.groupWorth(c.leaf, c.known) {
				add(c.leaf, ci)
			}
		}
	}
	if !some {
		return true
	}
	e.build(w, s.used)
	for {
		l, ci, ok := w.next()
		if !ok || s.alive == 0 && !s.brute {
			return true
		}
		if s.stands(l) != standing { // it was entitled when this decision began
			e.step(w, l, false, 0, s.used)
			continue
		}
		c := &e.classes[ci]
		n := c.cur
		again, started := false, int64(0)
		switch e.tryWork(d, ci, n) {
		case tookPlace:
			d.touched = append(d.touched, ci)
			again = e.moveOn(d, ci, n)
			started = c.shape.Milli * startUsage
			s.begins(l, e.startedRate(d))
			if d.again || s.accounts != nil && s.accounts.Limits(l) {
				// What it took of a budget, or gave up by its date, is known once it is committed.
				d.again = true
				return false
			}
		case madeRoom:
			d.again = true
			return false
		default:
			e.bury(c)
		}
		e.step(w, l, again, started, s.used)
	}
}

// tryWork starts a job that is charged, makes room for it, or gives it a date.
func (e *Engine) tryWork(d *decision, ci, n int32) outcome {
	s := e.sharing
	c := &e.classes[ci]
	span, ok := e.paysSomewhere(d, c, n)
	if !ok && c.seats == nil {
		return refusedNow
	}
	shape := smallest(c.shape)
	e.veil(c, n, span, 0)
	if ok {
		c.reason = fact.Reason{For: none}
		if e.tryFree(d, c, shape, n, span) {
			return tookPlace
		}
	}
	swaps := s.present.swaps || c.fresh
	if c.seats != nil {
		if !s.lastSeat(c) {
			return refusedNow // its turn in other lanes comes before anybody has to stop
		}
		if e.clearLanes(d, c, n, swaps) {
			return madeRoom
		}
		e.giveDate(d, c, n)
		return refusedNow
	}
	// Small debug jobs leave the debug nodes whole for those that need a node.
	if s.nDebug > 0 && s.isDebug(c) && e.smaller(shape) &&
		(e.makeRoom(d, c, shape, n, span, false, true) || swaps && e.makeRoom(d, c, shape, n, span, true, true)) {
		return madeRoom
	}
	if e.makeRoom(d, c, shape, n, span, false, false) || swaps && e.makeRoom(d, c, shape, n, span, true, false) {
		return madeRoom
	}
	e.giveDate(d, c, n)
	return refusedNow
}

// tryFree starts a job on what is free, unless the like of it was refused before.
func (e *Engine) tryFree(d *decision, c *class, shape *place.Shape, n int32, span workload.Span) bool {
	s := e.sharing
	bars := e.barredBy(d, c, n, span, 0)
	if !e.placer.MayFitAny(e.frees, shape) || c.known.noFree == s.stamp && bars&c.known.noFreeBars == c.known.noFreeBars && !s.brute {
		return false
	}
	e.keepOff(d, c, n, span, 0)
	if e.placeShared(d, c, n, span, false) {
		return true
	}
	// Within a pass what is free only becomes less. Where pools have prices, another
	// account may be able to pay for what this one cannot.
	if !s.priced() && e.marks() {
		c.known.noFree, c.known.noFreeBars = s.stamp, bars
	}
	return false
}

// smaller tells whether a shape leaves some of each node for others.
func (e *Engine) smaller(shape *place.Shape) bool {
	for k, p := range shape.Pools {
		if shape.Cut(k).GPUs >= e.layout.Pools[p].MaxGPUs {
			return false
		}
	}
	return !e.layout.Counted()
}
