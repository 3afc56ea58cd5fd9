package metrics

import "github.com/escala-sched/escala/workload"

// Window is the observation window [From, To) in milliseconds of the input's
// clock. It selects jobs by their submission. The zero window is the default:
// from the first submission to the last, which selects every job.
type Window struct{ From, To workload.Time }

// IsDefault tells whether w is the default window.
func (w Window) IsDefault() bool { return w == Window{} }

// Contains tells whether a job submitted at t belongs to the window.
func (w Window) Contains(t workload.Time) bool {
	return w.IsDefault() || w.From <= t && t < w.To
}

// overlap returns the part of [from, to) inside [lo, hi).
func overlap(from, to, lo, hi workload.Time) workload.Span {
	return max(0, min(to, hi)-max(from, lo))
}
