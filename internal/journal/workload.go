package journal

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// ToWorkload reads a journal as a trace, for another policy on the same
// submissions. A job that ran to its end, or was withdrawn while it ran, has the
// work it did as its duration; a real-time application has its life, and the demand
// that it was told to have. A job that another scheduler was observed to run, from start to end,
// has what it really did there, whatever became of it here. Of the others the duration is not known; they are left
// out and counted by what became of them.
func ToWorkload(r *Reader) (*workload.Workload, *cluster.Spec, error) {
	h := r.Header()
	var all histories
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if !all.entry(e) {
			return nil, nil, r.fail("a job that is not alive in the snapshot", "one that is")
		}
	}
	jobs := all.list()
	w := &workload.Workload{Name: h.Workload.Name, Epoch: h.Workload.Epoch, Licence: h.Workload.Licence,
		Source: filepath.Base(r.name), Format: "journal", Hash: r.Hash(), Rows: len(jobs)}
	uneven := 0
	for i := range jobs {
		p := jobs[i]
		p.really()
		if p.fate != ended {
			w.Drop(string(p.fate), fmt.Sprintf("%s:%d", w.Source, p.line))
			continue
		}
		a := workload.Actual{Duration: p.work, Outcome: p.outcome, Start: p.start, End: p.end}
		if p.spec.Service != nil {
			var known bool
			if a.Demand, known = p.demand.curve(&p.spec.Service.Demand, p.end); !known || p.late {
				a.Demand = nil
				uneven++
			}
		}
		w.Jobs, w.Actual = append(w.Jobs, *p.spec), append(w.Actual, a)
	}
	if uneven > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("the demand of %d real-time applications changed at times without a common step; what they declare stands for it", uneven))
	}
	w.Sort()
	forgetDependencies(w)
	if err := w.Check(); err != nil {
		return nil, nil, &Error{File: r.name, Line: r.number, Msg: err.Error()}
	}
	return w, h.Cluster, nil
}

// fate is what became of a job; all but ended are causes for leaving it out.
type fate string

const (
	ended      fate = ""
	waits      fate = "still waiting when the journal ends, never started"
	runs       fate = "still running when the journal ends"
	requeued   fate = "stopped, and waiting again when the journal ends"
	preempted  fate = "stopped for others, and not to be resumed"
	withdrawn  fate = "withdrawn before it ran to an end"
	neverFits  fate = "refused: never fits the cluster"
	neverReady fate = "refused: its dependency never came true"
)

// past is a job's history so far.
type past struct {
	spec    *workload.Job
	line    int
	fate    fate
	start   workload.Time
	end     workload.Time
	work    workload.Span
	outcome workload.Outcome
	demand  told
	// late: it began before the journal does.
	late bool
	// since and until are when another scheduler ran it, outcome of that real.
	since, until workload.Time
	real         workload.Outcome
}

// histories are those of all jobs of a journal, by number.
type histories struct {
	first int32
	jobs  []past
	// old are those that were alive in the snapshot with which the file begins.
	old   map[int32]*past
	begun bool
}

// entry takes in a line; false if it is about a job that the journal cannot know.
func (h *histories) entry(e *Entry) bool {
	begun := h.begun
	h.begun = true
	switch {
	case e.State != nil && !begun:
		h.begin(e)
	case e.Fact != nil && e.Fact.Kind == fact.JobSubmitted:
		h.jobs = append(h.jobs, past{spec: e.Fact.Submitted, line: e.Line, start: workload.Unknown, fate: waits, since: workload.Unknown, until: workload.Unknown})
	case e.Fact != nil && e.Fact.Job >= 0:
		p := h.of(e.Fact.Job)
		if p == nil { // what is observed may be of a job that ended here long ago
			return e.Fact.Kind == fact.JobObserved
		}
		p.fact(e.Fact)
	case e.Action != nil && e.Action.Do == fact.Refuse:
		p := h.of(e.Action.Job)
		if p == nil {
			return false
		}
		if p.fate = neverFits; e.Action.Reason.Code == fact.DependencyFailed {
			p.fate = neverReady
		}
	}
	return true
}

// begin takes the jobs that are alive in a snapshot as submitted.
func (h *histories) begin(e *Entry) {
	h.first, h.old = e.State.Next(), map[int32]*past{}
	for _, a := range e.State.Alive() {
		p := &past{spec: a.Job, line: e.Line, start: workload.Unknown, fate: waits, since: workload.Unknown, until: workload.Unknown,
			late: a.Attempt > 0 || a.Job.Service != nil}
		switch {
		case a.Up:
			if p.fate = runs; a.Attempt == 1 {
				p.start = a.Since
			}
		case a.State == "refused":
			p.fate = neverFits
		case a.State == "stuck":
			p.fate = neverReady
		case a.Attempt > 1 || a.Attempt == 1 && !a.Runs:
			p.fate = requeued
		}
		h.old[a.Number] = p
	}
}

func (h *histories) of(n int32) *past {
	if n >= h.first {
		return &h.jobs[n-h.first]
	}
	return h.old[n]
}

// list is all of them, by number.
func (h *histories) list() []*past {
	out := make([]*past, 0, len(h.old)+len(h.jobs))
	for _, n := range slices.Sorted(maps.Keys(h.old)) {
		out = append(out, h.old[n])
	}
	for i := range h.jobs {
		out = append(out, &h.jobs[i])
	}
	return out
}

func (p *past) fact(f *fact.Fact) {
	switch f.Kind {
	case fact.JobStarted:
		p.fate = runs
		if p.start == workload.Unknown && !p.late {
			p.start = f.At
		}
	case fact.JobFinished:
		p.fate, p.end, p.work, p.outcome = ended, f.At, p.life(f, f.Kept), f.Outcome
	case fact.JobObserved:
		p.since, p.until, p.real = f.Since, f.Until, f.Outcome
	case fact.DemandChanged:
		p.demand = append(p.demand, level{f.At, f.Demand})
	case fact.JobStopped:
		up := p.fate == runs
		p.fate = requeued
		switch f.Cause {
		case fact.CauseCancelled:
			p.fate, p.end, p.work, p.outcome = ended, f.At, p.life(f, f.Kept+f.Lost), workload.OutcomeCancelled
		case fact.CauseNodeFailure, fact.CauseParked:
		default:
			if up && p.spec.Contract.NotResumable {
				p.fate = preempted
			}
		}
	case fact.JobCancelled:
		if p.fate != runs { // a run ends by the stop that follows
			p.fate = withdrawn
			if p.spec.Service != nil { // it was taken down, as it would have been had it run
				p.fate, p.end, p.work = ended, f.At, p.life(f, 0)
			}
		}
	}
}

// really has a job that another scheduler ran be as it was there.
func (p *past) really() {
	if p.since == workload.Unknown || p.until == workload.Unknown || p.spec.Service != nil {
		return
	}
	p.fate, p.start, p.end, p.work, p.outcome = ended, p.since, p.until, p.until-p.since, p.real
}

// life is the duration of a job that did so much work. That of a real-time application
// does not hang on when it came up.
func (p *past) life(f *fact.Fact, work workload.Span) workload.Span {
	if p.spec.Service == nil {
		return work
	}
	return max(f.At-p.spec.Submit, 0)
}

// forgetDependencies drops dependencies on jobs that are left out: there is
// nothing to wait for.
func forgetDependencies(w *workload.Workload) {
	var known map[string]bool
	dropped := 0
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if len(j.After) == 0 {
			continue
		}
		if known == nil {
			known = make(map[string]bool, len(w.Jobs))
			for k := range w.Jobs {
				known[w.Jobs[k].ID] = true
			}
		}
		var kept []workload.Dependency
		for _, d := range j.After {
			if known[d.Job] {
				kept = append(kept, d)
			} else {
				dropped++
			}
		}
		j.After = kept
	}
	if dropped > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d dependencies on jobs that are left out were dropped", dropped))
	}
}
