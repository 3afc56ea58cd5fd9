package shadow

import (
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

const (
	// Near is by how much reality may begin later than the shadow and still count as together
	// with it: its end is waited for, which comes late by no more than that.
	Near = time.Minute
	// Unsaid is the length that is guessed for jobs that say none.
	Unsaid = time.Hour
	// least is what is guessed to be left of a job that has gone on for longer than it said.
	least = time.Minute
)

// GuessText is what the end of a run says that rests on a guess.
const GuessText = "its end is a guess: reality has not told of one"

// run is a shadow run. Its methods are called with the world locked.
type run struct {
	w     *World
	order world.Order
	at    time.Time
	// unseen: there never was such a run.
	unseen bool
	// stopping since it was told to, for cause; it leaves by then.
	stopping bool
	cause    fact.Cause
	leaves   time.Time
	timer    *time.Timer
	// end is the report of its end, nil as long as it lasts.
	end *world.Report
}

// due is when the run ends and how, as far as is known now; never = nothing says when.
func (x *run) due() (at time.Time, r world.Report, never bool) {
	o, real := &x.order, &x.order.Real
	begun := x.at.Add(o.Restart - o.Done) // as if it had never been interrupted
	limit := x.at.Add(o.Limit)
	at, never = x.guess(begun)
	r = world.Report{Kind: fact.JobFinished, Outcome: workload.OutcomeCompleted, Text: GuessText}
	switch {
	case !real.Started.IsZero() && !real.Ended.IsZero():
		at, never = begun.Add(real.Ended.Sub(real.Started)), false
		r = world.Report{Kind: fact.JobFinished, Outcome: real.Outcome, Exit: real.Exit}
	case o.Limit > 0 && !never && limit.Before(at): // it is guessed to end within its limit
		at = limit
	case o.Limit > 0 && never:
		at, never = limit, false
		r = world.Report{Kind: fact.JobFinished, Outcome: workload.OutcomeTimeout, Exit: 128 + 15, Text: "it reached its time limit"}
	}
	if x.stopping {
		r = world.Report{Kind: fact.JobStopped, Cause: x.cause}
		if never || x.leaves.Before(at) {
			at, never = x.leaves, false
		}
	}
	if at.Before(x.at) {
		at = x.at
	}
	return at, r, never
}

// guess is when a run ends of which reality has not told the end; never = that is waited for.
func (x *run) guess(begun time.Time) (at time.Time, never bool) {
	o := &x.order
	if s := o.Real.Started; !s.IsZero() && !s.After(begun.Add(Near)) {
		return at, true
	}
	length := Unsaid
	if o.Spec != nil {
		switch {
		case o.Spec.Service != nil: // it ends when somebody takes it down
			return at, true
		case o.Spec.Estimate > 0:
			length = time.Duration(o.Spec.Estimate) * time.Millisecond
		case o.Spec.Limit > 0:
			length = time.Duration(o.Spec.Limit) * time.Millisecond
		}
	}
	at = begun.Add(length)
	if soonest := x.at.Add(o.Restart + least); o.Done > 0 && at.Before(soonest) {
		at = soonest
	}
	return at, false
}

// arm has the run end when it is due, which may be now.
func (x *run) arm() {
	x.disarm()
	at, r, never := x.due()
	if never || x.end != nil || x.w.report == nil {
		return
	}
	wait := at.Sub(x.w.now())
	if wait <= 0 {
		r.When = at
		x.over(r)
		return
	}
	x.timer = time.AfterFunc(wait, func() {
		x.w.mu.Lock()
		defer x.w.mu.Unlock()
		x.arm() // what is known may have changed in the meantime
	})
}

func (x *run) disarm() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

func (x *run) over(r world.Report) {
	x.disarm()
	r.Run, r.Node = x.order.Run, -1
	x.end = &r
	delete(x.w.live, x.order.Job)
	x.w.report(r)
}

func (x *run) started() world.Report {
	return world.Report{Kind: fact.JobStarted, Run: x.order.Run, Node: -1, When: x.at}
}

// again tells how things stand.
func (x *run) again() {
	if !x.unseen {
		x.w.report(x.started())
	}
	if x.end != nil {
		x.w.report(*x.end)
	}
}
