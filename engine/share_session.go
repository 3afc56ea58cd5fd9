package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Interactive sessions have a contract of their own. While somebody works in one its
// protection is renewed, up to the policy's longest; once it has been idle for as long
// as the policy allows, the protection is over. An idle session that can save its
// state when asked is parked rather than killed: it gives its GPUs back and waits for
// its owner, not for GPUs, until it is active again.

// safeFor is how long a start may be protected at most: a session as long as
// somebody may work in it.
func (s *sharing) safeFor(c *class, span workload.Span) workload.Span {
	if c.session && span > 0 {
		return max(span, s.pol.SessionMax)
	}
	return span
}

// session tells whether a job is one.
func session(j *workload.Job) bool { return j.Kind == workload.KindInteractive }

// sessionChanged takes in that a session is idle, or that its owner is back.
func (e *Engine) sessionChanged(f *fact.Fact) error {
	if f.Job < 0 || int(f.Job) >= len(e.jobs) {
		return ErrUnknown
	}
	j := &e.jobs[f.Job]
	if f.Kind == fact.SessionIdle {
		if _, err := e.run(f); err != nil {
			return err
		}
	}
	if j.state == absent || final(j.state) {
		return ErrUnknown
	}
	s := e.sharing
	if s == nil { // the policy knows no protection
		if j.state == parked && f.Kind == fact.SessionActive {
			e.enqueue(f.Job)
		}
		return nil
	}
	c := &s.jobs[f.Job]
	s.in(j.pool)
	switch {
	case f.Kind == fact.SessionIdle:
		c.idles = true
		if !c.unallocated && !c.open && session(j.spec) {
			s.shorten(e, f.Job, max(f.Since+s.pol.SessionIdle, f.At))
		}
	case j.state == parked:
		c.idles = false
		e.enqueue(f.Job)
	case j.state == running || j.state == starting:
		c.idles = false
		if !c.unallocated && session(j.spec) {
			s.renew(e, f.Job, f.At)
		}
	default:
		c.idles = false
	}
	return nil
}

// shorten ends a protection earlier.
func (s *sharing) shorten(e *Engine, n int32, at workload.Time) {
	if c := &s.jobs[n]; at < c.until {
		s.ledger.Advance(e.now)
		if s.accounts != nil {
			s.accounts.Refund(c.leaf, e.now, c.paidAt, area(c.rate, c.until-at))
		}
		s.unprotect(n)
		s.protect(n, at)
		s.ends.push(protection{at, n, e.jobs[n].attempt})
		e.dirty = true // the time to wake has changed
	}
}

// renew protects a session anew from a time on; false where it has had the longest
// protection, or was past it already and its place is reserved for somebody since.
func (s *sharing) renew(e *Engine, n int32, at workload.Time) bool {
	j, c := &e.jobs[n], &s.jobs[n]
	until := min(at+s.spanOf(j.spec), c.began+s.pol.SessionMax)
	if until <= at || until <= c.until {
		return false
	}
	if c.open && (e.crosses(j.grants, n) != nil || e.layout.Counted() && len(s.dates) > 0) {
		return false
	}
	if s.accounts != nil {
		more := until - max(at, c.until)
		if !s.accounts.Ask(c.leaf, at, c.rate, more).OK {
			return false
		}
		s.accounts.Commit(c.leaf, at, area(c.rate, more))
		if c.draws {
			s.accounts.Draw(c.leaf, at, -c.rate)
			c.draws = false
		}
	}
	if c.until > at {
		s.unprotect(n)
	}
	if c.open {
		s.close(e, n)
		s.soft.take(e, j.pool, j.grants, j.milli)
		c.inSoft = true
	}
	s.protect(n, until)
	s.ends.push(protection{until, n, j.attempt})
	e.dirty = true // when to wake has changed
	return true
}

// parks tells whether a session that gives way keeps its state without GPUs.
func (e *Engine) parks(n int32) bool {
	j := &e.jobs[n]
	return e.sharing != nil && e.sharing.jobs[n].idles && session(j.spec) && e.contract(j).CheckpointOnStop
}
