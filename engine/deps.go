package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// dependencies resolves "after job X". Nothing is kept until the first job with a
// dependency comes.
type dependencies struct {
	// ids maps job IDs to numbers, from the first dependency on.
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
		d.ids, d.dependents, d.early = map[string]int32{}, map[int32][]dependent{}, map[string][]dependent{}
		for i := range e.jobs {
			if s := e.jobs[i].spec; s != nil {
				d.ids[s.ID] = int32(i)
			}
		}
	}
	j := &e.jobs[n]
	d.ids[j.spec.ID] = n
	if waiters, ok := d.early[j.spec.ID]; ok {
		d.dependents[n] = waiters
		delete(d.early, j.spec.ID)
	}
	for _, a := range j.spec.After {
		on, known := d.ids[a.Job]
		switch {
		case !known:
			d.early[a.Job] = append(d.early[a.Job], dependent{n, a.When})
		case !final(e.jobs[on].state):
			d.dependents[on] = append(d.dependents[on], dependent{n, a.When})
		case satisfied(a.When, &e.jobs[on]):
			continue
		default:
			e.strand(n, on)
			return true
		}
		j.deps++
	}
	if j.deps > 0 {
		j.state = blocked
	}
	return j.deps > 0
}

// final tells whether nothing can become of a job any more.
func final(s state) bool { return s == ended || s == stuck || s == refused }

func satisfied(when workload.Condition, on *job) bool {
	if on.state != ended {
		return false // it never will: it waits in vain itself
	}
	ok := on.outcome == workload.OutcomeCompleted
	switch when {
	case workload.AfterOK:
		return ok
	case workload.AfterNotOK:
		return !ok
	}
	return true
}

// strand sets a job aside whose dependency can never come true, and all that wait for it.
func (e *Engine) strand(n, on int32) {
	j := &e.jobs[n]
	if final(j.state) {
		return
	}
	j.state = stuck
	e.toRefuse = append(e.toRefuse, fact.Action{Do: fact.Refuse, Job: n, For: none,
		Reason: fact.Reason{Code: fact.DependencyFailed, For: on}})
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
			e.strand(w.job, n)
			continue
		}
		if j.deps--; j.deps == 0 {
			e.enqueue(w.job)
		}
	}
}
