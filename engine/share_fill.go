package engine

import (
	"slices"

	"github.com/escala-sched/escala/fact"
)

// walkFill fills what is left with unallocated work.
func (e *Engine) walkFill(d *decision) {
	s, w := e.sharing, &e.sharing.walk
	fillers := e.unpaid(d)
	free := false
	for _, f := range e.frees {
		free = free || f.Milli() > 0
	}
	if !free && !e.coresOnly {
		return
	}
	w.begin()
	e.unveil()
	some := false
	add := func(l, ci int32) {
		if c := &e.classes[ci]; c.cur != none && e.placer.MayFitAny(e.frees, smallest(c.shape)) {
			w.add(l, ci)
			some = true
		}
	}
	if !s.present.all {
		for _, ci := range s.present.fresh {
			if c := &e.classes[ci]; c.n > 0 && c.fill && s.sits(c) {
				add(c.leaf, ci)
			}
		}
	} else {
		for l := range s.leaves {
			for _, ci := range s.leaves[l].fill {
				add(int32(l), ci)
			}
		}
	}
	for _, ci := range fillers {
		if c := &e.classes[ci]; c.n > 0 && !slices.Contains(w.classes[c.leaf], ci) {
			add(c.leaf, ci)
		}
	}
	if !some {
		return
	}
	w.forget()
	e.build(w, s.filled)
	for {
		l, ci, ok := w.next()
		if !ok {
			return
		}
		c := &e.classes[ci]
		n := c.cur
		e.keepOff(d, c, n, 0, 0)
		again, started := false, int64(0)
		if e.placeShared(d, c, n, 0, true) {
			d.touched = append(d.touched, ci)
			again = e.moveOn(d, ci, n)
			started = c.shape.Milli * startUsage
		} else if c.fill {
			c.reason = fact.Reason{For: none}
		}
		e.step(w, l, again, started, s.filled)
	}
}

// unpaid lists the classes whose hard budgets let them run unallocated only.
func (e *Engine) unpaid(d *decision) []int32 {
	s := e.sharing
	s.fillers = s.fillers[:0]
	if s.accounts == nil {
		return nil
	}
	for l := range s.leaves[:s.outside] {
		if s.leaves[l].nWork == 0 || !s.accounts.Limits(int32(l)) {
			continue
		}
		for i := range s.leaves[l].work {
			for _, ci := range s.leaves[l].work[i].classes {
				if c := &e.classes[ci]; c.cur != none {
					reason, part := c.reason, c.shape
					c.shape = c.wherever()
					if _, ok := e.paysSomewhere(d, c, c.cur); ok {
						c.reason = reason
					}
					c.shape = part
				}
			}
		}
	}
	slices.Sort(s.fillers)
	s.fillers = slices.Compact(s.fillers)
	return s.fillers
}
