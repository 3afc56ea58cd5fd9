package observe

import (
	"context"
	"errors"
	"time"

	"github.com/escala-sched/escala/internal/live"
)

// pingEvery is how often the loop is asked for an answer.
const pingEvery = 5 * time.Second

// probe knows how late the loop is.
type probe struct {
	// since is when the first request was sent of those in a row that had no answer yet, zero
	// after an answer; last is how long that took.
	since time.Time
	last  time.Duration
}

func (p *probe) lag(now time.Time) time.Duration {
	if !p.since.IsZero() {
		return max(p.last, now.Sub(p.since))
	}
	return p.last
}

// Probe measures how late the loop is, until the context or the loop ends.
func (m *Metrics) Probe(ctx context.Context) {
	for {
		sent := m.cfg.Now()
		m.mu.Lock()
		if m.probe.since.IsZero() {
			m.probe.since = sent
		}
		m.mu.Unlock()
		err := m.d.Ping(ctx)
		if ctx.Err() != nil || errors.Is(err, live.ErrClosed) {
			return
		}
		if err == nil { // while nothing can be written requests are answered, and nothing goes on
			m.mu.Lock()
			m.probe = probe{last: m.cfg.Now().Sub(sent)}
			m.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-m.d.Done():
			return
		case <-time.After(pingEvery):
		}
	}
}
