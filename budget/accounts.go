package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/escala-sched/escala/workload"
)

// Accounts keeps the hard budgets: a start commits its GPU-time from every budget
// between its leaf and the root, or none. Amounts are milli-GPU x ms. Times of what
// changes an account must not go back; what only reads changes nothing.
//
// A commitment counts in the period in which it is made, also where the run reaches
// into the next. Sums that 64 bits cannot hold stay at the largest amount.
type Accounts struct {
	tree  *Tree
	epoch workload.Time
	books []book
	of    []int32 // index in books by node, -1 = no budget
	rates []int64 // what each leaf draws continuously, milli-GPU
}

// book is one budget.
type book struct {
	node       int32
	hard       *Hard
	left       int64 // at that time; below 0 = debt
	rate       int64 // drawn continuously, milli-GPU
	at         workload.Time
	start, end workload.Time // of the period
	credits    []dated       // to come
	// first is the time from which on credits count, opened that from which on
	// commitments do: earlier ones were made when there was no such budget.
	first, opened workload.Time
}

type dated struct {
	at     workload.Time
	amount int64
}

// NewAccounts opens the budgets with the periods that start lies in; epoch is the
// workload's, see [Period.Bounds]. Credits of earlier periods do not count. It is an
// error where a credit has a date and the workload has no calendar.
func NewAccounts(t *Tree, epoch, start workload.Time) (*Accounts, error) {
	a := &Accounts{tree: t, epoch: epoch, of: make([]int32, len(t.Nodes)), rates: make([]int64, len(t.Nodes))}
	for i := range t.Nodes {
		a.of[i] = none
		if h := t.Nodes[i].Budget; h != nil {
			a.of[i] = int32(len(a.books))
			b := book{node: int32(i), hard: h, left: h.GPUTime, opened: math.MinInt64}
			b.start, b.end = h.Per.Bounds(epoch, start)
			b.at, b.first = b.start, b.start
			a.books = append(a.books, b)
		}
	}
	for i := range t.Credits {
		c := &t.Credits[i]
		at, ok := c.When(epoch)
		if !ok {
			return nil, fmt.Errorf("credit %d of %s has a date, but the workload has no calendar; want a time since its zero", i+1, t.Nodes[c.Account].Path)
		}
		if b := &a.books[a.of[c.Account]]; at >= b.start {
			b.credits = append(b.credits, dated{at, c.GPUTime})
		}
	}
	for i := range a.books {
		b := &a.books[i]
		slices.SortStableFunc(b.credits, func(x, y dated) int { return cmp.Compare(x.at, y.at) })
		b.settle(epoch, start)
	}
	return a, nil
}

// settle brings a book up to a time: what was drawn, credits, new periods. A credit
// at the instant a period begins belongs to it.
func (b *book) settle(epoch, at workload.Time) {
	for {
		next, ends := b.end, true
		if len(b.credits) > 0 && b.credits[0].at < b.end {
			next, ends = b.credits[0].at, false
		}
		if next > at {
			break
		}
		b.draw(next)
		if !ends {
			b.left = satAdd(b.left, b.credits[0].amount)
			b.credits = b.credits[1:]
			continue
		}
		b.left = satAdd(b.hard.carry(b.left), b.hard.GPUTime)
		b.start, b.end = b.hard.Per.Bounds(epoch, b.end)
	}
	b.draw(at)
}

// carry is the part of an amount that the next period takes over, rounded towards 0.
func (h *Hard) carry(amount int64) int64 {
	return amount/100*h.CarryOver + amount%100*h.CarryOver/100
}

func (b *book) draw(at workload.Time) {
	if at > b.at {
		b.left = satAdd(b.left, -satMul(b.rate, at-b.at))
		b.at = at
	}
}

// Left is what a node's budget has left; false where it has none. Below 0 it is debt.
func (a *Accounts) Left(node int32, at workload.Time) (int64, bool) {
	i := a.of[node]
	if i < 0 {
		return 0, false
	}
	b := a.books[i]
	b.settle(a.epoch, at)
	return b.left, true
}

// Limits tells whether a leaf, or a node above it, has a hard budget.
func (a *Accounts) Limits(leaf int32) bool {
	for n := leaf; n >= 0; n = a.tree.Nodes[n].Parent {
		if a.of[n] >= 0 {
			return true
		}
	}
	return false
}

// Answer says whether a start can be paid.
type Answer struct {
	// OK: every budget above the leaf can pay. Commit the amount then.
	OK bool
	// Rule is what happens otherwise: the strictest rule of the budgets that are short.
	Rule Exhaustion
	// Account is the budget that said so, the one with least left among equals; -1 where OK.
	Account int32
	// Need and Left are the amount asked for and what that account has left.
	Need, Left int64
	// MinRuntime is the minimum runtime that can be paid: all of it where OK, what is
	// left where Rule is Truncate, else 0.
	MinRuntime workload.Span
}

// Ask tells whether a start of so many milli-GPU, protected for a time, can be paid
// from a leaf. It changes nothing.
func (a *Accounts) Ask(leaf int32, at workload.Time, milli int64, protected workload.Span) Answer {
	need := satMul(milli, protected)
	answer := Answer{OK: true, Account: none, Need: need, MinRuntime: protected}
	if need <= 0 {
		return answer
	}
	least := int64(math.MaxInt64)
	for n := leaf; n >= 0; n = a.tree.Nodes[n].Parent {
		left, limited := a.Left(n, at)
		if !limited || left >= need {
			continue
		}
		least = min(least, left)
		rule := a.tree.Nodes[n].Budget.OnExhaustion
		if answer.OK || rule > answer.Rule || rule == answer.Rule && left < answer.Left {
			answer.OK, answer.Rule, answer.Account, answer.Left = false, rule, n, left
		}
	}
	if !answer.OK {
		answer.MinRuntime = 0
		if answer.Rule == Truncate {
			answer.MinRuntime = max(least, 0) / milli
		}
	}
	return answer
}

// Commit takes an amount from every budget above a leaf, whether or not they can
// pay: it is for starts that Ask found payable, and for what cannot be refused.
func (a *Accounts) Commit(leaf int32, at workload.Time, amount int64) {
	a.path(leaf, at, func(b *book) { b.left = satAdd(b.left, -amount) })
}

// Refund gives back a part of what was committed at an earlier time: the run ended
// before its minimum runtime. Budgets whose period has ended since get what they
// would have carried over of it; budgets that came with a later file get nothing.
func (a *Accounts) Refund(leaf int32, at, committed workload.Time, amount int64) {
	a.path(leaf, at, func(b *book) {
		if committed >= b.opened {
			b.left = satAdd(b.left, b.since(a.epoch, committed, amount))
		}
	})
}

// since is what an amount of that time comes to in the present period.
func (b *book) since(epoch, at workload.Time, amount int64) int64 {
	for start := b.start; at < start && amount != 0; {
		amount = b.hard.carry(amount)
		start, _ = b.hard.Per.Bounds(epoch, start-1)
	}
	return amount
}

// Draw adds to the rate, in milli-GPU, at which every budget above a leaf is drawn
// from: + when a charged run outlives its minimum runtime, - when it ends or
// becomes unallocated.
func (a *Accounts) Draw(leaf int32, at workload.Time, delta int64) {
	a.rates[leaf] += delta
	a.path(leaf, at, func(b *book) { b.rate += delta })
}

func (a *Accounts) path(leaf int32, at workload.Time, do func(*book)) {
	for n := leaf; n >= 0; n = a.tree.Nodes[n].Parent {
		if i := a.of[n]; i >= 0 {
			b := &a.books[i]
			b.settle(a.epoch, at)
			do(b)
		}
	}
}

// Exhausted tells whether some budget above a leaf cannot pay another millisecond of
// what draws from it: runs past their minimum runtime become unallocated then.
func (a *Accounts) Exhausted(leaf int32, at workload.Time) bool {
	for n := leaf; n >= 0; n = a.tree.Nodes[n].Parent {
		if left, limited := a.Left(n, at); limited && left < max(a.books[a.of[n]].rate, 1) {
			return true
		}
	}
	return false
}

// Next is when the budgets above a leaf must be looked at again if no start and no
// end comes between: one is exhausted, has a credit, or begins anew. It is
// [workload.Never] where none limits the leaf.
func (a *Accounts) Next(leaf int32, at workload.Time) workload.Time {
	next := workload.Never
	for n := leaf; n >= 0; n = a.tree.Nodes[n].Parent {
		i := a.of[n]
		if i < 0 {
			continue
		}
		b := a.books[i]
		b.settle(a.epoch, at)
		next = min(next, b.end)
		if len(b.credits) > 0 {
			next = min(next, b.credits[0].at)
		}
		if b.rate > 0 && b.left >= b.rate {
			next = min(next, satAdd(at, b.left/b.rate))
		}
	}
	return next
}

func satAdd(a, b int64) int64 {
	s := a + b
	switch {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return -math.MaxInt64
	}
	return s
}

func satMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if p := a * b; p/b == a {
		return p
	}
	if (a < 0) == (b < 0) {
		return math.MaxInt64
	}
	return -math.MaxInt64
}
