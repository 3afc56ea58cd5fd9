package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// rebudget changes the tree while the engine runs: every waiting job is filed anew.
// An error (pools that the cluster has not, a credit with a date where there is no
// calendar) leaves all as it was.
func (e *Engine) rebudget(f *fact.Fact) error {
	s := e.sharing
	at := f.At
	if err := s.covers(e, f.Budgets); err != nil {
		return err
	}
	accounts, err := s.openAccounts(f.Budgets, f.Epoch, at)
	if err != nil {
		return err
	}
	if len(s.jobs) == 0 {
		s.setTree(e, f.Budgets, f.Epoch, at)
		s.offered(e, at)
		s.accounts = accounts
		return nil
	}
	var waits []int32
	for n := range e.jobs {
		if j := &e.jobs[n]; j.state == waiting {
			waits = append(waits, int32(n))
			e.dequeue(int32(n))
		}
	}
	first := s.accounts == nil && accounts != nil
	s.epoch, s.accounts = f.Epoch, accounts
	moved := s.rebase(e, f.Budgets, at)
	outside := int32(len(moved))
	s.newAccounts(f.Budgets)
	for n := range s.jobs {
		j, c := &e.jobs[n], &s.jobs[n]
		if j.spec == nil {
			continue
		}
		was := c.leaf
		c.leaf = s.leafOf(j.spec)
		switch j.state {
		case starting, running, claiming:
			// A run stays where its charges went.
			if was == outside {
				c.leaf = s.outside
			} else if c.leaf = moved[was]; c.leaf < 0 {
				c.leaf = s.outside
				s.orphan(e, int32(n))
			}
			if !c.unallocated {
				pool, milli := e.holds(int32(n))
				s.in(pool)
				s.hold(c.leaf, milli)
			}
		}
	}
	if first { // what is past its protection draws from now on
		for n := range s.jobs {
			if c := &s.jobs[n]; c.open && !c.unallocated {
				s.accounts.Draw(c.leaf, at, c.rate)
				c.draws = true
			}
		}
	}
	clear(e.classOf)
	for _, n := range waits {
		since := e.jobs[n].since
		e.enqueue(n)
		e.jobs[n].since = since
	}
	for i := range s.dates {
		x := &s.dates[i]
		x.lost = x.lost || e.jobs[x.job].state != waiting || e.classes[e.jobs[x.job].class].fill
	}
	s.pending.all, s.pending.swaps = true, true
	e.dirty = true
	return nil
}

// rebase takes what accounts were charged over into another tree, lane by lane, and
// tells where each leaf went.
func (s *sharing) rebase(e *Engine, t *budget.Tree, at workload.Time) (moved []int32) {
	for i := range s.lanes {
		l := &s.lanes[i]
		s.lane = l
		old := l.leaves
		l.tree = t.In(i)
		l.ledger, moved = l.ledger.Rebase(l.tree, at)
		l.fill, _ = l.fill.Rebase(l.tree, at)
		l.ledger.SetUsable(at, e.usable())
		s.layOut(l)
		for i, to := range moved {
			if to >= 0 {
				l.leaves[to].open += old[i].open
				for _, n := range old[i].opens {
					s.jobs[n].inOpens = int32(len(l.leaves[to].opens))
					l.leaves[to].opens = append(l.leaves[to].opens, n)
				}
			}
		}
	}
	return moved
}

// orphan makes the run, or the claim, of a job unallocated whose account is gone.
func (s *sharing) orphan(e *Engine, n int32) {
	c := &s.jobs[n]
	c.charged, c.draws, c.open, c.until = false, false, false, unset
	if e.jobs[n].state == claiming {
		c.paidAt = 0
		for i := range e.claims {
			e.claims[i].lost = e.claims[i].lost || e.claims[i].job == n
		}
		return
	}
	if c.unallocated {
		return
	}
	s.letGo(e, n)
	c.unallocated = true
}

// openAccounts opens the hard budgets of a tree, or takes over what the present ones
// have left; nil where it limits nobody.
func (s *sharing) openAccounts(t *budget.Tree, epoch, at workload.Time) (*budget.Accounts, error) {
	if s.accounts != nil {
		return s.accounts.Rebase(t, at)
	}
	for i := range t.Nodes {
		if t.Nodes[i].Budget != nil {
			return budget.NewAccounts(t, epoch, at)
		}
	}
	return nil, nil
}

// hold adds to what a leaf and all above it hold.
func (s *sharing) hold(leaf int32, milli int64) {
	for n := leaf; n >= 0 && n < s.outside; n = s.tree.Nodes[n].Parent {
		s.held[n] += milli
	}
}

// holds is what a job runs on or has claimed, in milli-GPU of a pool.
func (e *Engine) holds(n int32) (pool int32, milli int64) {
	if e.jobs[n].state == claiming {
		for i := range e.claims {
			if e.claims[i].job == n {
				return e.claims[i].pool, e.claims[i].milli
			}
		}
	}
	return e.jobs[n].pool, e.jobs[n].milli
}

// budgetsChanged takes in a new tree. Policies that know no budgets do not mind.
func (e *Engine) budgetsChanged(f *fact.Fact) error {
	if f.Budgets == nil {
		return ErrUnknown
	}
	if e.sharing != nil {
		if err := e.rebudget(f); err != nil {
			return err
		}
	}
	e.budgets, e.epoch = f.Budgets, f.Epoch
	return nil
}
