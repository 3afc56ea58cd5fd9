package workload

// Time is a point in time: milliseconds since the epoch of the input it came
// with. A recorded trace keeps its own clock; [Workload.Epoch] ties it to the
// calendar where the input does.
type Time = int64

// Span is a length of time in milliseconds.
type Span = int64

// Lengths of time.
const (
	Millisecond Span = 1
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour
)

// Never is a point in time that does not come.
const Never Time = 1<<63 - 1

// Unknown marks a recorded time that the input does not tell.
const Unknown Time = -1 << 63

// Kind is the kind of work. It changes nothing in the engine's mechanics; order
// terms, forecasts and reports read it.
type Kind uint8

// Kinds of work.
const (
	KindUnspecified Kind = iota
	KindTraining
	KindBatchInference
	KindQuantization
	KindRealtime
	KindInteractive
)

var kindNames = [...]string{"", "training", "batch-inference", "quantization", "realtime", "interactive"}

// String returns the kind's name as files spell it; "" for unspecified.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(s string) (Kind, bool) {
	for i, n := range kindNames {
		if n == s {
			return Kind(i), true
		}
	}
	return 0, false
}

// Job is one request for GPU-time as its owner declares it.
type Job struct {
	// ID is the owner's name for the job, unique in its workload.
	ID string
	// User and Team own the job; Team is the leaf that shares are counted for.
	User, Team string
	// Partition restricts the job to nodes of that partition (a virtual cluster,
	// a Slurm partition). It binds only on clusters whose nodes name partitions.
	Partition string
	Kind      Kind
	// Submit is when the job was submitted.
	Submit Time
	// Need is what the job needs at once.
	Need Need
	// Priority: larger goes first where a policy reads it.
	Priority int64
	// Estimate is the predicted run time, 0 where none was given. It predicts; it does not kill.
	Estimate Span
	// Limit kills a run that reaches it; 0 = none.
	Limit Span
	// Deadline is when the owner wants it finished; 0 = none.
	Deadline Time
	// Contract is what the job promises about interruption.
	Contract Contract
	// Service makes it a real-time application, whose GPUs follow a demand; nil for
	// everything else. The workload keeps the pointer and never writes through it.
	Service *Service
	// After lists jobs that must have ended before this one may start.
	After []Dependency
	// Speed gives relative speeds by GPU type; empty = 1 on every type.
	Speed []Speed
	// Labels are free for the owner (experiment, cost centre); order terms may read them.
	Labels map[string]string
}

// Contract says how a job may be interrupted (docs/semantics.md, preemption).
type Contract struct {
	// MinRuntime is how long a start is protected from preemption.
	MinRuntime Span
	// HasMinRuntime tells "declared 0" (unallocated work) from "not declared".
	HasMinRuntime bool
	// CheckpointInterval is the work between two checkpoints that the job takes
	// by itself; 0 = it takes none.
	CheckpointInterval Span
	// CheckpointOnStop: the job saves its state when asked to stop, and loses nothing.
	CheckpointOnStop bool
	// RestartCost is the time each start after the first spends before work goes on.
	RestartCost Span
	// Grace is the time between the request to stop and the release of the GPUs.
	Grace Span
	// NotResumable: a stopped run is lost, and the job ends with it.
	NotResumable bool
}

// Condition says which end of a job satisfies a dependency on it.
type Condition uint8

// Conditions of a dependency.
const (
	AfterAny   Condition = iota // it ended, however
	AfterOK                     // it completed
	AfterNotOK                  // it ended otherwise than completed
)

var conditionNames = [...]string{"any", "ok", "notok"}

// String returns the condition as files spell it.
func (c Condition) String() string { return conditionNames[c] }

// ParseCondition is the inverse of [Condition.String]; "" is any.
func ParseCondition(s string) (Condition, bool) {
	if s == "" {
		return AfterAny, true
	}
	for i, n := range conditionNames {
		if n == s {
			return Condition(i), true
		}
	}
	return 0, false
}

// Dependency makes a job wait for the end of another.
type Dependency struct {
	// Job is the ID of the job waited for.
	Job  string
	When Condition
}

// Speed is how fast a job runs on one GPU type, in thousandths of its reference
// speed: 2000 = twice as fast, so half the duration.
type Speed struct {
	GPUType string
	Milli   int32
}
