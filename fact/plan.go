package fact

import "github.com/escala-sched/escala/workload"

// Plan is a plan of the horizon that was made outside of the decisions, by a solver that takes
// its time (SEMANTICS 9). A decision follows what is still legal of it.
type Plan struct {
	// Until is when it is too old to be followed.
	Until workload.Time
	// Inputs identifies what was planned: the SHA-256 of the problem, hex.
	Inputs string
	// Solver says what made it; Objective and Bound are its own, in units of 2^-20.
	Solver           string
	Objective, Bound int64
	// Starts are the jobs that it starts, by time.
	Starts []PlannedStart
}

// PlannedStart is the start of a job that a plan has.
type PlannedStart struct {
	Job int32
	At  workload.Time
	// Place is where: grants of whole GPUs by node.
	Place []Grant
}
