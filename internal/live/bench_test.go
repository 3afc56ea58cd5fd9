package live

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// crowd is a daemon in real time with a cluster that is full and a queue.
func crowd(b testing.TB, nodes, waiting int) *Daemon {
	b.Helper()
	st, err := store.Open(context.Background(), filepath.Join(b.TempDir(), "journal.db"))
	if err != nil {
		b.Fatal(err)
	}
	p, err := policy.Resolve("contract")
	if err != nil {
		b.Fatal(err)
	}
	m := simworld.New(cluster.Uniform("crowd", nodes, 8), simworld.Options{Behave: func(*world.Order) simworld.Behaviour { return simworld.Behaviour{} }})
	d, err := Open(context.Background(), Config{Store: st, World: m.Open(), Policy: p, Version: "bench", Holder: "bench", Now: time.Now,
		Assume: sim.Assumptions{Checkpoint: -1, Grace: 30 * workload.Second, StartLatency: 30 * workload.Second}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		_ = st.Close()
	})
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 400 { // what is known of the past
		d.ahead.history.Add(fmt.Sprintf("u%d", i%40), int32(1+i%16), workload.Hour, int64(rnd.IntN(3600))*workload.Second)
	}
	var list []*Submission
	for d.Counts().Waiting < waiting {
		list = list[:0]
		for range 200 {
			n := rnd.IntN(40)
			gpus := []int32{1, 1, 1, 2, 4, 8, 8, 16, 32}[rnd.IntN(9)]
			list = append(list, &Submission{By: fmt.Sprintf("u%d", n), Job: workload.Job{User: fmt.Sprintf("u%d", n), Team: fmt.Sprintf("t%d", n/2), Need: workload.Need{GPUs: gpus},
				Estimate: int64(600+rnd.IntN(4*3600)) * workload.Second, Contract: workload.Contract{HasMinRuntime: true, MinRuntime: int64(rnd.IntN(4)) * 30 * workload.Minute}}})
		}
		if _, err := d.SubmitAll(ctx, list); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

// One future, and all of them, from a state with so many waiting jobs on 128 nodes.
func BenchmarkForesee(b *testing.B) {
	for _, waiting := range []int{100, 1000, 10_000} {
		d := crowd(b, 128, waiting)
		for _, n := range []int{1, futures} {
			b.Run(fmt.Sprintf("waiting=%d/futures=%d", waiting, n), func(b *testing.B) {
				v, err := d.View(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := d.foresee(b.Context(), v, n); err != nil {
						b.Fatal(err)
					}
				}
				started := 0
				for _, q := range d.LastView().Queue {
					if q.P90 != workload.Never {
						started++
					}
				}
				b.ReportMetric(float64(started), "foreseen")
			})
		}
	}
}

// The queue as people see it: a snapshot, a copy of the engine, ranks and reasons.
func BenchmarkView(b *testing.B) {
	for _, waiting := range []int{1000, 10_000} {
		d := crowd(b, 128, waiting)
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			for b.Loop() {
				d.views.last.Store(nil)
				if _, err := d.View(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
