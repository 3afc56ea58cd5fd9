//go:build highs && (amd64 || arm64) && (linux || darwin || freebsd || netbsd || windows)

package highs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// clock is the one HiGHS looks at. It ends solves: once a limit is reached or a
// context is done, each read is a leap ahead of the one before, by more than HiGHS's
// time limit. So all its timers run out, those too that it starts then, and it stops
// in good order, with the best solution and bound so far. HiGHS decides nothing else
// by the time.
type clock struct {
	ctx, closed context.Context
	start       time.Time
	deadline    time.Time // zero is none
	reads, work int64     // reads so far, and how many there may be, 0 for any number

	ended   Status // why it leaps; Unknown is not yet
	endedAt time.Duration
	leaps   time.Duration
}

const (
	// begins keeps HiGHS's times away from 0, which it uses as a mark.
	begins = 1_000_000 * time.Second
	// timeLimit is what HiGHS is told, a day; longer solves are for programs of their own.
	timeLimit = 24 * time.Hour
	leap      = 2 * timeLimit
	lastLeap  = 250 * 365 * 24 * time.Hour
	// patience is how long HiGHS may take to stop.
	patience = time.Minute
)

func startClock(ctx, closed context.Context, o *Options) *clock {
	c := &clock{ctx: ctx, closed: closed, work: o.WorkLimit}
	c.start = time.Now() //nolint:forbidigo // decides when to stop, nothing else
	if o.TimeLimit > 0 {
		c.deadline = c.start.Add(o.TimeLimit)
	}
	if d, ok := ctx.Deadline(); ok && (c.deadline.IsZero() || d.Before(c.deadline)) {
		c.deadline = d
	}
	return c
}

// read returns the time since some day. It gives up a solve that does not stop.
func (c *clock) read() time.Duration {
	c.reads++
	elapsed := time.Since(c.start)
	switch {
	case c.ended == Unknown:
		c.ended, c.endedAt = c.end(elapsed), elapsed
	case elapsed > c.endedAt+patience:
		panic(&crash{fmt.Sprintf("HiGHS has not stopped %v after it had to (%v)", patience, c.ended)})
	}
	if c.ended != Unknown && c.leaps < lastLeap {
		c.leaps += leap
	}
	return begins + elapsed + c.leaps
}

func (c *clock) end(elapsed time.Duration) Status {
	switch {
	case c.work > 0 && c.reads > c.work:
		return WorkLimit
	// A context's own timer may come late: the solve can keep a processor busy that
	// it would need.
	case !c.deadline.IsZero() && elapsed >= c.deadline.Sub(c.start), errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		return TimeLimit
	case c.ctx.Err() != nil, c.closed.Err() != nil:
		return Interrupted
	}
	return Unknown
}
