package engine

import (
	"math/bits"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Job is what a job declares, nil for one that was never submitted or is forgotten.
func (e *Engine) Job(n int32) *workload.Job {
	if n = e.numbering.place(n); n < 0 || int(n) >= len(e.jobs) || e.jobs[n].spec == gone {
		return nil
	}
	return e.jobs[n].spec
}

// Budgets are those in force, nil under a policy that shares by none.
func (e *Engine) Budgets() *budget.Tree {
	if e.sharing == nil {
		return nil
	}
	return e.sharing.tree
}

// StateOf is the name of the state that a job is in, as [Explanation.State] has it. O(1).
func (e *Engine) StateOf(n int32) string {
	if n = e.numbering.place(n); n < 0 || int(n) >= len(e.jobs) {
		return stateNames[absent]
	}
	return stateNames[e.jobs[n].state]
}

// Settle is what the present run of a job leaves behind if it ends at a time: the work
// that is safe in all, run time that has to be done again, and run time spent on
// restarting. A run that ends by itself (cause none) keeps all it did; one that was asked
// to stop at signal makes no progress from then on, if it saves its state when asked; signal is
// at where nobody asked. It is for worlds that know when things happen, and not what the contract
// makes of it.
func (e *Engine) Settle(n int32, at, signal workload.Time, cause fact.Cause) (kept, lost, restart workload.Span) {
	if n = e.numbering.place(n); n < 0 || int(n) >= len(e.jobs) {
		return 0, 0, 0
	}
	j := &e.jobs[n]
	if !j.up || j.spec == nil {
		return j.kept, 0, 0
	}
	elapsed := max(at-j.since, 0)
	restart = min(max(j.work-j.since, 0), elapsed)
	done := e.done(j, at)
	if cause == fact.CauseNone {
		return j.kept + done, 0, restart
	}
	c := e.contract(j)
	if cause == fact.CauseNodeFailure {
		c.CheckpointOnStop = false // a dead node saves nothing any more
	}
	if c.CheckpointOnStop { // from the request on it writes its state, which is no progress
		done = e.done(j, min(max(signal, j.since), at))
	}
	kept = Kept(c, j.kept, j.kept+done)
	if c.CheckpointOnStop {
		return kept, 0, restart
	}
	if done > 0 {
		hi, lo := bits.Mul64(uint64(elapsed-restart), uint64(min(j.kept+done-kept, done)))
		q, _ := bits.Div64(hi, lo, uint64(done)) // at most elapsed, since no more is lost than was done
		lost = workload.Span(q)
	}
	return kept, lost, restart
}

// done is the work that the present run has done by a time, whatever state it is in.
func (e *Engine) done(j *job, at workload.Time) workload.Span {
	was := j.state
	j.state = running
	d := e.progress(j, at)
	j.state = was
	return d
}
