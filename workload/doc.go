// Package workload says what is asked of a cluster: jobs, what each needs, the
// contract it declares, and (for a replay) what really happened to it.
//
// It is the ground floor: it imports nothing of this module. A [Job] holds only
// what its owner declares; what a scheduler must not know in advance (how long
// the job really runs, how it ends) lives beside it in [Actual].
//
// Units: time is int64 milliseconds, GPUs are whole devices unless a field says
// milli, CPU is milli-cores, memory is MiB.
package workload
