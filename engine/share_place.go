package engine

import (
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// placeShared starts a job on what is free and not kept from it.
func (e *Engine) placeShared(d *decision, c *class, n int32, span workload.Span, fill bool) bool {
	if sizes := c.shape.Rigid(); sizes != nil {
		elastic := c.shape
		defer func() { c.shape = elastic }()
		for _, z := range sizes {
			c.shape = z
			if z != sizes[len(sizes)-1] && !fill && !e.paysAll(d, c, n, z.Need.Tasks) {
				continue
			}
			if e.placeSized(d, c, n, z.Need.Tasks, span, fill) {
				return true
			}
		}
		return false
	}
	return e.placeSized(d, c, n, 0, span, fill)
}

func (e *Engine) placeSized(d *decision, c *class, n, tasks int32, span workload.Span, fill bool) bool {
	s := e.sharing
	for k, pool := range c.shape.Pools {
		f := e.frees[pool]
		if !e.placer.MayFit(f, c.shape, k) {
			continue
		}
		if s.priced() && !fill {
			was := span
			var ok bool
			if span, ok = e.pays(d, c, n, pool); !ok {
				span = was
				continue
			}
			e.keepOff(d, c, n, span, 0)
		}
		if e.layout.Counted() {
			if f.Milli() < c.shape.Milli || !e.roomBesideDates(d, pool, c, n, span, 0) {
				continue
			}
			e.startShared(d, c, n, pool, len(d.arena), tasks, span, fill)
			return true
		}
		veil := e.veilOf(f, pool)
		from := len(d.arena)
		var ok bool
		if len(veil) > 0 {
			f.Take(veil)
			d.arena, ok = e.placer.PlaceIn(f, c.shape, k, d.arena)
			f.Give(veil)
		} else {
			d.arena, ok = e.placer.PlaceIn(f, c.shape, k, d.arena)
		}
		if ok {
			e.startShared(d, c, n, pool, from, tasks, span, fill)
			return true
		}
	}
	return false
}

// startShared decides a start on the grants at the end of the arena.
func (e *Engine) startShared(d *decision, c *class, n, pool int32, from int, tasks int32, span workload.Span, fill bool) {
	s := e.sharing
	reason := fact.Reason{Code: fact.AboveShare, For: none}
	switch {
	case !fill && s.stands(c.leaf) == budget.Entitled:
		reason.Code = fact.BelowShare
	case fill:
		reason.Code = fact.Fill
	}
	if p := e.jobs[n].promised; e.jobs[n].dated && p <= d.now {
		reason = fact.Reason{Code: fact.Promised, For: none, Until: p}
	}
	if x := e.crosses(d.arena[from:], n); x != nil {
		reason = fact.Reason{Code: fact.ProtectionEnds, For: x.job, Until: x.at}
	}
	e.start(d, c, n, pool, from, tasks, reason)
	if !fill && slices.ContainsFunc(s.dates, func(x date) bool { return x.job == n }) {
		d.again = true // its reserved place is free for others
	}
	a := &d.actions[len(d.actions)-1]
	a.Unallocated = fill
	if !fill {
		a.Until = d.now + span
		d.undo[len(d.undo)-1].looked = true
		s.loose.take(e, pool, d.arena[from:len(d.arena)], c.shape.Milli)
		s.soft.take(e, pool, d.arena[from:len(d.arena)], c.shape.Milli)
	}
}
