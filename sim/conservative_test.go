package sim_test

import (
	"testing"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// TestConservativeEqualsNaive: on a count of GPUs with exact estimates, each job
// gets, when it arrives, the earliest slot that leaves all earlier ones alone. A
// list of rectangles and a search second by second come to the same starts.
func TestConservativeEqualsNaive(t *testing.T) {
	p, _ := policy.Shipped("conservative")
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, false)
		if x.spec.Count == 0 {
			x.spec.Count, x.spec.Nodes, x.spec.Levels = 8, nil, nil
		}
		for i := range x.work.Jobs { // a duration of 0 ends early by its estimate of 1 ms
			x.work.Actual[i].Duration = max(x.work.Actual[i].Duration, 1000)
			x.work.Jobs[i].Estimate = x.work.Actual[i].Duration
		}
		res, _ := x.run(rt, p)
		type slot struct {
			from, to workload.Time
			gpus     int32
		}
		var taken []slot
		for i := range x.work.Jobs {
			j := &x.work.Jobs[i]
			if j.Need.GPUs > x.spec.Count {
				continue // never fits
			}
			free := func(at workload.Time) int32 {
				n := x.spec.Count
				for _, s := range taken {
					if s.from <= at && at < s.to {
						n -= s.gpus
					}
				}
				return n
			}
			start := j.Submit
		search:
			for ; ; start += 1000 {
				for at := start; at < start+j.Estimate; at += 1000 {
					if free(at) < j.Need.GPUs {
						continue search
					}
				}
				break
			}
			taken = append(taken, slot{start, start + j.Estimate, j.Need.GPUs})
			if got := res.Jobs[i].FirstStart; got != start {
				rt.Fatalf("job %d starts at %d, want %d", i, got, start)
			}
		}
	})
}
