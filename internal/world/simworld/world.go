package simworld

import (
	"context"
	"sync"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// World is a view of a [Machine], from Open to Close.
type World struct {
	m *Machine
	// All guarded by the machine. early collects what Begin finds, until begun is set.
	begun func(...world.Report)
	early []world.Report
	mail  outbox

	bell chan struct{}
	quit chan struct{}
	done sync.WaitGroup
}

var _ world.World = (*World)(nil)

func newWorld(m *Machine) *World {
	return &World{m: m, bell: make(chan struct{}, 1), quit: make(chan struct{})}
}

// Cluster is the one of the machine.
func (w *World) Cluster() *cluster.Spec { return w.m.spec }

// Begin compares beliefs with what is there.
func (w *World) Begin(_ context.Context, believed []world.Belief, report func(...world.Report)) error {
	m := w.m
	m.mu.Lock()
	w.early = nil // what happened before: it is found again
	for n := range m.spec.Nodes {
		if m.down[int32(n)] {
			m.tell(world.Report{Kind: fact.NodeDown, Node: int32(n), Text: "the node does not answer"})
		}
	}
	known := map[world.Run]bool{}
	for i := range believed {
		known[believed[i].Run] = true
		m.compare(&believed[i])
	}
	for _, x := range m.sorted() {
		switch {
		case known[x.order.Run]:
		case x.end != nil:
			delete(m.runs, x.order.Run)
		default:
			m.stop(world.Order{Do: fact.Stop, Run: x.order.Run, Cause: fact.CauseOperator, Grace: x.order.Grace})
		}
	}
	found := w.early
	w.early, w.begun = nil, report
	m.mu.Unlock()
	if len(found) > 0 {
		report(found...)
	}
	w.done.Add(1)
	go w.pump(report)
	return nil
}

// compare reports what is otherwise than believed.
func (m *Machine) compare(b *world.Belief) {
	x := m.runs[b.Run]
	switch {
	case x == nil && b.Up && !b.Stopping:
		m.tell(world.Report{Kind: fact.JobStopped, Run: b.Run, Node: -1, Cause: fact.CauseNodeFailure, Text: "there is no trace of it"})
	case x == nil:
	case x.hidden():
		m.tell(world.Report{Kind: fact.LostSight, Run: b.Run, Node: -1, Text: "its node cannot be reached"})
	case x.end != nil || x.up && !b.Up:
		x.again()
	}
}

// Do carries out orders.
func (w *World) Do(orders ...world.Order) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.m.open != w {
		return
	}
	for _, o := range orders {
		switch o.Do {
		case fact.Start:
			w.m.start(o)
		case fact.Stop:
			w.m.stop(o)
		}
	}
}

// Settled forgets runs that have ended.
func (w *World) Settled(runs ...world.Run) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	for _, r := range runs {
		if x := w.m.runs[r]; x != nil && x.end != nil {
			delete(w.m.runs, r)
		}
	}
}

// Close ends the reports.
func (w *World) Close() error {
	w.m.mu.Lock()
	if w.m.open != w {
		w.m.mu.Unlock()
		return nil
	}
	w.m.open = nil
	w.m.mu.Unlock()
	close(w.quit)
	w.done.Wait()
	return nil
}
