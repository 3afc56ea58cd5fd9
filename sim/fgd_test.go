package sim_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/trace"
)

// TestFGDThroughTheLoop plays one draw of the arrival experiment of FGD's study
// (Weng et al., USENIX ATC 2023) through the whole simulator: what has started
// when 100 and 130 % of the GPUs are asked for. The six placements, over many
// draws, are held against the published means in package place.
func TestFGDThroughTheLoop(t *testing.T) {
	spec := openbNodes(t)
	w, err := trace.Read(reference.Path(t, "traces", "openb", "openb_pod_list_default.csv"), trace.Options{KeepUnscheduled: true})
	if err != nil {
		t.Fatal(err)
	}
	capacity := spec.GPUs() * 1000
	if w, err = trace.Resample(w, capacity, 1.3, 42); err != nil {
		t.Fatal(err)
	}
	// The first of equal nodes takes the task; the study draws their order.
	rand.New(rand.NewPCG(42, 1)).Shuffle(len(spec.Nodes), func(i, k int) { spec.Nodes[i], spec.Nodes[k] = spec.Nodes[k], spec.Nodes[i] })
	tests := []struct {
		policy   string
		at100    float64
		at130    float64
		distance float64 // of a single draw from the mean of many
	}{
		{"place-best-fit", 92.86, 93.08, 0.8},
		{"place-fgd", 95.23, 95.39, 0.8},
	}
	for _, tc := range tests {
		t.Run(tc.policy, func(t *testing.T) {
			res := simulate(t, w, spec, tc.policy)
			var asked, started, at100 int64
			for i := range w.Jobs {
				milli := w.Jobs[i].Need.TotalMilli()
				asked += milli
				if res.Jobs[i].FirstStart == w.Jobs[i].Submit { // later, nobody would have left
					started += milli
				}
				if asked <= capacity {
					at100 = started
				}
			}
			percent := func(milli int64) float64 { return float64(milli) * 100 / float64(capacity) }
			t.Logf("%.2f %.2f", percent(at100), percent(started))
			if math.Abs(percent(at100)-tc.at100) > tc.distance || math.Abs(percent(started)-tc.at130) > tc.distance {
				t.Errorf("%.2f %% allocated when 100 %% are asked for, %.2f at 130, published means %.2f and %.2f",
					percent(at100), percent(started), tc.at100, tc.at130)
			}
		})
	}
}

func openbNodes(t testing.TB) *cluster.Spec {
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
	return spec
}
