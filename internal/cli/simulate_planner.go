package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
	"github.com/escala-sched/escala/internal/exact"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// plannerFlags are the options that say who plans outside of the decisions of a run.
type plannerFlags struct {
	mode   string
	budget workload.Span
}

// validPlans is how long a plan may be followed, in replan times of the policy: until the
// next one has come, and once more in case that one does not.
const validPlans = 2

// settle refuses options that contradict each other.
func (f *plannerFlags) settle(given func(string) bool) error {
	switch {
	case f.mode == "" && given("planner-budget"):
		return badUsage("--planner full", "--planner-budget is given and --planner is not")
	case f.budget <= 0:
		return badUsage("--planner-budget 2s", "--planner-budget 0: want a length of time")
	}
	return nil
}

// planner is what the options ask for, nil for none. Only policies that plan the horizon
// follow plans.
func (f *plannerFlags) planner(p *policy.Policy, seed uint64) (*planner, error) {
	if f.mode == "" {
		return nil, nil
	}
	if p.Horizon == nil {
		return nil, badUsage("--policy horizon, or no --planner", "--planner %s plans the hours to come, and policy %s follows no plan of them", f.mode, p.Name)
	}
	return &planner{budget: time.Duration(f.budget) * time.Millisecond, seed: seed}, nil
}

// assumption is the planner's line in the head of the report.
func (f *plannerFlags) assumption(p *policy.Policy) report.Assumption {
	return report.Assumption{Name: "Planner", Source: "--planner", Value: fmt.Sprintf(
		"%s, %s for each plan, every %s while jobs wait; a plan is followed for %s at most. What it finds depends on the machine; the journal holds it",
		f.mode, spanText(f.budget), spanText(p.Horizon.Replan), spanText(validPlans*p.Horizon.Replan))}
}

// planner makes plans outside of the decisions of a run, each in a given time.
type planner struct {
	budget time.Duration
	seed   uint64
	// What came of the run's plans.
	plans, starts, followed int
}

// plan makes a plan of what is ahead, nil where there is none that is legal: then decisions
// go on without.
func (p *planner) plan(ctx context.Context, o *engine.Outlook, valid workload.Span) (*fact.Plan, error) {
	if !solvable(o.Problem, p.seed) {
		return nil, nil
	}
	inputs, err := inputsOf(o.Problem)
	if err != nil {
		return nil, err
	}
	r, err := exact.Full(ctx, o.Problem, exact.Options{Budget: p.budget, Seed: p.seed, Now: time.Now})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &fact.Plan{Until: o.At + valid, Inputs: inputs, Solver: r.Solver, Objective: planUnits(r.Score.Objective), Bound: planUnits(r.Bound), Starts: o.Starts(r.Plan)}, nil
}

// solvable tells whether a problem has a legal plan that a search can begin with.
func solvable(p *horizon.Problem, seed uint64) bool {
	_, err := horizon.NewSearch(p, seed)
	return err == nil
}

// inputsOf identifies a problem: the SHA-256 of it as a scenario.
func inputsOf(p *horizon.Problem) (string, error) {
	sum := sha256.New()
	if err := scenario.Write(sum, p); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// planUnits is a worth in the units of a fact, 2^-20, as near as they come.
func planUnits(v float64) int64 {
	const most = 1 << 62
	return int64(math.Round(max(-most, min(most, v*(1<<20)))))
}

// fromUnits is the worth again.
func fromUnits(v int64) float64 { return float64(v) / (1 << 20) }

// watched puts the planner into a run. done is told how many jobs have ended: the run itself
// tells it too seldom where each plan takes its time.
func (p *planner) watched(ctx context.Context, t *study, o *sim.Options, done func(int)) {
	w := &plannerWatch{p: p, jobs: t.workload.Jobs}
	o.Observers = append(o.Observers, w)
	valid := validPlans * o.Policy.Horizon.Replan
	o.Planner = func(x *engine.Outlook) (*fact.Plan, error) {
		done(w.ended)
		return p.plan(ctx, x, valid)
	}
}

// summary says what came of the plans.
func (p *planner) summary() string {
	return fmt.Sprintf("%s proposed, %s of %s of jobs follow one", plural(p.plans, "plan"), grouped(int64(p.followed)), plural(p.starts, "start"))
}

// plannerWatch sees what comes of the plans of a run.
type plannerWatch struct {
	p     *planner
	jobs  []workload.Job
	ended int
}

func (w *plannerWatch) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.PlanProposed:
		w.p.plans++
	case fact.JobFinished:
		w.ended++
	}
}

func (w *plannerWatch) Action(a *fact.Action) {
	if a.Do != fact.Start || w.jobs[a.Job].Service != nil {
		return
	}
	w.p.starts++
	if a.Reason.Code == fact.Proposed {
		w.p.followed++
	}
}

func (*plannerWatch) Instant(*sim.Gauge) {}
