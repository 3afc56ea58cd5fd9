package live

import (
	"time"

	"github.com/escala-sched/escala/workload"
)

// step is the change of the wall clock from which on it is a fact.
const step = 2 * time.Second

// clock is the time of the journal: milliseconds since its epoch. It advances by the
// monotonic clock; the wall clock only says where it begins (SEMANTICS 10).
type clock struct {
	now func() time.Time
	// epoch is the Unix time of zero in ms.
	epoch int64
	// began is when this process began to count, at zero of base.
	began time.Time
	base  workload.Time
	// off is by how much the wall clock has been set since, in ms.
	off int64
	// last is the latest time given out.
	last workload.Time
}

// newClock continues behind last, the last time of the journal.
func newClock(now func() time.Time, epoch int64, last workload.Time) *clock {
	c := &clock{now: now, epoch: epoch, began: now(), last: last}
	c.base = c.began.UnixMilli() - epoch
	if c.base <= last {
		c.base = last + 1
	}
	c.off = c.began.UnixMilli() - epoch - c.base
	return c
}

// reads returns the time, and by how much the wall clock was set since the last reading
// that said so, 0 = not.
func (c *clock) read() (t workload.Time, set time.Duration) {
	n := c.now()
	t = c.base + n.Sub(c.began).Milliseconds()
	wall := n.Round(0).UnixMilli() - c.epoch
	if d := wall - t - c.off; d > step.Milliseconds() || d < -step.Milliseconds() {
		c.off += d
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

// wall is a time of the journal on the wall.
func (c *clock) wall(t workload.Time) time.Time {
	if t == workload.Never || t == workload.Unknown {
		return time.Time{}
	}
	return time.UnixMilli(c.epoch + t).UTC()
}

// of is a wall time on the journal's clock.
func (c *clock) of(t time.Time) workload.Time { return t.UnixMilli() - c.epoch }

// until is how long it is to a time of the journal.
func (c *clock) until(t workload.Time) time.Duration {
	now, _ := c.read()
	const most = 1000 * time.Hour
	if t == workload.Never || t-now > most.Milliseconds() {
		return most
	}
	return max(time.Duration(t-now)*time.Millisecond, 0)
}
