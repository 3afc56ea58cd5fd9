package metrics

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
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
// milli-GPU: one line for each account in each pool, all accounts of the first pool
// first. Facts change what a level comes to; at the end of their instant it is
// told to the sums, so that a job that starts at once costs nothing.
type accounts struct {
	tree     *budget.Tree
	from, to workload.Time
	window   workload.Span
	pools    accountPools
	// owed sums up the window, by pool; dues are what came of it once it is over.
	owed   []*budget.Owed
	dues   [][]budget.Due
	closed bool
	// clock is up to when levels are told.
	clock    workload.Time
	usable   []int64 // by pool
	levels   []level
	dirty    []int32
	fresh    []int32 // jobs that began to wait in this instant
	expiries expiries
	leaves   map[owner]int32
	series   accountSeries
}

type owner struct{ team, user string }

// level is what one line asks for and is charged: as told, and as it
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
		leaves: map[owner]int32{}, pools: newAccountPools(cfg.Budgets, cfg.Cluster)}
	a.usable = make([]int64, a.pools.count())
	a.levels = make([]level, a.pools.count()*len(cfg.Budgets.Reported))
	if a.window <= 0 {
		a.window = shareWindow
	}
	if to <= from { // all jobs are submitted at once
		a.to = from + longestOwed
	}
	a.series.init(a, cfg.Bins)
	return a
}

// leafOf returns the leaf that takes a job, and the line that it waits in: that of its
// reported account in the first pool that it may run in.
func (a *accounts) leafOf(j *workload.Job) (leaf, line int32) {
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
	return leaf, a.line(a.pools.first(j), a.tree.Allocation(leaf))
}

// line is that of an account in a pool, split tells both of a line.
func (a *accounts) line(pool int, account int32) int32 {
	return int32(pool*len(a.tree.Reported)) + account
}

func (a *accounts) split(line int32) (pool int, account int32) {
	n := int32(len(a.tree.Reported))
	return int(line / n), line % n
}

// runsIn returns the line of a run, of a job that waited in a line.
func (a *accounts) runsIn(line int32, place []fact.Grant) int32 {
	_, account := a.split(line)
	return a.line(a.pools.where(place), account)
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
			l := &a.levels[j.queues]
			a.series.until(x.at)
			l.demandTo -= j.asks
			a.tell(j.queues, x.at)
		}
	}
	a.series.until(at)
	a.clock = at
}

// ask adds to what a line asks for.
func (a *accounts) ask(line int32, milli int64) {
	l := &a.levels[line]
	l.demandTo += milli
	a.mark(line, l)
}

// charge adds to what a leaf is charged in the pool of a line.
func (a *accounts) charge(leaf, line int32, at workload.Time, milli int64) {
	l := &a.levels[line]
	l.chargedTo += milli
	a.mark(line, l)
	pool, _ := a.split(line)
	a.series.change(pool, leaf, at, milli)
}

func (a *accounts) mark(line int32, l *level) {
	if !l.dirty {
		l.dirty = true
		a.dirty = append(a.dirty, line)
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
	a.pools.pass(g.At)
	if a.pools.count() == 1 {
		a.pools.usable[0] = g.Available
	}
	for pool, usable := range a.pools.usable {
		if usable == a.usable[pool] {
			continue
		}
		if a.ready(g.At) {
			a.owed[pool].Usable(g.At, usable)
		}
		a.usable[pool] = usable
		a.series.setUsable(pool, g.At, usable)
	}
	for _, line := range a.dirty {
		a.levels[line].dirty = false
		a.tell(line, g.At)
	}
	a.dirty = a.dirty[:0]
}

// tell makes the levels of a line hold from a time on.
func (a *accounts) tell(line int32, at workload.Time) {
	l := &a.levels[line]
	demand, charged := l.demandTo != l.demand, l.chargedTo != l.charged
	if !demand && !charged {
		return
	}
	ready := a.ready(at) // with the levels as they were until now
	l.demand, l.charged = l.demandTo, l.chargedTo
	pool, account := a.split(line)
	if ready {
		if demand {
			a.owed[pool].Demand(account, at, l.demand)
		}
		if charged {
			a.owed[pool].Charged(account, at, l.charged)
		}
	}
	a.series.set(pool, account, at, l.demand, l.charged)
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
		a.dues, a.closed, a.owed = a.sums(a.to), true, nil
		return false
	}
	return true
}

// open begins the sums with the state at the window's start.
func (a *accounts) open() {
	a.owed = a.newOwed(a.from)
	for pool, usable := range a.usable {
		a.owed[pool].Usable(a.from, usable)
	}
	for i := range a.levels {
		pool, account := a.split(int32(i))
		a.owed[pool].Demand(account, a.from, a.levels[i].demand)
		a.owed[pool].Charged(account, a.from, a.levels[i].charged)
	}
}

func (a *accounts) newOwed(from workload.Time) []*budget.Owed {
	out := make([]*budget.Owed, a.pools.count())
	for pool := range out {
		out[pool] = budget.NewOwed(a.tree.In(pool), from, a.window)
	}
	return out
}

// sums returns what came of the accounts in each pool.
func (a *accounts) sums(at workload.Time) [][]budget.Due {
	out := make([][]budget.Due, len(a.owed))
	for pool, o := range a.owed {
		out[pool] = o.Results(at)
	}
	return out
}

// results returns what came of the accounts up to a time, in each pool.
func (a *accounts) results(at workload.Time) [][]budget.Due {
	switch {
	case a.ready(at):
		return a.sums(at)
	case a.closed:
		return a.dues
	}
	before := accounts{tree: a.tree, pools: a.pools, window: a.window}
	before.owed = before.newOwed(0)
	return before.sums(0)
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
