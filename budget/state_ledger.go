package budget

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/internal/pack"
	"github.com/escala-sched/escala/workload"
)

// LedgerState is all that a ledger answers by, as of a time. Ledgers that answer alike
// have equal states, whatever led there. It does not change, and several ledgers may be
// made of one.
type LedgerState struct {
	tree    *Tree
	at      workload.Time
	window  workload.Span
	usable  int64
	cap     int64
	offered []step
	// charged and levels are by node; levels of nodes that are no leaves are 0.
	charged   [][]step
	levels    []lead
	protected []protection // by end, then leaf
}

// lead is how far a leaf is ahead of its share, as of a time: before that nobody knows.
type lead struct {
	ahead int64
	at    workload.Time
}

// State returns what the ledger knows as of a time that is not before its latest
// change. Standings will be asked for at asked, which may lie before that, or later. The
// ledger stays as it is.
func (l *Ledger) State(at, asked workload.Time) *LedgerState {
	s := &LedgerState{tree: l.tree, at: at, window: l.window, usable: l.credit.usable, cap: -1, charged: make([][]step, len(l.charged)), levels: make([]lead, len(l.charged))}
	from := s.horizon()
	s.offered = l.offered.since(from)
	for i := range l.charged {
		s.charged[i] = l.charged[i].since(from)
	}
	if l.credit.capped {
		s.cap = l.credit.cap
		for i := range l.credit.leaves {
			if l.tree.Nodes[i].Leaf() {
				b := l.credit.leaves[i]
				b.settle(l.Rate(int32(i)), asked)
				s.levels[i] = lead{b.level, b.at}
			}
		}
	}
	s.protected = l.protected.outstanding(at)
	return s
}

// Settled is the state if standings are not asked for before its time.
func (s *LedgerState) Settled() *LedgerState {
	return RestoreLedger(s.tree, s.window, s).State(s.at, s.at)
}

// horizon is the earliest time that can still be asked about.
func (s *LedgerState) horizon() workload.Time { return s.at - s.window - Lookback }

// since is the rate from a time on, without what changes nothing.
func (h *history) since(from workload.Time) []step {
	out := make([]step, 0, len(h.steps)-h.head)
	for i := h.head; i < len(h.steps); i++ {
		x := step{at: max(h.steps[i].at, from), rate: h.steps[i].rate}
		if n := len(out); n > 0 && out[n-1].at == x.at {
			out = out[:n-1]
		}
		n := len(out)
		switch {
		case n == 0 && x.rate == 0, n > 0 && out[n-1].rate == x.rate:
			continue
		case n > 0:
			x.sum = out[n-1].sumAt(x.at)
		}
		out = append(out, x)
	}
	return out
}

// outstanding are the protections that end after a time, those of one leaf and end
// together.
func (p *protections) outstanding(at workload.Time) []protection {
	out := make([]protection, 0, len(p.heap))
	for _, x := range p.heap {
		if x.until > at {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b protection) int { return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.leaf, b.leaf)) })
	n := 0
	for _, x := range out {
		if n > 0 && out[n-1].until == x.until && out[n-1].leaf == x.leaf {
			if out[n-1].milli += x.milli; out[n-1].milli == 0 {
				n--
			}
			continue
		}
		out[n] = x
		n++
	}
	return out[:n]
}

// RestoreLedger returns the ledger of a state, for a tree that has as many accounts, with
// a window that may be another: what the state does not know was not charged.
func RestoreLedger(t *Tree, window workload.Span, s *LedgerState) *Ledger {
	l := NewLedger(t, window)
	l.now, l.begun = s.at, true
	l.offered.steps = slices.Clone(s.offered)
	for i := range s.charged {
		if len(s.charged[i]) > 0 {
			l.charged[i].steps = slices.Clone(s.charged[i])
		}
	}
	for _, p := range s.protected {
		l.protected.add(p, 1, l.parent)
		l.protected.push(p)
	}
	c := &l.credit
	c.usable, c.cap, c.capped = s.usable, s.cap, s.cap >= 0
	l.refill()
	for i := range s.levels {
		if b := &c.leaves[i]; c.capped && t.Nodes[i].Leaf() {
			b.level, b.at = min(s.levels[i].ahead, b.limit), s.levels[i].at
		}
	}
	return l
}

// Fits tells whether the state can be one of a ledger of the tree, as of a time.
func (s *LedgerState) Fits(t *Tree, at workload.Time) bool {
	return len(s.levels) == len(t.Nodes) && s.at == at
}

// Code writes or reads the state of a ledger of the tree.
func (s *LedgerState) Code(c *pack.Coder, t *Tree) {
	n := len(t.Nodes)
	if c.Reading() {
		s.tree, s.charged, s.levels = t, make([][]step, n), make([]lead, n)
	}
	c.Int(&s.at)
	c.Int(&s.window)
	c.Int(&s.usable)
	c.Int(&s.cap)
	s.codeSteps(c, &s.offered)
	for i := n - 1; i >= 0; i-- {
		if t.Nodes[i].Leaf() {
			s.codeSteps(c, &s.charged[i])
			x := &s.levels[i]
			c.Int(&x.ahead)
			if c.From(&x.at, s.at); s.cap >= 0 && x.at > s.at {
				c.Fail()
			}
		} else if c.Reading() {
			s.charged[i] = s.addUp(t.Nodes[i].Children)
		}
	}
	last := s.at
	pack.List(c, &s.protected, func(p *protection) {
		c.From(&p.until, last)
		c.Int32(&p.leaf)
		c.Int(&p.milli)
		last = p.until
		if p.leaf < 0 || int(p.leaf) >= n || !t.Nodes[p.leaf].Leaf() {
			c.Fail()
		}
	})
}

func (s *LedgerState) codeSteps(c *pack.Coder, steps *[]step) {
	was := step{at: s.at}
	first := true
	pack.List(c, steps, func(x *step) {
		c.From(&x.at, was.at)
		c.From(&x.rate, was.rate)
		switch {
		case !first && x.at <= was.at, x.at > s.at:
			c.Fail() // the order of time is what look-ups go by
		case !first && c.Reading():
			x.sum = was.sumAt(x.at)
		}
		was, first = *x, false
	})
}

// addUp is the rate of an account above others.
func (s *LedgerState) addUp(children []int32) []step {
	switch n := len(children); n {
	case 0:
		return nil
	case 1:
		return s.charged[children[0]]
	default:
		return together(s.addUp(children[:n/2]), s.addUp(children[n/2:]))
	}
}

// together is the sum of two rates, without what changes nothing.
func together(a, b []step) []step {
	out := make([]step, 0, len(a)+len(b))
	var x, y step // the last of each
	for len(a)+len(b) > 0 {
		var at workload.Time
		if len(b) == 0 || len(a) > 0 && a[0].at <= b[0].at {
			at = a[0].at
		} else {
			at = b[0].at
		}
		if len(a) > 0 && a[0].at == at {
			x, a = a[0], a[1:]
		}
		if len(b) > 0 && b[0].at == at {
			y, b = b[0], b[1:]
		}
		z := step{at: at, rate: x.rate + y.rate}
		if n := len(out); n > 0 {
			if out[n-1].rate == z.rate {
				continue
			}
			z.sum = out[n-1].sumAt(at)
		} else if z.rate == 0 {
			continue
		}
		out = append(out, z)
	}
	return out
}
