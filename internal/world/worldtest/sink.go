package worldtest

import (
	"sync"

	"github.com/escala-sched/escala/internal/world"
)

// sink remembers all reports.
type sink struct {
	mu     sync.Mutex
	all    []world.Report
	more   chan struct{} // closed and replaced at each report
	closed bool
	after  []world.Report // came although the world was closed
}

func newSink() *sink { return &sink{more: make(chan struct{})} }

func (s *sink) report(rs ...world.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.after = append(s.after, rs...)
		return
	}
	s.all = append(s.all, rs...)
	close(s.more)
	s.more = make(chan struct{})
}

// from returns the reports from the n-th on, and a channel that is closed when there are more.
func (s *sink) from(n int) ([]world.Report, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]world.Report(nil), s.all[n:]...), s.more
}

func (s *sink) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *sink) shut(closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = closed
}
