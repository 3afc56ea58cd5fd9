package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// sharers is a standing cluster under the policy contract: 2,000 nodes of 8 GPUs,
// 1,000 accounts in 20 programs, 50,000 waiting jobs, everything full.
func sharers(b *testing.B, nodes, leaves, standing int) *feeder {
	p, ok := policy.Shipped("contract")
	if !ok {
		b.Fatal("contract is not shipped")
	}
	e, err := engine.New(cluster.Uniform("bench", nodes, 8), p, engine.Defaults{})
	if err != nil {
		b.Fatal(err)
	}
	var y strings.Builder
	y.WriteString("name: bench\nchildren:\n")
	for g := range 20 {
		fmt.Fprintf(&y, "  - name: p%d\n    share: %d\n    children:\n", g, 1+g%5)
		for l := range leaves / 20 {
			fmt.Fprintf(&y, "      - {name: t%d, share: %d}\n", g*leaves/20+l, 1+l%7)
		}
	}
	tree, err := budget.Parse("bench.yaml", []byte(y.String()))
	if err != nil {
		b.Fatal(err)
	}
	w := &feeder{b: b, e: e}
	w.apply(&fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: tree, Epoch: workload.Unknown})
	w.draft = func(j *workload.Job) {
		j.Team = fmt.Sprint("t", w.draw(uint64(leaves)))
		j.Need.GPUs = int32(1) << w.draw(8)
		j.Contract = workload.Contract{HasMinRuntime: true, CheckpointOnStop: true, RestartCost: workload.Minute}
		if w.draw(3) > 0 {
			j.Contract.MinRuntime = workload.Hour << w.draw(4)
		} else {
			j.Need.GPUs = min(j.Need.GPUs, 8)
		}
	}
	for range standing + nodes*2 {
		w.submit()
	}
	w.settle()
	return w
}

// BenchmarkContract: one job ends, one arrives, the clock goes on by a quarter of a
// minute, one decision with all that follows from it at that instant. p99/ns is that
// of single calls of Decide.
func BenchmarkContract(b *testing.B) {
	for _, size := range []struct{ nodes, leaves, standing int }{{128, 20, 5_000}, {2_000, 1_000, 50_000}} {
		b.Run(fmt.Sprintf("nodes=%d/leaves=%d/queue=%d", size.nodes, size.leaves, size.standing), func(b *testing.B) {
			w := sharers(b, size.nodes, size.leaves, size.standing)
			var took []time.Duration
			w.timed = func(d time.Duration) { took = append(took, d) }
			b.ReportAllocs()
			for b.Loop() {
				w.now += 15_000
				w.finishOne()
				w.submit()
				w.settle()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
			b.ReportMetric(float64(took[len(took)-1]), "max-ns")
			b.ReportMetric(float64(w.e.Gauge().WaitingJobs), "waiting")
		})
	}
}

// BenchmarkContractIdle: nothing has happened since the last decision.
func BenchmarkContractIdle(b *testing.B) {
	w := sharers(b, 2_000, 1_000, 50_000)
	b.ReportAllocs()
	for b.Loop() {
		w.e.Decide(w.now)
	}
}
