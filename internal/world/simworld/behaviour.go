package simworld

import (
	"time"

	"github.com/escala-sched/escala/internal/world"
)

// Behaviour is what a run does. The zero value starts at once, runs until [Machine.End] and
// leaves as soon as it is told to stop.
type Behaviour struct {
	// Start is how long the start takes.
	Start time.Duration
	// Fail is why the start fails; empty = it does not. Own: by the job's own fault; otherwise it is
	// that of the first node of its place.
	Fail string
	Own  bool
	// Duration of the run; 0 = until [Machine.End].
	Duration time.Duration
	// Exit is its exit code. Yield: it ends in order to be resumed.
	Exit  int32
	Yield bool
	// Leave is how long it takes to leave when it is told to stop; what is longer than the
	// grace is killed at its end.
	Leave time.Duration
	// Checkpoint is the time between two checkpoints that are reported; 0 = none.
	Checkpoint time.Duration
}

// Options of a machine. All may be left out. The functions are called with the machine locked:
// they must not call it.
type Options struct {
	// Behave says what the run of a start does.
	Behave func(*world.Order) Behaviour
	// Delay is how late a report comes. Reports of one run stay in order, those of several do not.
	Delay func(*world.Report) time.Duration
	// Double tells whether a report comes twice, and how much later the second time, which
	// may be after later reports of the run.
	Double func(*world.Report) (again bool, later time.Duration)
	// Now is the clock; without one reports say no time.
	Now func() time.Time
}
