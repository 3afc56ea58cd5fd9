package slurm

import (
	"context"
	"sync"
	"time"
)

// Limited runs tools, but not more often than told: slurmctld serves people as well.
type Limited struct {
	Runner
	// PerSecond is how many calls are made a second in the long run, Burst how many at once; 0 = no limit, 1.
	PerSecond float64
	Burst     int
	// Now is the clock; it is required where there is a limit.
	Now func() time.Time

	mu   sync.Mutex
	next time.Time
}

// Run implements [Runner]. It waits for its turn, or until ctx is done.
func (l *Limited) Run(ctx context.Context, tool string, args ...string) ([]byte, error) {
	var wait time.Duration
	if l.PerSecond > 0 {
		wait = l.turn(l.Now())
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
	return l.Runner.Run(ctx, tool, args...)
}

// turn books the next call and returns how long to wait for it. Turns that were not used are kept up to the burst.
func (l *Limited) turn(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	step := time.Duration(float64(time.Second) / l.PerSecond)
	if kept := now.Add(-step * time.Duration(max(l.Burst, 1)-1)); l.next.Before(kept) {
		l.next = kept
	}
	wait := l.next.Sub(now)
	l.next = l.next.Add(step)
	return max(wait, 0)
}
