package worldtest

import (
	"context"
	"testing"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// session is a case at work.
type session struct {
	*testing.T
	Harness
	seen   *sink
	closed bool
	// started are stopped at the end, unless they ended.
	started []world.Run
}

// begin begins the world with what is believed.
func (s *session) begin(believed ...world.Belief) {
	s.Helper()
	if err := s.World.Begin(context.Background(), believed, s.seen.report); err != nil {
		s.Fatalf("Begin: %v", err)
	}
}

func (s *session) start(orders ...world.Order) {
	for i := range orders {
		s.started = append(s.started, orders[i].Run)
	}
	s.World.Do(orders...)
}

// job prepares a job, or skips the case where there is none of the kind.
func (s *session) job(k Kind) world.Order {
	s.Helper()
	o := s.Job(s.T, k)
	if o.Job == Cannot {
		s.Skipf("this world has no job that is %+v", k)
	}
	return o
}

// up starts a job of a kind and waits until it runs.
func (s *session) up(k Kind) world.Order {
	s.Helper()
	o := s.job(k)
	s.start(o)
	s.await(o.Run, fact.JobStarted)
	if s.Ready != nil {
		s.Ready(s.T, o.Run)
	}
	return o
}

func stop(o world.Order, grace time.Duration, c fact.Cause) world.Order {
	return world.Order{Do: fact.Stop, Run: o.Run, ID: o.ID, Spec: o.Spec, Grace: grace, Cause: c, Why: "another job needs the place"}
}

// restart lets the daemon go away and come back with beliefs. Reports start anew.
func (s *session) restart(meanwhile func(), believed ...world.Belief) {
	s.Helper()
	s.close()
	if meanwhile != nil {
		meanwhile()
	}
	s.check()
	s.seen = newSink()
	s.World, s.closed = s.Reopen(s.T), false
	s.begin(believed...)
}

func (s *session) close() {
	s.Helper()
	s.closed = true
	if err := s.World.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
	s.seen.shut(true)
}

// remembers skips a case about what a world knows besides what is believed.
func (s *session) remembers() {
	s.Helper()
	if s.Believes {
		s.Skip("this world goes by what is believed")
	}
}

// owns skips a case about a machine that runs what its world tells it to, and nothing else.
func (s *session) owns() {
	s.Helper()
	if s.Keeps {
		s.Skip("this world's machine has a mind of its own")
	}
}

// await waits for a report of a run and returns it.
func (s *session) await(r world.Run, kinds ...fact.Kind) world.Report {
	s.Helper()
	return s.wait(0, func(x *world.Report) bool {
		if x.Run != r {
			return false
		}
		for _, k := range kinds {
			if x.Kind == k {
				return true
			}
		}
		return false
	}, r, kinds)
}

// awaitMore is await for reports after the first n.
func (s *session) awaitMore(n int, r world.Run, kind fact.Kind) world.Report {
	s.Helper()
	return s.wait(n, func(x *world.Report) bool { return x.Run == r && x.Kind == kind }, r, kind)
}

func (s *session) awaitNode(kind fact.Kind, node int32) {
	s.Helper()
	s.wait(0, func(x *world.Report) bool { return x.Kind == kind && x.Node == node }, kind, node)
}

func (s *session) wait(n int, is func(*world.Report) bool, what ...any) world.Report {
	s.Helper()
	timeout := time.NewTimer(s.Patience)
	defer timeout.Stop()
	for {
		list, more := s.seen.from(n)
		for i := range list {
			if is(&list[i]) {
				return list[i]
			}
		}
		n += len(list)
		select {
		case <-more:
		case <-timeout.C:
			all, _ := s.seen.from(0)
			s.Fatalf("no report of %v after %v; there were %s", what, s.Patience, show(all))
		}
	}
}

// ended waits for the end of a run.
func (s *session) ended(r world.Run) world.Report {
	s.Helper()
	return s.await(r, fact.JobFinished, fact.JobStopped, fact.StartFailed)
}

// quiet listens for a while.
func (s *session) quiet() { time.Sleep(s.Quiet) }

// of returns the reports of a run so far.
func (s *session) of(r world.Run) []world.Report {
	all, _ := s.seen.from(0)
	var out []world.Report
	for _, x := range all {
		if x.Run == r && x.Kind != fact.NodeDown && x.Kind != fact.NodeUp {
			out = append(out, x)
		}
	}
	return out
}

// none demands that nothing was reported of a run.
func (s *session) none(r world.Run) {
	s.Helper()
	if x := s.of(r); len(x) > 0 {
		s.Errorf("nothing is to be reported of %v, but there is %s", r, show(x))
	}
}

// dead demands that no process of a run is alive.
func (s *session) dead(r world.Run) {
	s.Helper()
	if s.Processes == nil {
		return
	}
	if n := s.Processes(r); n > 0 {
		s.Errorf("the end of %v is reported, but %d of its processes are alive", r, n)
	}
}

// end stops what still runs, and holds all reports to the rules that are always true.
func (s *session) end() {
	if !s.closed {
		for _, r := range s.started {
			if !hasEnd(s.of(r)) {
				s.World.Do(world.Order{Do: fact.Stop, Run: r, Cause: fact.CauseCancelled})
			}
		}
		if !s.Failed() && !s.Skipped() {
			for _, r := range s.started {
				s.ended(r)
			}
			for _, r := range s.started {
				s.World.Settled(r)
			}
		} else {
			time.Sleep(s.Quiet)
		}
		if err := s.World.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
		s.seen.shut(true)
	}
	s.quietly()
	s.check()
}

// quietly gives a closed world the time to report what it must not.
func (s *session) quietly() { time.Sleep(s.Quiet / 4) }
