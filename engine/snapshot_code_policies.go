package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/pack"
)

func (s *State) codeUsage(c *pack.Coder) {
	u := s.usage
	c.Bool(&u.byUser)
	pack.List(c, &u.names, c.Text)
	pack.List(c, &u.usage, func(f *float64) {
		if c.Float(f); !finite(*f) {
			c.Fail()
		}
	})
	c.Int(&u.accounts)
	c.From(&u.at, s.now)
	pack.List(c, &u.ended, s.ref(c))
	if len(u.usage) != len(u.names) {
		c.Fail()
	}
}

func (s *State) codePlan(c *pack.Coder) {
	p := s.plan
	pack.List(c, &p.slots, func(x *savedSlot) {
		s.ref(c)(&x.job)
		c.Bool(&x.told)
		c.From(&x.at, s.now)
		c.From(&x.until, x.at)
		c.Int32(&x.pool)
		c.Int32(&x.tasks)
		c.Int(&x.milli)
		codePlace(c, &x.grants)
	})
	pack.List(c, &p.fresh, s.ref(c))
	c.Flags(&p.early, &p.broken)
	c.From(&p.freed, s.now)
}

func (s *State) codeSharing(c *pack.Coder) {
	x := s.sharing
	c.From(&x.grid, s.now)
	c.From(&x.moneyAt, s.now)
	c.From(&x.nextEvict, s.now)
	c.Bool(&x.limited)
	for _, p := range []*scope{&x.pending, &x.present} {
		c.Flags(&p.all, &p.swaps, &p.some)
		pack.List(c, &p.fresh, s.ref(c))
	}
	pack.List(c, &x.dates, func(d *date) {
		s.ref(c)(&d.job)
		c.Flags(&d.due, &d.lost)
		c.Int32(&d.pool)
		c.From(&d.at, s.now)
		c.Int(&d.milli)
		codePlace(c, &d.grants)
	})
	pack.List(c, &x.onNode, func(l *[]int32) { pack.List(c, l, s.ref(c)) })
	t := s.tree()
	if c.Bad() {
		return
	}
	lanes := max(len(t.Pools), 1)
	if c.Reading() {
		x.ledgers, x.fills = make([]*budget.LedgerState, lanes), make([]*budget.LedgerState, lanes)
		for i := range lanes {
			x.ledgers[i], x.fills[i] = &budget.LedgerState{}, &budget.LedgerState{}
		}
	}
	for i := range lanes {
		x.ledgers[i].Code(c, t.In(i))
		x.fills[i].Code(c, t.In(i))
	}
	if optional(c, &x.accounts, func() *budget.AccountsState { return &budget.AccountsState{} }) {
		x.accounts.Code(c, t)
	}
}

// tree is that by which a policy shares: until budgets are told nobody has an account.
func (s *State) tree() *budget.Tree {
	if s.budgets == nil {
		return budget.Equal("none", nil)
	}
	return s.budgets
}

func (s *State) codeAhead(c *pack.Coder) {
	x := s.ahead
	pack.List(c, &x.back, func(m *maintenance) {
		c.Int32(&m.node)
		c.From(&m.from, s.now)
		c.From(&m.to, s.now)
	})
	if !optional(c, &x.proposed, func() *fact.Plan { return &fact.Plan{} }) {
		return
	}
	p := x.proposed
	c.From(&p.Until, s.now)
	c.Plain(&p.Inputs)
	c.Plain(&p.Solver)
	c.Int(&p.Objective)
	c.Int(&p.Bound)
	pack.List(c, &p.Starts, func(st *fact.PlannedStart) {
		if c.Int32(&st.Job); c.Reading() && st.Job != none {
			s.in(c, st.Job)
		}
		c.From(&st.At, s.now)
		codePlace(c, &st.Place)
	})
}
