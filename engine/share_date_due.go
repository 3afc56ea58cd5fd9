package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// dueFrom is when whoever is on the place of a date has to be told to go.
func (e *Engine) dueFrom(x *date) workload.Time { return x.at - e.sharing.longestGrace() }

// serveDates starts or clears what has come due; true if that has to be committed first.
func (e *Engine) serveDates(d *decision) bool {
	s := e.sharing
	for i := range s.dates {
		x := &s.dates[i]
		n := x.job
		if e.jobs[n].state != waiting {
			continue
		}
		if x.lost {
			d.giveUp(n, fact.Reason{Code: fact.NoAccount, For: none})
			return true
		}
		if slices.ContainsFunc(x.grants, func(g cluster.Grant) bool { return e.down[g.Node] || e.drained[g.Node] }) || e.clashes(x) {
			d.giveUp(n, fact.Reason{Code: fact.PlaceLost, For: none})
			return true
		}
		if !e.early(x) && e.fire(d, x) {
			return true
		}
	}
	return false
}

// giveUp decides that a job's date is off.
func (d *decision) giveUp(n int32, reason fact.Reason) {
	d.actions = append(d.actions, fact.Action{Do: fact.Release, Job: n, For: none, At: d.now, Reason: reason})
	d.again = true
}

// fire clears the place of a date once all who are there may go: at the date, less
// the grace of who has to be stopped, or before where protections ended early.
func (e *Engine) fire(d *decision, x *date) bool {
	s := e.sharing
	c := &e.classes[e.jobs[x.job].class]
	s.in(x.pool)
	shape := smallest(c.shape)
	span, ok := e.pays(d, c, x.job, x.pool)
	if !ok {
		d.giveUp(x.job, c.reason)
		return true
	}
	if e.layout.Counted() {
		return e.fireCount(d, x, c, shape, span)
	}
	var set []victim
	for i := range x.grants {
		g := &x.grants[i]
		for _, v := range s.onNode[g.Node] {
			if touched(e.jobs[v].grants, g.Node)&g.GPUs == 0 || slices.ContainsFunc(set, func(o victim) bool { return o.job == v }) {
				continue
			}
			j, r := &e.jobs[v], &s.jobs[v]
			switch {
			case j.state == stopping || j.leaving:
				if e.claimedOn(g.Node)&touched(j.grants, g.Node)&g.GPUs != 0 {
					return false // it is somebody else's who comes first
				}
			case r.open && r.mark == s.events:
				return false // it was stopped just before
			case r.unallocated || r.open:
				set = append(set, e.priceOf(v, d.now))
			default:
				return false
			}
		}
		if e.claimedOn(g.Node)&g.GPUs != 0 {
			return false
		}
	}
	from := len(d.arena)
	d.arena = append(d.arena, x.grants...)
	for i := range set {
		e.stopFor(d, set[i].job, x.job, fact.Reason{Code: fact.DateCame, For: x.job, Until: x.at}, 0)
	}
	e.holdFor(d, shape, x.job, d.arena[from:len(d.arena):len(d.arena)], d.now+span,
		fact.Reason{Code: fact.DateCame, For: firstOf(set), Want: int32(len(set)), Until: x.at})
	return true
}

func (e *Engine) fireCount(d *decision, x *date, c *class, shape *place.Shape, span workload.Span) bool {
	s := e.sharing
	w := claimant{job: x.job, leaf: c.leaf, milli: x.milli, dated: true}
	s.mayAt++
	have := s.loose.all[0].Milli()
	var cand []victim
	for _, v := range e.pools[x.pool].running {
		j, r := &e.jobs[v], &s.jobs[v]
		if j.leaving || j.state != running && j.state != starting {
			continue
		}
		if r.unallocated {
			have -= j.milli
		}
		// Nobody is asked again, whose work it is.
		if r.unallocated || r.open && r.mark != s.events && e.loses(&w, v) {
			cand = append(cand, e.priceOf(v, d.now))
		}
	}
	e.sortPriced(cand)
	n := 0
	for ; n < len(cand) && have < x.milli; n++ {
		have += e.jobs[cand[n].job].milli
	}
	if have < x.milli {
		return false
	}
	for i := range cand[:n] {
		e.stopFor(d, cand[i].job, x.job, fact.Reason{Code: fact.DateCame, For: x.job, Until: x.at}, 0)
	}
	e.holdFor(d, shape, x.job, nil, d.now+span, fact.Reason{Code: fact.DateCame, For: firstOf(cand[:n]), Want: int32(n), Until: x.at})
	return true
}
