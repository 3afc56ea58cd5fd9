package slurmworld

import (
	"context"
	"errors"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// gone is about a job that is in the queue no more.
func (w *World) gone(ctx context.Context, e *entry) {
	r := e.run
	if r == nil {
		if e.told {
			w.tell(world.Report{Kind: fact.JobCancelled, ID: e.id, Node: -1, Text: "it is in Slurm's queue no more"})
		}
		delete(w.entries, e.id)
		return
	}
	end, err := w.endOf(ctx, e)
	switch {
	case errors.Is(err, slurm.ErrNoJob):
		end = slurm.End{State: "UNKNOWN"}
	case err != nil:
		w.log.Warn("how a job ended cannot be read", "job", e.id, "err", err)
		return
	case slurm.Alive(end.State):
		w.soon = true // it was on its way between two lines of the queue
		return
	}
	w.ended(ctx, e, r, end)
}

// readEnds reads how jobs ended that have left the queue, all in one call.
func (w *World) readEnds(ctx context.Context, list []*entry) {
	var ids []string
	for _, e := range list {
		if !e.present && (e.run != nil || w.watch && e.told && e.why == "") {
			ids = append(ids, e.id)
		}
	}
	w.ends = nil
	if len(ids) < 2 { // one by one will do
		return
	}
	w.spend(callsOfTexts)
	ends, err := w.opts.Slurm.Ends(ctx, ids)
	if err != nil {
		w.log.Warn("how jobs ended cannot be read together", "jobs", len(ids), "err", err)
	}
	w.ends = ends
}

// endOf is how a job ended.
func (w *World) endOf(ctx context.Context, e *entry) (slurm.End, error) {
	if end, ok := w.ends[e.id]; ok {
		return end, nil
	}
	w.spend(callsOfAnEnd)
	return w.opts.Slurm.Ended(ctx, e.id)
}

// ended tells how a run came to its end, and has it queued anew where it is to go on.
func (w *World) ended(ctx context.Context, e *entry, r *run, end slurm.End) {
	never := end.Start.IsZero() || end.State == "CANCELLED" && !end.End.After(end.Start)
	if r.state < up && (never || end.State == "UNKNOWN") {
		if r.believed || r.leaving {
			delete(w.runs, r.Run)
			e.run = nil
			return
		}
		if r.stop != nil {
			w.finish(e, stopped(r.stop.Cause, 0, "it was cancelled in Slurm"))
			return
		}
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: "it is in Slurm's queue no more"})
		return
	}
	if r.state < up {
		r.state = up
		w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: end.Start})
	}
	switch {
	case r.leaving && r.stop == nil: // the order to stop it comes again, and is answered then
		e.run = nil
		delete(w.runs, r.Run)
		return
	case end.State == "UNKNOWN":
		w.finish(e, stopped(fact.CauseNodeFailure, 0, "Slurm does not know it any more"))
	case r.stop != nil && r.signalled:
		if r.stop.Cause != fact.CauseCancelled && !w.lasting(e) {
			w.again(ctx, e)
		}
		w.finish(e, stopped(r.stop.Cause, end.Exit, ""))
	case w.opts.ResumeExit != 0 && end.Exit == w.opts.ResumeExit && !w.lasting(e):
		w.again(ctx, e)
		w.finish(e, stopped(fact.CauseYielded, end.Exit, "it asked to be resumed"))
	case end.State == "NODE_FAIL" && !w.lasting(e):
		w.again(ctx, e)
		w.finish(e, stopped(fact.CauseNodeFailure, 0, "its node failed"))
	default:
		w.finish(e, world.Report{Kind: fact.JobFinished, Outcome: outcome(end.State), Exit: end.Exit, When: end.End})
	}
}

// lasting tells whether a job cannot be queued anew.
func (w *World) lasting(e *entry) bool {
	return e.spec != nil && e.spec.Contract.NotResumable || !e.seen.Requeue && e.seen.Number != 0
}

// again has a job that ended queued anew.
func (w *World) again(ctx context.Context, e *entry) {
	w.spend(1)
	if err := w.opts.Slurm.Requeue(ctx, e.id); err != nil {
		w.log.Warn("a job cannot be queued anew", "job", e.id, "err", err)
	}
	w.soon = true
}

func outcome(state string) workload.Outcome {
	state, _, _ = strings.Cut(state, " ")
	switch strings.TrimSuffix(state, "+") {
	case "COMPLETED":
		return workload.OutcomeCompleted
	case "CANCELLED", "REVOKED":
		return workload.OutcomeCancelled
	case "TIMEOUT", "DEADLINE":
		return workload.OutcomeTimeout
	case "NODE_FAIL", "BOOT_FAIL":
		return workload.OutcomeNodeFail
	case "PREEMPTED":
		return workload.OutcomePreempted
	}
	return workload.OutcomeFailed
}
