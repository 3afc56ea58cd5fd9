package place_test

import (
	"fmt"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Under every rule a gang finds a place exactly where counting says that its tasks fit, with no more of them
// on a node than it allows.
func TestTasksPerNode(t *testing.T) {
	rules := []policy.Placement{{By: policy.BestFit}, {By: policy.FirstFit}, {By: policy.Spread}, {By: policy.Consolidate}, {By: policy.Topology, Level: "rack"}, {By: policy.FGD}, {By: policy.Random}, {By: policy.DotProduct}, {By: policy.Packing}, {By: policy.BestFitScore}}
	rapid.Check(t, func(t *rapid.T) {
		spec := &cluster.Spec{Name: "c", Levels: []string{"rack"}}
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			spec.Nodes = append(spec.Nodes, cluster.Node{Name: fmt.Sprint("n", i), GPUs: int32(rapid.SampledFrom([]int{4, 8}).Draw(t, "size")), CPU: 16_000, Places: []string{fmt.Sprint("r", i%2)}})
		}
		if err := spec.Check(); err != nil {
			t.Fatal(err)
		}
		l := cluster.NewLayout(spec)
		rule := rules[rapid.IntRange(0, len(rules)-1).Draw(t, "rule")]
		p, err := place.New(l, rule)
		if err != nil {
			t.Fatal(err)
		}
		f := cluster.NewFree(l, 0)
		for i := range spec.Nodes {
			if m := rapid.Uint64Range(0, f.Full(int32(i))).Draw(t, "busy"); m != 0 {
				f.Take([]cluster.Grant{cluster.WholeGrant(int32(i), m&f.Full(int32(i)))})
			}
		}
		n := workload.Need{Tasks: int32(rapid.IntRange(1, 6).Draw(t, "tasks")), GPUs: int32(rapid.IntRange(1, 4).Draw(t, "gpus")), PerNode: int32(rapid.IntRange(0, 3).Draw(t, "per node"))}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			n.CPU = 3000
		case 1:
			n.Within = "rack"
		}
		fits := map[string]int32{"": 0}
		for i := range spec.Nodes {
			k := int32(bits.OnesCount64(f.Mask(int32(i)))) / n.GPUs
			if n.PerNode > 0 {
				k = min(k, n.PerNode)
			}
			if n.CPU > 0 {
				k = min(k, 5)
			}
			where := ""
			if n.Within != "" {
				where = spec.Nodes[i].Places[0]
			}
			fits[where] += k
		}
		want := false
		for _, k := range fits {
			want = want || k >= n.Tasks
		}
		frees := []*cluster.Free{f}
		s := p.Shape(n, "")
		if got := p.Fits(frees, s); got != want {
			t.Fatalf("%s: %s fits %v, want %v", rule.By, n.String(), got, want)
		}
		before := f.Whole()
		gs, _, ok := p.Place(frees, s, nil)
		if ok != want || f.Whole() != before {
			t.Fatalf("%s: %s finds a place: %v, want %v; %d of %d free after", rule.By, n.String(), ok, want, f.Whole(), before)
		}
		if !ok {
			return
		}
		tasks, on := int32(0), map[int32]int32{}
		for _, g := range gs {
			if g.GPUs&^f.Mask(g.Node) != 0 || int32(bits.OnesCount64(g.GPUs)) != g.Count || g.Count%n.GPUs != 0 {
				t.Fatalf("%s: %+v of %x", rule.By, g, f.Mask(g.Node))
			}
			tasks += g.Count / n.GPUs
			on[g.Node] += g.Count / n.GPUs
		}
		for node, k := range on {
			if n.PerNode > 0 && k > n.PerNode {
				t.Fatalf("%s: %d tasks of %s on node %d", rule.By, k, n.String(), node)
			}
		}
		if tasks != n.Tasks {
			t.Fatalf("%s: %d tasks of %s", rule.By, tasks, n.String())
		}
	})
}
