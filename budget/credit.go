package budget

import "github.com/escala-sched/escala/workload"

// Credit adds GPU-hours to a hard budget by hand, or takes them away.
type Credit struct {
	// Account is the node whose budget it is.
	Account int32
	// At is when: Unix milliseconds where Dated, else a time of the workload's clock.
	At    int64
	Dated bool
	// GPUTime in milli-GPU x ms; negative = taken away.
	GPUTime int64
	// By is who gave it, Reason why ("" where not said).
	By, Reason string
}

// When returns the credit's time on the clock of a workload with that epoch. A date
// has none where the workload has no calendar.
func (c *Credit) When(epoch workload.Time) (workload.Time, bool) {
	switch {
	case !c.Dated:
		return c.At, true
	case epoch == workload.Unknown:
		return 0, false
	}
	return c.At - epoch, true
}
