package engine

import (
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

func planner(t *testing.T, spec *cluster.Spec, set func(*policy.Horizon)) *Engine {
	t.Helper()
	p, _ := policy.Shipped("horizon")
	own, h := *p, *p.Horizon
	if set != nil {
		set(&h)
	}
	own.Horizon = &h
	e, err := New(spec, &own, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tell(t *testing.T, e *Engine, facts ...fact.Fact) {
	t.Helper()
	for i := range facts {
		if err := e.Apply(&facts[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// A cluster or a horizon too large for a plan is refused at once: without a plan nothing
// would ever start.
func TestTooLargeForAPlan(t *testing.T) {
	p, _ := policy.Shipped("horizon")
	own, h := *p, *p.Horizon
	h.Steps = 1000
	own.Horizon = &h
	_, err := New(cluster.Uniform("large", 4096, 8), &own, Defaults{})
	if err == nil || !strings.Contains(err.Error(), "32768 x 1000") {
		t.Errorf("%v; want that 32768 GPUs x 1000 steps are too many", err)
	}
}

// Each start doubles the next protection, from what the job declares or a step, whichever
// is longer.
func TestProtectionDoubles(t *testing.T) {
	e := planner(t, cluster.Uniform("one", 1, 8), nil)
	for _, c := range []struct {
		declared workload.Span
		runs     int32
		want     workload.Span
	}{{30 * workload.Minute, 0, 30 * workload.Minute}, {30 * workload.Minute, 1, 2 * workload.Hour}, {30 * workload.Minute, 2, 4 * workload.Hour},
		{4 * workload.Hour, 1, 8 * workload.Hour}, {4 * workload.Hour, 3, 32 * workload.Hour}} {
		j := &job{spec: &workload.Job{Contract: workload.Contract{HasMinRuntime: true, MinRuntime: c.declared}}, state: waiting, runs: c.runs}
		if got := e.protection(j); got != c.want {
			t.Errorf("%d min declared, after %d starts: protected for %d min, want %d", c.declared/workload.Minute, c.runs, got/workload.Minute, c.want/workload.Minute)
		}
	}
	j := &job{spec: &workload.Job{Contract: workload.Contract{MinRuntime: 366 * workload.Day}}, state: waiting, runs: 1 << 30}
	if got := e.protection(j); got < 366*workload.Day {
		t.Errorf("after very many starts it is protected for %d ms", got)
	}
}

// A plan from outside cannot name a GPU twice.
func TestProposalWithANodeTwice(t *testing.T) {
	e := planner(t, cluster.Uniform("one", 1, 8), nil)
	tell(t, e, fact.Fact{Kind: fact.JobSubmitted, Submitted: &workload.Job{ID: "a", Need: workload.Need{Tasks: 2, GPUs: 1}, Estimate: workload.Hour}})
	g := fact.Grant{Node: 0, Milli: 1000, GPUs: 1, Count: 1}
	err := e.Apply(&fact.Fact{Kind: fact.PlanProposed, Job: -1, Node: -1, Plan: &fact.Plan{Until: workload.Day, Starts: []fact.PlannedStart{{Job: 0, Place: []fact.Grant{g, g}}}}})
	if err == nil {
		t.Error("it is taken")
	}
	if d := e.Decide(0); len(d.Actions) != 1 || len(d.Actions[0].Place) != 1 || d.Actions[0].Place[0].Count != 2 {
		t.Errorf("then %+v is decided; want one start on two GPUs", d.Actions)
	}
}

// Only the application that cannot keep its rules gives them up.
func TestOthersKeepTheirRules(t *testing.T) {
	h := &ahead{}
	e := planner(t, cluster.Uniform("one", 1, 8), nil)
	app := func(id string, least, wanted, most int, current ...int) horizon.App {
		return horizon.App{ID: id, Min: []int{least}, Demand: []int{wanted}, Max: []int{most}, SwapCap: 1, Penalty: 1, Current: current}
	}
	o := &outlook{p: horizon.Problem{GPUs: 8, Steps: 1, Decay: 1, Apps: []horizon.App{
		app("cannot", 4, 4, 4, 0), // at one swap a step
		app("can", 2, 3, 3, 4, 5),
	}}}
	plan := h.plan(e, &decision{}, o)
	if plan == nil {
		t.Fatal("no plan")
	}
	if a := &o.p.Apps[1]; a.Min[0] != 2 || a.SwapCap != 1 || plan.Held[1][0].Len() != 3 {
		t.Errorf("min %d, swaps %d, holds %d; the other application's trouble is none of its own", a.Min[0], a.SwapCap, plan.Held[1][0].Len())
	}
	if a := &o.p.Apps[0]; a.SwapCap != 1 || plan.Held[0][0].Len() != 2 {
		t.Errorf("swaps %d, holds %d; its bounds give way before its swaps do", a.SwapCap, plan.Held[0][0].Len())
	}
}

// An engine that was folded from a journal is due when the one that went on is: a fact of no
// consequence makes it plan no more than the other.
func TestFoldedEngineIsDueAtTheSameTime(t *testing.T) {
	live, folded := planner(t, cluster.Uniform("one", 1, 8), nil), planner(t, cluster.Uniform("one", 1, 8), nil)
	app := &workload.Job{ID: "app", Kind: workload.KindRealtime, Need: workload.Need{Tasks: 4, GPUs: 1}, Estimate: workload.Day,
		Service: &workload.Service{Demand: workload.Curve{Step: workload.Hour, Values: []int32{2, 4}}, Swaps: 1, SwapEvery: 10 * workload.Minute}}
	for _, e := range []*Engine{live, folded} {
		tell(t, e, fact.Fact{Kind: fact.JobSubmitted, Submitted: app}, fact.Fact{Kind: fact.DemandChanged, Demand: 2})
	}
	for _, c := range []struct{ now, due workload.Time }{{0, 30 * workload.Minute}, {31 * workload.Minute, 41 * workload.Minute}} { // a swap, which counts for 10 minutes
		d := live.Decide(c.now)
		folded.Decided(c.now)
		for _, a := range d.Actions {
			for _, e := range []*Engine{live, folded} {
				if err := e.Commit(&a); err != nil {
					t.Fatal(err)
				}
			}
		}
		if d.Wake != c.due || live.wake != c.due || folded.wake != c.due {
			t.Errorf("at %d: due at %d ms, %d after the actions, folded %d; want %d", c.now, d.Wake, live.wake, folded.wake, c.due)
		}
		for _, e := range []*Engine{live, folded} {
			if c.now < 30*workload.Minute {
				tell(t, e, fact.Fact{Kind: fact.JobStarted, At: c.now, Attempt: 1})
			}
		}
	}
}

// An action that belongs to no state is an error, no more.
func TestResizeOfNoApplication(t *testing.T) {
	e := planner(t, cluster.Uniform("one", 1, 8), nil)
	tell(t, e, fact.Fact{Kind: fact.JobSubmitted, Submitted: &workload.Job{ID: "a", Need: workload.Need{GPUs: 1}, Estimate: workload.Hour}})
	if err := e.Commit(&fact.Action{Do: fact.Resize}); err == nil {
		t.Error("it is taken")
	}
}
