package horizon_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
)

// TestGrid: a plan as a picture.
func TestGrid(t *testing.T) {
	p := &horizon.Problem{GPUs: 4, Steps: 3, Decay: 1,
		Closed: []horizon.Window{{First: 3, Count: 1, From: 1, To: 9, Absent: true}, {First: 2, Count: 2, From: 2, To: 3, Absent: true}, {First: 0, Count: 4, From: 3, To: 9, Absent: true}},
		Jobs:   []horizon.Job{{ID: "a", GPUs: 2, Steps: 9, Priority: 1, Release: 1}},
		Apps:   []horizon.App{{ID: "x", Min: flat(3, 0), Demand: []int{2, 0, 0}, Max: flat(3, 2), SwapCap: 2, Penalty: 5, Current: []int{2, 3}}}}
	r, err := horizon.Fast(p, horizon.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const shut, idle, app = horizon.Shut, horizon.Idle, -2
	want := [][]int{{idle, 0, 0}, {idle, 0, 0}, {app, idle, shut}, {app, shut, shut}}
	if got := r.Plan.Grid(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := p.GPUSteps(); n != 9 {
		t.Errorf("%d GPU-steps, want 9: windows that overlap or lie after the horizon count once or not at all", n)
	}
	if s := r.Score; s.Utilisation != 6./9 || s.Value != 4 || s.Objective != 4 || s.Started != 1 || s.Done != 0 || s.Swaps != 2 {
		t.Errorf("%+v", s)
	}
	if gap := r.Gap(); gap > 1e-6 {
		t.Errorf("the best plan has a gap of %v", gap)
	}
}

// TestNoCapacity: a row without any GPU is not used to any degree.
func TestNoCapacity(t *testing.T) {
	p := &horizon.Problem{GPUs: 2, Steps: 2, Decay: 1, Closed: []horizon.Window{{Count: 2, To: 2, Absent: true}}, Jobs: []horizon.Job{{ID: "a", GPUs: 1, Steps: 1, Priority: 1}}}
	r, err := horizon.Fast(p, horizon.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Score.Utilisation != 0 || r.Gap() != 0 {
		t.Errorf("%+v, gap %v", r.Score, r.Gap())
	}
}

// TestSuggestions: any order may be suggested; what is found is legal, and no worse.
func TestSuggestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSized(t)
		s, plan := searched(t, p, 1, 50)
		before := plan.Score().Exact()
		if len(p.Jobs) > 0 {
			s.Suggest(rapid.SliceOf(rapid.IntRange(0, len(p.Jobs)-1)).Draw(t, "order"))
		}
		s.Run(100, nil)
		plan = s.Plan()
		if v := legal.Check(plan); len(v) > 0 {
			t.Fatal(v)
		}
		if got := plan.Score().Exact(); got < before || got != s.Best() {
			t.Fatalf("%d before, %d after, which the search takes for %d", before, got, s.Best())
		}
	})
}

// TestBaselineNames: each is the name of its baseline.
func TestBaselineNames(t *testing.T) {
	for b := horizon.FIFOStrict; b <= horizon.FIFOBlock; b++ {
		if got, ok := horizon.ParseBaseline(b.String()); !ok || got != b {
			t.Errorf("%s: %v", b, got)
		}
	}
	if _, ok := horizon.ParseBaseline("fifo"); ok {
		t.Error("fifo alone names none")
	}
}
