package metrics

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

const (
	// shareWindow is the default of [Config.ShareWindow].
	shareWindow = 7 * 24 * workload.Hour
	// longestOwed ends the sums of a window that has no end.
	longestOwed = 10 * 365 * workload.Day
)

// noAccount is the leaf and the account of a job that none takes.
const noAccount = -1

// accounts watches what reported accounts ask for and are charged, as levels in
// milli-GPU. Facts change what a level comes to; at the end of their instant it is
// told to the sums, so that a job that starts at once costs nothing.
type accounts struct {
	tree     *budget.Tree
	from, to workload.Time
	window   workload.Span
	// owed sums up the window; dues are what came of it once it is over.
	owed   *budget.Owed
	dues   []budget.Due
	closed bool
	// clock is up to when levels are told.
	clock    workload.Time
	usable   int64
	levels   []level
	dirty    []int32
	fresh    []int32 // jobs that began to wait in this instant
	expiries expiries
	leaves   map[owner]int32
	series   accountSeries
}

type owner struct{ team, user string }

// level is what one reported account asks for and is charged: as told, and as it
// will be told at the end of the instant.
type level struct {
	demand, charged     int64
	demandTo, chargedTo int64
	dirty               bool
}

func newAccounts(cfg *Config, from, to workload.Time) *accounts {
	if cfg.Budgets == nil {
		return nil
	}
	a := &accounts{tree: cfg.Budgets, from: from, to: to, window: cfg.ShareWindow, clock: -workload.Never,
		levels: make([]level, len(cfg.Budgets.Reported)), leaves: map[owner]int32{}}
	if a.window <= 0 {
		a.window = shareWindow
	}
	if to <= from { // all jobs are submitted at once
		a.to = from + longestOwed
	}
	a.series.init(a, cfg.Bins)
	return a
}

// leafOf returns the leaf that takes a job, and the reported account it belongs to.
func (a *accounts) leafOf(j *workload.Job) (leaf, account int32) {
	key := owner{j.Team, j.User}
	leaf, known := a.leaves[key]
	if !known {
		var ok bool
		if leaf, ok = a.tree.Leaf(j.Team, j.User); !ok {
			leaf = noAccount
		}
		a.leaves[key] = leaf
	}
	if leaf == noAccount {
		return noAccount, noAccount
	}
	return leaf, a.tree.Allocation(leaf)
}

// begin begins a new instant, before anything of it is known.
func (a *accounts) begin(jobs []jobState, at workload.Time) {
	if at <= a.clock {
		return
	}
	for len(a.expiries) > 0 && a.expiries[0].at <= at {
		x := a.expiries.pop()
		if j := &jobs[x.job]; j.counts && j.since+j.left == x.at {
			j.counts = false
			l := &a.levels[j.account]
			a.series.until(x.at)
			l.demandTo -= j.asks
			a.tell(j.account, x.at)
		}
	}
	a.series.until(at)
	a.clock = at
}

// ask adds to what an account asks for.
func (a *accounts) ask(account int32, milli int64) {
	l := &a.levels[account]
	l.demandTo += milli
	a.mark(account, l)
}

// charge adds to what a leaf is charged.
func (a *accounts) charge(leaf, account int32, at workload.Time, milli int64) {
	l := &a.levels[account]
	l.chargedTo += milli
	a.mark(account, l)
	a.series.change(leaf, at, milli)
}

func (a *accounts) mark(account int32, l *level) {
	if !l.dirty {
		l.dirty = true
		a.dirty = append(a.dirty, account)
	}
}

// end ends an instant: what it changed holds from it on.
func (a *accounts) end(jobs []jobState, g *sim.Gauge) {
	a.begin(jobs, g.At)
	for _, n := range a.fresh {
		if j := &jobs[n]; j.counts && j.left < workload.Never-j.since {
			a.expiries.push(expiry{j.since + j.left, n})
		}
	}
	a.fresh = a.fresh[:0]
	if g.Available != a.usable {
		if a.ready(g.At) {
			a.owed.Usable(g.At, g.Available)
		}
		a.usable = g.Available
		a.series.setUsable(g.At, g.Available)
	}
	for _, account := range a.dirty {
		a.levels[account].dirty = false
		a.tell(account, g.At)
	}
	a.dirty = a.dirty[:0]
}

// tell makes the levels of an account hold from a time on.
func (a *accounts) tell(account int32, at workload.Time) {
	l := &a.levels[account]
	demand, charged := l.demandTo != l.demand, l.chargedTo != l.charged
	if !demand && !charged {
		return
	}
	ready := a.ready(at) // with the levels as they were until now
	l.demand, l.charged = l.demandTo, l.chargedTo
	if ready {
		if demand {
			a.owed.Demand(account, at, l.demand)
		}
		if charged {
			a.owed.Charged(account, at, l.charged)
		}
	}
	a.series.set(account, at, l.demand, l.charged)
}

// ready tells whether what holds from a time on belongs to the window, whose sums it
// begins and ends.
func (a *accounts) ready(at workload.Time) bool {
	if a.from == -workload.Never {
		a.from = at
	}
	switch {
	case a.closed || at < a.from:
		return false
	case a.owed == nil:
		a.open()
	}
	if at >= a.to {
		a.dues, a.closed, a.owed = a.owed.Results(a.to), true, nil
		return false
	}
	return true
}

// open begins the sums with the state at the window's start.
func (a *accounts) open() {
	a.owed = budget.NewOwed(a.tree, a.from, a.window)
	a.owed.Usable(a.from, a.usable)
	for i := range a.levels {
		a.owed.Demand(int32(i), a.from, a.levels[i].demand)
		a.owed.Charged(int32(i), a.from, a.levels[i].charged)
	}
}

// results returns what came of the accounts up to a time.
func (a *accounts) results(at workload.Time) []budget.Due {
	switch {
	case a.ready(at):
		return a.owed.Results(at)
	case a.closed:
		return a.dues
	}
	return budget.NewOwed(a.tree, 0, a.window).Results(0) // before the window
}

// expiry is when a waiting job has asked for all that it can use.
type expiry struct {
	at  workload.Time
	job int32
}

// expiries are a binary heap, the earliest first.
type expiries []expiry

func (h *expiries) push(x expiry) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if s[p].at <= s[i].at {
			break
		}
		s[p], s[i] = s[i], s[p]
		i = p
	}
}

func (h *expiries) pop() expiry {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && s[c+1].at < s[c].at {
			c++
		}
		if s[i].at <= s[c].at {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return top
}
