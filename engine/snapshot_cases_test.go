package engine

import (
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// What random worlds seldom come to.

// restored returns an engine from the bytes of another.
func restored(t *testing.T, spec *cluster.Spec, p *policy.Policy, e *Engine) *Engine {
	t.Helper()
	s, err := ParseState(e.Snapshot().AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Restore(spec, p, Defaults{}, s)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := e.Snapshot(), r.Snapshot(); a.Hash() != b.Hash() {
		t.Fatal(differ(a, b))
	}
	return r
}

// TestRestoreKnowsWhoIsBack: a node that came up before its planned time may be used, and one
// that is restored knows that.
func TestRestoreKnowsWhoIsBack(t *testing.T) {
	h := workload.Hour
	spec := cluster.Uniform("two", 2, 4)
	spec.Outages = []cluster.Outage{{At: h, Node: "n2", Change: "down", Planned: true}, {At: 20 * h, Node: "n2", Change: "up", Planned: true}}
	p, _ := policy.Shipped("horizon")
	e, err := New(spec, p, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(e *Engine, f fact.Fact) {
		t.Helper()
		if err := e.Apply(&f); err != nil {
			t.Fatal(err)
		}
	}
	tell(e, fact.Fact{Kind: fact.NodeDown, At: h, Job: none, Node: 1})
	tell(e, fact.Fact{Kind: fact.NodeUp, At: 2 * h, Job: none, Node: 1})
	r := restored(t, spec, p, e)
	other, _ := policy.Shipped("fifo-skip") // there and back: it is up, whatever was planned
	there, err := Restore(spec, other, Defaults{}, e.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(spec, p, Defaults{}, there.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*Engine{"as it was": e, "restored": r, "there and back": back} {
		for n := range int32(2) {
			tell(e, fact.Fact{Kind: fact.JobSubmitted, At: 3 * h, Job: n, Node: none, Submitted: &workload.Job{ID: string('a' + n), Submit: 3 * h, Estimate: 5 * h, Need: workload.Need{GPUs: 4}}})
		}
		if d := e.Decide(3 * h); len(d.Actions) != 2 {
			t.Errorf("%s: %d of two jobs start", name, len(d.Actions))
		}
	}
}

// TestRestoreBetweenEndAndDraw: a protection that is over draws from its hard budget from its
// end on, also where the state was taken after the end and before anybody asked.
func TestRestoreBetweenEndAndDraw(t *testing.T) {
	m := workload.Minute
	spec := cluster.Uniform("one", 1, 4)
	p, _ := policy.Shipped("contract")
	tree, err := budget.Parse("b.yaml", []byte("children: [{name: x, share: 1, budget: {gpuHours: 10, per: day}}]"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(spec, p, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(f fact.Fact) {
		t.Helper()
		if err := e.Apply(&f); err != nil {
			t.Fatal(err)
		}
	}
	job := func(id string, at workload.Time) *workload.Job {
		return &workload.Job{ID: id, Team: "x", Submit: at, Need: workload.Need{GPUs: 2}, Contract: workload.Contract{HasMinRuntime: true, MinRuntime: 10 * m}}
	}
	tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: tree, Epoch: workload.Unknown})
	tell(fact.Fact{Kind: fact.JobSubmitted, Job: 0, Node: none, Submitted: job("a", 0)})
	if decideAll(t, e, 0) != 0 {
		t.Fatal("the job does not start")
	}
	tell(fact.Fact{Kind: fact.JobSubmitted, At: 25 * m, Job: 1, Node: none, Submitted: job("b", 25*m)})
	r := restored(t, spec, p, e)
	e.Decide(30 * m)
	r.Decide(30 * m)
	is, _ := r.sharing.accounts.Left(1, 30*m)
	was, _ := e.sharing.accounts.Left(1, 30*m)
	// 10 minutes of two GPUs were committed, 20 more drawn; b is not committed yet.
	if want := 10*budget.GPUHour - 2000*30*m; was != want || is != want {
		t.Errorf("%d left, restored %d, want %d", was, is, want)
	}
}
