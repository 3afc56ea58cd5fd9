package engine

import "github.com/escala-sched/escala/workload"

// Defaults fill in contracts that declare nothing about interruption. The zero
// value is the ideal of the literature: a stopped job keeps all its work.
type Defaults struct {
	// Checkpoint: 0 = state is saved when stopped, < 0 = never, > 0 = each such span of work.
	Checkpoint workload.Span
	// RestartCost of jobs that declare none.
	RestartCost workload.Span
	// Grace of jobs that declare none.
	Grace workload.Span
	// StartLatency is the longest time between a start action and its confirmation:
	// what must be over by a date counts it.
	StartLatency workload.Span
}

// Fill returns the contract with what it does not say filled in.
func (d Defaults) Fill(c workload.Contract) workload.Contract {
	if c.CheckpointInterval == 0 && !c.CheckpointOnStop {
		switch {
		case d.Checkpoint == 0:
			c.CheckpointOnStop = true
		case d.Checkpoint > 0:
			c.CheckpointInterval = d.Checkpoint
		}
	}
	if c.RestartCost == 0 {
		c.RestartCost = d.RestartCost
	}
	if c.Grace == 0 {
		c.Grace = d.Grace
	}
	return c
}

func (e *Engine) contract(j *job) workload.Contract { return e.defaults.Fill(j.spec.Contract) }

// Kept is how much of a job's work survives a stop: done in all, of which safe
// was saved before the present run.
func Kept(c workload.Contract, safe, done workload.Span) workload.Span {
	switch {
	case c.CheckpointOnStop:
		return done
	case c.CheckpointInterval > 0:
		return max(safe, done-done%c.CheckpointInterval)
	}
	return safe
}

// lost is the milli-GPU x ms that stopping a run now would cost: work to do
// again and the restart.
func (e *Engine) lost(j *job, now workload.Time) int64 {
	c := e.contract(j)
	done := j.kept + e.progress(j, now)
	return area(j.milli, done-Kept(c, j.kept, done)+c.RestartCost)
}
