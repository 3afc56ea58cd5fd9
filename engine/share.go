package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// startUsage is what a start counts in the decision that makes it, per GPU.
const startUsage = workload.Minute

// floor is the last multiple of a span.
func floor(t workload.Time, d workload.Span) workload.Time {
	if r := t % d; r < 0 {
		return t - r - d
	}
	return t - t%d
}

// tick takes in that time has passed: the grid moves on, hard budgets begin anew, dates
// come due, the limit on stopping allocated work ends.
func (s *sharing) tick(now workload.Time) {
	g := floor(now, s.pol.Interval)
	if g > s.grid {
		if s.grid = g; s.waitingWork > 0 {
			s.pending.all, s.pending.swaps = true, true
		}
	}
	if s.accounts != nil {
		if now >= s.moneyAt {
			s.pending.all = true
		}
		s.moneyAt = workload.Never
		for l := range s.leaves[:s.outside] {
			if s.tree.Nodes[l].Leaf() {
				s.moneyAt = min(s.moneyAt, s.accounts.Next(int32(l), now))
			}
		}
	}
	for i := range s.dates {
		if x := &s.dates[i]; !x.due && x.at-s.longestGrace() <= now {
			x.due, s.pending.all = true, true
		}
	}
	if s.limited && now >= s.nextEvict {
		s.limited = false
		s.pending.all, s.pending.swaps = true, true
	}
}

// decide settles what the decision looks at and takes it. Until its actions are
// committed, another call looks at the same; broken off, it goes on with the rest.
func (s *sharing) decide(e *Engine, d *decision) {
	p := &s.present
	if e.uncommitted == 0 {
		p.all, p.swaps, p.some, p.fresh = false, false, false, p.fresh[:0]
	}
	p.all, p.swaps, p.some = p.all || s.pending.all, p.swaps || s.pending.swaps, p.some || s.pending.some
	for _, ci := range p.fresh {
		e.classes[ci].fresh = true
	}
	for _, ci := range s.pending.fresh {
		if c := &e.classes[ci]; !c.fresh {
			c.fresh = true
			p.fresh = append(p.fresh, ci)
		}
	}
	s.pending = scope{fresh: s.pending.fresh[:0]}
	e.share(d)
	for _, ci := range p.fresh {
		e.classes[ci].fresh = false
	}
	if d.again {
		e.dirty = true
		s.pending.all, s.pending.swaps, s.pending.some = p.all, p.swaps, p.some
		s.pending.fresh = append(s.pending.fresh, p.fresh...)
	}
}

// share decides under a policy of budgets and contracts.
func (e *Engine) share(d *decision) {
	s := e.sharing
	s.stamp++
	p := &s.present
	s.fillers = s.fillers[:0]
	if e.spend(d); d.again {
		return
	}
	if e.leaveWindows(d); d.again {
		return // as with who retires
	}
	if !p.all && !p.swaps && !p.some {
		e.wakeShared(d)
		return
	}
	if p.swaps || p.all {
		if e.retire(d); d.again {
			return // who is told to go is gone by a time that is known once it is committed
		}
	}
	if !e.serveDates(d) {
		for i := 0; i < len(s.lanes) && !d.again; i++ {
			s.enterLane(e, i)
			e.walkLane(d)
		}
		for i := 0; i < len(s.lanes) && !d.again; i++ {
			s.enterLane(e, i)
			e.walkFill(d)
			s.walk.begin()
			s.walk.forget()
		}
		s.leaveLanes(e)
	}
	if !d.again {
		e.wakeShared(d)
	}
}

// walkLane goes through the charged work that waits for a lane, by the standing of its
// accounts.
func (e *Engine) walkLane(d *decision) {
	for _, class := range [...]budget.Standing{budget.Entitled, budget.Served, budget.Spent} {
		if !e.walkWork(d, class) {
			break
		}
	}
	e.sharing.walk.begin()
	e.sharing.walk.forget()
}

// used is the usage of a node at the grid time.
func (s *sharing) used(n int32) int64 {
	u := &s.usage[n]
	if u.stamp != s.stamp {
		u.stamp, u.charged = s.stamp, s.ledger.Usage(n, s.grid)
	}
	return u.charged
}

// filled is the unallocated time a node had.
func (s *sharing) filled(n int32) int64 { return s.fill.Charged(n, s.grid) }

// stands is the standing of a leaf at the grid time.
func (s *sharing) stands(leaf int32) budget.Standing {
	if leaf == s.outside {
		return budget.Served
	}
	u := &s.usage[leaf]
	if u.stood != s.stamp {
		more := int64(0)
		if u.begunAt == s.stamp {
			more = u.begun
		}
		u.stood, u.standing = s.stamp, s.ledger.StandingWith(leaf, s.grid, more)
	}
	return u.standing
}

// startedRate is what the last start of the decision is charged, in milli-GPU.
func (e *Engine) startedRate(d *decision) int64 {
	a := &d.actions[len(d.actions)-1]
	pool := int32(0)
	if len(a.Place) > 0 {
		pool = e.layout.PoolOf[a.Place[0].Node]
	}
	return e.rateOf(a.Job, a.Milli, pool, a.Tasks)
}

// begins counts a start of this decision to the rate of its leaf: with it the leaf may
// have claimed back as much as it may.
func (s *sharing) begins(leaf int32, rate int64) {
	u := &s.usage[leaf]
	if u.begunAt != s.stamp {
		u.begunAt, u.begun = s.stamp, 0
	}
	u.begun += rate
	u.stood = 0
}

// wakeShared says when time alone may change something.
func (e *Engine) wakeShared(d *decision) {
	s := e.sharing
	now := d.now
	next := s.nextEnd(e)
	for i := range d.actions {
		if a := &d.actions[i]; a.Do == fact.Start && !a.Unallocated {
			next = min(next, a.Until)
		}
	}
	if s.waitingWork > 0 {
		if e.gauge.runningJobs > 0 || len(d.actions) > 0 {
			d.wake = min(d.wake, s.grid+s.pol.Interval)
		}
		d.wake = min(d.wake, next)
		if s.nextEvict > now {
			d.wake = min(d.wake, s.nextEvict)
		}
	}
	if s.accounts != nil || e.nDrained > 0 {
		d.wake = min(d.wake, next)
	}
	if s.accounts != nil && s.waitingWork > 0 {
		d.wake = min(d.wake, s.moneyAt)
	}
	for i := range s.dates {
		x := &s.dates[i]
		if t := e.dueFrom(x); t > now {
			d.wake = min(d.wake, t)
		}
	}
}
