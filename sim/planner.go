package sim

import (
	"fmt"

	"github.com/escala-sched/escala/fact"
)

// plan asks the planner for what comes, tells what it proposes, and comes back at the next
// point of the policy's grid.
func (r *run) plan() error {
	every := r.o.Policy.Horizon.Replan
	r.planAt = r.now - r.now%every + every
	if r.eng.Gauge().WaitingJobs == 0 {
		return nil
	}
	p, err := r.o.Planner(r.eng.Outlook(r.now, false))
	if err != nil {
		return fmt.Errorf("at %d ms: planning ahead: %w", r.now, err)
	}
	if p == nil {
		return nil
	}
	r.fact = fact.Fact{Kind: fact.PlanProposed, At: r.now, Job: -1, Node: -1, Plan: p}
	return r.tell(&r.fact)
}
