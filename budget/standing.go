package budget

import "github.com/escala-sched/escala/workload"

// Standing is the class that a leaf's work is sorted in, the first first.
type Standing uint8

// Standings.
const (
	// Entitled: the leaf's usage is below its product share of what the window has
	// offered, see [Ledger.Offered]. Its work comes first and may stop that of leaves that are not.
	Entitled Standing = iota
	// Served: it has its share, or more.
	Served
	// Spent: it is below its share, but has claimed back as much idle time as the
	// credit cap allows and runs at its share or above. More comes last, until others
	// had theirs.
	Spent
)

var standingNames = [...]string{"entitled", "served", "spent"}

// String returns the standing in a word.
func (s Standing) String() string { return standingNames[s] }

// credits cap what a leaf may claim back of time in which it was idle.
type credits struct {
	usable int64 // milli-GPU
	cap    int64 // thousandths of a window, < 0 = none
	capped bool
	leaves []burst
}

// burst is how far a leaf has run ahead of its share: it fills at the rate charged
// above the leaf's share of usable capacity, drains at the rate below it, and stays
// within 0 and the cap (a leaky bucket). It is set on its own clock, at.
type burst struct {
	fair  int64 // share x usable, rounded down to whole milli-GPU
	limit int64 // milli-GPU x ms
	level int64
	at    workload.Time
}

// SetUsable tells how much capacity, in milli-GPU, can be used from a time on:
// shares are shares of it. Below 0 it is 0.
func (l *Ledger) SetUsable(at workload.Time, milli int64) {
	l.Advance(at)
	l.settleAll(at)
	milli = max(milli, 0)
	l.offered.change(at, milli-l.credit.usable, l.horizon())
	l.credit.usable = milli
	l.refill()
}

// SetCreditCap caps the idle credit at a part of the window, in thousandths: at 250,
// a leaf that comes back may run above its share of usable capacity by as much
// GPU-time as its share of a quarter of a window. Below 0 there is no cap, as at the
// beginning.
func (l *Ledger) SetCreditCap(at workload.Time, thousandths int64) {
	l.Advance(at)
	l.settleAll(at)
	l.credit.cap, l.credit.capped = thousandths, thousandths >= 0
	l.refill()
}

// Ahead is how far a leaf has run ahead of its share, and how far it may, in
// milli-GPU x ms. Without a cap both are 0.
func (l *Ledger) Ahead(leaf int32, at workload.Time) (level, limit int64) {
	b := l.credit.leaves[leaf]
	b.settle(l.Rate(leaf), at)
	return b.level, b.limit
}

// Standing returns the class of a leaf, whose usage is compared with its product
// share of what the window has offered. Until something was offered, no leaf is
// below its share: all are served.
func (l *Ledger) Standing(leaf int32, at workload.Time) Standing { return l.StandingWith(leaf, at, 0) }

// StandingWith returns the class that a leaf would have if so many milli-GPU more ran
// and were charged now: what starts in a decision counts in it.
func (l *Ledger) StandingWith(leaf int32, at workload.Time, more int64) Standing {
	if l.tree.CompareShare(leaf, l.Usage(leaf, at), l.Offered(at)) >= 0 {
		return Served
	}
	if !l.credit.capped {
		return Entitled
	}
	if level, limit := l.Ahead(leaf, at); level >= limit && l.Rate(leaf)+more >= l.credit.leaves[leaf].fair {
		return Spent
	}
	return Entitled
}

func (l *Ledger) settle(leaf int32, at workload.Time) {
	if l.credit.capped {
		l.credit.leaves[leaf].settle(l.Rate(leaf), at)
	}
}

func (b *burst) settle(rate int64, at workload.Time) {
	if at <= b.at {
		return
	}
	b.level = min(max(b.level+(rate-b.fair)*(at-b.at), 0), b.limit)
	b.at = at
}

func (l *Ledger) settleAll(at workload.Time) {
	for i := range l.credit.leaves {
		l.settle(int32(i), at)
	}
}

// refill sets what depends on usable capacity and the cap. A level stays, within
// the new limit.
func (l *Ledger) refill() {
	if !l.credit.capped {
		clear(l.credit.leaves)
		return
	}
	for i := range l.credit.leaves {
		b := &l.credit.leaves[i]
		num, den := l.tree.ProductShare(int32(i))
		b.fair = int64(mulDiv(num, uint64(l.credit.usable), den))
		b.limit = int64(mulDiv(uint64(b.fair*l.window), uint64(l.credit.cap), 1000))
		b.level, b.at = min(b.level, b.limit), l.now
	}
}
