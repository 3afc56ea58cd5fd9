package metrics

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// queue has a job wait from now on, unless something holds it: then it asks for nothing.
func (c *Collector) queue(n int32, j *jobState, at workload.Time) {
	if j.queued = true; j.holds != 0 {
		return
	}
	j.since = at
	if c.accounts != nil {
		c.waits(c.endless.slot(n), j)
	}
}

// leaveQueue ends the wait of a job that waits or is held.
func (c *Collector) leaveQueue(j *jobState, at workload.Time) {
	c.stopWaiting(j, at)
	j.since, j.queued = workload.Unknown, false
}

// holdChanged keeps a job out of the queue, or lets it back in when its last hold is gone.
// One that runs is held once it would wait.
func (c *Collector) holdChanged(f *fact.Fact) {
	j := c.job(f.Job)
	if j == nil {
		return
	}
	before := j.holds
	if bit := uint8(1) << f.Hold; f.Kind == fact.JobHeld {
		j.holds |= bit
	} else {
		j.holds &^= bit
	}
	switch {
	case !j.queued:
	case before == 0 && j.holds != 0:
		c.stopWaiting(j, f.At)
		j.since = workload.Unknown
	case before != 0 && j.holds == 0:
		c.queue(f.Job, j, f.At)
	}
}

// unpark has a parked session wait again: its owner is back.
func (c *Collector) unpark(f *fact.Fact) {
	if j := c.job(f.Job); j != nil && !j.queued && !j.withdrawn && j.start == workload.Unknown {
		c.queue(f.Job, j, f.At)
	}
}
