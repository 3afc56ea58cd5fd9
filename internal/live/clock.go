package live

import (
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/workload"
)

// step is the change of the wall clock from which on it is a fact.
const step = 2 * time.Second

// clock is the time of the journal: milliseconds since its epoch. It advances by the
// monotonic clock; the wall clock only says where it begins (SEMANTICS 10).
type clock struct {
	now  func() time.Time
	mono func() time.Duration
	// epoch is the Unix time of zero in ms.
	epoch int64
	// began is when this process began to count, at base.
	began time.Duration
	base  workload.Time
	// off is by how much the wall clock is ahead of the journal's, in ms: it was set, or had been
	// set back when this process began.
	off atomic.Int64
	// last is the latest time given out.
	last workload.Time
}

// newClock continues behind last, the last time of the journal. mono is a clock that nobody sets;
// nil = the one that now has beside the wall.
func newClock(now func() time.Time, mono func() time.Duration, epoch int64, last workload.Time) *clock {
	began := now()
	if mono == nil {
		mono = func() time.Duration { return now().Sub(began) }
	}
	c := &clock{now: now, mono: mono, epoch: epoch, began: mono(), last: last}
	c.base = began.UnixMilli() - epoch
	if c.base <= last {
		c.base = last + 1
	}
	if off := began.UnixMilli() - epoch - c.base; off < -step.Milliseconds() { // less is the haste of a restart
		c.off.Store(off)
	}
	return c
}

// time is what it shows.
func (c *clock) time() workload.Time { return c.base + (c.mono() - c.began).Milliseconds() }

// read returns the time, and by how much the wall clock was set since the last reading, 0 = not.
func (c *clock) read() (t workload.Time, set time.Duration) {
	t = c.time()
	if d := c.now().UnixMilli() - c.epoch - t - c.off.Load(); d > step.Milliseconds() || d < -step.Milliseconds() {
		c.off.Add(d)
		set = time.Duration(d) * time.Millisecond
	}
	return t, set
}

// next is the time of the next instant: strictly after the last, so that each batch is
// an instant of its own.
func (c *clock) next() (t workload.Time, set time.Duration) {
	t, set = c.read()
	if t <= c.last {
		t = c.last + 1
	}
	c.last = t
	return t, set
}

// wall is a time of the journal on the wall, as that is set now.
func (c *clock) wall(t workload.Time) time.Time {
	if t == workload.Never || t == workload.Unknown {
		return time.Time{}
	}
	return time.UnixMilli(c.epoch + t + c.off.Load()).UTC()
}

// of is a wall time on the journal's clock.
func (c *clock) of(t time.Time) workload.Time { return t.UnixMilli() - c.epoch - c.off.Load() }

// glance is how often the wall clock is looked at when nothing happens.
const glance = 15 * time.Second

// until is how long it is to a time of the journal, or to the next look at the wall.
func (c *clock) until(t workload.Time) time.Duration {
	now := c.time()
	if t == workload.Never || t-now > glance.Milliseconds() {
		return glance
	}
	return max(time.Duration(t-now)*time.Millisecond, 0)
}
