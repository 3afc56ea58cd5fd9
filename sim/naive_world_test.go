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

// The naive_*_test.go files hold the simulator against second implementations
// that share no code with the engine: each looks at every job at every event, has
// no classes, treaps or lists of predicted ends, and reads only the workload, the
// cluster and docs/semantics.md.

// guess says how far declared estimates are off.
type guess int

const (
	exact   guess = iota
	tooLong       // up to four times the duration
	anyhow        // from a fifth to more than twice the duration
	allGuesses
)

// randomJobs returns n jobs of 1 to most GPUs, submitted in seconds, running for
// up to half a minute in half seconds (some for no time at all).
func randomJobs(r *rand.Rand, n, most int, g guess) *workload.Workload {
	w := &workload.Workload{Name: "random"}
	for i := range n {
		j := workload.Job{ID: fmt.Sprint("j", i), Submit: int64(r.IntN(3*n)) * 1000, Priority: int64(r.IntN(4))}
		j.Need.GPUs = int32(1 + r.IntN(most))
		d := int64(r.IntN(60)) * 500
		f := 1.0
		switch g {
		case tooLong:
			f = float64(1 + r.IntN(4))
		case anyhow:
			f = 0.2 + 2*r.Float64()
		}
		j.Estimate = max(int64(float64(d)*f), 1)
		w.Jobs = append(w.Jobs, j)
		w.Actual = append(w.Actual, workload.Actual{Duration: d, Start: workload.Unknown, End: workload.Unknown})
	}
	w.Sort()
	return w
}

// seeds is how many random workloads to try; fewer under -short.
func seeds(n int) int {
	if testing.Short() {
		return max(n/10, 1)
	}
	return n
}

func shipped(t testing.TB, name string) *policy.Policy {
	t.Helper()
	p, ok := policy.Shipped(name)
	if !ok {
		t.Fatalf("no policy %s", name)
	}
	return p
}

func simulateAssuming(t testing.TB, w *workload.Workload, c *cluster.Spec, p *policy.Policy, a sim.Assumptions) *sim.Result {
	t.Helper()
	res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: c, Policy: p, Assume: a})
	if err != nil {
		t.Fatal(err)
	}
	return res
}
