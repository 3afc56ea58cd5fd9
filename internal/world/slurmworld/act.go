package slurmworld

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// take takes the orders that have come, and what people did to nodes.
func (w *World) take() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = append(w.taken, w.orders...)
	w.orders = nil
	for _, d := range w.closings {
		w.asked[d.Node] = d // only how a node is to be in the end counts
	}
	w.closings = nil
}

// obey takes in what was ordered before the last look.
func (w *World) obey(ctx context.Context) {
	orders := w.taken
	w.taken = nil
	for i := range orders {
		switch o := &orders[i]; o.Do {
		case fact.Start:
			w.start(o)
		case fact.Stop:
			w.stop(ctx, o)
		case fact.Refuse:
			w.refuse(ctx, o)
		}
	}
}

// start takes in that a run is to begin.
func (w *World) start(o *world.Order) {
	if r := w.runs[o.Run]; r != nil {
		switch {
		case r.end != nil:
			w.tell(*r.end)
		case r.state == up:
			w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: r.since})
		}
		return
	}
	e := w.entry(o.ID)
	r := &run{Run: o.Run, order: *o}
	if w.runs[o.Run] = r; e.run != nil { // it was told nothing of its end
		delete(w.runs, e.run.Run)
	}
	e.run, e.told, e.spec = r, true, o.Spec
	switch {
	case !e.present:
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: "it is in Slurm's queue no more"})
	case w.unfit(o.Place) >= 0:
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: w.unfit(o.Place), Text: "Slurm says that its node is down, or closed"})
	default:
		w.follow(e) // it may run already
	}
}

// unfit is a node of a place that takes nothing, -1 = all do.
func (w *World) unfit(place []fact.Grant) int32 {
	for i := range place {
		if n := place[i].Node; w.down[n] || w.closed[n] {
			return n
		}
	}
	return -1
}

// stop takes in that a run is to end.
func (w *World) stop(ctx context.Context, o *world.Order) {
	r, now := w.runs[o.Run], w.opts.Now()
	e := w.entry(o.ID)
	switch {
	case r == nil: // it never began
		r = &run{Run: o.Run, order: *o}
		w.runs[o.Run], e.run = r, r
		w.finish(e, stopped(o.Cause, 0, ""))
		w.withdraw(ctx, e, o)
	case r.end != nil && r.end.Kind == fact.StartFailed:
		x := stopped(o.Cause, 0, "")
		x.Run, x.Node = o.Run, -1
		r.end = &x
		w.tell(x)
		w.withdraw(ctx, e, o)
	case r.end != nil:
		w.tell(*r.end)
	case r.stop != nil:
		r.by = earlier(r.by, now.Add(o.Grace))
	default:
		r.stop, r.by = o, now.Add(o.Grace)
		switch r.state {
		case asked:
			w.finish(e, stopped(o.Cause, 0, ""))
			w.withdraw(ctx, e, o)
		case released:
			r.back = true
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// withdraw cancels a job that waits, where somebody withdrew it.
func (w *World) withdraw(ctx context.Context, e *entry, o *world.Order) {
	if o.Cause == fact.CauseCancelled && e.present {
		e.told = false
		w.spend(1)
		w.try(ctx, "cancelling a job", e.id, w.opts.Slurm.Cancel(ctx, e.id))
	}
}

// refuse takes in that a job is no more of the loop's business.
func (w *World) refuse(ctx context.Context, o *world.Order) {
	e := w.entries[o.ID]
	if e == nil || !e.told {
		return
	}
	e.told = false
	if o.Cause == fact.CauseCancelled {
		w.withdraw(ctx, e, o)
		return
	}
	e.why, e.looked, e.spec = "can never start under the policy", true, nil
}

// try logs what could not be done. What Slurm does not know any more is found at the next look.
func (w *World) try(ctx context.Context, what, id string, err error) bool {
	if err == nil {
		return true
	}
	if ctx.Err() == nil && !errors.Is(err, slurm.ErrNoJob) && !errors.Is(err, slurm.ErrEnded) {
		w.log.Warn(what+" failed", "job", id, "err", err)
	}
	return false
}

// act does what is to be done: ends first, then starts, then what keeps the others back.
func (w *World) act(ctx context.Context) {
	list := w.sorted()
	for _, e := range list {
		if r := e.run; r != nil && e.present && r.state == up && r.stop != nil {
			w.end(ctx, e, r)
		}
	}
	if err := w.keep(ctx); err != nil {
		w.log.Warn("the lease cannot be kept: Slurm may start what it likes", "err", err)
		return
	}
	for _, e := range list {
		r := e.run
		switch {
		case r == nil || !e.present || e.seen.State != slurm.Pending:
		case r.back:
			w.keepBack(ctx, e)
		case r.state == asked:
			w.release(ctx, e, r)
		}
	}
	w.gate(ctx, list)
	w.writeNotes(ctx)
}

// end asks a run to stop, and ends it once its grace is over.
func (w *World) end(ctx context.Context, e *entry, r *run) {
	now := w.opts.Now()
	switch {
	case r.ended:
	case !now.Before(r.by):
		if !w.token() {
			return
		}
		if !r.signalled {
			w.noteEnd(ctx, e, r)
		}
		r.signalled = true
		if w.last(e, r) {
			r.ended = w.try(ctx, "cancelling a run", e.id, w.opts.Slurm.Cancel(ctx, e.id))
		} else {
			r.ended = w.try(ctx, "requeueing a run", e.id, w.opts.Slurm.Requeue(ctx, e.id))
		}
		w.soon = true
	case !r.signalled:
		if w.token() {
			w.noteEnd(ctx, e, r)
			w.spend(callsOfASignal - 1)
			r.signalled = w.try(ctx, "asking a run to stop", e.id, w.askToStop(ctx, e))
			w.soon = true
		}
	default:
		w.soon = true
	}
}

// release has Slurm start a job on the nodes of its place.
func (w *World) release(ctx context.Context, e *entry, r *run) {
	if !w.token() {
		return
	}
	err := w.opts.Slurm.Update(ctx, e.id, "dependency="+open(e.seen.Dependency, w.lease.id), "reqnodelist="+slurm.Compress(w.names(r.order.Place)))
	switch {
	case err == nil:
		r.state, r.since = released, w.opts.Now()
		e.seen.Dependency = open(e.seen.Dependency, w.lease.id)
		w.soon = true
	case errors.Is(err, slurm.ErrAway):
	case errors.Is(err, slurm.ErrNoJob), errors.Is(err, slurm.ErrEnded): // the next look tells
		w.soon = true
	default:
		w.note(e.id, "its start was refused at "+w.stamp()+". "+err.Error())
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: err.Error()})
	}
}

// keepBack has a job depend on the lease again, on whatever nodes it may have.
func (w *World) keepBack(ctx context.Context, e *entry) {
	if gated(e.seen.Dependency, w.lease.id) || !w.token() {
		return
	}
	if text, ok := shut(e.seen.Dependency, w.lease.id); ok {
		w.try(ctx, "keeping a job back", e.id, w.opts.Slurm.Update(ctx, e.id, "dependency="+text, "reqnodelist="+e.where))
	}
	w.soon = true
}

// gate has all that waits depend on the lease, and gives back what was left to Slurm: many jobs in one call. The
// ID of an array would stand for tasks that were let go as well, so tasks are named.
func (w *World) gate(ctx context.Context, list []*entry) {
	ids, tasks := map[string][]string{}, map[string]map[string][]int32{}
	var order []string
	booked := map[string]bool{}
	for _, e := range list {
		if !e.present || e.seen.State != slurm.Pending || e.run != nil || !e.looked {
			continue
		}
		mine := e.why == "" && e.told
		if gated(e.seen.Dependency, w.lease.id) == mine {
			continue
		}
		dependency := open(e.seen.Dependency, w.lease.id)
		if mine {
			text, ok := shut(e.seen.Dependency, w.lease.id)
			if !ok {
				continue // it waits for any of several; once it does not, it can be kept back
			}
			dependency = text
		}
		if booked[e.line] || w.token() {
			booked[e.line] = true
		} else {
			break
		}
		if mine && e.seen.Tasks == nil && e.seen.Where != e.where { // the nodes of an earlier start
			w.try(ctx, "keeping a job back", e.id, w.opts.Slurm.Update(ctx, e.id, "dependency="+dependency, "reqnodelist="+e.where))
			continue
		}
		if ids[dependency] == nil && tasks[dependency] == nil {
			order = append(order, dependency)
		}
		if e.seen.Tasks == nil {
			ids[dependency] = append(ids[dependency], e.id)
			continue
		}
		if tasks[dependency] == nil {
			tasks[dependency] = map[string][]int32{}
		}
		tasks[dependency][e.line] = append(tasks[dependency][e.line], int32(e.task))
	}
	for _, dependency := range order {
		all := ids[dependency]
		for _, line := range slices.Sorted(maps.Keys(tasks[dependency])) {
			j := slurm.Job{ID: line, Tasks: tasks[dependency][line]}
			all = append(all, j.Address())
		}
		failed, err := w.opts.Slurm.UpdateEach(ctx, all, "dependency="+dependency)
		w.try(ctx, "keeping jobs back", "", err)
		for _, id := range slices.Sorted(maps.Keys(failed)) {
			w.try(ctx, "keeping a job back", id, failed[id])
		}
	}
}
