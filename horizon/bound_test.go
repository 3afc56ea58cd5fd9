package horizon_test

import (
	"math"
	"testing"

	"github.com/escala-sched/escala/horizon"
)

// flat is a curve of n steps.
func flat(n, value int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = value
	}
	return list
}

// TestBoundOfWhatMustBe: problems with one plan that is best by hand; the bound is not below it,
// and no higher where nothing is left to choose.
func TestBoundOfWhatMustBe(t *testing.T) {
	for name, tc := range map[string]struct {
		p    horizon.Problem
		best float64
	}{
		"protected steps of a running job have their place": {
			p: horizon.Problem{GPUs: 2, Steps: 5, Jobs: []horizon.Job{
				{ID: "a", GPUs: 2, Steps: 5, Priority: 1, MinSteps: 3, Running: &horizon.Running{}}}},
			best: 10,
		},
		"a running job goes on where no other block could be": {
			p: horizon.Problem{GPUs: 4, Steps: 4, Closed: []horizon.Window{{First: 0, Count: 1, To: 4}, {First: 3, Count: 1, To: 4}}, Jobs: []horizon.Job{
				{ID: "a", GPUs: 2, Steps: 4, Priority: 1, MinSteps: 1, Running: &horizon.Running{Offset: 1, Elapsed: 1, Foreign: true}}}},
			best: 8,
		},
		"what may be interrupted may work to the last step of a horizon in which jobs must end": {
			p: horizon.Problem{GPUs: 1, Steps: 10, Reading: horizon.Reading{Complete: true}, Jobs: []horizon.Job{
				{ID: "a", GPUs: 1, Steps: 6, Priority: 1, MinSteps: 2, Release: 4}}},
			best: 6,
		},
		"one that cannot end in time is worth what late ones are": {
			p: horizon.Problem{GPUs: 1, Steps: 6, Jobs: []horizon.Job{
				{ID: "a", GPUs: 1, Steps: 4, Priority: 1, MinSteps: 1, Deadline: 3, Late: 500}}},
			best: 2,
		},
		"of blocks of three as many fit as there are threes": {
			p: horizon.Problem{GPUs: 5, Steps: 1, Reading: horizon.Reading{AnySize: true}, Jobs: []horizon.Job{
				{ID: "a", GPUs: 3, Steps: 1, Priority: 1}, {ID: "b", GPUs: 3, Steps: 1, Priority: 1}}},
			best: 3,
		},
		"demand beyond the GPUs there are is not met": {
			p: horizon.Problem{GPUs: 2, Steps: 3, Closed: []horizon.Window{{First: 1, Count: 1, From: 1, To: 2}}, Apps: []horizon.App{
				{ID: "a", Min: flat(3, 0), Demand: flat(3, 2), Max: flat(3, 2), SwapCap: 2, Penalty: 10, Current: []int{0, 1}}}},
			best: -10,
		},
		"swaps that are more than all GPUs are all": {
			p: horizon.Problem{GPUs: 2, Steps: 2, Jobs: []horizon.Job{{ID: "j", GPUs: 1, Steps: 2, Priority: 1}}, Apps: []horizon.App{
				{ID: "a", Min: flat(2, 0), Demand: flat(2, 1), Max: flat(2, 2), SwapCap: math.MaxInt, Used: math.MaxInt - 2, Penalty: 10, Current: []int{0, 1}}}},
			best: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.p.Decay = 1
			r, err := horizon.Fast(&tc.p, horizon.Options{Work: 100, NoBound: true})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(r.Score.Objective-tc.best) > 1e-6 {
				t.Errorf("objective %v, want %v: %+v", r.Score.Objective, tc.best, r.Plan.Placed)
			}
			u := horizon.Bound(&tc.p, r.Score.Objective, 200)
			if u < tc.best-1e-6 || u > tc.best+1e-6 {
				t.Errorf("bound %v, want %v", u, tc.best)
			}
		})
	}
}
