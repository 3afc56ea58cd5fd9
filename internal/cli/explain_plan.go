package cli

import (
	"fmt"
	"math"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// proposal is a plan of the hours to come that was made outside of the decisions.
type proposal struct {
	at   workload.Time
	plan *fact.Plan
}

// startOf is when the plan has a job start, [workload.Unknown] where it does not.
func (p *proposal) startOf(n int32) workload.Time {
	for i := range p.plan.Starts {
		if s := &p.plan.Starts[i]; s.Job == n {
			return s.At
		}
	}
	return workload.Unknown
}

// proposedReport is the proposed plan that a run started by, or that is followed while a job waits.
type proposedReport struct {
	Proposed float64 `json:"proposed"`
	// Until is when it is too old to be followed.
	Until     float64 `json:"until"`
	Solver    string  `json:"solver,omitempty"`
	Inputs    string  `json:"inputs,omitempty"`
	Objective float64 `json:"objective"`
	Bound     float64 `json:"bound"`
	// Start is what it has for the job, absent where it has no place for it; Starts is
	// how many jobs it starts.
	Start  *float64 `json:"start,omitempty"`
	Starts int      `json:"starts"`
	// before: it was made before the job came.
	before bool
}

// proposed is the plan that concerns the job as it stands, nil where there is none.
func (x *explainer) proposed() *proposedReport {
	h := x.history
	p := h.plan
	switch x.found.State {
	case "starting", "running", "stopping":
		p = h.run().plan
	case "waiting":
		if p != nil && (h.jobs[h.number].spec.Service != nil || x.header.Policy.Horizon == nil || x.folded.Now >= p.plan.Until) {
			return nil
		}
	default:
		return nil
	}
	if p == nil {
		return nil
	}
	out := &proposedReport{Proposed: inSeconds(p.at), Until: inSeconds(p.plan.Until), Solver: p.plan.Solver, Inputs: p.plan.Inputs,
		Objective: fromUnits(p.plan.Objective), Bound: fromUnits(p.plan.Bound), Starts: len(p.plan.Starts)}
	out.before = h.jobs[h.number].spec.Submit > p.at
	if t := p.startOf(h.number); t != workload.Unknown {
		start := inSeconds(t)
		out.Start = &start
	}
	return out
}

func (p *explainText) proposed(r *proposedReport, waits bool) {
	text := "proposed at " + p.time(r.Proposed)
	if r.Solver != "" {
		text += " by " + r.Solver
	}
	if waits {
		text += ", followed until " + p.time(r.Until) + " at most"
	}
	switch {
	case r.Start != nil:
		text += "; it starts the job at " + p.time(*r.Start)
	case r.before:
		text += "; the job came after it was made"
	default:
		text += "; it has no place for the job"
	}
	const proven = 2e-6 // what the arithmetic of solvers leaves open
	switch {
	case r.Bound == 0 && r.Objective == 0:
	case r.Bound-r.Objective <= proven*max(1, math.Abs(r.Bound)):
		text += ". It is the best possible"
	case r.Bound != 0:
		text += fmt.Sprintf(". One could be better by %s at most", percent((r.Bound-r.Objective)/math.Abs(r.Bound)))
	}
	p.line("Plan", "%s", text+".")
}
