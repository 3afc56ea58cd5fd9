package workload

import (
	"cmp"
	"fmt"
	"slices"
)

// Outcome is how a job ended in the record.
type Outcome uint8

// Outcomes.
const (
	OutcomeCompleted Outcome = iota
	OutcomeFailed
	OutcomeCancelled
	OutcomeTimeout
	OutcomeNodeFail
	OutcomePreempted
	OutcomeUnknown
)

var outcomeNames = [...]string{"completed", "failed", "cancelled", "timeout", "node-fail", "preempted", "unknown"}

// String returns the outcome as files spell it.
func (o Outcome) String() string { return outcomeNames[o] }

// ParseOutcome is the inverse of [Outcome.String].
func ParseOutcome(s string) (Outcome, bool) {
	i := slices.Index(outcomeNames[:], s)
	return Outcome(max(i, 0)), i >= 0
}

// Actual is what really happened to a job: known to the world that runs it and
// to the record, never to the scheduler in advance.
type Actual struct {
	// Duration is the uninterrupted run time at reference speed with the
	// declared number of tasks.
	Duration Span
	Outcome  Outcome
	// CancelAfter: the owner withdraws the job this long after its submission if
	// it has not started by then; 0 = never.
	CancelAfter Span
	// IdleAfter so much run time a session has nothing to do for IdleFor (0 = to its
	// end); IdleAfter 0 = it never idles.
	IdleAfter, IdleFor Span
	// Demand is what a real-time application really needs over time; nil = as it declares.
	Demand *Curve
	// Start and End are the recorded first start and last end, [Unknown] where not told.
	Start, End Time
}

// Dropped counts rows of an input that could not be used, by cause.
type Dropped struct {
	Cause string
	Count int
	// First says where the first such row stands ("jobs.csv:17").
	First string
}

// Workload is a list of jobs with what happened to each: a history to replay or
// a generated scenario. Jobs[i] belongs to Actual[i]. Readers leave it sorted by
// Submit, input order kept among equals; a job's index is its number everywhere
// downstream and the last tie-break of every order.
type Workload struct {
	Name   string
	Jobs   []Job
	Actual []Actual
	// Epoch is the calendar time of Time 0 in Unix milliseconds, [Unknown] where
	// the input has no calendar.
	Epoch Time
	// Source, Format, Licence and Hash (SHA-256 of the input bytes, hex) say where it came from.
	Source, Format, Licence, Hash string
	// Rows is the number of data rows read, Dropped those that could not be used.
	Rows    int
	Dropped []Dropped
	// Notes are assumptions the reader had to make, in sentences for the report's head.
	Notes []string
}

// Drop counts a row that cannot be used.
func (w *Workload) Drop(cause, where string) {
	for i := range w.Dropped {
		if w.Dropped[i].Cause == cause {
			w.Dropped[i].Count++
			return
		}
	}
	w.Dropped = append(w.Dropped, Dropped{Cause: cause, Count: 1, First: where})
}

// Sort orders the jobs by submission, keeping input order among equals.
func (w *Workload) Sort() {
	sorted := true
	for i := 1; i < len(w.Jobs) && sorted; i++ {
		sorted = w.Jobs[i-1].Submit <= w.Jobs[i].Submit
	}
	if sorted {
		return
	}
	idx := make([]int32, len(w.Jobs))
	for i := range idx {
		idx[i] = int32(i)
	}
	slices.SortStableFunc(idx, func(a, b int32) int { return cmp.Compare(w.Jobs[a].Submit, w.Jobs[b].Submit) })
	jobs, actual := make([]Job, len(idx)), make([]Actual, len(idx))
	for i, j := range idx {
		jobs[i], actual[i] = w.Jobs[j], w.Actual[j]
	}
	w.Jobs, w.Actual = jobs, actual
}

// Check returns the first thing that makes the workload unusable: a need that
// is wrong in itself, a doubled ID, a dependency on an unknown job or in a circle.
func (w *Workload) Check() error {
	if len(w.Jobs) != len(w.Actual) {
		return fmt.Errorf("workload %s: %d jobs but %d actual records", w.Name, len(w.Jobs), len(w.Actual))
	}
	seen := make(map[string]int32, len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if err := j.Need.Check(); err != nil {
			return fmt.Errorf("job %q: %w", j.ID, err)
		}
		if j.Service != nil {
			if err := j.Service.Check(); err != nil {
				return fmt.Errorf("job %q: service: %w", j.ID, err)
			}
		}
		if d := w.Actual[i].Demand; d != nil {
			if err := d.Check(); err != nil {
				return fmt.Errorf("job %q: actual demand: %w", j.ID, err)
			}
		}
		if _, dup := seen[j.ID]; dup {
			return fmt.Errorf("job %q appears twice; IDs must be unique in a workload", j.ID)
		}
		if i > 0 && w.Jobs[i-1].Submit > j.Submit {
			return fmt.Errorf("job %q is submitted before its predecessor in the list; sort by submission", j.ID)
		}
		if w.Actual[i].Duration < 0 {
			return fmt.Errorf("job %q: negative duration %d ms", j.ID, w.Actual[i].Duration)
		}
		seen[j.ID] = int32(i)
	}
	return w.checkDependencies(seen)
}

// checkDependencies walks the dependency graph depth first, iteratively, so
// that a long chain cannot exhaust the stack.
func (w *Workload) checkDependencies(index map[string]int32) error {
	const (
		unseen = iota
		open
		done
	)
	var state []uint8
	type frame struct{ job, next int32 }
	var stack []frame
	for i := range w.Jobs {
		if len(w.Jobs[i].After) == 0 {
			continue
		}
		if state == nil {
			state = make([]uint8, len(w.Jobs))
		}
		if state[i] != unseen {
			continue
		}
		state[i] = open
		stack = append(stack[:0], frame{job: int32(i)})
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			deps := w.Jobs[f.job].After
			if int(f.next) == len(deps) {
				state[f.job] = done
				stack = stack[:len(stack)-1]
				continue
			}
			dep := deps[f.next].Job
			f.next++
			to, ok := index[dep]
			if !ok {
				return fmt.Errorf("job %q waits for %q, which is not in the workload", w.Jobs[f.job].ID, dep)
			}
			switch state[to] {
			case open:
				return fmt.Errorf("job %q and %q wait for each other; dependencies must not form a circle", w.Jobs[f.job].ID, dep)
			case unseen:
				state[to] = open
				stack = append(stack, frame{job: to})
			}
		}
	}
	return nil
}

// Window returns the default observation window [t0, t1]: first to last
// submission (METRICS). Zero for an empty workload.
func (w *Workload) Window() (t0, t1 Time) {
	if len(w.Jobs) == 0 {
		return 0, 0
	}
	return w.Jobs[0].Submit, w.Jobs[len(w.Jobs)-1].Submit
}

// HasEstimates tells whether any job declares an estimate or a limit.
func (w *Workload) HasEstimates() bool {
	for i := range w.Jobs {
		if w.Jobs[i].Estimate > 0 || w.Jobs[i].Limit > 0 {
			return true
		}
	}
	return false
}
