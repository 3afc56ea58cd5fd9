package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// history watches a journal being folded and keeps what happened to one job.
type history struct {
	id string
	// number of the job, -1 until it is known.
	number int32
	jobs   []asked
	runs   []jobRun
	// held, refused and dated are its last actions of these kinds; their time is
	// [workload.Unknown] where there is none. held has a place of its own.
	held, refused, dated fact.Action
	// dates are the reservations in force, by job.
	dates map[int32][]fact.Grant
	// victims were stopped for it and have not left yet.
	victims []int32
	// plan is the last one that was proposed, nil where there was none.
	plan *proposal
	// cancelled is when its owner withdrew it.
	cancelled workload.Time
}

// asked is a job as it was submitted.
type asked struct {
	spec *workload.Job
	est  workload.Span
	// ended is the time of its last end.
	ended workload.Time
}

// jobRun is one start of the job, and what became of it.
type jobRun struct {
	// start is the action, with a place of its own. So is resized, the last one, nil where
	// there was none.
	start   fact.Action
	resized *fact.Action
	// confirmed and left are [workload.Unknown] until they come.
	confirmed, left workload.Time
	// uncharged is when its charge ended while it ran, [workload.Unknown] = never.
	uncharged   workload.Time
	unallocated bool
	// plan is the proposed one that the start follows, nil where it follows none.
	plan *proposal
	end  fact.Fact
	stop *stopping
}

// stopping is a run being told to stop.
type stopping struct {
	action fact.Action
	// before is at the action, after once the winner's start was decided.
	before, after *compared
	// winner's attempt that followed; 0 = none yet.
	attempt int32
}

// compared are the accounts of winner and victim at a time.
type compared struct {
	at             workload.Time
	winner, victim *engine.Account
}

func newHistory(job string) *history {
	h := &history{id: job, number: -1, cancelled: workload.Unknown, dates: map[int32][]fact.Grant{}}
	h.held.At, h.refused.At, h.dated.At = workload.Unknown, workload.Unknown, workload.Unknown
	if digits, ok := strings.CutPrefix(job, "#"); ok {
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && n >= 0 {
			h.number = int32(n)
		}
	}
	return h
}

// known tells whether the job was submitted.
func (h *history) known() bool { return h.number >= 0 && int(h.number) < len(h.jobs) }

func (h *history) submitted(f *fact.Fact) {
	if f.Submitted.ID == h.id && h.number < 0 {
		h.number = f.Job
	}
	h.jobs = append(h.jobs, asked{spec: f.Submitted, est: f.Estimate, ended: workload.Unknown})
}

// run is the last one, nil where there is none.
func (h *history) run() *jobRun {
	if len(h.runs) == 0 {
		return nil
	}
	return &h.runs[len(h.runs)-1]
}

// place is what the run has, or had at its end.
func (r *jobRun) place() *fact.Action {
	if r.resized != nil {
		return r.resized
	}
	return &r.start
}

// lastStop is the last run that was told to stop or lost its node, nil where there is none.
func (h *history) lastStop() *jobRun {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if r := &h.runs[i]; r.stop != nil || r.end.Kind == fact.JobStopped {
			return r
		}
	}
	return nil
}

// Fact takes in what happened.
func (h *history) Fact(_ *engine.Engine, f *fact.Fact) {
	switch f.Kind {
	case fact.JobSubmitted:
		h.submitted(f)
	case fact.PlanProposed:
		h.plan = &proposal{at: f.At, plan: f.Plan}
	case fact.JobFinished, fact.JobStopped, fact.JobCancelled:
		h.jobs[f.Job].ended = f.At
		delete(h.dates, f.Job)
		h.victims = slices.DeleteFunc(h.victims, func(n int32) bool { return n == f.Job })
	}
	if f.Job != h.number {
		return
	}
	r := h.run()
	switch f.Kind {
	case fact.JobStarted:
		r.confirmed = f.At
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		r.left, r.end = f.At, *f
	case fact.JobCancelled:
		h.cancelled = f.At
	}
}

// Before looks at the shares by which a stop was decided.
func (h *history) Before(e *engine.Engine, a *fact.Action) {
	if a.Do == fact.Stop && a.Job == h.number {
		h.run().stop = &stopping{action: *a, before: compare(e, a)}
	}
}

// After takes in what was decided about the job, and the start of who it made room for.
func (h *history) After(e *engine.Engine, a *fact.Action) {
	if a.Do == fact.Start {
		for i := range h.runs {
			if s := h.runs[i].stop; s != nil && s.action.For == a.Job && s.attempt == 0 {
				s.attempt = a.Attempt
				s.after = compare(e, &s.action)
				if s.after != nil {
					s.after.at = a.At
				}
			}
		}
	}
	switch a.Do {
	case fact.Reserve:
		h.dates[a.Job] = slices.Clone(a.Place)
	case fact.Start, fact.Hold, fact.Release, fact.Refuse:
		delete(h.dates, a.Job)
	}
	if a.Do == fact.Stop && a.For >= 0 && a.For == h.number {
		h.victims = append(h.victims, a.Job)
	}
	if a.Job != h.number {
		return
	}
	switch a.Do {
	case fact.Start:
		r := jobRun{start: *a, confirmed: workload.Unknown, left: workload.Unknown, uncharged: workload.Unknown, unallocated: a.Unallocated}
		r.start.Place = slices.Clone(a.Place)
		if a.Reason.Code == fact.Proposed {
			r.plan = h.plan
		}
		h.runs = append(h.runs, r)
		h.victims = nil
	case fact.Resize:
		resized := *a
		resized.Place = slices.Clone(a.Place)
		h.run().resized = &resized
	case fact.Hold:
		h.held = *a
		h.held.Place = slices.Clone(a.Place)
	case fact.Release:
		h.victims = nil
	case fact.Refuse:
		h.refused = *a
	case fact.Reserve:
		h.dated = *a
	case fact.Uncharge:
		h.run().unallocated, h.run().uncharged = true, a.At
	}
}

// compare looks at the accounts of both sides of a stop, nil where there are none.
func compare(e *engine.Engine, a *fact.Action) *compared {
	victim, ok := e.Explain(a.Job)
	winner, both := e.Explain(a.For)
	if !ok || !both || victim.Account == nil || victim.Account.Leaf < 0 || winner.Account.Leaf < 0 {
		return nil
	}
	return &compared{at: a.At, winner: accountIn(&winner, victim.Account.Pool), victim: victim.Account}
}
