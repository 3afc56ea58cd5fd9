package trace

import "github.com/escala-sched/escala/workload"

// Shift moves every point in time of a workload.
func Shift(w *workload.Workload, by workload.Span) {
	if by == 0 {
		return
	}
	for i := range w.Jobs {
		j, a := &w.Jobs[i], &w.Actual[i]
		j.Submit += by
		if j.Deadline != 0 {
			j.Deadline += by
		}
		if a.Start != workload.Unknown {
			a.Start += by
		}
		if a.End != workload.Unknown {
			a.End += by
		}
		if j.Service != nil {
			j.Service = shiftService(j.Service, by)
		}
		if a.Demand != nil {
			moved := shiftCurve(*a.Demand, by)
			a.Demand = &moved
		}
	}
}

// shiftService returns a service that is moved: what a job points at is shared with
// other copies of the workload.
func shiftService(s *workload.Service, by workload.Span) *workload.Service {
	moved := *s
	moved.Demand = shiftCurve(s.Demand, by)
	moved.Min, moved.Max = shiftCurve(s.Min, by), shiftCurve(s.Max, by)
	return &moved
}

// shiftCurve leaves a curve alone that is not there. Values are never written, and stay shared.
func shiftCurve(c workload.Curve, by workload.Span) workload.Curve {
	if len(c.Values) > 0 {
		c.Start += by
	}
	return c
}
