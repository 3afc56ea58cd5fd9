package budget

import (
	"fmt"

	"github.com/escala-sched/escala/workload"
)

// Lookback is how far before the latest change a ledger can be read: policies
// compare shares at the last multiple of an interval, which lies behind.
const Lookback = workload.Hour

// Ledger knows what every node was charged inside a sliding window, exactly, what
// protections outstanding will still charge, and how much the window offered in all.
// Changes come in the order of time, those of one time in any order.
//
// With N nodes, depth d and k changes of a node inside window and Lookback, it takes
// O(N + sum of k) memory, O(d) amortised for a change and O(1) amortised for a
// reading whose time moves on.
type Ledger struct {
	tree   *Tree
	window workload.Span
	now    workload.Time
	begun  bool
	// parent, last and histories by node, apart from the tree's nodes for speed.
	parent, last []int32
	charged      []history
	// offered is usable capacity as a rate.
	offered   history
	protected protections
	credit    credits
}

// NewLedger begins a ledger in which nothing was charged yet.
func NewLedger(t *Tree, window workload.Span) *Ledger {
	n := len(t.Nodes)
	l := &Ledger{tree: t, window: window, parent: make([]int32, n), last: make([]int32, n), charged: make([]history, n)}
	for i := range t.Nodes {
		l.parent[i], l.last[i] = t.Nodes[i].Parent, t.Nodes[i].Last
	}
	l.protected.milli, l.protected.until = make([]int64, n), make([]uint64, n)
	l.credit.leaves = make([]burst, n)
	return l
}

// Advance moves the ledger's time on: protections that are over end. It must not go
// back. Change does it too.
func (l *Ledger) Advance(at workload.Time) {
	if l.begun && at < l.now {
		panic(fmt.Sprintf("budget: ledger at %d ms told of %d ms", l.now, at))
	}
	l.now, l.begun = at, true
	l.protected.expire(at, l.parent)
}

// Change adds to the rate, in milli-GPU, at which a leaf and all above it are
// charged from a time on: + when a charged run starts, - when it ends. Weights by
// GPU type or of other resources are in the amount already.
func (l *Ledger) Change(leaf int32, at workload.Time, delta int64) {
	l.Advance(at)
	l.settle(leaf, at)
	horizon := l.horizon()
	for n := leaf; n >= 0; n = l.parent[n] {
		l.charged[n].change(at, delta, horizon)
	}
}

// Rate is the rate at which a node is charged now, in milli-GPU.
func (l *Ledger) Rate(node int32) int64 { return l.charged[node].rate() }

// Charged is what a node was charged in (at-window, at], in milli-GPU x ms: the
// integral of its rate. at may lie up to Lookback before the latest change, or after
// it: then the present rate goes on.
func (l *Ledger) Charged(node int32, at workload.Time) int64 {
	return l.within(&l.charged[node], at)
}

// Offered is how much GPU-time could be used in (at-window, at], in milli-GPU x ms:
// the integral of usable capacity as [Ledger.SetUsable] told it. Nothing was offered
// before it told the first, so a young ledger has not offered a whole window yet. at
// may lie as for Charged.
func (l *Ledger) Offered(at workload.Time) int64 { return l.within(&l.offered, at) }

// within is the integral of a rate over the window that ends at a time.
func (l *Ledger) within(h *history, at workload.Time) int64 {
	if l.begun && at < l.now-Lookback {
		panic(fmt.Sprintf("budget: ledger at %d ms asked about %d ms, which it has forgotten", l.now, at))
	}
	head, _ := h.sumAt(at, len(h.steps)-1)
	tail, cursor := h.sumAt(at-l.window, h.cursor)
	h.cursor = cursor
	return int64(head - tail)
}

// horizon is the earliest time that can still be asked about.
func (l *Ledger) horizon() workload.Time { return l.now - l.window - Lookback }

// Usage is Charged + Outstanding: what the tree is walked by.
func (l *Ledger) Usage(node int32, at workload.Time) int64 {
	return l.Charged(node, at) + l.Outstanding(node, at)
}
