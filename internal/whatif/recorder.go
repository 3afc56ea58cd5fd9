package whatif

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// recorder makes of facts what a simulation says of its jobs.
type recorder struct {
	jobs  []sim.JobResult
	state []recorded
}

// recorded is how a job stands.
type recorded struct {
	milli int64
	// since it waits, or is held.
	since           workload.Time
	holds           uint8
	waits, on, gone bool
	once            bool
	up              workload.Time
}

func newRecorder(jobs []workload.Job) *recorder {
	r := &recorder{jobs: make([]sim.JobResult, len(jobs)), state: make([]recorded, len(jobs))}
	for i := range r.jobs {
		r.jobs[i] = sim.JobResult{FirstStart: workload.Unknown, Finish: workload.Unknown, State: sim.Unstarted}
		r.state[i].once = jobs[i].Contract.NotResumable
	}
	return r
}

// Instant is of no concern.
func (r *recorder) Instant(*sim.Gauge) {}

// Action takes in a decision.
func (r *recorder) Action(a *fact.Action) {
	if a.Job < 0 {
		return
	}
	switch s, j := &r.state[a.Job], &r.jobs[a.Job]; a.Do {
	case fact.Start:
		s.on, s.milli, s.up = true, a.Milli, workload.Unknown
	case fact.Resize:
		s.milli = a.Milli
	case fact.Refuse:
		s.waits = false
		if j.State = sim.Refused; a.Reason.Code == fact.DependencyFailed {
			j.State = sim.NeverReady
		}
	}
}

// Fact takes in a fact.
func (r *recorder) Fact(f *fact.Fact) {
	if f.Job < 0 {
		return
	}
	s, j := &r.state[f.Job], &r.jobs[f.Job]
	switch f.Kind {
	case fact.JobSubmitted:
		s.waits, s.since = true, f.At
	case fact.JobStarted:
		r.waited(f.Job, f.At)
		if j.Starts++; j.Starts == 1 {
			j.FirstStart = f.At
		}
		s.waits, s.up, j.State = false, f.At, sim.Running
	case fact.JobFinished:
		r.left(f)
		j.Finish, j.State, j.Outcome = f.At, sim.Ended, f.Outcome
	case fact.StartFailed:
		s.on = false
	case fact.JobStopped:
		r.left(f)
		r.stopped(f)
	case fact.JobCancelled:
		r.cancelled(f)
	case fact.SessionActive:
		if !s.on && !s.waits && j.State == sim.Requeued {
			s.waits, s.since = true, f.At
		}
	case fact.JobHeld, fact.JobReleased:
		if s.waits && !s.on {
			r.waited(f.Job, f.At)
		}
		if bit := uint8(1) << f.Hold; f.Kind == fact.JobHeld {
			s.holds |= bit
		} else {
			s.holds &^= bit
		}
	}
}

// waited books the wait, or the hold, that ends now.
func (r *recorder) waited(n int32, at workload.Time) {
	s, j := &r.state[n], &r.jobs[n]
	switch {
	case !s.waits:
	case s.holds == 0:
		j.Queued += at - s.since
	case j.Starts == 0:
		j.Held += at - s.since
	}
	s.since = at
}

// left books a run that has ended.
func (r *recorder) left(f *fact.Fact) {
	s, j := &r.state[f.Job], &r.jobs[f.Job]
	s.on = false
	j.Lost += s.milli * f.Lost
	j.Restart += s.milli * f.Restart
	if s.up != workload.Unknown {
		j.Ran += f.At - s.up - f.Lost - f.Restart
	}
}

func (r *recorder) stopped(f *fact.Fact) {
	s, j := &r.state[f.Job], &r.jobs[f.Job]
	gone := s.gone || f.Cause == fact.CauseCancelled
	switch {
	case f.Cause == fact.CauseNodeFailure:
		j.NodeFailures++
	case !gone:
		j.Preemptions++
	}
	if j.State = sim.Requeued; j.Starts == 0 {
		j.State = sim.Unstarted
	}
	switch {
	case gone:
		s.waits, j.Finish, j.State, j.Outcome = false, f.At, sim.Ended, workload.OutcomeCancelled
	case f.Cause == fact.CauseParked:
		s.waits = false
	case s.once && s.up != workload.Unknown && f.Cause != fact.CauseNodeFailure:
		s.waits, j.Finish, j.State, j.Outcome = false, f.At, sim.Ended, workload.OutcomePreempted
	default:
		if s.up != workload.Unknown {
			s.since = f.At
		}
		s.waits = true
	}
	s.up = workload.Unknown
}

func (r *recorder) cancelled(f *fact.Fact) {
	s, j := &r.state[f.Job], &r.jobs[f.Job]
	switch {
	case s.on:
		s.gone = true // the stop that follows ends it
		return
	case j.Starts == 0:
		r.waited(f.Job, f.At)
		j.State, j.Outcome = sim.Withdrawn, workload.OutcomeCancelled
	default:
		r.waited(f.Job, f.At)
		j.Finish, j.State, j.Outcome = f.At, sim.Ended, workload.OutcomeCancelled
	}
	s.waits = false
}

// result is what came of it by the end of the stretch.
func (r *recorder) result(end workload.Time) *sim.Result {
	for n := range r.jobs {
		if s := &r.state[n]; s.waits {
			r.waited(int32(n), end)
		} else if s.on && s.up != workload.Unknown {
			r.jobs[n].Ran += end - s.up
		}
	}
	return &sim.Result{Jobs: r.jobs, End: end, Cut: true}
}
