package slurmworld

import "github.com/escala-sched/escala/internal/slurm"

// priority is what people have made of a job's turn: its nice value, turned round. With it owners order their own jobs,
// operators those of others, and "scontrol top" works by it, too. Slurm's own priority is not read: under multifactor that
// changes all the time, and no tool tells one that was set by hand from one that was computed (sprio does,
// but leaves out what depends on another job, and that is all that waits here).
//
// It is counted from what the site says of the job's QOS or partition.
func (w *World) priority(j *slurm.Job) int64 {
	return w.opts.Contracts.Of(slurm.Terms{}, j.QOS, j.Partitions).Priority() - j.Nice
}
