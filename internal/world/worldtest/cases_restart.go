package worldtest

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

var restartCases = []Case{
	{"restart with a run that goes on", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.restart(nil, world.Belief{Order: o, Up: true})
		s.quiet()
		if got := s.of(o.Run); hasEnd(got) {
			s.Fatalf("it was lost: %s", show(got))
		}
		s.Release(o.Run)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeCompleted {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		s.dead(o.Run)
	}},
	{"restart, and the start is told again", func(s *session) {
		s.remembers()
		s.begin()
		o := s.up(Kind{})
		s.restart(nil, world.Belief{Order: o})
		s.now(fact.JobStarted)
		s.World.Do(o)
		s.quiet()
		s.Release(o.Run)
		s.ended(o.Run)
		s.quiet()
		s.dead(o.Run)
	}},
	{"restart, and a run that goes on is stopped", func(s *session) {
		s.begin()
		o := s.up(Kind{Saves: true})
		s.restart(nil, world.Belief{Order: o, Up: true})
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		if r := s.stopped(o, fact.CausePreempted); r.Exit != 0 {
			s.Errorf("exit %d: it was not given the time to leave", r.Exit)
		}
	}},
	{"run ends while the daemon is away", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.restart(func() { s.Release(o.Run); s.quiet() }, world.Belief{Order: o, Up: true})
		if r := s.ended(o.Run); r.Outcome != workload.OutcomeCompleted {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"exit code is remembered until settled", func(s *session) {
		s.remembers()
		s.begin()
		o := s.job(Kind{Exits: true, Code: 9})
		s.start(o)
		s.ended(o.Run)
		for range 2 {
			s.restart(nil, world.Belief{Order: o})
			s.now(fact.JobFinished)
			if r := s.ended(o.Run); r.Exit != 9 {
				s.Errorf("exit %d, want 9", r.Exit)
			}
		}
	}},
	{"failed start is remembered until settled", func(s *session) {
		s.remembers()
		s.begin()
		o := s.job(Kind{Fails: true})
		s.start(o)
		s.ended(o.Run)
		s.restart(nil, world.Belief{Order: o})
		s.now(fact.StartFailed)
	}},
	{"stop goes on while the daemon is away", func(s *session) {
		s.begin()
		o := s.up(Kind{Ignores: true})
		s.World.Do(stop(o, s.Quiet, fact.CauseReservation))
		s.quiet()
		s.restart(s.quiet, world.Belief{Order: o, Up: true, Stopping: true})
		s.World.Do(stop(o, s.Quiet, fact.CauseReservation))
		s.stopped(o, fact.CauseReservation)
	}},
	{"belief in a start that never arrived", func(s *session) {
		s.begin()
		o := s.job(Kind{})
		s.restart(nil, world.Belief{Order: o})
		s.quiet()
		s.none(o.Run)
		s.start(o) // the loop tells it again
		s.await(o.Run, fact.JobStarted)
	}},
	{"belief in a start that never arrived and was told to stop", func(s *session) {
		s.begin()
		o := s.job(Kind{})
		s.restart(nil, world.Belief{Order: o, Stopping: true})
		s.quiet()
		s.none(o.Run)
		s.World.Do(stop(o, s.Grace, fact.CauseCancelled))
		s.stopped(o, fact.CauseCancelled)
	}},
	{"belief in a run that is gone", func(s *session) {
		s.remembers()
		s.begin()
		o := s.job(Kind{})
		s.restart(nil, world.Belief{Order: o, Up: true})
		s.now(fact.JobStopped)
		if r := s.ended(o.Run); r.Kind != fact.JobStopped || r.Cause != fact.CauseNodeFailure || r.Text == "" {
			s.Errorf("want stopped, cause node-failure, with a text; got %s", show([]world.Report{r}))
		}
	}},
	{"run that is not believed is stopped", func(s *session) {
		s.owns()
		s.remembers()
		s.begin()
		o := s.up(Kind{})
		s.restart(nil)
		s.stopped(o, fact.CauseOperator)
	}},
	{"end that is not believed is forgotten", func(s *session) {
		s.begin()
		o := s.job(Kind{Exits: true})
		s.start(o)
		s.ended(o.Run)
		s.restart(nil)
		s.quiet()
		s.none(o.Run)
	}},
	{"many at once", func(s *session) {
		s.begin()
		var orders []world.Order
		for i := range 24 {
			orders = append(orders, s.job(Kind{Exits: true, Code: int32(i)}))
		}
		s.start(orders...)
		for i, o := range orders {
			if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Exit != int32(i) {
				s.Errorf("job %d: got %s", i, show([]world.Report{r}))
			}
		}
	}},
}
