package engine_test

import (
	"fmt"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// BenchmarkSnapshot: a full cluster of 128 nodes under the policy contract, and so many
// waiting jobs; days of a busy week inside the window of the ledger.
func BenchmarkSnapshot(b *testing.B) {
	p, _ := policy.Shipped("contract")
	for _, size := range []struct {
		waiting, ends int
	}{{1_000, 0}, {1_000, 50_000}, {200_000, 0}} {
		w := sharers(b, 128, 20, size.waiting)
		for range size.ends { // each time one ends and one comes
			w.now += 12 * workload.Second
			w.finishOne()
			w.submit()
			w.settle()
		}
		w.e.Forget(w.now) // who depends on these is not asked here
		name := func(what string) string {
			return fmt.Sprintf("%s/waiting=%d/ended=%d", what, size.waiting, size.ends)
		}
		s := w.e.Snapshot()
		data := s.AppendTo(nil)
		b.Run(name("take"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.e.Snapshot()
			}
			b.ReportMetric(float64(w.e.Gauge().WaitingJobs), "waiting")
			b.ReportMetric(float64(w.e.Gauge().RunningJobs), "running")
		})
		b.Run(name("append"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.AppendTo(nil)
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
		b.Run(name("parse"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := engine.ParseState(data); err != nil {
					b.Fatal(err)
				}
			}
		})
		spec := cluster.Uniform("bench", 128, 8)
		b.Run(name("restore"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := engine.Restore(spec, p, engine.Defaults{}, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
