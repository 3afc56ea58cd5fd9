package horizon_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
)

func load(t testing.TB, name string) *horizon.Problem {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "scenarios")
	f, err := os.Open(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Skipf("the scenarios are not here (%s): the published figures are not checked", dir)
	}
	defer f.Close()
	p, err := scenario.Read(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// The reconstructed scenarios, with utilisation in % and value under each FIFO, as known.
func TestFIFOFigures(t *testing.T) {
	for _, c := range []struct {
		name string
		util [3]float64
		val  [3]float64
	}{
		{"1-training-heavy", [3]float64{53.1, 53.1, 53.1}, [3]float64{60, 61, 61}},
		{"2-mixed-control", [3]float64{52.1, 52.1, 52.1}, [3]float64{56, 58, 58}},
		{"3-uniform-priority", [3]float64{77.1, 72.9, 85.4}, [3]float64{485, 474, 572}},
		{"4-rt-heavy", [3]float64{64.8, 66.9, 72.7}, [3]float64{178, 242, 248}},
		{"5-batch-heavy", [3]float64{85.2, 89.6, 94.8}, [3]float64{730, 802, 814}},
		{"6-big-jobs", [3]float64{75.8, 73.7, 83.1}, [3]float64{855, 838, 966}},
		{"7-scale-64", [3]float64{45.0, 46.3, 46.3}, [3]float64{944, 1264, 1264}},
	} {
		p := load(t, c.name)
		for b := horizon.FIFOStrict; b <= horizon.FIFOGrid; b++ {
			plan, err := horizon.FIFO(p, b)
			if err != nil {
				t.Fatal(err)
			}
			s := plan.Score()
			if math.Abs(100*s.Utilisation-c.util[b]) > 0.05001 || math.Abs(s.Value-c.val[b]) > 0.5 {
				t.Errorf("%s %v: utilisation %.2f %%, value %.2f; want %.1f, %.0f", c.name, b, 100*s.Utilisation, s.Value, c.util[b], c.val[b])
			}
		}
	}
}
