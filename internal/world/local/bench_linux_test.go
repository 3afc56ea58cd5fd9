package local

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// reports counts and keeps reports.
type reports struct {
	mu   sync.Mutex
	all  map[world.Run][]world.Report
	more chan world.Report
}

func newReports() *reports {
	return &reports{all: map[world.Run][]world.Report{}, more: make(chan world.Report, 1<<16)}
}

func (r *reports) report(rs ...world.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range rs {
		r.all[x.Run] = append(r.all[x.Run], x)
		r.more <- x
	}
}

// await returns the next report of a kind.
func (r *reports) await(t testing.TB, k fact.Kind) world.Report {
	t.Helper()
	for {
		select {
		case x := <-r.more:
			if x.Kind == k {
				return x
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no report %v", k)
		}
	}
}

// benchRig supervises with the program that SUPERVISOR names, to measure with the real one.
func benchRig(b *testing.B) (*rig, *World, *reports) {
	g := newRig(b)
	g.opts.Executable = os.Getenv("SUPERVISOR")
	w, r := g.world()
	return g, w, r
}

// BenchmarkStart is from the order to JobStarted, one at a time.
func BenchmarkStart(b *testing.B) {
	g, w, r := benchRig(b)
	var total time.Duration
	for b.Loop() {
		o := g.add(Payload{Argv: []string{"/bin/true"}})
		at := time.Now()
		w.Do(o)
		r.await(b, fact.JobStarted)
		total += time.Since(at)
		r.await(b, fact.JobFinished)
		w.Settled(o.Run)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/start")
}

// BenchmarkRuns is whole runs of a program that does nothing, many at once.
func BenchmarkRuns(b *testing.B) {
	g, w, r := benchRig(b)
	orders := make([]world.Order, b.N)
	for i := range orders {
		orders[i] = g.add(Payload{Argv: []string{"/bin/true"}})
	}
	b.ResetTimer()
	w.Do(orders...)
	for range orders {
		r.await(b, fact.JobFinished)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
