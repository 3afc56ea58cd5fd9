package sim_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// fast plans, nil where there is no legal plan.
func fast(p *horizon.Problem, work int) *horizon.Result {
	r, err := horizon.Fast(p, horizon.Options{Work: work, NoBound: true})
	if err != nil {
		return nil
	}
	return r
}

// planFast plans as a solver outside of the decisions would.
func planFast(work int, valid workload.Span) func(*engine.Outlook) (*fact.Plan, error) {
	return func(o *engine.Outlook) (*fact.Plan, error) {
		r := fast(o.Problem, work)
		if r == nil { // decisions go on without
			return nil, nil
		}
		return &fact.Plan{Until: o.At + valid, Solver: r.Solver, Starts: o.Starts(r.Plan)}, nil
	}
}

// follows counts starts that a proposed plan led to.
type follows struct{ proposals, starts int }

func (f *follows) Fact(x *fact.Fact) {
	if x.Kind == fact.PlanProposed {
		f.proposals++
	}
}

func (f *follows) Action(a *fact.Action) {
	if a.Do == fact.Start && a.Reason.Code == fact.Proposed {
		f.starts++
	}
}

func (*follows) Instant(*sim.Gauge) {}

// Plans of others, fresh or long out of date, are followed as far as they are legal: no run
// breaks a rule for them, and every job that can end does.
func TestProposedPlansAreFollowedWhereLegal(t *testing.T) {
	policies := map[string]*policy.Policy{}
	for _, p := range allPolicies(t) {
		policies[p.Name] = p
	}
	total := follows{}
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		own := *policies[rapid.SampledFrom([]string{"horizon", "horizon-interrupt"}).Draw(rt, "policy")]
		h := *own.Horizon
		h.Step, h.Replan = 5000, 60_000
		own.Horizon = &h
		f := &follows{}
		res, err := sim.Run(context.Background(), sim.Options{Workload: x.work, Cluster: x.spec, Policy: &own, Assume: x.assume, Faults: x.faults,
			Planner: planFast(20, rapid.SampledFrom([]workload.Span{1, 60_000, 600_000}).Draw(rt, "valid")), Observers: []sim.Observer{f, newLegal(fatal{t, rt}, x.spec, x.work)}})
		if err != nil {
			if x.spec.Count > 0 {
				return
			}
			rt.Fatal(err)
		}
		for i := range res.Jobs {
			if s := res.Jobs[i].State; !slices.Contains([]sim.EndState{sim.Ended, sim.Refused, sim.NeverReady, sim.Withdrawn}, s) && !x.waitsForRefused(res, i) {
				rt.Fatalf("job %d is left in state %d", i, s)
			}
		}
		total.proposals += f.proposals
		total.starts += f.starts
	})
	if total.proposals == 0 || total.starts == 0 {
		t.Errorf("%d plans were proposed and led to %d starts: this test shows nothing", total.proposals, total.starts)
	}
}

// A plan is followed to the letter where nothing has changed, and what it leaves is planned
// around it.
func TestPlanIsFollowed(t *testing.T) {
	w := &workload.Workload{Name: "two"}
	for _, id := range []string{"a", "b"} {
		w.Jobs = append(w.Jobs, workload.Job{ID: id, Need: workload.Need{GPUs: 2}, Estimate: workload.Hour})
		w.Actual = append(w.Actual, workload.Actual{Duration: workload.Hour, Start: workload.Unknown, End: workload.Unknown})
	}
	asked := 0
	res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: cluster.Uniform("one", 1, 4), Policy: shipped(t, "horizon"),
		Planner: func(o *engine.Outlook) (*fact.Plan, error) {
			if asked++; asked > 1 {
				return nil, nil
			}
			// b on the upper half, a nowhere.
			return &fact.Plan{Until: o.At + workload.Day, Starts: []fact.PlannedStart{{Job: 1, At: o.At, Place: []fact.Grant{{Node: 0, Milli: 1000, GPUs: 0b1100, Count: 2}}}}}, nil
		},
		Observers: []sim.Observer{&placeOf{t: t, job: 1, want: 0b1100}}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Jobs[0].FirstStart != 0 || res.Jobs[1].FirstStart != 0 {
		t.Errorf("started at %d and %d; want both at 0: the engine plans what the proposal leaves", res.Jobs[0].FirstStart, res.Jobs[1].FirstStart)
	}
}

type placeOf struct {
	t    *testing.T
	job  int32
	want uint64
}

func (p *placeOf) Fact(*fact.Fact) {}
func (p *placeOf) Action(a *fact.Action) {
	if a.Do == fact.Start && a.Job == p.job && (a.Place[0].GPUs != p.want || a.Reason.Code != fact.Proposed) {
		p.t.Errorf("job %d starts on GPUs %b for reason %d; want %b as proposed", a.Job, a.Place[0].GPUs, a.Reason.Code, p.want)
	}
}
func (*placeOf) Instant(*sim.Gauge) {}
