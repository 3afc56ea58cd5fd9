package sim

import (
	"context"
	"fmt"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Future runs a state forward: the same engine, from where it stands, with what is still to
// come. It is lighter than [Run]: nothing is recorded but first starts.
type Future struct {
	// Engine is a copy of its own, which is used up.
	Engine *engine.Engine
	// Now is the time of the state.
	Now workload.Time
	// Grace of jobs that are stopped under a policy that does not say by when; StartLatency
	// passes before a start comes true.
	Fill engine.Defaults
	// Shares: the policy says by when a stopped run must have left.
	Shares bool
	// Runs are those that are alive in the state.
	Runs []Alive
	// Work is the work that a job needs in all, at reference speed.
	Work func(job int32) workload.Span
	// Arrivals are submissions still to come, by time. Their numbers go on from First.
	Arrivals []Arrival
	First    int32
	// Grid is what ends of runs and decisions are put off to: a coarser one costs less; at
	// least 1 ms.
	Grid workload.Span
	// Until is when to stop looking.
	Until workload.Time
	// Started is told the first start of each job in this future, whatever it had before; it returns
	// false to end it.
	Started func(job int32, at workload.Time) bool

	events heap
	wake   workload.Time
	next   int
	over   bool
	again  bool
	begun  map[int32]bool
}

// first tells whether a job starts for the first time in this future.
func (f *Future) first(job int32) bool {
	if f.begun[job] {
		return false
	}
	if f.begun == nil {
		f.begun = map[int32]bool{}
	}
	f.begun[job] = true
	return true
}

// Alive is a run of the state that a future begins with.
type Alive struct {
	Job, Attempt int32
	// Up: it was confirmed. Stopping: it was told to stop, and is gone at Deadline.
	Up, Stopping bool
	Cause        fact.Cause
	Told         workload.Time
	Deadline     workload.Time
}

// Arrival is a submission in a future; its work comes from Future.Work, by its number.
type Arrival struct {
	Job *workload.Job
	// Estimate of its run time that is not what it declares, 0 = none.
	Estimate workload.Span
}

// Run goes through the future.
func (f *Future) Run(ctx context.Context) error {
	f.Grid = max(f.Grid, 1)
	runs := map[int32]*Alive{}
	for i := range f.Runs {
		r := f.Runs[i]
		runs[r.Job] = &r
		switch {
		case r.Stopping:
			f.push(max(r.Deadline, f.Now+1), stopped, r.Job, r.Attempt)
		case r.Up:
			f.push(max(f.end(r.Job), f.Now+1), finish, r.Job, r.Attempt)
		default:
			f.push(f.Now+max(f.Fill.StartLatency, 1), confirm, r.Job, r.Attempt)
		}
	}
	f.wake = f.Now
	for turn := 0; !f.over; turn++ {
		if turn&63 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		now := f.wake
		if len(f.events) > 0 {
			now = min(now, f.events[0].at)
		}
		if f.next < len(f.Arrivals) {
			now = min(now, f.Arrivals[f.next].Job.Submit)
		}
		if now == workload.Never || now > f.Until {
			return nil
		}
		if err := f.instant(now, runs); err != nil {
			return fmt.Errorf("looking ahead at %d ms: %w", now, err)
		}
	}
	return nil
}

func (f *Future) push(at workload.Time, k eventKind, job, attempt int32) {
	if k == finish {
		at = (at + f.Grid - 1) / f.Grid * f.Grid
	}
	f.events.push(event{at: at, kind: k, subject: job, attempt: attempt})
}

// end is when the present run of a job will be done.
func (f *Future) end(n int32) workload.Time {
	at := f.Engine.EndsAt(n, f.Work(n))
	if l := f.Engine.Job(n).Limit; l > 0 {
		at = min(at, f.Engine.Since(n)+l)
	}
	return at
}

func (f *Future) instant(now workload.Time, runs map[int32]*Alive) error {
	for len(f.events) > 0 && f.events[0].at <= now {
		x := f.events.pop()
		r := runs[x.subject]
		if r == nil || r.Attempt != x.attempt {
			continue
		}
		if err := f.serve(now, &x, r, runs); err != nil {
			return err
		}
	}
	for f.next < len(f.Arrivals) && f.Arrivals[f.next].Job.Submit <= now {
		a := &f.Arrivals[f.next]
		n := f.First + int32(f.next)
		f.next++
		if err := f.Engine.Apply(&fact.Fact{Kind: fact.JobSubmitted, At: now, Job: n, Node: -1, Submitted: a.Job, Estimate: a.Estimate}); err != nil {
			return err
		}
	}
	for range 1000 {
		d := f.Engine.Decide(now)
		f.wake, f.again = d.Wake, d.Again
		if f.Grid > 1 && d.Wake != workload.Never {
			f.wake = max(d.Wake, now+f.Grid)
		}
		if err := f.act(now, d.Actions, runs); err != nil {
			return err
		}
		if !f.again || f.over {
			break
		}
	}
	return nil
}

func (f *Future) act(now workload.Time, actions []fact.Action, runs map[int32]*Alive) error {
	for i := range actions {
		if err := f.Engine.Commit(&actions[i]); err != nil {
			return err
		}
	}
	for i := range actions {
		switch a := &actions[i]; a.Do {
		case fact.Start:
			r := &Alive{Job: a.Job, Attempt: a.Attempt}
			runs[a.Job] = r
			if f.Started != nil && f.first(a.Job) && !f.Started(a.Job, now) {
				f.over = true
				return nil
			}
			if f.Fill.StartLatency > 0 {
				f.push(now+f.Fill.StartLatency, confirm, a.Job, a.Attempt)
			} else if err := f.serve(now, &event{kind: confirm}, r, runs); err != nil {
				return err
			}
		case fact.Stop:
			r := runs[a.Job]
			if r == nil {
				continue
			}
			r.Stopping, r.Cause, r.Told = true, a.Cause(), now
			r.Deadline = now + f.Fill.Fill(f.Engine.Job(a.Job).Contract).Grace
			if f.Shares {
				r.Deadline = a.Until
			}
			if r.Deadline > now {
				f.push(r.Deadline, stopped, a.Job, a.Attempt)
				continue
			}
			f.again = true
			if err := f.serve(now, &event{kind: stopped}, r, runs); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve makes what is due happen to a run.
func (f *Future) serve(now workload.Time, x *event, r *Alive, runs map[int32]*Alive) error {
	e := f.Engine
	out := fact.Fact{At: now, Job: r.Job, Attempt: r.Attempt, Node: -1}
	switch x.kind {
	case confirm:
		if r.Up {
			return nil
		}
		r.Up = true
		out.Kind = fact.JobStarted
		if err := e.Apply(&out); err != nil {
			return err
		}
		f.push(max(f.end(r.Job), now), finish, r.Job, r.Attempt)
		return nil
	case finish:
		if !r.Up {
			return nil
		}
		out.Kind = fact.JobFinished
		out.Kept, _, out.Restart = e.Settle(r.Job, now, now, fact.CauseNone)
	case stopped:
		out.Kind, out.Cause = fact.JobStopped, r.Cause
		out.Kept, out.Lost, out.Restart = e.Settle(r.Job, now, r.Told, r.Cause)
	}
	delete(runs, r.Job)
	return e.Apply(&out)
}
