package engine

import "github.com/escala-sched/escala/fact"

// edited gives a job that waits another priority: it takes the place in the queue that it would have had by that
// from the start. What runs, or is about to, keeps the one by which it was started.
func (e *Engine) edited(f *fact.Fact) error {
	if f.Job < 0 || int(f.Job) >= len(e.jobs) {
		return ErrUnknown
	}
	j := &e.jobs[f.Job]
	if j.state != waiting && j.state != onHold && j.state != blocked || j.spec.Priority == f.Priority {
		return ErrUnknown // late, or told twice
	}
	spec := *j.spec // whoever submitted it has the other
	spec.Priority = f.Priority
	if j.state != waiting {
		j.spec, j.class = &spec, none
		return nil
	}
	since := j.since
	e.withdraw(f.Job)
	j.spec, j.class = &spec, none
	e.enqueue(f.Job)
	if e.order.attained == nil { // else it waits anew for its promotion
		j.since = since
	}
	return nil
}
