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
	s.loose.take(e, cl.pool, cl.grants, cl.milli)
	s.soft.take(e, cl.pool, cl.grants, cl.milli)
	s.hold(c.leaf, cl.milli)
	c.rate = e.rateOf(n, cl.milli, cl.pool, cl.tasks)
	c.until, c.unallocated = unset, false
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

// protection is a run whose safety ends at a time.
type protection struct {
	at      workload.Time
	job     int32
	attempt int32
}

// protections are a min-heap by time, then job.
type protections []protection

func (a protection) less(b protection) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.job < b.job
}

func (h *protections) push(p protection) {
	*h = append(*h, p)
	q := *h
	i := len(q) - 1
	for ; i > 0 && p.less(q[(i-1)/2]); i = (i - 1) / 2 {
		q[i] = q[(i-1)/2]
	}
	q[i] = p
}

func (h *protections) pop() protection {
	q := *h
	top, last := q[0], len(q)-1
	x := q[last]
	q = q[:last]
	*h = q
	i := 0
	for {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && q[k+1].less(q[k]) {
			k++
		}
		if !q[k].less(x) {
			break
		}
		q[i] = q[k]
		i = k
	}
	if last > 0 {
		q[i] = x
	}
	return top
}

// current tells whether a protection is that of the job's present run.
func (s *sharing) current(e *Engine, p *protection) bool {
	j, c := &e.jobs[p.job], &s.jobs[p.job]
	// A start that is not confirmed is safe: its protection counts from then.
	return j.state == running && j.attempt == p.attempt && !c.unallocated && !c.open && c.until <= p.at
}

// expire ends the protections that are over: what they covered may give way.
func (s *sharing) expire(e *Engine, now workload.Time) {
	s.ledger.Advance(now)
	s.fill.Advance(now)
	for len(s.ends) > 0 && s.ends[0].at <= now {
		p := s.ends.pop()
		if !s.current(e, &p) {
			continue
		}
		j, c := &e.jobs[p.job], &s.jobs[p.job]
		if session(j.spec) && !c.idles && s.renew(e, p.job, p.at) {
			continue
		}
		s.openUp(e, p.job)
		if s.accounts != nil {
			s.accounts.Draw(c.leaf, p.at, c.rate)
			c.draws = true
		}
		s.pending.all, s.pending.swaps, e.dirty = true, true, true
	}
}

// openUp files a run whose protection is over among those that may give way; close
// takes it off again.
func (s *sharing) openUp(e *Engine, n int32) {
	j, c := &e.jobs[n], &s.jobs[n]
	l := &s.leaves[c.leaf]
	c.open, c.inOpens = true, int32(len(l.opens))
	l.open += j.milli
	l.opens = append(l.opens, n)
	if c.inSoft {
		s.soft.give(e, j.pool, j.grants, j.milli)
		c.inSoft = false
	}
}

func (s *sharing) close(e *Engine, n int32) {
	c := &s.jobs[n]
	l := &s.leaves[c.leaf]
	last := l.opens[len(l.opens)-1]
	l.opens[c.inOpens] = last
	s.jobs[last].inOpens = c.inOpens
	l.opens = l.opens[:len(l.opens)-1]
	l.open -= e.jobs[n].milli
	c.open = false
}

// nextEnd is when the next protection ends, [workload.Never] if none does.
func (s *sharing) nextEnd(e *Engine) workload.Time {
	for len(s.ends) > 0 {
		if s.current(e, &s.ends[0]) {
			return s.ends[0].at
		}
		s.ends.pop()
	}
	return workload.Never
}
