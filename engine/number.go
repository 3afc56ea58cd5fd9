package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// numbering ties the numbers by which the world knows jobs to places in the engine's table.
// They are the same until an engine is restored: it keeps no place for jobs that have ended
// before, in the same order. All that goes in and out is translated there; nothing inside
// knows of it.
type numbering struct {
	// names are the numbers of the jobs that were restored, ascending: those at the places below len(names).
	names []int32
	// gone is the place that stands for all jobs that had ended before, none if no job had.
	gone int32
	// next is the first number after those that were known then; shift is what it and
	// all after it are above their places.
	next, shift int32
}

// moved tells whether places and numbers differ.
func (m *numbering) moved() bool { return m.gone != none }

// place of a job by its number.
func (m *numbering) place(n int32) int32 {
	switch {
	case n < 0:
		return n
	case n >= m.next:
		return n - m.shift
	}
	if i, ok := slices.BinarySearch(m.names, n); ok {
		return int32(i)
	}
	return m.gone
}

// number of the job at a place.
func (m *numbering) number(i int32) int32 {
	switch {
	case i < 0 || !m.moved():
		return i
	case int(i) < len(m.names):
		return m.names[i]
	case i == m.gone:
		return none
	}
	return i + m.shift
}

// factIn translates a fact of the world.
func (e *Engine) factIn(f *fact.Fact) *fact.Fact {
	if !e.numbering.moved() {
		return f
	}
	g := *f
	g.Job = e.numbering.place(f.Job)
	if f.Plan != nil {
		p := *f.Plan
		p.Starts = slices.Clone(p.Starts)
		for i := range p.Starts {
			p.Starts[i].Job = e.numbering.place(p.Starts[i].Job)
		}
		g.Plan = &p
	}
	return &g
}

// actionIn translates an action that was written down.
func (e *Engine) actionIn(a *fact.Action) *fact.Action {
	if !e.numbering.moved() {
		return a
	}
	b := *a
	b.Job, b.For = e.numbering.place(a.Job), e.numbering.place(a.For)
	return &b
}

// actionsOut translates what was decided. The first refused of them name the jobs of their
// reasons by number already: those may have ended.
func (e *Engine) actionsOut(list []fact.Action, refused int) {
	if !e.numbering.moved() {
		return
	}
	for i := range list {
		a := &list[i]
		a.Job, a.For = e.numbering.number(a.Job), e.numbering.number(a.For)
		if i >= refused {
			a.Reason.For = e.numbering.number(a.Reason.For)
		}
	}
}

// jobsOut translates a list of jobs.
func (e *Engine) jobsOut(list []int32) []int32 {
	if e.numbering.moved() {
		for i := range list {
			list[i] = e.numbering.number(list[i])
		}
	}
	return list
}

// past is a job that had ended when the engine was restored, for dependencies on it.
type past struct {
	job     int32 // its number
	id      string
	at      workload.Time
	outcome workload.Outcome
}

// Forget lets go of what is known of jobs that ended before a time: their outcome, by which
// a dependency on one of them is settled at once. A job that is submitted later and names
// one of them waits, as it does for a job that is still to be submitted. Without it all that
// have ended are remembered, and are part of every [State].
func (e *Engine) Forget(before workload.Time) {
	if before <= e.forgot {
		return
	}
	e.forgot = before
	d := &e.deps
	kept := e.past[:0]
	for _, p := range e.past {
		if p.at >= before {
			kept = append(kept, p)
		}
	}
	clear(e.past[len(kept):])
	e.past = kept
	for i := range e.jobs {
		if j := &e.jobs[i]; j.state == ended && j.since < before && j.spec != nil && !e.owing(int32(i)) {
			j.spec = gone
		}
	}
	if d.ids != nil {
		e.indexIDs()
	}
}

// gone stands for what a job declared that is not remembered.
var gone = &workload.Job{}

// clonePlace copies grants out of the engine's memory.
func clonePlace(gs []cluster.Grant) []cluster.Grant {
	if len(gs) == 0 {
		return nil
	}
	return slices.Clone(gs)
}
