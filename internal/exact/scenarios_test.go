//go:build highs

package exact

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
	"github.com/escala-sched/escala/internal/highs"
)

// TestCountModelProves: of two of the scenarios that plans of fast mode are the best there are.
func TestCountModelProves(t *testing.T) {
	s, err := highs.New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]float64{"1-training-heavy": 178.58, "7-scale-64": 1264.29} {
		f, err := os.Open(filepath.Join("..", "..", "..", "shared", "scenarios", name+".json"))
		if err != nil {
			t.Skipf("the scenarios are not here (%v): what models prove of them is not checked", err)
		}
		p, err := scenario.Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		r, err := horizon.Fast(p, horizon.Options{Work: 200, NoBound: true})
		if err != nil {
			t.Fatal(err)
		}
		count := newCountModel(p, horizon.Relax(p))
		x, err := s.Solve(context.Background(), &count.m, highs.Options{Start: count.start(r.Plan)})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Score.Objective; x.Bound > got*(1+proven) || math.Abs(got-want) > 0.005 {
			t.Errorf("%s: a plan of %v, a bound of %v; both are %v", name, got, x.Bound, want)
		}
	}
}
