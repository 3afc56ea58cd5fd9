package slurmworld

import (
	"context"
	"errors"
	"fmt"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/shadow"
)

// Shadow looks at a Slurm cluster and changes nothing: what people submit is decided on here, comes true on
// paper, and is compared with what Slurm does with it.
type Shadow struct {
	*World
	paper *shadow.World
}

var (
	_ world.Source  = (*Shadow)(nil)
	_ world.Watcher = (*Shadow)(nil)
)

// InShadow makes a world that has not begun one that only looks.
func InShadow(w *World) *Shadow {
	w.watch = true
	return &Shadow{World: w, paper: shadow.Over(w.spec, w.opts.Now)}
}

// Begin implements [world.World].
func (s *Shadow) Begin(ctx context.Context, believed []world.Belief, report func(...world.Report)) error {
	if err := s.paper.Begin(ctx, believed, report); err != nil {
		return err
	}
	return s.World.Begin(ctx, nil, report)
}

// Do implements [world.World], on paper.
func (s *Shadow) Do(orders ...world.Order) {
	for i := range orders {
		if orders[i].Do != fact.Refuse {
			s.paper.Do(orders[i])
		}
	}
}

// Settled implements [world.World].
func (s *Shadow) Settled(runs ...world.Run) { s.paper.Settled(runs...) }

// Watch implements [world.Watcher].
func (s *Shadow) Watch(job int32, r world.Real) { s.paper.Watch(job, r) }

// Close implements [world.World].
func (s *Shadow) Close() error {
	return errors.Join(s.World.Close(), s.paper.Close())
}

// see tells what Slurm does with a job.
func (w *World) see(e *entry) {
	j := &e.seen
	if e.why != "" || e.spec == nil {
		return
	}
	w.queued(e)
	if j.State == slurm.Running && !e.began.Equal(j.Start) {
		e.began = j.Start
		w.tell(world.Report{Kind: fact.JobObserved, ID: e.id, Node: -1, Text: fmt.Sprint(j.Nodes), Real: world.Real{Started: j.Start}})
	}
}

// seenOff tells how Slurm was done with a job.
func (w *World) seenOff(ctx context.Context, e *entry) {
	if !e.told || e.why != "" {
		delete(w.entries, e.id)
		return
	}
	end, err := w.endOf(ctx, e)
	switch {
	case errors.Is(err, slurm.ErrNoJob): // it is not known any more how
		end = slurm.End{State: "CANCELLED", Start: e.began, End: w.opts.Now()}
	case err != nil || slurm.Alive(end.State):
		return
	}
	r := world.Real{Started: end.Start, Ended: end.End, Outcome: outcome(end.State), Exit: end.Exit}
	if end.Start.IsZero() || end.State == "CANCELLED" && !end.End.After(end.Start) {
		r = world.Real{Ended: end.End, Outcome: outcome("CANCELLED")}
	}
	if r.Ended.IsZero() {
		r.Ended = w.opts.Now()
	}
	w.tell(world.Report{Kind: fact.JobObserved, ID: e.id, Node: -1, Real: r})
	delete(w.entries, e.id)
}
