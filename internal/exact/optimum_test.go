//go:build highs

package exact_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/horizontest"
)

// TestFullFindsTheOptimum: on tiny problems, where no job may be interrupted; with those, it
// finds no more than there is and bounds it.
func TestFullFindsTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.Draw(t, horizontest.Tiny)
		if _, err := horizon.NewSearch(p, 0); err != nil {
			return
		}
		best, ok := horizontest.Optimum(p)
		if !ok {
			t.Fatal("no legal plan, and one was found")
		}
		r := full(t, p, 1)
		near := 1e-5 * math.Max(1, math.Abs(best))
		if r.Score.Objective > best+near || r.Bound < best-near {
			t.Fatalf("found %v, bound %v, the best is %v\n%s", r.Score.Objective, r.Bound, best, horizontest.Text(p))
		}
		for i := range p.Jobs {
			if p.Jobs[i].MinSteps > 0 {
				return
			}
		}
		if r.Score.Objective < best-near {
			t.Fatalf("found %v (%s), the best is %v\n%s", r.Score.Objective, r.Solver, best, horizontest.Text(p))
		}
	})
}
