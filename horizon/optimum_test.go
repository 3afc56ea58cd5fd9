package horizon_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/horizontest"
)

// TestBetweenOptimumAndBound: on tiny problems, no plan is worth more than the best of all,
// and that no more than the bound.
func TestBetweenOptimumAndBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.Draw(t, horizontest.Tiny)
		r, err := horizon.Fast(p, horizon.Options{Work: 300, NoBound: true})
		if err != nil {
			return // TestNoLayout
		}
		best, ok := horizontest.Optimum(p)
		if !ok {
			t.Fatalf("there is no legal plan, and one is found: %+v", r.Plan.Placed)
		}
		const tiny = 1e-6
		if r.Score.Objective > best+tiny {
			t.Fatalf("found %v, the best is %v: %+v", r.Score.Objective, best, r.Plan.Placed)
		}
		if u := horizon.Bound(p, r.Score.Objective, 200); u < best-tiny*math.Max(1, best) {
			t.Fatalf("the bound is %v, the best %v\n%s", u, best, horizontest.Text(p))
		}
	})
}
