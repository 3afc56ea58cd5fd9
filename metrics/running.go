package metrics

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

func (c *Collector) startRun(a *fact.Action) {
	j := c.job(a.Job)
	if j == nil || j.start != workload.Unknown {
		return
	}
	c.leaveQueue(j, a.At)
	c.redeem(j, a.At, true)
	j.later, j.told, j.up = false, false, false
	if j.kind = j.asked; a.Unallocated && j.asked == allocated {
		j.kind = unallocated
	}
	c.enter(j, a.Place, c.occupy(a.Place, a.Milli, 1, a.At), a.At)
}

// resize gives a run another place. A node that it keeps is never empty.
func (c *Collector) resize(a *fact.Action) {
	j := c.job(a.Job)
	if j == nil || j.start == workload.Unknown {
		return
	}
	c.swapped(j, a)
	c.earn(j, a.At, 0, 0)
	milli := c.occupy(a.Place, a.Milli, 1, a.At)
	c.release(a.Job, j, a.At)
	c.enter(j, a.Place, milli, a.At)
	if j.up {
		c.beginCharge(j, a.At)
	}
}

// occupy takes a place, or with a sign of -1 leaves it, and returns its capacity: that
// of its grants, or of a cluster without nodes as given.
func (c *Collector) occupy(place []fact.Grant, milli, sign int64, at workload.Time) int64 {
	if len(place) == 0 {
		c.types.assignPool(sign * milli)
		return milli
	}
	milli = 0
	for i := range place {
		m := milliOf(&place[i])
		milli += m
		c.types.assign(place[i].Node, sign*m)
		c.ranOn(place[i].Node, int32(sign), at)
	}
	if c.accounts != nil {
		c.accounts.pools.assign(place, sign)
	}
	return milli
}

// enter makes a place that of a run.
func (c *Collector) enter(j *jobState, place []fact.Grant, milli int64, at workload.Time) {
	j.start, j.kindSince, j.milli = at, at, milli
	j.slot = c.open.put(place)
	c.milliBy[j.kind] += j.milli
	if j.kind == allocated && j.queues != noAccount {
		j.wants = j.milli
		j.runs = c.accounts.runsIn(j.queues, place)
		c.accounts.ask(j.runs, j.wants)
	}
	c.holds(j, at)
}

func (c *Collector) endRun(f *fact.Fact) {
	j := c.job(f.Job)
	if j == nil {
		return
	}
	lost := f.Kind == fact.JobStopped && j.once && j.up && f.Cause != fact.CauseNodeFailure
	if j.start != workload.Unknown {
		c.loss(j, f)
		c.earn(j, f.At, f.Lost, f.Restart)
		c.release(f.Job, j, f.At)
	}
	c.leaveQueue(j, f.At)
	c.serviceStopped(j, f)
	j.up = false
	c.holds(j, f.At)
	if f.Kind == fact.JobFinished {
		c.worth.finish(j, f.At)
		if c.sel.Contains(j.submit) && j.service < 0 {
			c.finished = true
		}
		c.gone(f.Job)
		return
	}
	switch f.Cause {
	case fact.CausePreempted, fact.CauseReservation, fact.CauseDrain, fact.CauseMaintenance:
		c.gaveWay(j, f.At)
	case fact.CauseCancelled:
		c.gone(f.Job)
		return
	}
	switch {
	case j.withdrawn, lost && f.Cause != fact.CauseParked:
		c.gone(f.Job)
	case f.Cause != fact.CauseParked: // a parked session waits for its owner, not for GPUs
		c.queue(f.Job, j, f.At)
	}
}

// release gives back what a run holds.
func (c *Collector) release(n int32, j *jobState, at workload.Time) {
	place := c.open.take(j.slot)
	c.occupy(place, j.milli, -1, at)
	c.leave(j, at)
	c.groups.rows[j.group].served(j, at, c.from, c.to)
	if c.runs.limit > 0 {
		c.runs.add(n, j.start, at, place, j.milli)
	}
	j.start, j.milli, j.slot = workload.Unknown, 0, -1
}
