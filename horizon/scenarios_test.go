package horizon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
)

// known are objectives of the best plans that were known of the scenarios before.
func known(t *testing.T) map[string]float64 {
	best := map[string]float64{"1-training-heavy": 178.58, "2-mixed-control": 241.4, "3-uniform-priority": 654.8, "4-rt-heavy": 556.8,
		"5-batch-heavy": 1067.0, "6-big-jobs": 1262.2, "7-scale-64": 1264.29}
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "scenarios", "more", "best_known.json"))
	if err != nil {
		t.Skipf("the scenarios are not here (%v): how good plans are is not checked", err)
	}
	var more map[string]struct {
		Objective float64 `json:"best_objective"`
	}
	if err := json.Unmarshal(data, &more); err != nil {
		t.Fatal(err)
	}
	for name, m := range more {
		best[filepath.Join("more", name)] = m.Objective
	}
	return best
}

// TestQuality: how far below the best plans known, in %, plans of fast mode are: on average, and
// in one of ten. With few decodes single seeds differ, so several are taken.
func TestQuality(t *testing.T) {
	best := known(t)
	for _, tc := range []struct {
		work      int
		seeds     uint64
		mean, p90 float64
	}{
		{work: 200, seeds: 8, mean: 0.25, p90: 1.5},
		{work: 20_000, seeds: 1, mean: 0.05, p90: 0.3},
	} {
		if tc.work > 1000 && testing.Short() {
			continue
		}
		var gaps []float64
		sum := 0.0
		for name, objective := range best {
			for seed := range tc.seeds {
				r, err := horizon.Fast(load(t, name), horizon.Options{Work: tc.work, Seed: seed, NoBound: true})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if v := legal.Check(r.Plan); len(v) > 0 {
					t.Errorf("%s: %v", name, v)
				}
				gap := 100 * (objective - r.Score.Objective) / objective
				gaps, sum = append(gaps, gap), sum+gap
			}
		}
		slices.Sort(gaps)
		mean, p90 := sum/float64(len(gaps)), gaps[len(gaps)*9/10]
		if mean > tc.mean || p90 > tc.p90 {
			t.Errorf("%d decodes: %.3f %% below the best known on average, p90 %.3f %%; the goals are %v and %v", tc.work, mean, p90, tc.mean, tc.p90)
		}
		t.Logf("%d decodes, %d plans: mean %.3f %%, p90 %.3f %%, worst %.3f %%", tc.work, len(gaps), mean, p90, gaps[len(gaps)-1])
	}
}

// TestBoundsOfScenarios: no bound is below a plan that is known, and one that is proven is met.
func TestBoundsOfScenarios(t *testing.T) {
	for name, objective := range known(t) {
		p := load(t, name)
		u := horizon.Bound(p, objective, 400)
		if u < objective-0.01 { // they are known to two digits
			t.Errorf("%s: a bound of %v, a plan of %v", name, u, objective)
		}
		if strings.HasPrefix(name, "7") && u > objective+0.1 {
			t.Errorf("%s: a bound of %v; the plan of %v is the best", name, u, objective)
		}
	}
}
