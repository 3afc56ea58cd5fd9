package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// rebudget changes the tree while the engine runs: every waiting job is filed anew.
// An error (a credit with a date where there is no calendar) leaves all as it was.
func (e *Engine) rebudget(f *fact.Fact) error {
	s := e.sharing
	at := f.At
	accounts, err := s.openAccounts(f.Budgets, f.Epoch, at)
	if err != nil {
		return err
	}
	if len(s.jobs) == 0 {
		s.setTree(e, f.Budgets, f.Epoch, at)
		s.ledger.SetUsable(at, e.usable())
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
	old, outside := s.leaves, s.outside
	ledger, moved := s.ledger.Rebase(f.Budgets, at)
	fill, _ := s.fill.Rebase(f.Budgets, at)
	first := s.accounts == nil && accounts != nil
	s.tree, s.epoch, s.ledger, s.fill, s.accounts = f.Budgets, f.Epoch, ledger, fill, accounts
	s.ledger.SetUsable(at, e.usable())
	s.layOut()
	for i, to := range moved {
		if to >= 0 {
			s.leaves[to].open += old[i].open
			for _, n := range old[i].opens {
				s.jobs[n].inOpens = int32(len(s.leaves[to].opens))
				s.leaves[to].opens = append(s.leaves[to].opens, n)
			}
		}
	}
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
				s.hold(c.leaf, e.heldBy(int32(n)))
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

// orphan makes the run, or the claim, of a job unallocated whose account is gone.
func (s *sharing) orphan(e *Engine, n int32) {
	c := &s.jobs[n]
	c.charged, c.draws, c.open, c.until = false, false, false, unset
	if e.jobs[n].state == claiming {
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

// heldBy is the milli-GPU that a job runs on or has claimed.
func (e *Engine) heldBy(n int32) int64 {
	if e.jobs[n].state == claiming {
		for i := range e.claims {
			if e.claims[i].job == n {
				return e.claims[i].milli
			}
		}
	}
	return e.jobs[n].milli
}

// budgetsChanged takes in a new tree. Policies that know no budgets do not mind.
func (e *Engine) budgetsChanged(f *fact.Fact) error {
	if f.Budgets == nil {
		return ErrUnknown
	}
	if e.sharing != nil {
		return e.rebudget(f)
	}
	return nil
}
