package horizon_test

import (
	"strconv"
	"testing"

	"github.com/escala-sched/escala/horizon"
)

// TestWholeNodes: jobs of one step on 1 to 4 of 4 nodes, 28 in all, in 7 steps: where a job gets
// as many as it asks for, no node is ever idle; in blocks of a power of two 3 are 4, and
// it takes an eighth step.
func TestWholeNodes(t *testing.T) {
	sizes := []int{1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 3, 2, 2, 2, 3}
	for _, tc := range []struct {
		anySize          bool
		steps, end, done int
	}{
		{anySize: false, steps: 8, end: 8, done: 17},
		{anySize: true, steps: 8, end: 7, done: 17},
		{anySize: true, steps: 7, end: 7, done: 17},
		{anySize: false, steps: 7, end: 7, done: 15}, // two nodes' worth is left out: one job of two, or two of one
	} {
		p := &horizon.Problem{GPUs: 4, Steps: tc.steps, Decay: 0.97, Reading: horizon.Reading{AnySize: tc.anySize}}
		for i, n := range sizes {
			p.Jobs = append(p.Jobs, horizon.Job{ID: strconv.Itoa(i), GPUs: n, Steps: 1, Priority: 1})
		}
		r, err := horizon.Fast(p, horizon.Options{})
		if err != nil {
			t.Fatal(err)
		}
		end := 0
		for _, s := range r.Plan.Placed {
			end = max(end, s.End())
		}
		if end != tc.end || r.Score.Done != tc.done && (tc.done == len(sizes) || r.Score.Done != tc.done+1) {
			t.Errorf("any size %t, %d steps: the last ends in step %d, %d done; want %d, %d", tc.anySize, tc.steps, end, r.Score.Done, tc.end, tc.done)
		}
	}
}
