package versus

import (
	"encoding/json"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/world/shadow"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// job is what a journal tells of a job.
type job struct {
	number int32
	spec   *workload.Job
	// start is its first in shadow, end its last there; [workload.Unknown] where it did not come.
	start, end workload.Time
	// used is what its runs in shadow had, in milli-GPU x ms; the present one has milli since then.
	used, milli int64
	since       workload.Time
	// kept is the work that it had done by then.
	kept workload.Span
	// finished: a shadow run ended by itself; guess: when nothing was known of its length.
	finished, guess bool
	stops           int
	refused         bool
	withdrawn       bool
	holds           uint8
	held            []stretch
	real            *live.Real
}

// stretch is a time in which a job was held; to is [workload.Never] as long as it is.
type stretch struct{ from, to workload.Time }

// level is what could be used from a time on.
type level struct {
	at                   workload.Time
	installed, available int64
}

// tape watches a journal go by.
type tape struct {
	// opened is when the first snapshot was taken, [workload.Unknown] for a journal from the beginning.
	opened workload.Time
	jobs   map[int32]*job
	order  []*job
	// old are runs that go on in reality, of jobs that ended in shadow before the journal begins.
	old    map[int32]live.Real
	levels []level
	err    error
}

func newTape() *tape {
	return &tape{opened: workload.Unknown, jobs: map[int32]*job{}, old: map[int32]live.Real{}}
}

// Open takes in what is known of reality at a snapshot.
func (p *tape) Open(s *engine.State, line []byte) {
	p.opened = s.Now()
	var known struct {
		Live struct {
			Jobs []struct {
				Number int32
				Real   *live.Real
			} `json:"jobs"`
			Reals map[int32]live.Real `json:"reals"`
		} `json:"live"`
	}
	if p.err = json.Unmarshal(line, &known); p.err != nil {
		return
	}
	for _, a := range s.Alive() {
		p.add(&job{number: a.Number, spec: a.Job, start: workload.Unknown, end: workload.Unknown})
	}
	for _, x := range known.Live.Jobs {
		if j := p.jobs[x.Number]; j != nil {
			j.real = x.Real
		}
	}
	p.old = known.Live.Reals
	if p.old == nil {
		p.old = map[int32]live.Real{}
	}
}

func (p *tape) add(j *job) {
	p.jobs[j.number] = j
	p.order = append(p.order, j)
}

// Fact takes in a fact.
func (p *tape) Fact(f *fact.Fact) {
	j := p.jobs[f.Job]
	if f.Kind == fact.JobSubmitted && j == nil {
		p.add(&job{number: f.Job, spec: f.Submitted, start: workload.Unknown, end: workload.Unknown})
		return
	}
	if f.Kind == fact.JobObserved && j == nil {
		p.old[f.Job] = live.Real{Since: f.Since, Until: f.Until, Outcome: f.Outcome, Exit: f.Exit, Where: f.Text}
		return
	}
	if j == nil {
		return
	}
	switch f.Kind {
	case fact.JobStarted:
		if j.start == workload.Unknown {
			j.start = f.At
		}
	case fact.StartFailed:
		j.left(f.At)
	case fact.JobFinished:
		j.left(f.At)
		j.end, j.kept, j.finished, j.guess = f.At, f.Kept, true, f.Text == shadow.GuessText
	case fact.JobStopped:
		j.left(f.At)
		j.end = f.At
		switch f.Cause {
		case fact.CauseNodeFailure, fact.CauseCancelled, fact.CauseYielded:
		default:
			j.stops++
		}
	case fact.JobCancelled:
		j.withdrawn = true
	case fact.JobHeld:
		if j.holds == 0 {
			j.held = append(j.held, stretch{f.At, workload.Never})
		}
		j.holds |= 1 << f.Hold
	case fact.JobReleased:
		if j.holds &^= 1 << f.Hold; j.holds == 0 && len(j.held) > 0 {
			j.held[len(j.held)-1].to = f.At
		}
	case fact.JobObserved:
		j.real = &live.Real{Since: f.Since, Until: f.Until, Outcome: f.Outcome, Exit: f.Exit, Where: f.Text}
	}
}

// Action takes in a decision.
func (p *tape) Action(a *fact.Action) {
	j := p.jobs[a.Job]
	if j == nil {
		return
	}
	switch a.Do {
	case fact.Refuse:
		j.refused = true
	case fact.Start:
		j.since, j.milli = a.At, a.Milli
	case fact.Resize:
		j.left(a.At)
		j.since, j.milli = a.At, a.Milli
	}
}

// left counts what the present run has had.
func (j *job) left(at workload.Time) {
	j.used += j.milli * (at - j.since)
	j.milli = 0
}

// Instant takes in what could be used.
func (p *tape) Instant(g *sim.Gauge) {
	if n := len(p.levels); n == 0 || p.levels[n-1].installed != g.Installed || p.levels[n-1].available != g.Available {
		p.levels = append(p.levels, level{g.At, g.Installed, g.Available})
	}
}

// realStart is when the job really started, [workload.Unknown] if it has not.
func (j *job) realStart() workload.Time {
	if j.real == nil {
		return workload.Unknown
	}
	return j.real.Since
}

// realEnd is when it really ended.
func (j *job) realEnd() workload.Time {
	if j.real == nil {
		return workload.Unknown
	}
	return j.real.Until
}

// wait is the time in the queue up to a start: what a job was held for is not.
func (j *job) wait(start workload.Time) workload.Span {
	w := start - j.spec.Submit
	for _, h := range j.held {
		w -= max(min(h.to, start)-max(h.from, j.spec.Submit), 0)
	}
	return max(w, 0)
}
