package engine

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
)

// budgets takes over the tree of accounts.
func (r *restoring) budgets() error {
	e, t := r.e, r.s.budgets
	s := e.sharing
	e.budgets, e.epoch = t, r.s.epoch
	if s == nil || t == nil {
		return nil
	}
	if err := s.covers(e, t); err != nil {
		return err
	}
	s.setTree(e, t, e.epoch, e.now)
	return nil
}

// contracts takes over what contracts know of jobs.
func (r *restoring) contracts() error {
	e, s := r.e, r.e.sharing
	if s == nil {
		return nil
	}
	s.jobs = make([]contracted, len(e.jobs))
	for n := range s.jobs {
		c := &s.jobs[n]
		*c = contracted{leaf: s.outside, mark: -1, until: unset}
		if n >= len(r.s.jobs) || r.s.jobs[n].spec == nil {
			continue
		}
		x := &r.s.jobs[n]
		if c.leaf, c.stops = s.leafOf(x.spec), x.stops; x.marked {
			c.mark = s.events
		}
		if run := x.run; run != nil && r.s.sharing != nil {
			out := run.leaf == s.outside
			if run.leaf < 0 || run.leaf > s.outside || !out && !s.tree.Nodes[run.leaf].Leaf() || out && (run.charged || run.open || run.draws) ||
				out && !run.unallocated && x.state != stopping && run.until != unset {
				return fmt.Errorf("job %d is charged to an account that there is not", x.number)
			}
			c.leaf, c.rate, c.began, c.until, c.deadline, c.paidAt = run.leaf, run.rate, run.began, run.until, run.deadline, run.paidAt
			c.unallocated, c.charged, c.open, c.draws, c.idles = run.unallocated, run.charged, run.open, run.draws, run.idles
		}
	}
	return nil
}

// sharing takes over what accounts were charged and hold.
func (r *restoring) sharing() error {
	e, s, x := r.e, r.e.sharing, r.s.sharing
	switch {
	case s == nil:
		return nil
	case x == nil:
		return r.adopt()
	case len(x.ledgers) != len(s.lanes) || len(x.fills) != len(s.lanes):
		return fmt.Errorf("there are other pools of budgets")
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		if !x.ledgers[i].Fits(l.tree, e.now) || !x.fills[i].Fits(l.tree, e.now) {
			return fmt.Errorf("the accounts are others")
		}
		l.ledger, l.fill = budget.RestoreLedger(l.tree, s.pol.Window, x.ledgers[i]), budget.RestoreLedger(l.tree, s.pol.Window, x.fills[i])
		if r.other {
			l.ledger.SetCreditCap(e.now, s.pol.CreditCap)
		}
	}
	if x.accounts != nil {
		if !x.accounts.Fits(s.lanes[0].tree) {
			return fmt.Errorf("the hard budgets are others")
		}
		s.accounts = budget.RestoreAccounts(s.lanes[0].tree, x.accounts)
	}
	for n := range r.s.jobs {
		if occupies(e.jobs[n].state) {
			r.holds(int32(n))
		}
	}
	if !r.other {
		if !sameSets(s.onNode, x.onNode) {
			return fmt.Errorf("the lists of what runs on nodes do not name what runs there")
		}
		for n := range s.onNode {
			s.onNode[n] = slices.Clone(x.onNode[n])
		}
	}
	for i := range e.claims {
		c := &e.claims[i]
		s.in(c.pool)
		s.loose.take(e, c.pool, c.grants, c.milli)
		s.soft.take(e, c.pool, c.grants, c.milli)
		s.hold(s.jobs[c.job].leaf, c.milli)
	}
	s.grid = x.grid
	if r.other {
		r.unclaim()
		s.pending.all, s.pending.swaps = true, true
		return nil
	}
	s.moneyAt, s.nextEvict, s.limited = x.moneyAt, x.nextEvict, x.limited
	for i := range x.dates {
		d := x.dates[i]
		if d.pool < 0 || int(d.pool) >= len(e.pools) || e.jobs[d.job].state != waiting || !e.jobs[d.job].dated {
			return fmt.Errorf("job %d has a date that it cannot have", r.s.jobs[d.job].number)
		}
		if err := e.checkPlace(d.pool, d.grants); err != nil && !e.layout.Counted() {
			return fmt.Errorf("job %d: %w", r.s.jobs[d.job].number, err)
		}
		d.grants = clonePlace(d.grants)
		s.dates = append(s.dates, d)
	}
	return nil
}

// holds files a run where its contract has it.
func (r *restoring) holds(n int32) {
	e, s := r.e, r.e.sharing
	j, c := &e.jobs[n], &s.jobs[n]
	r.counts(n)
	if j.state == stopping || c.unallocated {
		return
	}
	s.in(j.pool)
	s.take(e, n)
	s.hold(c.leaf, j.milli)
	c.inLoose, c.inSoft = true, true
	switch {
	case c.open:
		c.open = false
		s.openUp(e, n)
	case j.state == running:
		s.ends.push(protection{max(c.until, c.began), n, j.attempt})
	}
}

// counts notes where a run is, and what is special about it.
func (r *restoring) counts(n int32) {
	s, j := r.e.sharing, &r.e.jobs[n]
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
}

// unclaim takes back what claims that are dropped were protected for and paid.
func (r *restoring) unclaim() {
	e, s := r.e, r.e.sharing
	for i := range r.s.claims {
		x := &r.s.claims[i]
		c := &s.jobs[x.job]
		s.lane = &s.lanes[0]
		if int(x.pool) < len(s.laneOf) && x.pool >= 0 {
			s.in(x.pool)
		}
		if c.until != unset && c.leaf != s.outside {
			if c.until > e.now {
				s.unprotect(x.job)
			}
			if s.accounts != nil {
				s.accounts.Refund(c.leaf, e.now, c.paidAt, area(c.rate, c.until-c.began))
			}
		}
		*c = contracted{leaf: s.leafOf(e.jobs[x.job].spec), mark: c.mark, stops: c.stops, until: unset}
	}
}

// adopt begins contracts with what runs: each run is protected as if it had started under
// its contract, and charged from now on.
func (r *restoring) adopt() error {
	e, s := r.e, r.e.sharing
	s.offered(e, e.now)
	if r.s.budgets != nil {
		var err error
		if s.accounts, err = s.openAccounts(r.s.budgets, e.epoch, e.now); err != nil {
			return err
		}
	}
	for n := range int32(len(r.s.jobs)) {
		j, c := &e.jobs[n], &s.jobs[n]
		if !occupies(j.state) {
			continue
		}
		s.in(j.pool)
		span := s.span(n, j.spec)
		c.rate, c.began, c.unallocated = e.rateOf(n, j.milli, j.pool, j.tasks), j.since, span == 0
		switch {
		case j.state == stopping:
			c.deadline = e.now + s.longestGrace()
		case j.state == starting:
			c.began = e.now
		case c.unallocated && c.leaf != s.outside:
			s.fill.Change(c.leaf, e.now, c.rate)
			c.charged = true
		case !c.unallocated:
			s.ledger.Change(c.leaf, e.now, c.rate)
			c.charged = true
		}
		if !c.unallocated && j.state != stopping {
			if c.until = c.began + span; c.until > e.now {
				s.protect(n, c.until)
				if c.paidAt = e.now; s.accounts != nil {
					s.accounts.Commit(c.leaf, e.now, area(c.rate, c.until-e.now))
				}
			}
		}
		r.holds(n)
	}
	s.pending.all, s.pending.swaps = true, true
	return nil
}

// ahead takes over what the horizon knows of outages, and the plan it follows.
func (r *restoring) ahead() error {
	e, h, x := r.e, r.e.ahead, r.s.ahead
	if h == nil {
		return nil
	}
	if x == nil {
		for i := range h.planned {
			if m := &h.planned[i]; m.from < e.now && e.now < m.to && !e.down[m.node] {
				m.to = e.now // it is up, whatever was planned
			}
		}
		return nil
	}
	for _, b := range x.back {
		for i := range h.planned {
			if m := &h.planned[i]; m.node == b.node && m.from == b.from {
				m.to = b.to
			}
		}
	}
	if x.proposed == nil || r.other {
		return nil
	}
	p := *x.proposed
	p.Starts = slices.Clone(p.Starts)
	for i := range p.Starts {
		st := &p.Starts[i]
		if st.Job == none {
			st.Job = e.numbering.gone
		}
		if st.Job < 0 || int(st.Job) >= len(e.jobs) || i > 0 && st.At < p.Starts[i-1].At {
			return fmt.Errorf("a plan starts jobs that there are not")
		}
		for k := range st.Place {
			if g := &st.Place[k]; g.Node < 0 || int(g.Node) >= len(e.layout.PoolOf) || g.Milli != 1000 || e.checkPlace(e.layout.PoolOf[g.Node], st.Place[k:k+1]) != nil {
				return fmt.Errorf("a plan starts job %d where there is nothing", e.numbering.number(st.Job))
			}
		}
	}
	h.proposed = &p
	return nil
}

// fresh takes over what the next decision has to look at.
func (r *restoring) fresh() error {
	e, s, x := r.e, r.e.sharing, r.s.sharing
	if s == nil || x == nil || r.other {
		return nil
	}
	for _, p := range [...]struct{ to, from *scope }{{&s.pending, &x.pending}, {&s.present, &x.present}} {
		p.to.all, p.to.swaps, p.to.some = p.from.all, p.from.swaps, p.from.some
		for _, n := range p.from.fresh {
			if e.jobs[n].state != waiting {
				return fmt.Errorf("job %d is new in the queue, and does not wait", r.s.jobs[n].number)
			}
			p.to.fresh = append(p.to.fresh, e.jobs[n].class)
		}
	}
	return nil
}
