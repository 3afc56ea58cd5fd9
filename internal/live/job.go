package live

import (
	"strconv"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Phase is where a job stands.
type Phase uint8

// Phases of a job.
const (
	Waiting Phase = iota
	// Held is kept out of the queue, Blocked waits for another job.
	Held
	Blocked
	// Clearing has a place that others are still leaving.
	Clearing
	Starting
	Running
	Stopping
	// Parked is an idle session that gave its GPUs back.
	Parked
	// Refused can never run. Ended has an outcome.
	Refused
	Ended
	phases
)

var phaseNames = [phases]string{"waiting", "held", "blocked", "clearing", "starting", "running", "stopping", "parked", "refused", "ended"}

// String returns the name that people and the API use.
func (p Phase) String() string { return phaseNames[p] }

// Alive tells whether something can still become of a job.
func (p Phase) Alive() bool { return p < Refused }

// Job is what is known of a job. Times are those of the journal.
type Job struct {
	Number int32
	// Spec is what it declares. It is shared: nobody writes to it.
	Spec  *workload.Job
	Phase Phase
	// Holds has bit h set for each [fact.HoldBy] h; HeldBy is who asked for the last one and
	// HeldText what they said.
	Holds            uint8
	HeldBy, HeldText string
	// Promised is the date it was given, 0 = none.
	Promised workload.Time
	// Runs so far, the present one last.
	Runs []JobRun
	// Kept is the work that is safe.
	Kept workload.Span
	// Ended is when it came to its end, with Outcome, Exit and Text; EndedBy is who cancelled it.
	Ended   workload.Time
	Outcome workload.Outcome
	Exit    int32
	Text    string
	EndedBy string
	// Refused is why it can never run.
	Refused fact.Reason
	// Key is the idempotency key that it was submitted with, hashed.
	Key string
	// Failures counts starts in a row that failed.
	Failures int32
	// Lost: the world cannot see the present run.
	Lost bool
	// Real is what another scheduler really did with it, nil where nothing is known.
	Real *Real `json:",omitempty"`
}

// JobRun is one run of a job.
type JobRun struct {
	Attempt int32
	// Decided is when the start was decided, Up when the world confirmed it and Left when its
	// GPUs were free again; [workload.Unknown] where that has not come.
	Decided, Up, Left workload.Time
	// Place and Count are what it has.
	Place []fact.Grant
	Count int32
	Milli int64
	Tasks int32
	// Protected is until when it is safe, 0 = not.
	Protected   workload.Time
	Unallocated bool
	Why         fact.Reason
	// Told is when it was told to stop, for whom, why, and by when it must have left.
	Told     workload.Time
	StopFor  int32
	StopWhy  fact.Reason
	Deadline workload.Time
	// End says how it ended.
	End     fact.Kind
	Cause   fact.Cause
	Outcome workload.Outcome
	Exit    int32
	Text    string
	// Kept, Lost and Restart of its end.
	Kept, Lost, Restart workload.Span
}

// Run is the present or last run, nil before the first.
func (j *Job) Run() *JobRun {
	if len(j.Runs) == 0 {
		return nil
	}
	return &j.Runs[len(j.Runs)-1]
}

// Name is what people call it: its label, else its ID.
func (j *Job) Name() string {
	if n := j.Spec.Labels[LabelName]; n != "" {
		return n
	}
	return j.Spec.ID
}

// FirstStart is when it first ran, [workload.Unknown] if it never did.
func (j *Job) FirstStart() workload.Time {
	for i := range j.Runs {
		if j.Runs[i].Up != workload.Unknown {
			return j.Runs[i].Up
		}
	}
	return workload.Unknown
}

// GPUTime is what it has had, in milli-GPU x ms, up to a time.
func (j *Job) GPUTime(now workload.Time) int64 {
	var sum int64
	for i := range j.Runs {
		r := &j.Runs[i]
		end := r.Left
		if end == workload.Unknown {
			end = now
		}
		sum += r.Milli * max(end-r.Decided, 0)
	}
	return sum
}

// Labels that the daemon itself reads.
const (
	// LabelName is what people call a job.
	LabelName = "name"
	// LabelThrottle is how many jobs of an array may run at once.
	LabelThrottle = "escala.throttle"
	// LabelBegin is the Unix time in ms before which a job is not to start.
	LabelBegin = "escala.begin"
	// LabelRetries is how often a job that fails is tried again.
	LabelRetries = "escala.retries"
)

// numberLabel reads a label that holds a number, 0 where it does not.
func numberLabel(j *workload.Job, key string) int64 {
	n, err := strconv.ParseInt(j.Labels[key], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// ArrayOf returns the ID of the array that a job belongs to, "" for none, and its index.
func ArrayOf(id string) (array string, index int, ok bool) {
	a, i, found := strings.Cut(id, "_")
	if !found {
		return "", 0, false
	}
	n, err := strconv.Atoi(i)
	return a, n, err == nil
}
