package engine_test

import (
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Budgets whose pools do not fit the cluster, or change under work, are refused and
// change nothing.
func TestPoolsHaveToFit(t *testing.T) {
	spec := &cluster.Spec{Name: "two", Nodes: []cluster.Node{{Name: "a", GPUs: 1, GPUType: "A"}, {Name: "b", GPUs: 1, GPUType: "B"}, {Name: "c", CPU: 4000}}}
	p, _ := policy.Shipped("contract")
	e, err := engine.New(spec, p, engine.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(pools string) error {
		tree, err := budget.Parse("b.yaml", []byte(pools+"children: [{name: x, share: 1}, {name: y, share: 1}]"))
		if err != nil {
			t.Fatal(err)
		}
		return e.Apply(&fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: tree, Epoch: workload.Unknown})
	}
	refused := func(pools, want string) {
		t.Helper()
		if err := tell(pools); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pools, err, want)
		}
	}
	refused("pools: [A]\n", `GPUs of type "B"`)
	if err := tell("pools: [B, A, C]\n"); err != nil {
		t.Fatal(err)
	}
	if err := tell("pools: [A, B]\n"); err != nil {
		t.Fatal("without work pools may change:", err)
	}
	j := &workload.Job{ID: "0", Team: "x", Need: workload.Need{GPUs: 1}}
	if err := e.Apply(&fact.Fact{Kind: fact.JobSubmitted, Node: -1, Submitted: j}); err != nil {
		t.Fatal(err)
	}
	refused("", "cannot change while there is work: they were [A, B]")
	refused("pools: [B, A]\n", "cannot change")
	x, ok := e.Explain(0)
	if !ok || x.Account.Pool != "A" || len(x.Elsewhere) != 1 || x.Elsewhere[0].Pool != "B" {
		t.Errorf("the job waits in %+v", x)
	}
	if err := tell("pools: [A, B]\n"); err != nil {
		t.Error("the same pools:", err)
	}
}
