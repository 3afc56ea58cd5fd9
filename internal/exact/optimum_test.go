//go:build highs

package exact_test

import (
	"context"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/exact"
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

// TestModelsHaveTime: also where the search took more than half of the budget.
func TestModelsHaveTime(t *testing.T) {
	p := &horizon.Problem{GPUs: 7, Steps: 1, Decay: 1, Reading: horizon.Reading{AnySize: true},
		Jobs: []horizon.Job{{ID: "a", GPUs: 5, Steps: 1, Priority: 2}, {ID: "b", GPUs: 4, Steps: 1, Priority: 2}, {ID: "c", GPUs: 3, Steps: 1, Priority: 1}}}
	r, err := exact.Full(context.Background(), p, exact.Options{Budget: 30 * time.Minute, Work: 300, Now: clock()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Solver != "search + HiGHS" || r.BoundBy != "count model" || math.Abs(r.Bound-11) > 1e-5 {
		t.Errorf("%s: %v of at most %v by %s; the best is 11", r.Solver, r.Score.Objective, r.Bound, r.BoundBy)
	}
}
