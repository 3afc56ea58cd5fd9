package slurmworld

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// killed is the exit code of a run that was ended by Slurm.
const killed = 128 + 9

// finish tells the end of a run.
func (w *World) finish(e *entry, x world.Report) {
	r := e.run
	x.Run = r.Run
	switch x.Kind {
	case fact.StartFailed:
	case fact.JobStopped:
		x.Node = -1
		w.noteRequeue(e, r)
		// The loop ends what was withdrawn, and what cannot be resumed.
		if x.Cause == fact.CauseCancelled || x.Cause != fact.CauseNodeFailure && w.lasting(e) {
			e.told = false
		}
	default:
		x.Node, e.told = -1, false
	}
	r.end = &x
	e.run = nil
	w.tell(x)
}

func stopped(c fact.Cause, exit int32, text string) world.Report {
	return world.Report{Kind: fact.JobStopped, Cause: c, Exit: exit, Text: text}
}

// follow compares a run with what Slurm does with its job.
func (w *World) follow(e *entry) {
	r, j := e.run, &e.seen
	switch j.State {
	case slurm.Pending:
		w.waits(e, r)
	case slurm.Running, slurm.Suspended, slurm.Completing:
		w.runsOn(e, r)
	}
}

// waits is about a run whose job waits.
func (w *World) waits(e *entry, r *run) {
	j := &e.seen
	switch {
	case r.state == asked:
	case r.believed && (r.state == released || r.leaving): // the loop tells it again
		e.run = nil
		delete(w.runs, r.Run)
	case r.state == up && r.stop != nil:
		w.finish(e, stopped(r.stop.Cause, killed, ""))
	case r.state == up && r.believed, r.state == up && w.lost(r):
		w.finish(e, stopped(fact.CauseNodeFailure, 0, "Slurm has it waiting again"))
	case r.state == up:
		w.finish(e, stopped(fact.CauseOperator, 0, "it was requeued in Slurm"))
	case r.back && gated(j.Dependency, w.lease.id):
		if r.stop != nil {
			w.finish(e, stopped(r.stop.Cause, 0, ""))
			return
		}
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: r.failed})
	case !r.back && r.state == released && j.Held():
		r.back, r.failed = true, "it is on hold in Slurm ("+j.Reason+")"
	case !r.back && j.Reason != "BeginTime" && w.opts.Now().Sub(r.since) > w.opts.Patience:
		r.back, r.failed = true, fmt.Sprintf("Slurm did not start it within %s: %s", w.opts.Patience, j.Reason)
	case !r.back:
		w.soon = w.soon || w.opts.Now().Sub(r.since) < 5*time.Second
	}
	r.believed = false
}

// lost tells whether a node of a run is down.
func (w *World) lost(r *run) bool {
	return slices.ContainsFunc(r.order.Place, func(g fact.Grant) bool { return w.down[g.Node] })
}

// runsOn is about a run whose job runs.
func (w *World) runsOn(e *entry, r *run) {
	j := &e.seen
	switch {
	case r.state == up && r.believed && !r.since.IsZero() && j.Start.After(r.since.Add(10*time.Second)),
		r.state == up && !r.believed && j.Restarts > r.restarts:
		if r.stop != nil {
			w.finish(e, stopped(r.stop.Cause, killed, ""))
			return
		}
		cause := fact.CauseOperator
		if r.believed {
			cause = fact.CauseNodeFailure
		}
		w.finish(e, stopped(cause, 0, "Slurm began it anew"))
		return
	case r.state < up && j.State != slurm.Completing && !w.asOrdered(r, j.Nodes):
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: "Slurm started it on " + strings.Join(j.Nodes, ", ") + " instead"})
		return
	case r.state < up:
		r.state, r.since = up, j.Start
		w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: j.Start})
	}
	r.restarts, r.believed, r.back = j.Restarts, false, false
	if r.stop != nil {
		w.soon = w.soon || r.ended || w.opts.Now().Add(w.opts.Poll).After(r.by)
	}
}

// asOrdered tells whether nodes are those of the order.
func (w *World) asOrdered(r *run, nodes []string) bool {
	return slices.Equal(w.names(r.order.Place), slices.Sorted(slices.Values(nodes)))
}

// names of the nodes of a place, sorted.
func (w *World) names(place []fact.Grant) []string {
	var out []string
	for i := range place {
		out = append(out, w.spec.Nodes[place[i].Node].Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
