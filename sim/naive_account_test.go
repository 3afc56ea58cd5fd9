package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestTimeAddsUp: under every shipped policy, with node failures, limits, grace,
// restarts and starts that take time, the life of a job from submission to end is
// its queue time, its useful run time, and what was lost and spent on restarts,
// with nothing left over: the last two are totals over its GPUs. The sum needs
// nothing of the engine but what it reports of each job.
func TestTimeAddsUp(t *testing.T) {
	spec := &cluster.Spec{Name: "nodes", Levels: []string{"rack"}}
	for i := range 4 {
		spec.Nodes = append(spec.Nodes, cluster.Node{Name: fmt.Sprint("n", i), GPUs: 8, Places: []string{fmt.Sprint("r", i/2)}})
	}
	names := policy.Names()
	for seed := range seeds(1000) {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		name := names[seed%len(names)]
		w := randomJobs(r, 40, 16, guess(r.IntN(int(allGuesses))))
		for i := range w.Jobs {
			if r.IntN(4) == 0 {
				w.Jobs[i].Limit = workload.Span(1+r.IntN(30)) * 1000
			}
		}
		o := sim.Options{Workload: w, Cluster: spec, Policy: shipped(t, name), Assume: sim.Assumptions{
			Checkpoint:   []workload.Span{-1, 0, 2000}[r.IntN(3)],
			RestartCost:  workload.Span(r.IntN(3)) * 1500,
			Grace:        workload.Span(r.IntN(3)) * 1700,
			StartLatency: workload.Span(r.IntN(3)) * 700,
		}}
		if r.IntN(2) == 0 {
			o.Faults = sim.Faults{MTBF: 100_000, MTTR: 20_000, Seed: uint64(seed)}
		}
		res, err := sim.Run(context.Background(), o)
		if err != nil {
			t.Fatalf("%s, seed %d: %v", name, seed, err)
		}
		for i := range res.Jobs {
			x := &res.Jobs[i]
			if x.State == sim.Refused {
				continue
			}
			life := x.Finish - w.Jobs[i].Submit
			sum := x.Queued + x.Ran + (x.Lost+x.Restart)/w.Jobs[i].Need.TotalMilli()
			if x.State != sim.Ended || life != sum {
				t.Fatalf("%s, seed %d, job %d, %+v, %+v: life %d, sum %d of %+v", name, seed, i, o.Assume, o.Faults, life, sum, *x)
			}
		}
	}
}
