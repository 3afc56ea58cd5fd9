package live

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// report makes facts of what a world tells. What the journal knows already, or knows
// better, changes nothing.
func (t *tx) report(r *world.Report) {
	switch r.Kind {
	case fact.NodeDown, fact.NodeUp:
		t.nodeReport(r)
		return
	case fact.NodeDrained, fact.NodeResumed:
		t.nodeClosed(r)
		return
	case fact.JobSubmitted, fact.JobHeld, fact.JobReleased, fact.JobCancelled, fact.JobAdopted, fact.JobEdited, fact.JobObserved:
		t.fromElsewhere(r)
		return
	}
	j := t.d.book.jobs[r.Job]
	end := r.Kind == fact.JobFinished || r.Kind == fact.JobStopped || r.Kind == fact.StartFailed
	if end { // whatever comes of it, the world need not tell again
		t.settled = append(t.settled, r.Run)
	}
	if j == nil || j.Run() == nil || j.Run().Attempt != r.Attempt || j.Run().Left != workload.Unknown {
		t.d.stats.Refused.Add(1)
		return
	}
	f := fact.Fact{Kind: r.Kind, Job: r.Job, Attempt: r.Attempt, Node: -1, Outcome: r.Outcome, Cause: r.Cause, Exit: r.Exit, Text: r.Text}
	switch r.Kind {
	case fact.StartFailed:
		t.startFailed(j, r, &f)
		return
	case fact.JobFinished:
		t.finished(j, r, &f)
		return
	case fact.JobStopped:
		at, signal := t.when(r), j.Run().Told
		if signal == workload.Unknown {
			signal = at
		}
		f.Kept, f.Lost, f.Restart = t.d.engine.Settle(r.Job, at, signal, r.Cause)
	case fact.JobCheckpointed:
		kept, _, _ := t.d.engine.Settle(r.Job, t.when(r), t.now, fact.CauseNone)
		if f.Kept = kept; kept <= j.Kept {
			return
		}
	case fact.JobStarted:
		if j.Run().Up != workload.Unknown {
			t.d.stats.Refused.Add(1)
			return
		}
	case fact.SessionIdle:
		f.Since = t.when(r)
	case fact.LostSight:
		if j.Lost {
			return
		}
	case fact.Found:
		if !j.Lost {
			return
		}
	}
	t.refused(&f, t.fact(f))
}

// when is the time of a report on the journal's clock: not after now, and not before the
// run was confirmed.
func (t *tx) when(r *world.Report) workload.Time {
	if r.When.IsZero() {
		return t.now
	}
	at := min(t.d.clock.of(r.When), t.now)
	if run := t.d.book.jobs[r.Job].Run(); run != nil && run.Up != workload.Unknown {
		at = max(at, run.Up)
	}
	return at
}

// finished ends a job, unless it is to be tried again.
func (t *tx) finished(j *Job, r *world.Report, f *fact.Fact) {
	at := t.when(r)
	if r.Outcome == workload.OutcomeFailed && j.Phase != Stopping && !t.d.cfg.Shadow && t.d.follow.retry(j) {
		f.Kind, f.Outcome, f.Cause = fact.JobStopped, 0, fact.CauseYielded
		f.Kept, f.Lost, f.Restart = t.d.engine.Settle(r.Job, at, at, fact.CauseNodeFailure) // only what it saved before
		if err := t.fact(*f); err == nil {
			t.d.follow.backOff(t, j, "it failed, and is tried again")
		}
		return
	}
	f.Kept, f.Lost, f.Restart = t.d.engine.Settle(r.Job, at, at, fact.CauseNone)
	t.refused(f, t.fact(*f))
}

// startFailed has a start that failed tried again later, or ends the job if it is its own fault.
func (t *tx) startFailed(j *Job, r *world.Report, f *fact.Fact) {
	if r.Own {
		f.Kind, f.Outcome = fact.JobFinished, workload.OutcomeFailed
		f.Kept = j.Kept
		t.refused(f, t.fact(*f))
		return
	}
	if j.Phase != Starting { // told to stop on its way up: the stop is what is answered
		f.Kind, f.Cause, f.Kept = fact.JobStopped, t.d.stopOrder(r.Job).Cause, j.Kept
		t.refused(f, t.fact(*f))
		return
	}
	f.Node = r.Node
	if err := t.fact(*f); err != nil {
		t.refused(f, err)
		return
	}
	t.d.follow.startFailed(t, j, r.Node)
}

func (t *tx) nodeReport(r *world.Report) {
	if r.Node < 0 || int(r.Node) >= len(t.d.book.nodes) {
		t.d.stats.Refused.Add(1)
		return
	}
	if down := r.Kind == fact.NodeDown; t.d.book.nodes[r.Node].Down == down {
		return
	}
	f := fact.Fact{Kind: r.Kind, Job: -1, Node: r.Node, Text: r.Text}
	t.refused(&f, t.fact(f))
}

// nodeClosed takes in that somebody has closed a node elsewhere, or opened it.
func (t *tx) nodeClosed(r *world.Report) {
	if r.Node < 0 || int(r.Node) >= len(t.d.book.nodes) || t.d.book.nodes[r.Node].Drained == (r.Kind == fact.NodeDrained) {
		return
	}
	f := fact.Fact{Kind: r.Kind, Job: -1, Node: r.Node, Text: r.Text}
	t.refused(&f, t.fact(f))
}

// refused notes a fact that the engine did not take.
func (t *tx) refused(f *fact.Fact, err error) {
	if err != nil {
		t.d.log.Warn("a report was not taken", "fact", f.Kind.String(), "job", f.Job, "attempt", f.Attempt, "err", err)
	}
}
