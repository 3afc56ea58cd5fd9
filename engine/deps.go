package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// dependencies resolves "after job X". Nothing is kept until the first job with a
// dependency comes.
type dependencies struct {
	// ids maps job IDs to jobs, from the first dependency on: below none are those that had
	// ended when the engine was restored, see pastOf.
	ids map[string]int32
	// dependents of a job by number; early of a job that is not submitted yet, by ID.
	dependents map[int32][]dependent
	early      map[string][]dependent
}

type dependent struct {
	job  int32
	when workload.Condition
}

// await registers the dependencies of a new job; true if it has to wait for one,
// or can never run.
func (e *Engine) await(n int32) bool {
	d := &e.deps
	if d.ids == nil {
		d.dependents, d.early = map[int32][]dependent{}, map[string][]dependent{}
		e.indexIDs()
	}
	j := &e.jobs[n]
	d.ids[j.spec.ID] = n
	if waiters, ok := d.early[j.spec.ID]; ok {
		d.dependents[n] = waiters
		delete(d.early, j.spec.ID)
	}
	for _, a := range j.spec.After {
		on, known := d.ids[a.Job]
		known = known && (on < none || e.jobs[on].state != ended || e.remembered(on))
		switch {
		case !known:
			d.early[a.Job] = append(d.early[a.Job], dependent{n, a.When})
		case on < none:
			if p := e.pastOf(on); !fits(a.When, p.outcome) {
				e.strand(n, p.job)
				return true
			}
			continue
		case !final(e.jobs[on].state):
			d.dependents[on] = append(d.dependents[on], dependent{n, a.When})
		case satisfied(a.When, &e.jobs[on]):
			continue
		default:
			e.strand(n, e.numbering.number(on))
			return true
		}
		j.deps++
	}
	if j.deps > 0 {
		j.state = blocked
	}
	return j.deps > 0
}

// indexIDs finds jobs by their IDs.
func (e *Engine) indexIDs() {
	e.deps.ids = make(map[string]int32, len(e.jobs)+len(e.past))
	for k := range e.past {
		e.deps.ids[e.past[k].id] = -int32(k) - 2
	}
	for i := range e.jobs {
		if s := e.jobs[i].spec; s != nil && s != gone {
			e.deps.ids[s.ID] = int32(i)
		}
	}
}

// pastOf is a job that had ended before, by its place among the IDs.
func (e *Engine) pastOf(on int32) *past { return &e.past[-on-2] }

// final tells whether nothing can become of a job any more.
func final(s state) bool { return s == ended || s == stuck || s == refused }

func satisfied(when workload.Condition, on *job) bool {
	if on.state != ended {
		return false // it never will: it waits in vain itself
	}
	return fits(when, on.outcome)
}

// fits tells whether an end is one that a dependency waits for.
func fits(when workload.Condition, o workload.Outcome) bool {
	ok := o == workload.OutcomeCompleted
	switch when {
	case workload.AfterOK:
		return ok
	case workload.AfterNotOK:
		return !ok
	}
	return true
}

// strand sets a job aside whose dependency can never come true, and all that wait for it.
// on is the number of the job that it depends on.
func (e *Engine) strand(n, on int32) {
	j := &e.jobs[n]
	if final(j.state) {
		return
	}
	j.state = stuck
	e.toRefuse = append(e.toRefuse, refuse(n, fact.Reason{Code: fact.DependencyFailed, For: on}))
	e.dirty = true
	e.resolve(n)
}

// resolve tells the dependents of a job that has ended.
func (e *Engine) resolve(n int32) {
	if e.deps.ids == nil {
		return
	}
	waiters := e.deps.dependents[n]
	if waiters == nil {
		return
	}
	delete(e.deps.dependents, n)
	for _, w := range waiters {
		j := &e.jobs[w.job]
		if j.state != blocked {
			continue
		}
		if !satisfied(w.when, &e.jobs[n]) {
			e.strand(w.job, e.numbering.number(n))
			continue
		}
		if j.deps--; j.deps == 0 {
			e.enqueue(w.job)
		}
	}
}
