//go:build highs

package exact

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/internal/highs"
	"github.com/escala-sched/escala/internal/horizontest"
)

// TestModelsAreTheProblem: on tiny problems the optimum of the count model is no less than that
// of the problem, and that of the position model the same, with a plan that shows it. The
// best plan is a solution of both.
func TestModelsAreTheProblem(t *testing.T) {
	s, err := highs.New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.Draw(t, horizontest.Tiny)
		found, err := horizon.Fast(p, horizon.Options{Work: 100, NoBound: true})
		if err != nil {
			return
		}
		best, _ := horizontest.Optimum(p)
		near := 1e-5 * math.Max(1, math.Abs(best))
		relaxed := horizon.Relax(p)
		count := newCountModel(p, relaxed)
		x := solve(t, s, &count.m, count.start(found.Plan))
		if x.Bound < best-near {
			t.Fatalf("the count model is worth %v, the best plan %v\n%s", x.Bound, best, horizontest.Text(p))
		}
		position := newPositionModel(p, relaxed)
		if position == nil {
			return
		}
		start := position.start(found.Plan)
		if worth := worth(t, &position.m, start, s); math.Abs(worth-found.Score.Objective) > near {
			t.Fatalf("a plan worth %v is one of %v to the model\n%s", found.Score.Objective, worth, horizontest.Text(p))
		}
		x = solve(t, s, &position.m, nil)
		if math.Abs(x.Objective-best) > near {
			t.Fatalf("the position model is worth %v, the best plan %v\n%s", x.Objective, best, horizontest.Text(p))
		}
		plan := position.plan(x.X)
		if v := legal.Check(plan); len(v) > 0 {
			t.Fatalf("%v\n%s", v, horizontest.Text(p))
		}
		if got := plan.Score().Objective; math.Abs(got-best) > near {
			t.Fatalf("the plan of a solution worth %v is worth %v\n%s", best, got, horizontest.Text(p))
		}
	})
}

func solve(t *rapid.T, s *highs.Solver, m *highs.Model, start []float64) highs.Result {
	x, err := s.Solve(context.Background(), m, highs.Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	if x.Status != highs.Optimal {
		t.Fatalf("the model is %v", x.Status)
	}
	return x
}

// worth is what a solution is worth to a model, which is infeasible if that is none.
func worth(t *rapid.T, m *highs.Model, x []float64, s *highs.Solver) float64 {
	fixed := *m
	row := make([]int32, 0, len(x))
	for i := range x {
		row = append(row, int32(i))
	}
	for i := range row {
		fixed.AddRow(x[i], x[i], row[i:i+1], []float64{1})
	}
	return solve(t, s, &fixed, nil).Objective
}

// TestKindsLieAlike: jobs that differ in nothing but where they may lie are no kind.
func TestKindsLieAlike(t *testing.T) {
	p := &horizon.Problem{GPUs: 4, Steps: 2, Decay: 1, Types: []int{0, 0, 1, 1}, Jobs: []horizon.Job{
		{ID: "a", GPUs: 2, Steps: 2, Priority: 1, Types: 1}, {ID: "b", GPUs: 2, Steps: 2, Priority: 1, Types: 2},
		{ID: "c", GPUs: 2, Steps: 2, Priority: 1}, {ID: "d", GPUs: 2, Steps: 2, Priority: 1}, {ID: "e", GPUs: 2, Steps: 2, Priority: 1, Align: 1}}}
	m := newPositionModel(p, horizon.Relax(p))
	var kinds [][]int
	for i := range m.kinds {
		kinds = append(kinds, m.kinds[i].jobs)
	}
	if d := cmp.Diff([][]int{{0}, {1}, {2, 3}, {4}}, kinds); d != "" {
		t.Errorf("kinds of jobs (-want +got):\n%s", d)
	}
}
