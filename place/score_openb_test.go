package place_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// openb is the cluster and the pod list of FGD's study.
func openb(t testing.TB) (*cluster.Spec, *workload.Workload) {
	t.Helper()
	file := reference.Path(t, "traces", "openb", "openb_node_list_gpu_node.csv")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := trace.ReadOpenbNodes(file, data)
	if err != nil {
		t.Fatal(err)
	}
	w, err := trace.Read(reference.Path(t, "traces", "openb", "openb_pod_list_default.csv"), trace.Options{KeepUnscheduled: true})
	if err != nil {
		t.Fatal(err)
	}
	return spec, w
}

// arrive places the jobs one after another, each once; nobody leaves. It returns
// the mean allocated part of the GPUs, in %, while the capacity asked for is k %.
func arrive(t testing.TB, spec *cluster.Spec, w *workload.Workload, rule policy.Placement, targets []place.Target) (at [131]float64) {
	t.Helper()
	l := cluster.NewLayout(spec)
	p, err := place.New(l, rule)
	if err != nil {
		t.Fatal(err)
	}
	p.SetTargets(targets)
	frees := make([]*cluster.Free, len(l.Pools))
	for i := range frees {
		frees[i] = cluster.NewFree(l, int32(i))
	}
	shapes := map[workload.Need]*place.Shape{}
	var arrived, used int64
	var n [131]int
	var buf []cluster.Grant
	for i := range w.Jobs {
		need := w.Jobs[i].Need
		s := shapes[need]
		if s == nil {
			s = p.Shape(need, "")
			shapes[need] = s
		}
		p.Asked(s)
		arrived += s.Milli
		grants, pool, ok := p.Place(frees, s, buf[:0])
		if ok {
			frees[pool].Take(grants)
			used += s.Milli
		}
		buf = grants
		if k := (arrived*1000/spec.GPUs()/10 + 500) / 1000; k <= 130 {
			at[k] += float64(used) / float64(spec.GPUs()) / 10
			n[k]++
		}
	}
	for k := range at {
		if n[k] > 0 {
			at[k] /= float64(n[k])
		}
	}
	return at
}

func TestX(t *testing.T) {
	spec, w := openb(t)
	if os.Getenv("NOMEM") != "" {
		for i := range w.Jobs {
			w.Jobs[i].Need.Memory = 0
		}
	}
	fmt.Println(len(w.Jobs))
	ts := place.Targets(w.Jobs)
	for _, g := range []int64{1, 1048576 / 100} {
		place.Grain = g
		place.FGDQuant = int(min(1, g-1))
		place.PackGrain = 1
		if g > 1 {
			place.PackGrain, place.ClusterGrain = 100, 4
		}
		for by := policy.Random; by <= policy.FGD; by++ {
			var sum [131]float64
			for seed := range uint64(10) {
				r, err := trace.Resample(w, spec.GPUs()*1000, 1.3, 42+seed)
				if err != nil {
					t.Fatal(err)
				}
				if os.Getenv("TAIL") != "" {
					slices.SortStableFunc(r.Jobs, func(a, b workload.Job) int {
						x, y := strings.Contains(a.ID, "#"), strings.Contains(b.ID, "#")
						if x == y {
							return 0
						}
						if x {
							return 1
						}
						return -1
					})
				}
				sp := *spec
				sp.Nodes = slices.Clone(spec.Nodes)
				rand.New(rand.NewPCG(seed, 1)).Shuffle(len(sp.Nodes), func(i, j int) { sp.Nodes[i], sp.Nodes[j] = sp.Nodes[j], sp.Nodes[i] })
				at := arrive(t, &sp, r, policy.Placement{By: by, Seed: seed}, ts)
				for k := range at {
					sum[k] += at[k] / 10
				}
			}
			fmt.Printf("g=%d %-15s %.2f %.2f %.2f %.2f %.2f\n", g, by, sum[90], sum[100], sum[110], sum[120], sum[130])
		}
	}
}
