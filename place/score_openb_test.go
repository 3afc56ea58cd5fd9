package place_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
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

// seeds is how many draws of the experiment the means below are over. In the
// study they are over 10; but clustering and packing depend on the order of the
// nodes so much (standard deviation 0.6 points) that 10 leave 0.2 to chance.
const seeds = 40

// arrivals are the pods of the list and copies drawn with replacement until
// 130 % of the GPUs are asked for. The order of the nodes, which decides between
// equal ones, is drawn anew for each seed, as in the study.
func arrivals(t testing.TB, spec *cluster.Spec, w *workload.Workload, seed uint64) (*cluster.Spec, *workload.Workload) {
	t.Helper()
	r, err := trace.Resample(w, spec.GPUs()*1000, 1.3, seed)
	if err != nil {
		t.Fatal(err)
	}
	s := *spec
	s.Nodes = slices.Clone(spec.Nodes)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(s.Nodes), func(i, k int) { s.Nodes[i], s.Nodes[k] = s.Nodes[k], s.Nodes[i] })
	return &s, r
}

// arrive places the jobs one after another, each once; nobody leaves. It returns
// the mean allocated part of the GPUs, in %, while the capacity asked for is k %.
// Without targets, placement fgd learns from what has arrived.
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
	gpus := spec.GPUs()
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
		if k := (arrived + 5*gpus) / (10 * gpus); k <= 130 {
			at[k] += float64(used) / float64(10*gpus)
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

// published are the means of the artifact's expected results for the default
// list (hkust-adsl/kubernetes-scheduler-simulator, 10 seeds), in % of the GPUs
// allocated when 90, 100, 110, 120 and 130 % are asked for.
var published = []struct {
	by policy.Placer
	at [5]float64
}{
	{policy.Random, [5]float64{85.02, 86.30, 86.88, 87.28, 87.47}},
	{policy.DotProduct, [5]float64{89.98, 90.62, 90.70, 90.77, 90.85}},
	{policy.Clustering, [5]float64{89.98, 91.65, 91.73, 91.80, 91.88}},
	{policy.Packing, [5]float64{89.98, 91.78, 91.86, 91.92, 92.00}},
	{policy.BestFitScore, [5]float64{89.99, 92.86, 92.94, 93.00, 93.08}},
	{policy.FGD, [5]float64{89.98, 95.23, 95.30, 95.35, 95.39}},
}

// TestFGDStudy holds the six placements of FGD's study against its published
// results: allocated GPUs within half a point wherever they are given.
func TestFGDStudy(t *testing.T) {
	spec, w := openb(t)
	if testing.Short() {
		t.Skip("240 runs take some 20 s")
	}
	targets := place.Targets(w.Jobs)
	var mean [6][5]float64
	for seed := range uint64(seeds) {
		s, r := arrivals(t, spec, w, 42+seed)
		for i, p := range published {
			at := arrive(t, s, r, policy.Placement{By: p.by, Seed: seed}, targets)
			for k := range mean[i] {
				mean[i][k] += at[90+10*k] / seeds
			}
		}
	}
	for i, p := range published {
		t.Logf("%-15s at 90..130 %%: %.2f, published %.2f", p.by, mean[i], p.at)
		for k, got := range mean[i] {
			if math.Abs(got-p.at[k]) > 0.5 {
				t.Errorf("%s: %.2f %% allocated when %d %% are asked for, published %.2f", p.by, got, 90+10*k, p.at[k])
			}
		}
	}
}

// TestFGDLearns: told nothing, placement fgd learns what is typical as it comes,
// and does nearly as well as with the whole list before it.
func TestFGDLearns(t *testing.T) {
	spec, w := openb(t)
	var got float64
	const n = 5
	for seed := range uint64(n) {
		s, r := arrivals(t, spec, w, 42+seed)
		at := arrive(t, s, r, policy.Placement{By: policy.FGD}, nil)
		got += at[100] / n
	}
	t.Logf("%.2f", got)
	if got < 94.5 {
		t.Errorf("%.2f %% allocated when 100 %% are asked for, want at least 94.5", got)
	}
}

// BenchmarkArrive is one run of the study: some 10,800 pods on 1,213 nodes.
func BenchmarkArrive(b *testing.B) {
	spec, w := openb(b)
	s, r := arrivals(b, spec, w, 42)
	targets := place.Targets(w.Jobs)
	for _, p := range published {
		b.Run(p.by.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				arrive(b, s, r, policy.Placement{By: p.by}, targets)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(r.Jobs)), "ns/pod")
		})
	}
}
