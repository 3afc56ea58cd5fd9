package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// GPUs of a node stand together on a power of two of slots, nodes of a rack together and
// aligned, pools one after another.
func TestRowFollowsTopology(t *testing.T) {
	spec := &cluster.Spec{Name: "hall", Levels: []string{"rack"}, Nodes: []cluster.Node{
		{Name: "a1", GPUs: 2, GPUType: "A", Places: []string{"r1"}},
		{Name: "b1", GPUs: 3, GPUType: "B", Places: []string{"r1"}},
		{Name: "a2", GPUs: 2, GPUType: "A", Places: []string{"r2"}},
		{Name: "a3", GPUs: 2, GPUType: "A", Places: []string{"r1"}},
		{Name: "a4", GPUs: 2, GPUType: "A", Places: []string{"r1"}},
	}}
	if err := spec.Check(); err != nil {
		t.Fatal(err)
	}
	r := newRow(cluster.NewLayout(spec))
	// Rack r1 of pool A takes three nodes of two slots and is aligned to eight; r2 follows. The
	// node of B has four slots, one of them no GPU.
	want := []string{"a1", "a1", "a3", "a3", "a4", "a4", "a2", "a2", "b1", "b1", "b1", ""}
	var got []string
	for s := range r.slots {
		name := ""
		if n := r.node[s]; n >= 0 {
			name = spec.Nodes[n].Name
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the row (-want, +got):\n%s", diff)
	}
	if got := r.slotsOf([]cluster.Grant{cluster.WholeGrant(3, 0b10), cluster.WholeGrant(0, 0b11)}); !cmp.Equal(got, []int{3, 0, 1}) {
		t.Errorf("slots %v; want 3, 0, 1", got)
	}
	nodes, gpus := r.split(cluster.NewLayout(spec), 1, 4)
	if !cmp.Equal(nodes, []int32{0, 2, 3}) || !cmp.Equal(gpus, []uint64{0b10, 0b11, 0b01}) {
		t.Errorf("slots 1 to 4 are GPUs %b of nodes %v of the pool", gpus, nodes)
	}
	if len(r.gaps) != 1 || r.gaps[0].First != 11 || r.gaps[0].Count != 1 {
		t.Errorf("gaps %v; want one at 11", r.gaps)
	}
}

// A rack that would begin in the middle of a block is moved to its own.
func TestRowAlignsRacks(t *testing.T) {
	spec := &cluster.Spec{Name: "hall", Levels: []string{"rack"}}
	for _, n := range []struct{ name, rack string }{{"a", "r1"}, {"b", "r2"}, {"c", "r2"}} {
		spec.Nodes = append(spec.Nodes, cluster.Node{Name: n.name, GPUs: 4, Places: []string{n.rack}})
	}
	r := newRow(cluster.NewLayout(spec))
	if r.slots != 16 || r.first[0] != 0 || r.first[1] != 8 || r.first[2] != 12 {
		t.Errorf("%d slots, nodes from %v; want 16, from 0, 8 and 12", r.slots, r.first)
	}
}

// A gang that another policy scattered is pinned, and named.
func TestOutlookNamesWhatIsExempt(t *testing.T) {
	p, _ := policy.Shipped("horizon")
	e, err := New(cluster.Uniform("two", 2, 4), p, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	specs := []workload.Job{{ID: "scattered", Need: workload.Need{GPUs: 2}, Estimate: workload.Hour}, {ID: "askew", Need: workload.Need{GPUs: 2}, Estimate: workload.Hour},
		{ID: "fine", Need: workload.Need{GPUs: 4}, Estimate: workload.Hour}}
	for i := range specs {
		if err := e.Apply(&fact.Fact{Kind: fact.JobSubmitted, Job: int32(i), Submitted: &specs[i]}); err != nil {
			t.Fatal(err)
		}
	}
	for i, g := range []cluster.Grant{cluster.WholeGrant(0, 0b1001), cluster.WholeGrant(0, 0b0110), cluster.WholeGrant(1, 0b1111)} {
		a := fact.Action{Do: fact.Start, Job: int32(i), Attempt: 1, For: none, Place: []cluster.Grant{g}}
		if err := e.Commit(&a); err != nil {
			t.Fatal(err)
		}
	}
	o := e.Outlook(0, true)
	if diff := cmp.Diff([]string{"scattered", "askew"}, o.Exempt); diff != "" {
		t.Errorf("exempt (-want, +got):\n%s", diff)
	}
	if err := o.Problem.Check(); err != nil {
		t.Errorf("the state as it is makes no problem: %v", err)
	}
	r, err := horizon.Fast(o.Problem, horizon.Options{Work: 50})
	if err != nil {
		t.Fatal(err)
	}
	if v := legal.Check(r.Plan); len(v) > 0 {
		t.Errorf("the plan of an irregular state: %v", v)
	}
}

func TestTooManyPoolsForAPlan(t *testing.T) {
	p, _ := policy.Shipped("horizon")
	spec := &cluster.Spec{Name: "zoo"}
	for i := range maxPools + 1 {
		spec.Nodes = append(spec.Nodes, cluster.Node{Name: fmt.Sprint("n", i), GPUs: 1, GPUType: fmt.Sprint("t", i)})
	}
	_, err := New(spec, p, Defaults{})
	if want := "policy horizon: a plan of the horizon tells up to 64 pools (GPU types and partitions) apart, and the cluster has 65"; err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}
