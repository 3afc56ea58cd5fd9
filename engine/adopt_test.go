package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// adopting is an engine on two nodes of four GPUs, and what to tell it.
type adopting struct {
	*testing.T
	e *Engine
}

func newAdopting(t *testing.T, pol string) *adopting {
	t.Helper()
	p, _ := policy.Shipped(pol)
	e, err := New(&cluster.Spec{Name: "two", Levels: []string{"rack"}, Nodes: []cluster.Node{{Name: "a", GPUs: 4, Places: []string{"r"}}, {Name: "b", GPUs: 4, Places: []string{"r"}}}}, p, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Sharing != nil {
		tree := budget.Equal("equal", []string{"x", "y"})
		if err := e.Apply(&fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: tree, Epoch: workload.Unknown}); err != nil {
			t.Fatal(err)
		}
	}
	return &adopting{t, e}
}

func (a *adopting) tell(f fact.Fact) {
	a.Helper()
	if err := a.e.Apply(&f); err != nil {
		a.Fatalf("%s: %v", f.Kind, err)
	}
}

func (a *adopting) submit(n, gpus int32, at workload.Time) {
	a.tell(fact.Fact{Kind: fact.JobSubmitted, At: at, Job: n, Node: none, Submitted: &workload.Job{ID: fmt.Sprint("j", n), Team: "x", User: "u", Submit: at, Need: workload.Need{GPUs: gpus}}})
}

func adoption(n int32, at workload.Time, place ...cluster.Grant) fact.Fact {
	return fact.Fact{Kind: fact.JobAdopted, At: at, Job: n, Node: none, Place: place}
}

// decided returns the actions of an instant, committed.
func (a *adopting) decided(at workload.Time) (out []fact.Action) {
	a.Helper()
	for {
		x := a.e.Decide(at)
		acts := copied(x.Actions)
		for i := range acts {
			if err := a.e.Commit(&acts[i]); err != nil {
				a.Fatal(err)
			}
		}
		if out = append(out, acts...); !x.Again {
			return out
		}
	}
}

// TestAdoption: a job that runs already is started where it runs, under every policy, charged and
// protected; its end frees the place.
func TestAdoption(t *testing.T) {
	for _, pol := range policy.Names() {
		t.Run(pol, func(t *testing.T) {
			a := newAdopting(t, pol)
			a.tell(fact.Fact{Kind: fact.NodeDrained, At: 0, Job: none, Node: 1}) // what runs on a drained node goes on
			a.submit(0, 2, 0)
			a.tell(adoption(0, 0, cluster.WholeGrant(1, 0b0110)))
			got := a.decided(0)
			if len(got) != 1 || got[0].Do != fact.Start || got[0].Reason.Code != fact.Adopted || got[0].Count != 2 || got[0].Place[0].Node != 1 || got[0].Place[0].GPUs != 0b0110 {
				t.Fatalf("decided %+v", got)
			}
			if safe := got[0].Until > 0; safe != (a.e.sharing != nil) {
				t.Errorf("protected until %d", got[0].Until)
			}
			a.tell(fact.Fact{Kind: fact.JobStarted, At: 1, Job: 0, Attempt: 1, Node: none})
			if g := a.e.Gauge(); g.Assigned != 2000 || g.Held != 0 {
				t.Errorf("%+v", g)
			}
			a.tell(fact.Fact{Kind: fact.JobFinished, At: 5, Job: 0, Attempt: 1, Node: none})
			if g := a.e.Gauge(); g.Assigned != 0 {
				t.Errorf("%+v", g)
			}
		})
	}
}

// TestAdoptionOfAnother: a place that is being cleared for another is given back; where another
// has started, an adoption waits until that is no more.
func TestAdoptionOfAnother(t *testing.T) {
	a := newAdopting(t, "priority")
	a.submit(0, 4, 0)
	a.submit(1, 4, 0)
	a.decided(0) // both nodes are taken
	a.submit(2, 4, 1)
	if err := a.e.Apply(ptr(adoption(2, 1, cluster.WholeGrant(0, 1)))); !errors.Is(err, ErrTaken) {
		t.Fatalf("adopted where another starts: %v", err)
	}
	if a.e.jobs[2].state != waiting {
		t.Fatalf("a refused fact changed the state to %d", a.e.jobs[2].state)
	}
	a.tell(fact.Fact{Kind: fact.JobSubmitted, At: 2, Job: 3, Node: none, Submitted: &workload.Job{ID: "high", Team: "x", Submit: 2, Priority: 9, Need: workload.Need{GPUs: 4}}})
	acts := a.decided(2) // room is made for job 3
	if len(acts) != 2 || acts[0].Do != fact.Hold || acts[1].Do != fact.Stop {
		t.Fatalf("decided %+v", acts)
	}
	node := acts[0].Place[0].Node
	a.tell(fact.Fact{Kind: fact.JobStopped, At: 3, Job: acts[1].Job, Attempt: 1, Node: none, Cause: fact.CausePreempted})
	a.tell(adoption(2, 3, cluster.WholeGrant(node, 0b11))) // the cluster was faster
	acts = a.decided(3)
	if a.e.jobs[2].state != starting || a.e.jobs[3].state == starting {
		t.Errorf("after %+v the adopted is in state %d, the other in %d", acts, a.e.jobs[2].state, a.e.jobs[3].state)
	}
	if err := a.e.Apply(ptr(adoption(2, 3, cluster.WholeGrant(node, 0b11)))); !errors.Is(err, ErrUnknown) {
		t.Errorf("told twice: %v", err)
	}
	for _, bad := range []fact.Fact{adoption(7, 4), adoption(3, 4), adoption(3, 4, cluster.WholeGrant(2, 1)), adoption(3, 4, cluster.WholeGrant(0, 1<<4)), adoption(3, 4, cluster.WholeGrant(-1, 1))} {
		if a.e.Apply(&bad) == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
}

func ptr[T any](v T) *T { return &v }
