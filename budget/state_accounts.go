package budget

import (
	"github.com/escala-sched/escala/internal/pack"
	"github.com/escala-sched/escala/workload"
)

// AccountsState is all that hard budgets answer by, as of a time. It does not change, and
// several may be made of one.
type AccountsState struct {
	epoch workload.Time
	books []book
	rates []int64
}

// State returns what the budgets know as of a time; what was told of later times already
// stays. They stay as they are.
func (a *Accounts) State(at workload.Time) *AccountsState {
	s := &AccountsState{epoch: a.epoch, books: make([]book, len(a.books)), rates: make([]int64, len(a.rates))}
	copy(s.rates, a.rates)
	for i := range a.books {
		s.books[i] = a.books[i] // credits are only read, and taken off from the front
		s.books[i].settle(a.epoch, at)
	}
	return s
}

// RestoreAccounts returns the budgets of a state for the tree that it was made under.
func RestoreAccounts(t *Tree, s *AccountsState) *Accounts {
	a := &Accounts{tree: t, epoch: s.epoch, of: make([]int32, len(t.Nodes)), books: make([]book, len(s.books)), rates: make([]int64, len(t.Nodes))}
	for i := range a.of {
		a.of[i] = none
	}
	copy(a.rates, s.rates)
	for i := range s.books {
		b := &a.books[i]
		*b = s.books[i]
		a.of[b.node], b.hard = int32(i), t.Nodes[b.node].Budget
		b.rate = a.drawn(b.node)
	}
	return a
}

// Fits tells whether the state can be one of budgets of the tree.
func (s *AccountsState) Fits(t *Tree) bool {
	k := 0
	for i := range t.Nodes {
		if t.Nodes[i].Budget != nil {
			if k == len(s.books) || s.books[k].node != int32(i) {
				return false
			}
			k++
		}
	}
	return k == len(s.books) && len(s.rates) == len(t.Nodes)
}

// Code writes or reads the state of budgets of the tree.
func (s *AccountsState) Code(c *pack.Coder, t *Tree) {
	c.Int(&s.epoch)
	if c.Reading() {
		s.rates = make([]int64, len(t.Nodes))
		for i := range t.Nodes {
			if h := t.Nodes[i].Budget; h != nil {
				s.books = append(s.books, book{node: int32(i), hard: h})
			}
		}
	}
	for i := range s.rates {
		c.Int(&s.rates[i])
	}
	for i := range s.books {
		b := &s.books[i]
		c.Int(&b.left)
		c.Int(&b.at)
		c.From(&b.start, b.at)
		c.From(&b.end, b.at)
		c.From(&b.first, b.at)
		c.From(&b.opened, b.at)
		last := b.at
		pack.List(c, &b.credits, func(x *dated) {
			c.From(&x.at, last)
			c.Int(&x.amount)
			last = x.at
		})
		if b.start > b.at && c.Reading() || b.end <= b.start {
			c.Fail()
		}
	}
	if c.Reading() {
		a := Accounts{tree: t, rates: s.rates}
		for i := range s.books {
			s.books[i].rate = a.drawn(s.books[i].node)
		}
	}
}
