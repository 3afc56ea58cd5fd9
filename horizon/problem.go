package horizon

import "github.com/escala-sched/escala/workload"

// Problem is one horizon to plan: a row of GPUs, a row of equal steps, what wants
// them. The zero Reading holds unless another is set.
type Problem struct {
	Name string
	// GPUs is the number of slots of the row, in topology order: GPUs of a node stand
	// together, nodes of a block stand together. A slot that is not a GPU (padding of
	// a node to a power of two) is closed by a Window over all steps that says Absent.
	GPUs int
	// Steps of the horizon, each StepLength long.
	Steps      int
	StepLength workload.Span
	// StartHour and StartMinute are the time of day at which step 0 begins; only pictures
	// read them.
	StartHour, StartMinute int
	// Decay is what a step is worth of the one before it, in (0, 1].
	Decay float64
	Jobs  []Job
	Apps  []App
	// Closed lists slots that nothing may use for some steps: maintenance, padding.
	Closed []Window
	// Nodes names stretches of the row; only pictures read it.
	Nodes []Node
	// Types is the GPU type of each slot, 0 to 63; empty = all of one type, which nothing names.
	Types   []int
	Reading Reading
}

// Reading settles what the published rules leave open (docs/horizon.md).
type Reading struct {
	// Unaligned lets a block begin at any slot; else at a multiple of its size.
	Unaligned bool
	// AnySize gives a job the number of GPUs that it asks for; else that number is
	// rounded up to a power of two. Sizes that are no power of two are never aligned.
	AnySize bool
	// Complete: a job must end within the horizon, and one that may be interrupted must have
	// run its least there; else jobs may run past it, and what is inside counts.
	Complete bool
	// CountSwaps counts a real-time swap as a change of the number of GPUs; else each
	// GPU gained and each lost is one.
	CountSwaps bool
}

// Job is batch-like work: a block of GPUs for a number of steps.
type Job struct {
	ID   string
	Kind workload.Kind
	// GPUs asked for.
	GPUs int
	// Slots of its block, where they are more than the GPUs: whole nodes of which it uses
	// a part; 0 = as the reading says. Align > 0 makes the block begin at a multiple of it,
	// whatever the reading says.
	Slots, Align int
	// Steps it runs; what remains, if it runs already.
	Steps int
	// Priority is the value of one GPU-step before decay; at least 0.
	Priority int64
	// Release is the first step in which it may start.
	Release int
	// Running: it holds a block since before step 0.
	Running *Running
	// Deadline is the step by whose beginning it should have ended; 0 = none. Steps of a job
	// that ends later count Late thousandths of their value.
	Deadline int
	Late     int
	// MinSteps > 0: it may be stopped once it has run so many steps since its start (or all that
	// is left), and goes on later, on any block, after Restart steps that count nothing but
	// are among those. 0 = once started it is never interrupted.
	MinSteps int
	Restart  int
	// Types are the GPU types it may use, a bit for each, and its block lies in one of them;
	// 0 = any.
	Types uint64
}

// Running is the block of a job that is under way.
type Running struct {
	// Offset is the first slot of its block.
	Offset int
	// Elapsed steps since its (last) start.
	Elapsed int
	// Foreign: it lies where no rule would put it (another program's placement, a node that
	// is to take no work): as long as it must stay it does, on closed slots as well, and as
	// long as it stays it is exempt from the rules on blocks.
	Foreign bool
}

// App is a real-time application: a number of GPUs for each step.
type App struct {
	ID string
	// Min and Max are hard, Demand is what is wanted; GPUs per step, Min <= Demand <= Max.
	Min, Demand, Max []int
	// SwapCap is how many GPUs may change between two steps; step 0 is compared with Current.
	SwapCap int
	// Used are swaps of step 0 that are used up already: step 0 may change SwapCap - Used.
	Used int
	// Penalty is the cost of one GPU-step below the demand, not decayed.
	Penalty int64
	// Current are the slots held before step 0.
	Current []int
	// Types are the GPU types it may use, a bit for each; 0 = any.
	Types uint64
}

// Node is a stretch of the row that is one machine.
type Node struct {
	Name         string
	First, Count int
}

// Window closes slots [First, First+Count) for steps [From, To).
type Window struct {
	Name         string
	First, Count int
	From, To     int
	// Absent: there are no GPUs there at all; they do not count as capacity.
	Absent bool
}

// Block is the number of slots that the job takes, and of what their first is a multiple.
func (r Reading) Block(j *Job) (size, align int) {
	size = max(j.GPUs, j.Slots)
	if !r.AnySize {
		for size = 1; size < max(j.GPUs, j.Slots); size <<= 1 {
		}
	}
	switch {
	case j.Align > 0:
		align = j.Align
	case r.Unaligned || size&(size-1) != 0:
		align = 1
	default:
		align = size
	}
	return size, align
}
