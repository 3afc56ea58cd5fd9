package shadow

import (
	"context"
	"sync"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// World carries orders out on paper.
type World struct {
	spec *cluster.Spec
	now  func() time.Time

	mu     sync.Mutex
	report func(...world.Report) // nil before Begin, and after Close
	runs   map[world.Run]*run
	// live is the run of each job that has not ended.
	live map[int32]*run
}

var (
	_ world.World   = (*World)(nil)
	_ world.Watcher = (*World)(nil)
)

// Over returns a world of pretended runs on a cluster. now is the clock.
func Over(spec *cluster.Spec, now func() time.Time) *World {
	return &World{spec: spec, now: now, runs: map[world.Run]*run{}, live: map[int32]*run{}}
}

// Cluster is the one that it was opened over.
func (w *World) Cluster() *cluster.Spec { return w.spec }

// Begin takes over what is believed to be up. What is not is told again by the loop.
func (w *World) Begin(_ context.Context, believed []world.Belief, report func(...world.Report)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report = report
	for i := range believed {
		b := &believed[i]
		if !b.Up || w.runs[b.Run] != nil {
			continue
		}
		since := b.Since
		if since.IsZero() {
			since = w.now()
		}
		w.begin(&b.Order, since).arm()
	}
	return nil
}

// Do carries out orders.
func (w *World) Do(orders ...world.Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.report == nil {
		return
	}
	for i := range orders {
		switch o := &orders[i]; o.Do {
		case fact.Start:
			w.start(o)
		case fact.Stop:
			w.stop(o)
		}
	}
}

func (w *World) begin(o *world.Order, at time.Time) *run {
	x := &run{w: w, order: *o, at: at}
	w.runs[o.Run], w.live[o.Job] = x, x
	return x
}

func (w *World) start(o *world.Order) {
	if x := w.runs[o.Run]; x != nil {
		x.again()
		return
	}
	x := w.begin(o, w.now())
	w.report(x.started())
	x.arm()
}

func (w *World) stop(o *world.Order) {
	x := w.runs[o.Run]
	if x == nil {
		x = w.begin(o, w.now())
		x.unseen = true
		x.over(world.Report{Kind: fact.JobStopped, Cause: o.Cause, Text: "it was not there"})
		return
	}
	if x.end != nil {
		x.again()
		return
	}
	if by := w.now().Add(o.Grace); !x.stopping || by.Before(x.leaves) {
		x.leaves = by
	}
	if !x.stopping {
		x.stopping, x.cause = true, o.Cause
	}
	x.arm()
}

// Watch takes in what really happened to a job. A run that begins later comes with it.
func (w *World) Watch(job int32, r world.Real) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.live[job]; x != nil && x.order.Real != r {
		x.order.Real = r
		x.arm()
	}
}

// Settled forgets runs that have ended.
func (w *World) Settled(runs ...world.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range runs {
		if x := w.runs[r]; x != nil && x.end != nil {
			delete(w.runs, r)
		}
	}
}

// Close ends the reports.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report = nil
	for _, x := range w.runs {
		x.disarm()
	}
	return nil
}
