package metrics_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestAgreesWithTheSimulator compares what the collector adds up from facts,
// actions and gauges with what the simulator counts job by job.
func TestAgreesWithTheSimulator(t *testing.T) {
	for _, name := range []string{"fifo", "easy", "sjf", "las", "priority"} {
		w, spec := crowd(600, name != "las" && name != "priority")
		for _, until := range []workload.Time{0, 20 * workload.Hour} {
			t.Run(fmt.Sprintf("%s until %d", name, until), func(t *testing.T) {
				p, ok := policy.Shipped(name)
				if !ok {
					t.Fatalf("no policy %s", name)
				}
				c := metrics.NewCollector(metrics.Config{Cluster: spec, Workload: w, Bins: 64, Runs: 1 << 20})
				r, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: p, Until: until,
					Assume: sim.Assumptions{Checkpoint: workload.Hour, RestartCost: 2 * workload.Minute, Grace: workload.Minute},
					Faults: sim.Faults{MTBF: 30 * workload.Hour, MTTR: workload.Hour, Seed: 5}, Observers: []sim.Observer{c}})
				if err != nil {
					t.Fatal(err)
				}
				m := metrics.Compute(c, w, r)
				compare(t, c, w, r, &m)
			})
		}
	}
}

func compare(t *testing.T, c *metrics.Collector, w *workload.Workload, r *sim.Result, m *metrics.Metrics) {
	t.Helper()
	const hour = 1000 * 3_600_000
	var assigned, byRun, byType, byCause float64
	for i := range r.Jobs {
		assigned += float64(r.Jobs[i].Assigned) / hour
	}
	for _, p := range c.Runs(r.End).Parts {
		byRun += float64(p.Milli) * float64(p.End-p.Start) / hour
	}
	for _, u := range m.Types {
		byType += u.GPUHours
	}
	for _, h := range m.LostByCause {
		byCause += h
	}
	same := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9*max(1, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	same("gauge against jobs", m.GPUHours, assigned)
	same("run parts against jobs", byRun, assigned)
	same("types against jobs", byType, assigned)
	same("lost by cause against jobs", byCause, m.LostGPUHours)
	if m.Occupancy <= 0 || m.Occupancy > 1 || m.GoodputOccupancy > m.Occupancy || m.Availability > 1 || m.Jain > 1 {
		t.Errorf("out of range: %+v", m)
	}
	if !r.Cut && (m.Jobs != len(w.Jobs) || m.Unstarted != 0 || m.Wait.LowerBounds != 0) {
		t.Errorf("%d jobs, %d unstarted, %d lower bounds in a whole run", m.Jobs, m.Unstarted, m.Wait.LowerBounds)
	}
	if r.Cut && m.Unstarted+m.Unfinished == 0 {
		t.Error("cut, but every job ended")
	}
}

// crowd is more work than the cluster can take at once, some of it for parts of
// a GPU if asked.
func crowd(n int, parts bool) (*workload.Workload, *cluster.Spec) {
	spec := cluster.Uniform("6x8", 6, 8)
	for i := range spec.Nodes {
		spec.Nodes[i].GPUType = []string{"A100", "H100"}[i%2]
	}
	rng := rand.New(rand.NewPCG(1, 9))
	w := &workload.Workload{Name: "crowd", Epoch: workload.Unknown}
	var at workload.Time
	for i := range n {
		at += int64(rng.ExpFloat64() * 200 * 1000)
		need := workload.Need{GPUs: []int32{1, 1, 2, 4, 8, 16}[rng.IntN(6)]}
		if parts && rng.IntN(5) == 0 {
			need = workload.Need{GPUs: 1, Milli: 250}
		}
		w.Jobs = append(w.Jobs, workload.Job{ID: fmt.Sprint(i), Team: fmt.Sprint("t", i%4), Submit: at, Need: need, Priority: int64(rng.IntN(3))})
		w.Actual = append(w.Actual, workload.Actual{Duration: int64(math.Exp(rng.NormFloat64()+8.2)) * 1000, Start: workload.Unknown, End: workload.Unknown})
	}
	return w, spec
}
