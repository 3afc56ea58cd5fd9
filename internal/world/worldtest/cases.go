package worldtest

import (
	"slices"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// Cases are all demands.
var Cases = slices.Concat(startCases, endCases, stopCases, nodeCases, restartCases)

var startCases = []Case{
	{"start", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.quiet()
		if got := s.of(o.Run); hasEnd(got) {
			s.Errorf("a run that goes on has ended: %s", show(got))
		}
	}},
	{"start told twice is carried out once", func(s *session) {
		s.begin()
		o := s.job(Kind{})
		s.start(o)
		s.World.Do(o)
		s.await(o.Run, fact.JobStarted)
		n := s.seen.len()
		s.World.Do(o)
		s.awaitMore(n, o.Run, fact.JobStarted)
		s.Release(o.Run)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeCompleted {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		s.quiet()
		s.dead(o.Run)
	}},
	{"start told again after the end reports the end again", func(s *session) {
		s.begin()
		o := s.job(Kind{Exits: true, Code: 3})
		s.start(o)
		s.ended(o.Run)
		n := s.seen.len()
		s.World.Do(o)
		if r := s.awaitMore(n, o.Run, fact.JobFinished); r.Exit != 3 {
			s.Errorf("exit %d, want 3", r.Exit)
		}
	}},
	{"start fails by the job's own fault", func(s *session) {
		s.begin()
		o := s.job(Kind{Fails: true})
		s.start(o)
		if r := s.ended(o.Run); r.Kind != fact.StartFailed || !r.Own || r.Node != -1 || r.Text == "" {
			s.Errorf("want a failed start by its own fault, no node and a text; got %s", show([]world.Report{r}))
		}
		n := s.seen.len()
		s.World.Do(o)
		s.awaitMore(n, o.Run, fact.StartFailed)
	}},
	{"start fails by the node's fault", func(s *session) {
		s.begin()
		o := s.job(Kind{Fails: true, Node: true})
		s.start(o)
		if r := s.ended(o.Run); r.Kind != fact.StartFailed || r.Own || r.Node != o.Place[0].Node || r.Text == "" {
			s.Errorf("want a failed start by the fault of node %d and a text; got %s", o.Place[0].Node, show([]world.Report{r}))
		}
	}},
	{"next attempt of a job", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.World.Do(stop(o, s.Grace, fact.CausePreempted))
		s.ended(o.Run)
		next := o
		next.Attempt++
		s.start(next)
		s.await(next.Run, fact.JobStarted)
		s.Release(next.Run)
		if r := s.ended(next.Run); r.Kind != fact.JobFinished {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
}

var endCases = []Case{
	{"end with code 0", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.Release(o.Run)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeCompleted || r.Exit != 0 {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		s.dead(o.Run)
	}},
	{"end with another code", func(s *session) {
		s.begin()
		o := s.job(Kind{Exits: true, Code: 7})
		s.start(o)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeFailed || r.Exit != 7 {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		if n := count(s.of(o.Run), fact.JobStarted); n == 0 {
			s.Errorf("a run that ended was never reported to have started")
		}
	}},
	{"end that asks to be resumed", func(s *session) {
		s.begin()
		o := s.job(Kind{Yields: true})
		s.start(o)
		if r := s.ended(o.Run); r.Kind != fact.JobStopped || r.Cause != fact.CauseYielded {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"what a run leaves behind ends with it", func(s *session) {
		s.begin()
		o := s.up(Kind{Forks: true, Ignores: true})
		s.Release(o.Run)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeCompleted {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		s.dead(o.Run)
	}},
	{"time limit", func(s *session) {
		s.begin()
		o := s.job(Kind{Late: true})
		o.Limit = s.Limit
		s.start(o)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeTimeout {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		s.dead(o.Run)
	}},
	{"time limit while the daemon is away", func(s *session) {
		s.begin()
		o := s.job(Kind{Late: true})
		o.Limit = s.Limit
		s.start(o)
		s.await(o.Run, fact.JobStarted)
		s.restart(func() { time.Sleep(s.Limit + s.Quiet) }, world.Belief{Order: o, Up: true})
		if r := s.ended(o.Run); r.Kind != fact.JobFinished || r.Outcome != workload.OutcomeTimeout {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"settled is forgotten", func(s *session) {
		s.owns()
		s.remembers()
		s.begin()
		o := s.job(Kind{Exits: true, Code: 5})
		s.start(o)
		s.ended(o.Run)
		s.World.Settled(o.Run)
		s.World.Settled(o.Run, world.Run{Job: 999, Attempt: 1}) // told twice, and never heard of
		s.quiet()
		s.started = nil
		s.restart(nil, world.Belief{Order: o, Up: true})
		if r := s.ended(o.Run); r.Kind != fact.JobStopped || r.Cause != fact.CauseNodeFailure {
			s.Errorf("the end is still known after Settled: %s", show([]world.Report{r}))
		}
	}},
	{"settled does not end what runs", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.World.Settled(o.Run)
		s.quiet()
		s.Release(o.Run)
		if r := s.ended(o.Run); r.Kind != fact.JobFinished {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
	{"close ends the reports, not the runs", func(s *session) {
		s.begin()
		o := s.up(Kind{})
		s.close()
		s.Release(o.Run)
		s.quiet()
		s.check()
		s.seen = newSink()
		s.World, s.closed = s.Reopen(s.T), false
		s.begin(world.Belief{Order: o, Up: true})
		s.ended(o.Run)
	}},
}
