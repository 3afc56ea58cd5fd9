package metrics

import (
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/workload"
)

// AccountSeries is what reported accounts asked for, were owed and were charged over
// time, in equal bins of whole hours of the input's clock.
type AccountSeries struct {
	From  workload.Time
	Width workload.Span
	// Window is how far back Served looks.
	Window   workload.Span
	Accounts []AccountLine
}

// AccountLine is one account over time.
type AccountLine struct {
	// Path of the account; Share of all, 0..1: with pools that of installed GPUs.
	Path  string
	Share float64
	Bins  []AccountBin
}

// AccountBin holds time integrals over one bin, in GPUs x ms.
type AccountBin struct {
	// Span is the time covered: the width, but in the first and last bin.
	Span                  float64
	Demand, Owed, Charged float64
	// Served is, at the end of the bin, what was charged in the share window before it
	// / the account's share of the capacity that the window offered: what fair share
	// sorts by. 1 = its due.
	Served float64
}

func (b *AccountBin) add(o *AccountBin) {
	b.Span += o.Span
	b.Demand += o.Demand
	b.Owed += o.Owed
	b.Charged += o.Charged
	b.Served = o.Served
}

// seriesAccounts is the number of accounts that are kept over time, the first ones.
const seriesAccounts = 256

// accountSeries fills bins hour by hour. When there are limit of them, neighbours are
// merged and the width doubles.
type accountSeries struct {
	tree   *budget.Tree
	limit  int // 0 = none are kept
	stop   workload.Time
	window workload.Span
	pools  *accountPools
	// ledgers are what leaves were charged in each pool.
	ledgers []*budget.Ledger
	width   workload.Span
	from    workload.Time // a whole hour, of the first bin
	// first is when the first hour began to be known, open the start of the open one.
	first, open workload.Time
	usable      []integral // by pool
	rows        []accountRow
	// offered[p][h] is the capacity of pool p, in milli-GPU x ms, up to the end of hour h.
	offered [][]float64
}

type accountRow struct {
	pools []poolRow
	bins  []AccountBin
}

// poolRow is one account in one pool.
type poolRow struct {
	demand, charged integral
	share           float64
}

// integral of a level over the open hour, in milli-GPU x ms.
type integral struct {
	milli, area int64
	since       workload.Time
}

func (x *integral) set(at workload.Time, milli int64) {
	x.area += x.milli * (at - x.since)
	x.milli, x.since = milli, at
}

// take returns the integral up to a time and begins anew.
func (x *integral) take(at workload.Time) float64 {
	v := x.area + x.milli*(at-x.since)
	x.area, x.since = 0, at
	return float64(v)
}

func (s *accountSeries) init(a *accounts, bins int) {
	if bins <= 0 {
		return
	}
	s.tree, s.limit, s.window = a.tree, max(2, min(bins, 512)), a.window
	s.width, s.first = workload.Hour, workload.Unknown
	s.pools = &a.pools
	s.usable, s.offered = make([]integral, a.pools.count()), make([][]float64, a.pools.count())
	for pool := range a.pools.count() {
		s.ledgers = append(s.ledgers, budget.NewLedger(a.tree.In(pool), a.window))
	}
	s.stop = workload.Never
	if a.to < workload.Never { // as far as pictures go
		s.stop = a.to + (a.to-max(a.from, 0))/2
	}
	s.rows = make([]accountRow, min(seriesAccounts, len(a.tree.Reported)))
	for i := range s.rows {
		for pool := range a.pools.count() {
			s.rows[i].pools = append(s.rows[i].pools, poolRow{share: a.pools.shareIn(pool, a.tree.Reported[i])})
		}
	}
}

// off tells that nothing is kept of a time.
func (s *accountSeries) off(at workload.Time) bool { return s.limit == 0 || at > s.stop }

func (s *accountSeries) begin(at workload.Time) {
	s.first, s.from = at, at-(at%workload.Hour+workload.Hour)%workload.Hour
	s.open = s.from
	for pool := range s.usable {
		s.usable[pool].since = at
	}
	for i := range s.rows {
		for pool := range s.rows[i].pools {
			r := &s.rows[i].pools[pool]
			r.demand.since, r.charged.since = at, at
		}
	}
}

// until closes the hours that are over at a time.
func (s *accountSeries) until(at workload.Time) {
	if s.limit == 0 || at > s.stop && s.first == workload.Unknown {
		return
	}
	if s.first == workload.Unknown {
		s.begin(at)
	}
	at = min(at, s.stop)
	for s.open+workload.Hour <= at {
		s.close(s.open + workload.Hour)
	}
}

// close ends the open hour at a time, which is its end but for a copy made to be read.
func (s *accountSeries) close(at workload.Time) {
	from := max(s.open, s.first)
	usable, whole := make([]float64, len(s.usable)), make([]float64, len(s.usable))
	for pool := range s.usable {
		usable[pool], whole[pool] = s.offer(pool, at)
	}
	if int((s.open-s.from)/s.width) >= s.limit {
		s.double()
	}
	i := int((s.open - s.from) / s.width)
	for k := range s.rows {
		r := &s.rows[k]
		b := AccountBin{Span: float64(at - from)}
		var had, fair float64 // in the share window
		for pool := range r.pools {
			p := &r.pools[pool]
			demand, charged := p.demand.take(at), p.charged.take(at)
			b.Demand += demand / 1000
			b.Charged += charged / 1000
			b.Owed += min(p.share*usable[pool], demand) / 1000
			had += float64(s.ledgers[pool].Charged(s.tree.Reported[k], at))
			fair += p.share * whole[pool]
		}
		b.Served = ratio(had, fair)
		if len(r.bins) <= i {
			r.bins = append(r.bins, AccountBin{})
		}
		r.bins[i].add(&b)
	}
	s.open += workload.Hour
}

// offer closes the capacity of a pool: what the open hour offered, and the window before.
func (s *accountSeries) offer(pool int, at workload.Time) (usable, whole float64) {
	usable = s.usable[pool].take(at)
	offered := s.offered[pool]
	before := 0.0
	if n := len(offered); n > 0 {
		before = offered[n-1]
	}
	whole = before + usable
	offered = append(offered, whole)
	if n := len(offered) - 1 - int((s.window+workload.Hour-1)/workload.Hour); n >= 0 {
		whole -= offered[n]
	}
	s.offered[pool] = offered
	return usable, whole
}

func (s *accountSeries) double() {
	for k := range s.rows {
		bins := s.rows[k].bins
		half := (len(bins) + 1) / 2
		for i := range half {
			b := bins[2*i]
			if 2*i+1 < len(bins) {
				b.add(&bins[2*i+1])
			}
			bins[i] = b
		}
		s.rows[k].bins = bins[:half]
	}
	s.width *= 2
}

func (s *accountSeries) setUsable(pool int, at workload.Time, milli int64) {
	if !s.off(at) {
		s.usable[pool].set(at, milli)
	}
}

func (s *accountSeries) set(pool int, account int32, at workload.Time, demand, charged int64) {
	if s.off(at) || int(account) >= len(s.rows) {
		return
	}
	r := &s.rows[account].pools[pool]
	r.demand.set(at, demand)
	r.charged.set(at, charged)
}

// change tells the ledger of a pool of a charged run that begins or ends.
func (s *accountSeries) change(pool int, leaf int32, at workload.Time, milli int64) {
	if !s.off(at) {
		s.ledgers[pool].Change(leaf, at, milli)
	}
}

// Accounts returns the reported accounts over time up to end; nil without budgets, or
// if nothing was to be kept over time.
func (c *Collector) Accounts(end workload.Time) *AccountSeries {
	if c.accounts == nil || c.accounts.series.limit == 0 || c.accounts.series.first == workload.Unknown {
		return nil
	}
	end = max(end, c.accounts.clock)
	c.accounts.begin(c.jobs, end)
	s := c.accounts.series
	s.usable, s.offered = slices.Clone(s.usable), slices.Clone(s.offered)
	for pool := range s.offered {
		s.offered[pool] = append([]float64(nil), s.offered[pool]...)
	}
	s.rows = append([]accountRow(nil), s.rows...)
	for i := range s.rows {
		s.rows[i].pools = slices.Clone(s.rows[i].pools)
		s.rows[i].bins = append(make([]AccountBin, 0, len(s.rows[i].bins)+1), s.rows[i].bins...)
	}
	if at := min(end, s.stop); at > max(s.open, s.first) && at < s.open+workload.Hour {
		s.close(at)
	}
	out := &AccountSeries{From: s.from, Width: s.width, Window: s.window}
	for i := range s.rows {
		out.Accounts = append(out.Accounts, AccountLine{Path: s.tree.Nodes[s.tree.Reported[i]].Path, Share: s.pools.share(s.tree.Reported[i]), Bins: s.rows[i].bins})
	}
	return out
}

// Merge returns the series with at most n bins, neighbours added up.
func (s *AccountSeries) Merge(n int) *AccountSeries {
	out := &AccountSeries{From: s.From, Width: s.Width, Window: s.Window}
	if len(s.Accounts) == 0 {
		return out
	}
	k := max(1, (len(s.Accounts[0].Bins)+n-1)/max(1, n))
	out.Width *= workload.Span(k)
	for _, a := range s.Accounts {
		line := AccountLine{Path: a.Path, Share: a.Share}
		for i := range a.Bins {
			if i%k == 0 {
				line.Bins = append(line.Bins, a.Bins[i])
			} else {
				line.Bins[len(line.Bins)-1].add(&a.Bins[i])
			}
		}
		out.Accounts = append(out.Accounts, line)
	}
	return out
}
