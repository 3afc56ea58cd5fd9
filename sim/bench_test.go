package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// BenchmarkSimulate runs generated workloads of growing length on 128 nodes x 8
// GPUs; the offered load stays the same, so time should grow little faster than n.
func BenchmarkSimulate(b *testing.B) {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, name := range []string{"fifo-consolidate", "easy", "sjf", "srtf"} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/jobs=%d", name, n), func(b *testing.B) {
				benchmarkSimulate(b, name, generated(b, n), cluster.Uniform("bench", 128, 8))
			})
		}
	}
}

func generated(b *testing.B, n int) *workload.Workload {
	w, err := trace.Generate(trace.GenOptions{Jobs: n, Nodes: 128, GPUsPerNode: 8, Load: 0.9, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

func benchmarkSimulate(b *testing.B, name string, w *workload.Workload, c *cluster.Spec) {
	p, ok := policy.Shipped(name)
	if !ok {
		b.Fatal(name)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: c, Policy: p}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(w.Jobs))*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(w.Jobs)), "ns/job")
}
