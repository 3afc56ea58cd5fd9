package worldtest

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

var nodeCases = []Case{
	{"node lost and back", func(s *session) {
		if s.Lose == nil {
			s.Skip("this world cannot lose a node: it is the node")
		}
		s.begin()
		o := s.up(Kind{})
		node := o.Place[0].Node
		s.Lose(node)
		s.awaitNode(fact.NodeDown, node)
		if r := s.ended(o.Run); r.Kind != fact.JobStopped || r.Cause != fact.CauseNodeFailure {
			s.Errorf("got %s", show([]world.Report{r}))
		}
		late := s.job(Kind{})
		s.start(late)
		if r := s.ended(late.Run); r.Kind != fact.StartFailed || r.Own {
			s.Errorf("a start on a node that is down: got %s", show([]world.Report{r}))
		}
		s.Return(node)
		s.awaitNode(fact.NodeUp, node)
		next := o
		next.Attempt++
		s.start(next)
		s.await(next.Run, fact.JobStarted)
	}},
	{"node that is down is told at the beginning", func(s *session) {
		if s.Lose == nil {
			s.Skip("this world cannot lose a node: it is the node")
		}
		s.begin()
		o := s.up(Kind{})
		node := o.Place[0].Node
		s.restart(func() { s.Lose(node) }, world.Belief{Order: o, Up: true})
		s.now(fact.NodeDown)
		s.now(fact.JobStopped)
		s.Return(node)
		s.awaitNode(fact.NodeUp, node)
	}},
	{"node out of sight", func(s *session) {
		if s.Hide == nil {
			s.Skip("this world sees all that it runs")
		}
		s.begin()
		o := s.up(Kind{})
		gone := s.up(Kind{})
		node := o.Place[0].Node
		s.Hide(node)
		s.await(o.Run, fact.LostSight)
		s.Release(gone.Run)
		s.quiet()
		if hasEnd(s.of(o.Run)) || hasEnd(s.of(gone.Run)) {
			s.Errorf("an end is reported of what cannot be seen: %s", show(append(s.of(o.Run), s.of(gone.Run)...)))
		}
		s.Show(node)
		s.await(o.Run, fact.Found)
		if r := s.ended(gone.Run); r.Kind != fact.JobFinished {
			s.Errorf("got %s", show([]world.Report{r}))
		}
	}},
}

// now demands that a report has come already: Begin tells what is known before it returns.
func (s *session) now(k fact.Kind) {
	s.Helper()
	all, _ := s.seen.from(0)
	if count(all, k) == 0 {
		s.Errorf("want a report %s before Begin returns; got %s", k, show(all))
	}
}
