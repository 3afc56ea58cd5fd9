package sim

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// From is a state that a run goes on from: what runs keeps its place, what waits waits. Jobs
// of the workload have the numbers of the state: those below [engine.State.Next] were
// submitted before, the others are still to come. Outages of the cluster file are not
// carried out; Events has what happens to nodes.
//
// Observers are told what comes, and nothing of what was before.
type From struct {
	State *engine.State
	// Now is the time of the last instant of the state. What comes then or later is still to come.
	Now workload.Time
	// StartLatency passes between a start action and the start, whatever the engine assumes.
	StartLatency workload.Span
	// Before is what the world knows of jobs that are alive in the state, by number.
	Before map[int32]Before
	// Events happen whatever is decided, by time: facts about nodes, budgets, windows and
	// demand, and holds, releases and cancellations of jobs. One that means nothing by then is left out.
	Events []fact.Fact
}

// Before is what the world knows of a job and the engine does not. The zero value knows
// nothing: all comes as it does in any run.
type Before struct {
	// Starts that came true, those included that were told to stop on their way up; FirstStart
	// is the first of them, [workload.Unknown] if that is not known.
	Starts     int32
	FirstStart workload.Time
	// Cause for which a run was told to stop, at Told; Leave is when it has left (0 = at its
	// deadline). Confirm is when a start comes true (0 = after the latency).
	Cause                fact.Cause
	Told, Leave, Confirm workload.Time
	// Idle: it is a session that has nothing to do, until Active (0 = to its end).
	Idle   bool
	Active workload.Time
}

// resumed is a run's own record of the state that it goes on from. That of a run from the
// beginning is nil.
type resumed struct {
	// late are the events that come behind the submissions of their instant, at is the next.
	late []*fact.Fact
	at   int
	// saved is the work that runs of the state told to be safe.
	saved map[int32]workload.Span
	// told is what applications need, by time.
	told map[int32][]*fact.Fact
}

// nextLate is the time of the next late event.
func (f *resumed) nextLate() workload.Time {
	if f.at == len(f.late) {
		return workload.Never
	}
	return f.late[f.at].At
}

func (f *resumed) safe(n int32) workload.Span {
	if f == nil {
		return 0
	}
	return f.saved[n]
}

// demand is what an application was told to need at a time; false: nothing was.
func (f *resumed) demand(n int32, now workload.Time) (int32, bool) {
	if f == nil || len(f.told[n]) == 0 {
		return 0, false
	}
	list := f.told[n]
	i := 0
	for i+1 < len(list) && list[i+1].At <= now {
		i++
	}
	return list[i].Demand, true
}

// resume takes the state up.
func (r *run) resume() error {
	f := r.o.From
	if t, _ := f.State.Budgets(); t == nil && r.o.Policy.Sharing != nil {
		return fmt.Errorf("policy %s shares by budgets, and the state has none", r.o.Policy.Name)
	}
	next := int(f.State.Next())
	if next > len(r.jobs) {
		return fmt.Errorf("the state has %d jobs, and the workload %d", next, len(r.jobs))
	}
	r.from = &resumed{saved: map[int32]workload.Span{}, told: map[int32][]*fact.Fact{}}
	r.now, r.wake, r.acted, r.begun, r.latency, r.next = f.Now, f.Now, f.Now, true, f.StartLatency, next
	r.planned, r.drawn = make([]bool, len(r.o.Cluster.Nodes)), make([]bool, len(r.o.Cluster.Nodes))
	for _, n := range f.State.Down() {
		r.planned[n] = true
	}
	if err := r.expect(); err != nil {
		return err
	}
	for n := range next { // those that are not alive have ended before
		r.res.Jobs[n].State = Ended
	}
	alive := f.State.Alive()
	r.ended = next - len(alive)
	for i := range alive {
		r.takeUp(&alive[i])
	}
	return nil
}

// expect files what will happen whatever is decided.
func (r *run) expect() error {
	kinds := map[fact.Kind]eventKind{fact.NodeDown: nodeDown, fact.NodeUp: nodeUp, fact.NodeDrained: nodeDrain, fact.NodeResumed: nodeResume}
	for i := range r.o.From.Events {
		f := &r.o.From.Events[i]
		if f.At < r.now && f.Kind != fact.DemandChanged {
			return fmt.Errorf("an event at %d ms, and the state is of %d ms", f.At, r.now)
		}
		switch f.Kind {
		case fact.BudgetsChanged, fact.WindowSet, fact.WindowLifted:
			r.events.push(event{at: f.At, kind: rules, subject: int32(i)})
		case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
			r.events.push(event{at: f.At, kind: kinds[f.Kind], subject: f.Node})
			if r.places == nil {
				r.places = map[int32][]cluster.Grant{}
			}
		case fact.DemandChanged:
			if r.from.told[f.Job] = append(r.from.told[f.Job], f); f.At > r.now {
				r.events.push(event{at: f.At, kind: demand, subject: f.Job})
			}
		case fact.JobHeld, fact.JobReleased, fact.JobEdited, fact.JobCancelled:
			r.from.late = append(r.from.late, f)
		default:
			return fmt.Errorf("an event at %d ms that the world makes itself: %s", f.At, f.Kind)
		}
	}
	r.lateAt = r.from.nextLate()
	return nil
}

// takeUp takes up a job of the state.
func (r *run) takeUp(a *engine.Alive) {
	n := a.Number
	s, res, was := &r.state[n], &r.res.Jobs[n], r.o.From.Before[n]
	s.kept, s.attempt, s.holds, s.gone, s.queued = a.Kept, a.Attempt, a.Holds, a.Cancelled, r.now
	res.Starts, res.State = max(a.Starts, was.Starts), Unstarted
	r.res.Estimates[n] = a.Estimate
	if res.Starts > 0 {
		res.State = Requeued
		if was.Starts > 0 {
			res.FirstStart = was.FirstStart
		}
	}
	if r.jobs[n].Service != nil {
		r.events.push(event{at: r.later(r.serviceEnd(n)), kind: retire, subject: n})
	}
	switch {
	case a.State == "refused" || a.State == "stuck":
		if res.State = Refused; a.State == "stuck" {
			res.State = NeverReady
		}
		r.ended++
		return
	case a.State == "parked":
		r.takeUpParked(n, &was)
		return
	case a.Runs:
		r.takeUpRun(a, &was)
		return
	case a.Since > 0:
		s.queued = a.Since
	}
	s.waits = true
	if c := r.actual[n].CancelAfter; c > 0 {
		r.events.push(event{at: r.later(r.jobs[n].Submit + c), kind: cancel, subject: n})
	}
}

// later is a time that is still to come.
func (r *run) later(at workload.Time) workload.Time { return max(at, r.now+1) }

func (r *run) takeUpRun(a *engine.Alive, was *Before) {
	n := a.Number
	s, j := &r.state[n], &r.jobs[n]
	s.on, s.up, s.waits = true, a.Up, !a.Up
	s.tasks, s.milli, s.speed = a.Tasks, a.Milli, 1000
	s.assigned, s.began, s.queued = a.Since, a.Since, a.Since
	if len(a.Place) > 0 {
		s.speed = r.speedOn(n, a.Place[0].Node)
	}
	if r.places != nil {
		r.places[n] = slices.Clone(a.Place)
	}
	due := func(at workload.Time, k eventKind) {
		r.events.push(event{at: r.later(at), kind: k, subject: n, attempt: s.attempt})
	}
	if a.Up {
		r.res.Jobs[n].State = Running
		if a.Work > s.began+r.restart(n) { // it saved its state in between
			r.from.saved[n] = s.kept
			s.kept -= s.work(j, a.Work-s.began-r.restart(n))
		}
		due(r.endOf(n), finish)
		r.takeUpIdle(n, was)
	} else {
		due(pick(was.Confirm, a.Since+r.latency), confirm)
	}
	if a.State != "stopping" {
		return
	}
	if s.signal, s.cause = was.Told, was.Cause; s.cause == fact.CauseNone {
		s.signal, s.cause = r.now, fact.CausePreempted
	}
	leave := a.Deadline
	if leave == 0 {
		leave = s.signal + r.fill.Fill(j.Contract).Grace
	}
	due(pick(was.Leave, leave), stopped)
}

func pick(known, otherwise workload.Time) workload.Time {
	if known != 0 {
		return known
	}
	return otherwise
}

// takeUpIdle has a session that runs become idle, or its owner come back.
func (r *run) takeUpIdle(n int32, was *Before) {
	s, a := &r.state[n], &r.actual[n]
	switch {
	case was.Idle:
		if s.idleUntil = workload.Never; was.Active > 0 {
			s.idleUntil = r.later(was.Active)
			r.events.push(event{at: s.idleUntil, kind: active, subject: n, attempt: s.attempt})
		}
	case a.IdleAfter > s.kept:
		if at := s.began + r.restart(n) + s.wall(&r.jobs[n], a.IdleAfter-s.kept); at > r.now {
			r.events.push(event{at: at, kind: idle, subject: n, attempt: s.attempt})
		}
	}
}

func (r *run) takeUpParked(n int32, was *Before) {
	s := &r.state[n]
	s.parked, s.speed, s.idleUntil = true, 1000, workload.Never
	if was.Active > 0 {
		s.idleUntil = r.later(was.Active)
		r.events.push(event{at: s.idleUntil, kind: active, subject: n, attempt: s.attempt})
		return
	}
	r.events.push(event{at: r.later(pick(was.Leave, r.now+r.actual[n].Duration-s.kept)), kind: closed, subject: n, attempt: s.attempt})
}
