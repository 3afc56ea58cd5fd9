package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// Moved tells for each node where its jobs are charged in a tree that replaces this
// one: a leaf goes to the leaf of the same path; where there is none any more, to the
// nearest account above it that has become a leaf; else, as what is no leaf, to -1.
func (t *Tree) Moved(to *Tree) []int32 {
	moved := make([]int32, len(t.Nodes))
	for i := range t.Nodes {
		moved[i] = none
		if n := &t.Nodes[i]; n.Leaf() {
			moved[i] = to.leafAt(n.Path)
		}
	}
	return moved
}

// leafAt is the leaf of a path, or the nearest leaf above it.
func (t *Tree) leafAt(path string) int32 {
	for {
		if i, ok := t.index.path[path]; ok {
			if t.Nodes[i].Leaf() {
				return i
			}
			return none // accounts above it are no leaves either
		}
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 {
			return none
		}
		path = path[:cut]
	}
}

// Rebase returns the ledger under another tree from a time on, and for each node of
// the old tree where its jobs are charged now, see [Tree.Moved]. It is the ledger that
// the new tree would have had if all that was told of a leaf had been told of the one
// it goes to, and nothing of those that go nowhere: their charges, rates and
// protections are gone. How far a leaf is ahead of its share stays, within the new limit.
//
// The old ledger must not be used any more.
func (l *Ledger) Rebase(t *Tree, at workload.Time) (*Ledger, []int32) {
	l.Advance(at)
	l.settleAll(at)
	moved := l.tree.Moved(t)
	n := NewLedger(t, l.window)
	n.now, n.begun = l.now, l.begun
	n.offered = l.offered
	n.takeCharges(l, moved)
	for _, p := range l.protected.heap {
		if p.leaf = moved[p.leaf]; p.leaf != none {
			n.protected.add(p, 1, n.parent)
			n.protected.push(p)
		}
	}
	n.credit.usable, n.credit.cap, n.credit.capped = l.credit.usable, l.credit.cap, l.credit.capped
	for i, to := range moved {
		if to != none {
			n.credit.leaves[to].level += l.credit.leaves[i].level
		}
	}
	n.refill()
	return n, moved
}

// takeCharges plays the changes that can still be asked about again.
func (l *Ledger) takeCharges(old *Ledger, moved []int32) {
	type change struct {
		at    workload.Time
		delta int64
		leaf  int32
	}
	var all []change
	for i, to := range moved {
		if to == none {
			continue
		}
		h := &old.charged[i]
		var rate int64
		for _, s := range h.steps[h.head:] {
			all = append(all, change{s.at, s.rate - rate, to})
			rate = s.rate
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, c := range all {
		for n := c.leaf; n >= 0; n = l.parent[n] {
			l.charged[n].change(c.at, c.delta, l.horizon())
		}
	}
}

// Rebase returns the budgets under another tree from a time on; draws go to the
// leaves that [Tree.Moved] tells.
//
// A budget of the same path keeps what is left, and so what was drawn and committed,
// changed by the difference between the two files: in the amount of a period, and in
// the credits until now, of which those of earlier periods count with what is carried
// over of them. A budget that its account did not have before begins with nothing drawn.
//
// It is an error where a credit has a date and the workload has no calendar; nothing has
// changed then. Else the old budgets must not be used any more.
func (a *Accounts) Rebase(t *Tree, at workload.Time) (*Accounts, error) {
	n, err := NewAccounts(t, a.epoch, at)
	if err != nil {
		return nil, err
	}
	for i, to := range a.tree.Moved(t) {
		if to != none {
			n.rates[to] += a.rates[i]
		}
	}
	for i := range n.books {
		b := &n.books[i]
		b.rate = n.drawn(b.node)
		was := a.bookAt(t.Nodes[b.node].Path)
		if was == nil {
			b.opened = at
			continue
		}
		was.settle(a.epoch, at)
		b.first, b.opened = was.first, was.opened
		b.left = satAdd(was.left, b.hard.GPUTime-was.hard.GPUTime)
		b.left = satAdd(b.left, satAdd(b.credited(t, b.node, a.epoch, at), -b.credited(a.tree, was.node, a.epoch, at)))
	}
	return n, nil
}

// bookAt is the budget of an account, nil where it has none.
func (a *Accounts) bookAt(path string) *book {
	i, ok := a.tree.index.path[path]
	if !ok || a.of[i] == none {
		return nil
	}
	return &a.books[a.of[i]]
}

// drawn is the rate at which all leaves below a node draw.
func (a *Accounts) drawn(node int32) (rate int64) {
	for i := node; i <= a.tree.Nodes[node].Last; i++ {
		rate += a.rates[i]
	}
	return rate
}

// credited is what the credits of a file until now come to today.
func (b *book) credited(t *Tree, node int32, epoch, at workload.Time) (sum int64) {
	for i := range t.Credits {
		c := &t.Credits[i]
		if when, ok := c.When(epoch); ok && c.Account == node && when >= b.first && when <= at {
			sum = satAdd(sum, b.since(epoch, when, c.GPUTime))
		}
	}
	return sum
}
