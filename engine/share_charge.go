package engine

import (
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// began files a committed start: who is charged for it and until when it is safe.
func (s *sharing) began(e *Engine, a *fact.Action, claimed bool) {
	n := a.Job
	j, c := &e.jobs[n], &s.jobs[n]
	s.in(j.pool)
	c.unallocated, c.began, c.until, c.deadline, c.open = a.Unallocated, a.At, unset, 0, false
	c.rate = e.rateOf(n, j.milli, j.pool, j.tasks)
	c.idles = false
	for i := range j.grants {
		node := j.grants[i].Node
		s.onNode[node] = append(s.onNode[node], n)
	}
	if j.spec.Limit > 0 {
		s.limits++
	}
	if j.spec.Need.Fractional() {
		s.parts++
	}
	if a.Unallocated {
		return
	}
	if !claimed {
		s.take(e, n)
		s.hold(c.leaf, j.milli)
	}
	c.inLoose, c.inSoft = true, true
	if a.Until > a.At {
		s.protect(n, a.Until)
	}
	if !claimed {
		c.paidAt = a.At
	}
	if s.accounts != nil && !claimed {
		s.accounts.Commit(c.leaf, a.At, area(c.rate, max(a.Until-a.At, 0)))
	}
}

// protect makes a run safe until a time.
func (s *sharing) protect(n int32, until workload.Time) {
	c := &s.jobs[n]
	s.ledger.Protect(c.leaf, c.rate, until)
	c.until = until
}

// unprotect takes back a protection that is not over.
func (s *sharing) unprotect(n int32) {
	c := &s.jobs[n]
	s.ledger.Unprotect(c.leaf, c.rate, c.until)
}

// take keeps the GPUs of an allocated start from those who look past unallocated
// and unprotected work.
func (s *sharing) take(e *Engine, n int32) {
	j := &e.jobs[n]
	s.loose.take(e, j.pool, j.grants, j.milli)
	s.soft.take(e, j.pool, j.grants, j.milli)
}

// confirmed begins to charge a run that came true; its protection counts from then.
func (s *sharing) confirmed(e *Engine, f *fact.Fact) {
	n := f.Job
	j, c := &e.jobs[n], &s.jobs[n]
	s.in(j.pool)
	s.ledger.Advance(f.At)
	s.fill.Advance(f.At)
	if j.state == stopping {
		return
	}
	if c.unallocated {
		if c.leaf != s.outside {
			s.fill.Change(c.leaf, f.At, c.rate)
			c.charged = true
		}
		return
	}
	if late := f.At - c.began; late > 0 && c.until != unset {
		if c.until > f.At {
			s.unprotect(n)
		}
		s.protect(n, c.until+late)
		e.dirty = true // when to wake has changed
	}
	s.ends.push(protection{max(c.until, f.At), n, j.attempt})
	c.began = f.At
	s.ledger.Change(c.leaf, f.At, c.rate)
	c.charged = true
}

// discharge ends the charge of a run, at its stop action or its end.
func (s *sharing) discharge(e *Engine, n int32, at workload.Time) {
	j, c := &e.jobs[n], &s.jobs[n]
	s.in(j.pool)
	switch {
	case !c.charged:
	case c.unallocated:
		s.fill.Change(c.leaf, at, -c.rate)
	default:
		s.ledger.Change(c.leaf, at, -c.rate)
	}
	if !c.unallocated && c.until > at {
		s.unprotect(n)
		if s.accounts != nil {
			s.accounts.Refund(c.leaf, at, c.paidAt, area(c.rate, c.until-max(at, c.began)))
		}
	}
	if c.draws {
		s.accounts.Draw(c.leaf, at, -c.rate)
		c.draws = false
	}
	if c.open {
		s.close(e, n)
	}
	if !c.unallocated {
		s.hold(c.leaf, -j.milli)
	}
	c.charged = false
	s.letGo(e, n)
}

// letGo gives the GPUs of a run to those who look past it.
func (s *sharing) letGo(e *Engine, n int32) {
	j, c := &e.jobs[n], &s.jobs[n]
	if c.inLoose {
		s.loose.give(e, j.pool, j.grants, j.milli)
	}
	if c.inSoft {
		s.soft.give(e, j.pool, j.grants, j.milli)
	}
	c.inLoose, c.inSoft = false, false
}

// told files a committed stop: the run is charged no longer, and its GPUs are as
// good as free for whoever waits for them.
func (s *sharing) told(e *Engine, a *fact.Action) {
	n := a.Job
	c := &s.jobs[n]
	allocated := !c.unallocated
	c.deadline = max(a.Until, a.At)
	s.discharge(e, n, a.At)
	switch a.Reason.Code {
	case fact.GaveWay, fact.DateCame, fact.Idle:
	default:
		return
	}
	if !allocated {
		return
	}
	c.stops++
	c.mark = s.events
	if every := s.pol.EvictEvery; every > 0 && every < workload.Never && a.Reason.Code == fact.GaveWay {
		s.nextEvict, s.limited = max(s.nextEvict, a.At)+every, true
	}
}

// gone takes a run off when its GPUs are free, before they are given back.
func (s *sharing) gone(e *Engine, n int32, at workload.Time) {
	j, c := &e.jobs[n], &s.jobs[n]
	if j.state != stopping {
		s.discharge(e, n, at)
	}
	for i := range j.grants {
		node := j.grants[i].Node
		on := s.onNode[node]
		k := slices.Index(on, n)
		s.onNode[node] = append(on[:k], on[k+1:]...)
	}
	if j.spec.Limit > 0 {
		s.limits--
	}
	if j.spec.Need.Fractional() {
		s.parts--
	}
	c.until, c.deadline = unset, 0
	s.pending.all = true
}

// claimed keeps the whole place of a job that waits for its victims.
func (s *sharing) claimed(e *Engine, a *fact.Action, cl *claim) {
	n := a.Job
	c := &s.jobs[n]
	s.in(cl.pool)
	s.loose.take(e, cl.pool, cl.grants, cl.milli)
	s.soft.take(e, cl.pool, cl.grants, cl.milli)
	s.hold(c.leaf, cl.milli)
	c.rate = e.rateOf(n, cl.milli, cl.pool, cl.tasks)
	c.until, c.unallocated, c.paidAt = unset, false, 0
	if a.Until > a.At { // its start counts already: others must not be stopped on top
		s.ledger.Advance(a.At)
		s.protect(n, a.Until)
		if c.began, c.paidAt = a.At, a.At; s.accounts != nil {
			s.accounts.Commit(c.leaf, a.At, area(c.rate, a.Until-a.At))
		}
	}
}

// heldSpan is the protection that a claim was made for, and paid for.
func (s *sharing) heldSpan(n int32) workload.Span {
	c := &s.jobs[n]
	if c.until == unset {
		return 0
	}
	return c.until - c.began
}

// unclaimed takes that back; kept tells that the job starts there.
func (s *sharing) unclaimed(e *Engine, cl *claim, kept bool) {
	n := cl.job
	c := &s.jobs[n]
	s.in(cl.pool)
	if c.until != unset {
		s.ledger.Advance(e.now)
		if c.until > e.now {
			s.unprotect(n)
		}
		if s.accounts != nil && !kept {
			s.accounts.Refund(c.leaf, e.now, c.paidAt, area(c.rate, c.until-c.began))
		}
	}
	c.until = unset
	if kept {
		return
	}
	s.loose.give(e, cl.pool, cl.grants, cl.milli)
	s.soft.give(e, cl.pool, cl.grants, cl.milli)
	s.hold(s.jobs[n].leaf, -cl.milli)
	s.pending.all = true
}

// uncharged makes a run unallocated.
func (s *sharing) uncharged(e *Engine, a *fact.Action) {
	n := a.Job
	j, c := &e.jobs[n], &s.jobs[n]
	if c.unallocated || j.state != starting && j.state != running {
		return
	}
	confirmed := c.charged
	s.discharge(e, n, a.At)
	c.unallocated = true
	if confirmed && c.leaf != s.outside {
		s.fill.Change(c.leaf, a.At, c.rate)
		c.charged = true
	}
	s.pending.all = true
}
