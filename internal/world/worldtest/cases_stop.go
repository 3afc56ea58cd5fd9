package worldtest

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// killed is the exit code of what SIGKILL ended.
const killed = 128 + 9

var stopCases = []Case{
	{"stop", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		s.stopped(o, fact.CausePreempted)
	}},
	{"stop of a run that saves its state and leaves in time", func(s *session) {
		s.begin()
		o := s.up(Kind{Saves: true})
		s.World.Do(stop(o, s.Grace, fact.CauseReservation))
		if r := s.stopped(o, fact.CauseReservation); r.Exit != 0 {
			s.Errorf("exit %d: it was not given the time to leave", r.Exit)
		}
	}},
	{"stop of a run that has to be killed", func(s *session) {
		s.begin()
		o := s.up(Kind{Ignores: true})
		s.World.Do(stop(o, s.Quiet, fact.CauseDrain))
		if r := s.stopped(o, fact.CauseDrain); r.Exit != killed {
			s.Errorf("exit %d, want %d", r.Exit, killed)
		}
	}},
	{"stop without a grace", func(s *session) {
		s.begin()
		o := s.up(Kind{Ignores: true, Forks: true})
		s.World.Do(stop(o, 0, fact.CauseCancelled))
		s.stopped(o, fact.CauseCancelled)
	}},
	{"stop of a run with children", func(s *session) {
		s.begin()
		o := s.up(Kind{Forks: true})
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		s.stopped(o, fact.CausePreempted)
	}},
	{"stop of a run with children that have to be killed", func(s *session) {
		s.begin()
		o := s.up(Kind{Forks: true, Ignores: true})
		s.World.Do(stop(o, s.Quiet, fact.CausePreempted))
		s.stopped(o, fact.CausePreempted)
	}},
	{"stop right behind the start", func(s *session) {
		s.begin()
		o := s.job(Kind{})
		s.start(o, stop(o, s.Grace, fact.CauseCancelled))
		s.stopped(o, fact.CauseCancelled)
	}},
	{"stop of a run that is not up yet", func(s *session) {
		s.begin()
		o := s.job(Kind{Slow: true})
		s.start(o)
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		s.stopped(o, fact.CausePreempted)
	}},
	{"stop of a run whose start failed", func(s *session) {
		s.begin()
		o := s.job(Kind{Fails: true})
		s.start(o)
		s.await(o.Run, fact.StartFailed)
		n := s.seen.len()
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		if r := s.awaitMore(n, o.Run, fact.JobStopped); r.Cause != fact.CausePreempted {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"stop of a run that was never heard of", func(s *session) {
		s.begin()
		o := s.job(Kind{})
		s.World.Do(stop(o, s.Grace, fact.CauseCancelled))
		s.stopped(o, fact.CauseCancelled)
	}},
	{"stop told twice", func(s *session) {
		s.begin()
		o := s.up(Kind{Saves: true})
		s.World.Do(stop(o, s.Grace, fact.CausePreempted), stop(o, s.Grace, fact.CausePreempted))
		s.stopped(o, fact.CausePreempted)
		n := s.seen.len()
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		if r := s.awaitMore(n, o.Run, fact.JobStopped); r.Cause != fact.CausePreempted {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"a later stop shortens the grace and keeps the cause", func(s *session) {
		s.begin()
		o := s.up(Kind{Ignores: true})
		s.World.Do(stop(o, 100*s.Patience, fact.CausePreempted))
		s.quiet()
		s.World.Do(stop(o, 0, fact.CauseCancelled))
		s.stopped(o, fact.CausePreempted)
	}},
	{"stop after the end", func(s *session) {
		s.begin()
		o := s.job(Kind{Exits: true, Code: 4})
		s.start(o)
		s.ended(o.Run)
		n := s.seen.len()
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		if r := s.awaitMore(n, o.Run, fact.JobFinished); r.Exit != 4 {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"stop races with the end", func(s *session) {
		s.begin()
		for i := range 8 {
			o := s.up(Kind{})
			if i%2 == 0 {
				s.Release(o.Run)
				s.World.Do(stop(o, s.Grace, fact.CausePreempted))
			} else {
				s.World.Do(stop(o, s.Grace, fact.CausePreempted))
				s.Release(o.Run)
			}
			r := s.ended(o.Run)
			finished := r.Kind == fact.JobFinished && r.Outcome == workload.OutcomeCompleted && r.Exit == 0
			stopped := r.Kind == fact.JobStopped && r.Cause == fact.CausePreempted
			if !finished && !stopped {
				s.Errorf("want finished with code 0 or stopped; got %s", show([]world.Report{r}))
			}
			s.dead(o.Run)
		}
		s.quiet() // rules find a second end of another kind
	}},
	{"a start behind a stop begins nothing", func(s *session) {
		s.begin()
		o := s.job(Kind{})
		s.start(o)
		s.World.Do(stop(o, s.Grace, fact.CausePreempted), o)
		s.stopped(o, fact.CausePreempted)
		s.quiet()
		s.dead(o.Run)
	}},
}

// stopped waits for the end of a run that was told to stop, and looks at it.
func (s *session) stopped(o world.Order, c fact.Cause) world.Report {
	s.Helper()
	r := s.ended(o.Run)
	if r.Kind != fact.JobStopped || r.Cause != c {
		s.Errorf("want stopped, cause %s; got %s", c, show([]world.Report{r}))
	}
	s.dead(o.Run)
	return r
}
