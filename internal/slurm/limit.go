package slurm

import (
	"context"
	"errors"
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
	if err := l.wait(ctx, 1); err != nil {
		return nil, err
	}
	return l.Runner.Run(ctx, tool, args...)
}

// Feed implements [Feeder] where what it limits does: each line is a call.
func (l *Limited) Feed(ctx context.Context, tool string, lines []string) error {
	feeder, ok := l.Runner.(Feeder)
	if !ok {
		return errors.ErrUnsupported
	}
	if err := l.wait(ctx, len(lines)); err != nil {
		return err
	}
	return feeder.Feed(ctx, tool, lines)
}

// wait waits for the last of so many turns.
func (l *Limited) wait(ctx context.Context, turns int) error {
	if l.PerSecond <= 0 {
		return nil
	}
	var most time.Duration
	for range turns {
		most = l.turn(l.Now())
	}
	if most <= 0 {
		return nil
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
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
