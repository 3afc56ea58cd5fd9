package metrics

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// endless is what a collector keeps in addition of a run that does not end. A nil one is
// that of a run that does: its jobs lie at their numbers.
type endless struct {
	// slots are the places in [Collector.jobs] of jobs that have not ended, free those that
	// can be used again, left those of jobs that ended in this instant.
	slots map[int32]int32
	free  []int32
	left  []int32
	// held is what each class has had since the last instant, byClass its integral.
	held    [classes]int64
	byClass [classes]area
	// drains are the nodes that take no work.
	drains []bool
	// past is what came of accounts under budgets that hold no more, by path in the order of paths.
	past  map[string]*AccountUse
	paths []string
}

func newEndless(nodes int) *endless {
	return &endless{slots: map[int32]int32{}, drains: make([]bool, nodes), past: map[string]*AccountUse{}}
}

// slot is where a job lies, -1 for one that is not known.
func (e *endless) slot(n int32) int32 {
	if e == nil {
		return n
	}
	if s, ok := e.slots[n]; ok {
		return s
	}
	return -1
}

// place finds a place for a new job; next is the one behind all others.
func (e *endless) place(n int32, next int) int32 {
	if e == nil {
		return n
	}
	s := int32(next)
	if k := len(e.free); k > 0 {
		s, e.free = e.free[k-1], e.free[:k-1]
	}
	e.slots[n] = s
	return s
}

// gone notes that a job has ended.
func (c *Collector) gone(n int32) {
	if c.endless != nil {
		c.endless.left = append(c.endless.left, n)
	}
}

func (e *endless) drained(node int32, is bool) {
	if e != nil && node >= 0 && int(node) < len(e.drains) {
		e.drains[node] = is
	}
}

func (e *endless) advance(ms workload.Span) {
	if e == nil {
		return
	}
	for k := range e.held {
		e.byClass[k].add(e.held[k], ms)
	}
}

// settle ends an instant: what it changed holds, and who ended in it is forgotten.
func (e *endless) settle(c *Collector) {
	if e == nil {
		return
	}
	e.held = c.milliBy
	for _, n := range e.left {
		if s, ok := e.slots[n]; ok {
			c.jobs[s] = jobState{}
			delete(e.slots, n)
			e.free = append(e.free, s)
		}
	}
	e.left = e.left[:0]
}

// rebudget has other budgets hold from now on, in an endless run: what came of the old ones is
// kept by path, and what waits and runs goes on under the new.
func (c *Collector) rebudget(f *fact.Fact) {
	e := c.endless
	if e == nil || f.Budgets == nil {
		return
	}
	e.keep(c, f.At)
	c.cfg.Budgets = f.Budgets
	a := newAccounts(&c.cfg, f.At, c.to)
	if c.accounts != nil {
		for _, m := range c.accounts.pools.windows {
			a.pools.windows = append(a.pools.windows, maintenance{window: m.window})
		}
		a.pools.pass(f.At)
	}
	c.accounts = a
	for n := range a.pools.nodes {
		x := &a.pools.nodes[n]
		x.down, x.drained = c.types.down[n], e.drains[n]
		a.pools.show(x)
	}
	a.begin(c.jobs, f.At)
	for i := range c.jobs {
		if j := &c.jobs[i]; j.known {
			c.rejoin(int32(i), j, f.At)
		}
	}
}

// rejoin makes a job part of new budgets, as it stands.
func (c *Collector) rejoin(i int32, j *jobState, at workload.Time) {
	a := c.accounts
	if j.since != workload.Unknown && !j.later { // what it has asked for so far it will not ask for again
		n := min(at-j.since, j.left)
		j.left -= n
		c.groups.rows[j.group].waited.add(j.asks, overlap(j.since, j.since+n, c.from, c.to))
		j.since = at
	}
	up := j.charged > 0
	j.counts, j.wants, j.charged = false, 0, 0
	j.leaf, j.queues = a.leafOf(j.spec)
	j.runs = j.queues
	if j.since != workload.Unknown {
		c.waits(i, j)
	}
	if j.start == workload.Unknown {
		return
	}
	place := c.open.of(j.slot)
	a.pools.assign(place, 1)
	if j.kind != allocated || j.queues == noAccount {
		return
	}
	j.wants, j.runs = j.milli, a.runsIn(j.queues, place)
	a.ask(j.runs, j.wants)
	if up || j.up {
		c.beginCharge(j, at)
	}
}

// keep adds what came of the accounts in force to those of the past.
func (e *endless) keep(c *Collector, at workload.Time) {
	if c.accounts == nil {
		return
	}
	c.accounts.begin(c.jobs, at)
	for _, u := range c.accounts.uses(at) {
		e.add(u)
	}
}

func (e *endless) add(u AccountUse) {
	p := e.past[u.Account]
	if p == nil {
		p = &AccountUse{Account: u.Account}
		e.past[u.Account] = p
		e.paths = append(e.paths, u.Account)
	}
	p.Demand, p.Owed, p.Charged, p.Delivered = p.Demand+u.Demand, p.Owed+u.Owed, p.Charged+u.Charged, p.Delivered+u.Delivered
}

// uses are what came of the reported accounts, in the order of the file.
func (a *accounts) uses(at workload.Time) []AccountUse {
	dues := acrossPools(a.results(at))
	out := make([]AccountUse, len(dues))
	for i := range dues {
		n := a.tree.Reported[i]
		out[i] = useOf(a.tree.Nodes[n].Path, a.pools.share(n), &dues[i])
	}
	return out
}

// Tally is what an endless run has come to since its collector began. GPU-time is in
// GPU-hours.
type Tally struct {
	Installed, Available, Assigned, Held, Fragmented float64
	// Allocated, Unallocated and Squat are the parts of Assigned.
	Allocated, Unallocated, Squat float64
	// Lost is work that has to be done again, by what stopped the run; Restart what starts
	// after the first spent before work went on.
	Lost    map[string]float64
	Restart float64
	// Accounts are those reported, by path: Share is that of the budgets in force, 0 for accounts
	// of earlier ones alone. The ratios and Strict are not given.
	Accounts []AccountUse
}

// Tally brings the collector of an endless run up to a time, at which nothing changes, and
// returns what the run has come to. Facts of earlier times must not come afterwards.
func (c *Collector) Tally(at workload.Time) Tally {
	if c.hasOne && at > c.prev.At {
		g := c.prev
		g.At = at
		c.Instant(&g)
	}
	t := &c.inWindow
	out := Tally{Installed: t.installed.gpuHours(), Available: t.available.gpuHours(), Assigned: t.assigned.gpuHours(), Held: t.held.gpuHours(), Fragmented: t.fragmented.gpuHours(),
		Lost: map[string]float64{}}
	for i := range c.lost {
		if c.lost[i] != (area{}) {
			out.Lost[causeOf(i)] = c.lost[i].gpuHours()
		}
	}
	var restart area
	for k := range c.restartBy {
		restart.plus(c.restartBy[k])
	}
	out.Restart = restart.gpuHours()
	if e := c.endless; e != nil {
		out.Allocated, out.Unallocated, out.Squat = e.byClass[allocated].gpuHours(), e.byClass[unallocated].gpuHours(), e.byClass[squat].gpuHours()
		out.Accounts = e.uses(c)
	}
	return out
}

// causeOf names what stopped a run, by its place in lost.
func causeOf(i int) string {
	if i == int(jobFailure) {
		return "job-failure"
	}
	return fact.Cause(i).String()
}

// uses adds those of the past to those in force.
func (e *endless) uses(c *Collector) []AccountUse {
	var out []AccountUse
	seen := map[string]bool{}
	if c.accounts != nil && c.hasOne {
		out = c.accounts.uses(c.prev.At)
	}
	for i := range out {
		u := &out[i]
		u.Strict, u.StrictOfOwed, u.DeliveredOfOwed = 0, nil, nil
		seen[u.Account] = true
		if p := e.past[u.Account]; p != nil {
			u.Demand, u.Owed, u.Charged, u.Delivered = u.Demand+p.Demand, u.Owed+p.Owed, u.Charged+p.Charged, u.Delivered+p.Delivered
		}
	}
	for _, path := range e.paths {
		if !seen[path] {
			out = append(out, *e.past[path])
		}
	}
	return out
}
