package worldtest

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// check holds all reports so far to what is true of any world at any time.
func (s *session) check() {
	s.Helper()
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	if len(s.seen.after) > 0 {
		s.Errorf("reported after Close: %s", show(s.seen.after))
	}
	ends := map[world.Run]world.Report{}
	started := map[world.Run]bool{}
	for _, r := range s.seen.all {
		switch r.Kind {
		case fact.JobStarted:
			if end, ok := ends[r.Run]; ok && end.Kind == fact.StartFailed {
				s.Errorf("%v started after its start failed", r.Run)
			}
			started[r.Run] = true
		case fact.StartFailed:
			if started[r.Run] {
				s.Errorf("the start of %v failed after it had started", r.Run)
			}
			s.sameEnd(ends, r)
		case fact.JobFinished:
			if !started[r.Run] && !s.closed {
				s.Logf("%v finished without a start reported by this world", r.Run) // it may have been before a restart
			}
			s.sameEnd(ends, r)
		case fact.JobStopped:
			if r.Cause == fact.CauseNone {
				s.Errorf("%v was stopped without a cause", r.Run)
			}
			s.sameEnd(ends, r)
		}
	}
}

// sameEnd: a run ends in one way, however often that is told. A stop of a run whose start
// failed is answered by its end as stopped.
func (s *session) sameEnd(ends map[world.Run]world.Report, r world.Report) {
	s.Helper()
	old, ok := ends[r.Run]
	if ok && (old.Kind != r.Kind || old.Outcome != r.Outcome || old.Cause != r.Cause || old.Exit != r.Exit) &&
		(old.Kind != fact.StartFailed || r.Kind != fact.JobStopped) {
		s.Errorf("%v ended in two ways: %s", r.Run, show([]world.Report{old, r}))
	}
	ends[r.Run] = r
}

func hasEnd(rs []world.Report) bool {
	for _, r := range rs {
		if r.Kind == fact.JobFinished || r.Kind == fact.JobStopped || r.Kind == fact.StartFailed {
			return true
		}
	}
	return false
}

func count(rs []world.Report, k fact.Kind) int {
	n := 0
	for _, r := range rs {
		if r.Kind == k {
			n++
		}
	}
	return n
}

// show renders reports for people.
func show(rs []world.Report) string {
	if len(rs) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d.%d", r.Kind, r.Job, r.Attempt)
		switch r.Kind {
		case fact.JobFinished:
			fmt.Fprintf(&b, " %s exit %d", r.Outcome, r.Exit)
		case fact.JobStopped:
			fmt.Fprintf(&b, " %s exit %d", r.Cause, r.Exit)
		case fact.NodeDown, fact.NodeUp, fact.StartFailed:
			fmt.Fprintf(&b, " node %d own %v", r.Node, r.Own)
		}
		if r.Text != "" {
			fmt.Fprintf(&b, " %q", r.Text)
		}
	}
	return b.String()
}
