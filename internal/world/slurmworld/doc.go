// Package slurmworld is the world of a real Slurm. People go on submitting to Slurm, and slurmctld goes on
// starting jobs: escala decides which of them it may start, and where.
//
// # Levers
//
// Waiting jobs are kept back by one job, the lease: a tiny job that is not to begin before a time which is
// put off as long as this world lives. Each waiting job depends on it (afterany). To start a job, its
// dependency on the lease is taken away and its nodes are named; Slurm starts it at once, since whatever
// else could use the nodes is kept back. Nobody is put on hold, no priority is touched.
//
// If nobody puts the lease off any more, its time comes: it begins and ends, or, where nothing is free
// for it, Slurm cancels it at its deadline. Either way all dependencies on it are satisfied, and the queue
// is Slurm's own again. That costs one call a few minutes, however long the queue is.
//
// A run is stopped by a signal, a grace, and a requeue; what ended by itself within the grace is requeued too.
//
// What Slurm starts by itself (jobs of partitions that were not given to escala, jobs that the engine
// cannot model, jobs that were faster than the first look at them) is adopted: see [world.Source].
//
// One goroutine looks at Slurm, compares, and acts; package slurm talks to it.
package slurmworld
