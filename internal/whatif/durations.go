package whatif

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// truth tells what a job of the journal really needs, for tests; nil = nobody knows.
type truth func(id string) (workload.Actual, bool)

// durations says how long jobs take: as long as they did, and where that is not known as
// long as jobs like them that had done as much.
func (c *scene) durations(seed uint64, truth truth) {
	for i := range c.w.Jobs {
		j := c.book(int32(i))
		if j == nil { // it ended before, and stands for its number
			continue
		}
		a := &c.w.Actual[i]
		a.Outcome, a.IdleFor = j.outcome, j.idleFor
		if j.fate == withdrawn {
			a.CancelAfter = j.taken - j.submit
		}
		c.idleness(int32(i), j, a)
		switch {
		case j.spec.Service != nil:
			a.Duration, a.CancelAfter = j.life(c.s.to), 0
			if j.fate == open {
				c.counts.services++
			}
		case j.fate == finished:
			a.Duration = j.done
		default:
			c.draw(seed, j, a)
		}
		if truth != nil {
			if t, ok := truth(j.spec.ID); ok {
				*a = t
			}
		}
	}
}

// draw draws how long a job takes that did not come to its end.
func (c *scene) draw(seed uint64, j *job, a *workload.Actual) {
	done := j.done
	if j.up {
		kept, _, _ := c.s.last.Settle(j.number, c.s.to, c.s.to, fact.CauseNone)
		done = max(done, kept)
	}
	a.Duration = c.s.book.history.Draw(seed, j.number, j.spec.User, j.spec.Need.TotalGPUs(), said(j.spec), done)
	switch {
	case j.fate == cancelled || j.fate == withdrawn:
		c.counts.drawnTaken++
	case j.fate == evicted:
		c.counts.drawnEvicted++
	case j.up:
		c.counts.drawnRunning++
	case j.fate == open:
		c.counts.drawnWaiting++
	}
}

// idleness says when a session has nothing to do.
func (c *scene) idleness(n int32, j *job, a *workload.Actual) {
	switch {
	case j.before.Idle && int(n) < len(c.was):
		a.IdleAfter, _, _ = c.s.engine.Settle(j.number, j.idleSince, j.idleSince, fact.CauseNone)
		if j.before.Active > 0 {
			a.IdleFor = j.before.Active - j.idleSince
		}
	case j.idleAt > 0:
		a.IdleAfter = c.s.idleAfter[j.number]
	}
}
