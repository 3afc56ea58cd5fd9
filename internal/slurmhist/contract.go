package slurmhist

import "github.com/escala-sched/escala/workload"

// fill gives a contract what a site takes for those that do not say.
func fill(c, site workload.Contract) workload.Contract {
	if !c.HasMinRuntime && site.HasMinRuntime {
		c.HasMinRuntime, c.MinRuntime = true, site.MinRuntime
	}
	if c.CheckpointInterval == 0 && !c.CheckpointOnStop {
		c.CheckpointInterval, c.CheckpointOnStop = site.CheckpointInterval, site.CheckpointOnStop
	}
	if c.RestartCost == 0 {
		c.RestartCost = site.RestartCost
	}
	if c.Grace == 0 {
		c.Grace = site.Grace
	}
	return c
}

// kept is how much of a run's work is safe when it ends with the job back in the queue. asked: it
// was asked to stop, which a failed node is not.
func kept(c workload.Contract, ran workload.Span, asked bool) workload.Span {
	switch {
	case c.CheckpointOnStop && asked:
		return ran
	case c.CheckpointInterval > 0:
		return ran - ran%c.CheckpointInterval
	}
	return 0
}
