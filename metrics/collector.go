package metrics

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Config says what a [Collector] watches.
type Config struct {
	// Cluster is required: it tells the GPU types, prices and watts.
	Cluster *cluster.Spec
	// Workload gives the default window and the true run times that bound a
	// waiting job's demand. Without it (live) the window must be given, or it
	// never ends, and estimates bound demand.
	Workload *workload.Workload
	// Window other than the default.
	Window Window
	// By is what fairness is measured over.
	By Grouping
	// Budgets say what accounts are owed; nil = nothing is said about it.
	Budgets *budget.Tree
	// ShareWindow is how far back usage counts and shortfalls may be made good; 0 = 7 days.
	ShareWindow workload.Span
	// Bins is the size of the time series, 0 = none. Between half of it and all
	// of it comes to be used. At least 2.
	Bins int
	// Runs is the number of run parts kept for the picture of who ran where, 0 = none.
	Runs int
	// Endless is for a run that does not end, such as a live system: jobs that have ended
	// are forgotten, budgets follow those in force, and figures come from [Collector.Tally].
	Endless bool
}

// Collector watches a run and integrates it. It does not allocate per fact
// except to grow with the number of jobs; a constant amount of work is done per
// instant and per grant.
type Collector struct {
	cfg Config
	// from and to bound the window; jobs are selected by sel.
	from, to workload.Time
	sel      Window

	began  bool // a job of the window was submitted
	begin  workload.Time
	prev   sim.Gauge // state since prev.At
	hasOne bool      // prev is set

	inWindow, overall, atFinish totals
	realtime                    realtime
	worth                       worth
	types                       typeTotals
	finish                      workload.Time
	anyFinish                   bool

	submitted, finished  bool  // in this instant
	allocated, installed int64 // right after the last submission

	jobs   []jobState
	open   openRuns
	groups groupTable
	lost   [jobFailure + 1]area // by cause, in job order of the window
	// lost and restart time spent inside the window, and in all
	burnt, burntAll area
	// both are all time, and the window; lostBy and restartBy split losses of the
	// window's jobs by class.
	both              [2]stretch
	pair              [2]*stretch
	lostBy, restartBy [classes]area
	milliBy           [classes]int64 // assigned now, by class
	nodes             nodeRuns
	accounts          *accounts
	series            seriesBuilder
	runs              runStore
	// endless is what is kept in addition of a run that does not end, nil for others.
	endless *endless
}

// jobFailure stands in the lost of a [Collector] for runs that ended by themselves.
const jobFailure = fact.CauseMaintenance + 1

// totals are integrals over one stretch of time.
type totals struct {
	installed, available, assigned, held, fragmented area
	// over is the part of assigned that applications hold and do not serve with.
	over area
}

func (t *totals) add(g *sim.Gauge, over int64, ms workload.Span) {
	t.installed.add(g.Installed, ms)
	t.available.add(g.Available, ms)
	t.assigned.add(g.Assigned, ms)
	if g.Held != 0 {
		t.held.add(g.Held, ms)
	}
	if g.Fragmented {
		t.fragmented.add(idle(g), ms)
	}
	if over != 0 {
		t.over.add(over, ms)
	}
}

// idle is what neither runs anything nor is held for a winner.
func idle(g *sim.Gauge) int64 { return max(0, g.Available-g.Assigned-g.Held) }

// jobState is what the collector knows of one job.
type jobState struct {
	submit workload.Time
	// since when it waits; workload.Unknown while it does not.
	since workload.Time
	// queued: it is to wait; holds, one bit for each, keep it from that.
	queued bool
	holds  uint8
	// left is how much more waiting may count as demand (SEMANTICS 34: a
	// request never demands more than GPUs x remaining run time).
	left workload.Span
	// start of the current run, or its last resize, workload.Unknown without one, and
	// what it holds.
	start workload.Time
	milli int64
	// asks is what the job asks for, in milli-GPU.
	asks  int64
	group int32
	slot  int32 // of openRuns
	// leaf of the budgets, and the lines of [accounts] in which its waiting and its run
	// count, -1 for none; asked is the class it asks for, kind that of its present or
	// last run.
	leaf, queues, runs int32
	asked, kind        class
	// kindSince is when the run became of its kind: its start, or when its charge ended.
	kindSince workload.Time
	// counts: it waits as part of what its account asks for; wants is what its run
	// does, and charged what the run is charged, in milli-GPU. told: it is to stop.
	counts, told   bool
	wants, charged int64
	// stopped is when it last had to give way; date is the first start promised, at
	// the time promised. workload.Unknown = never.
	stopped, date, promised workload.Time
	// weight is what a GPU-hour of it is worth, 0 for what is no batch work; earned is
	// what it came to.
	weight int64
	earned area
	// service is its place among the applications, -1 for a job.
	service int32
	// known: the job was submitted; later: it has dependencies, so that its wait
	// is no demand before it first starts; up: its run was confirmed. once: what is
	// stopped of it is lost, and ends it. withdrawn: its owner took it back.
	known, later, up, once, withdrawn bool
	// spec of the job, in an endless run.
	spec *workload.Job
}

var _ sim.Observer = (*Collector)(nil)

// NewCollector returns a collector for one run.
func NewCollector(cfg Config) *Collector {
	c := &Collector{cfg: cfg, sel: cfg.Window, from: cfg.Window.From, to: cfg.Window.To}
	if cfg.Window.IsDefault() {
		c.from, c.to = -workload.Never, workload.Never
		if cfg.Workload != nil {
			c.from, c.to = cfg.Workload.Window()
		}
	}
	if cfg.Workload != nil {
		c.jobs = make([]jobState, 0, len(cfg.Workload.Jobs))
	}
	c.types = newTypeTotals(cfg.Cluster)
	c.nodes = newNodeRuns(len(cfg.Cluster.Nodes))
	c.accounts = newAccounts(&cfg, c.from, c.to)
	c.pair = [2]*stretch{&c.both[0], &c.both[1]}
	c.groups.index = make(map[string]int32)
	c.series.limit, c.realtime.series.limit = cfg.Bins, cfg.Bins
	c.worth.init(c.from, c.to)
	c.runs.limit = cfg.Runs
	if cfg.Endless {
		c.endless = newEndless(len(cfg.Cluster.Nodes))
	}
	return c
}

// Window returns the window that the numbers are over.
func (c *Collector) Window() Window { return Window{c.from, c.to} }

// Fact takes in one fact.
func (c *Collector) Fact(f *fact.Fact) {
	if c.accounts != nil {
		c.accounts.begin(c.jobs, f.At)
		c.accounts.pools.fact(f)
	}
	switch f.Kind {
	case fact.JobSubmitted:
		c.submit(f)
	case fact.JobStarted:
		if j := c.job(f.Job); j != nil && j.start != workload.Unknown {
			j.up = true
			c.holds(j, f.At)
			c.beginCharge(j, f.At)
		}
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		c.endRun(f)
	case fact.JobCancelled:
		if j := c.job(f.Job); j != nil {
			c.leaveQueue(j, f.At)
			c.redeem(j, f.At, false)
			j.withdrawn = true
			c.retire(j, f.At)
			if j.start == workload.Unknown {
				c.gone(f.Job)
			}
		}
	case fact.JobHeld, fact.JobReleased:
		c.holdChanged(f)
	case fact.SessionActive:
		c.unpark(f)
	case fact.BudgetsChanged:
		c.rebudget(f)
	case fact.DemandChanged:
		c.demandChanged(f)
	case fact.NodeDrained:
		c.drain(f.Node, f.At)
		c.endless.drained(f.Node, true)
	case fact.NodeResumed:
		c.resume(f.Node)
		c.endless.drained(f.Node, false)
	case fact.NodeDown:
		c.types.nodeDown(f.Node, true)
	case fact.NodeUp:
		c.types.nodeDown(f.Node, false)
	}
}

// Action takes in one decision.
func (c *Collector) Action(a *fact.Action) {
	if c.accounts != nil {
		c.accounts.begin(c.jobs, a.At)
	}
	switch a.Do {
	case fact.Start:
		c.startRun(a)
	case fact.Resize:
		c.resize(a)
	case fact.Stop:
		if j := c.job(a.Job); j != nil {
			c.endCharge(j, a.At)
			j.told = true
		}
	case fact.Uncharge:
		c.uncharge(a)
	case fact.Reserve:
		c.reserve(a)
	case fact.Refuse:
		if j := c.job(a.Job); j != nil {
			c.leaveQueue(j, a.At)
			c.refused(j, a.At)
			c.gone(a.Job)
		}
	}
}

// Instant takes in the state after an instant.
func (c *Collector) Instant(g *sim.Gauge) {
	if c.hasOne {
		c.advance(g.At)
	}
	c.prev, c.hasOne = *g, true
	c.types.settle()
	c.realtime.settle()
	c.series.settle(c.began)
	c.series.unallocated, c.series.squat = c.milliBy[unallocated], c.milliBy[squat]
	if c.accounts != nil {
		c.accounts.end(c.jobs, g)
	}
	c.endless.settle(c)
	if c.submitted {
		c.allocated, c.installed = g.Assigned, g.Installed
		c.submitted = false
	}
	if c.finished {
		c.atFinish, c.finish, c.anyFinish = c.overall, g.At, true
		c.types.mark()
		c.finished = false
	}
}

// advance integrates the state that has held since the last instant up to now.
func (c *Collector) advance(now workload.Time) {
	g, over := &c.prev, c.realtime.heldOver
	if ms := overlap(g.At, now, c.from, c.to); ms > 0 {
		c.inWindow.add(g, over, ms)
	}
	c.realtime.advance(g.At, now, c.from, c.to)
	c.endless.advance(now - g.At)
	if !c.began {
		return
	}
	from := max(g.At, c.begin)
	if ms := now - from; ms > 0 {
		c.overall.add(g, over, ms)
		c.types.add(ms)
		if c.series.limit > 0 {
			c.series.add(g, from, now)
		}
	}
}

// job returns the state of a submitted job, nil for a number never submitted.
func (c *Collector) job(n int32) *jobState {
	if n = c.endless.slot(n); n < 0 || int(n) >= len(c.jobs) || !c.jobs[n].known {
		return nil
	}
	return &c.jobs[n]
}

func (c *Collector) submit(f *fact.Fact) {
	w := f.Submitted
	if w == nil || f.Job < 0 {
		return
	}
	n := c.endless.place(f.Job, len(c.jobs))
	for int(n) >= len(c.jobs) {
		c.jobs = append(c.jobs, jobState{})
	}
	c.jobs[n] = jobState{
		submit: f.At, since: f.At, queued: true, once: w.Contract.NotResumable, start: workload.Unknown, slot: -1,
		left: c.runTime(f.Job, w), asks: w.Need.TotalMilli(), asked: classOf(w), leaf: noAccount, queues: noAccount, runs: noAccount,
		stopped: workload.Unknown, date: workload.Unknown, promised: workload.Unknown,
		group: c.groups.of(c.cfg.By.key(w)), known: true, later: len(w.After) > 0, weight: weightOf(w), service: -1,
	}
	j := &c.jobs[n]
	c.addService(f.Job, j, w)
	c.worth.saw(j.weight)
	if c.endless != nil {
		j.spec = w
	}
	if c.accounts != nil {
		j.leaf, j.queues = c.accounts.leafOf(w)
		j.runs = j.queues
		c.waits(n, j)
	}
	if !c.sel.Contains(f.At) {
		return
	}
	if !c.began {
		c.began, c.begin = true, f.At
	}
	c.submitted = true
}

// runTime is what a waiting job may demand: its true run time in a replay, its
// estimate or limit in life, without bound where it declares neither.
func (c *Collector) runTime(n int32, j *workload.Job) workload.Span {
	if w := c.cfg.Workload; w != nil && int(n) < len(w.Actual) {
		return w.Actual[n].Duration
	}
	switch {
	case j.Estimate > 0:
		return j.Estimate
	case j.Limit > 0:
		return j.Limit
	}
	return workload.Never
}

// loss books what the end of a run costs. Lost work and restart overhead are
// run time, so they lie in the run that ends: the overhead at its beginning,
// the lost work at its end.
func (c *Collector) loss(j *jobState, f *fact.Fact) {
	if f.Lost == 0 && f.Restart == 0 || j.service >= 0 { // what was served need not be served again
		return
	}
	if j.kind != squat { // all of its time is lost as it is
		c.burntAll.add(j.milli, f.Lost+f.Restart)
		c.burnt.add(j.milli, overlap(max(j.start, f.At-f.Lost), f.At, c.from, c.to))
		c.burnt.add(j.milli, overlap(j.start, min(f.At, j.start+f.Restart), c.from, c.to))
	}
	c.series.fresh.LostGPUHours += float64(j.milli) * float64(f.Lost+f.Restart) / milliMsPerGPUHour
	if c.sel.Contains(j.submit) {
		i := int(f.Cause)
		if f.Kind == fact.JobFinished {
			i = int(jobFailure)
		}
		c.lost[i].add(j.milli, f.Lost)
		c.lostBy[j.kind].add(j.milli, f.Lost)
		c.restartBy[j.kind].add(j.milli, f.Restart)
	}
}

// waits makes a job that waits from now on part of what its account asks for. n is its
// place in jobs.
func (c *Collector) waits(n int32, j *jobState) {
	if j.queues == noAccount || j.asked != allocated || j.later || j.left <= 0 {
		return
	}
	j.counts = true
	c.accounts.ask(j.queues, j.asks)
	c.accounts.fresh = append(c.accounts.fresh, n)
}

// beginCharge charges a run that has come true.
func (c *Collector) beginCharge(j *jobState, at workload.Time) {
	if j.start == workload.Unknown || j.wants == 0 || j.charged > 0 || j.told {
		return
	}
	j.charged = j.wants
	c.accounts.charge(j.leaf, j.runs, at, j.charged)
}

// uncharge makes the rest of a run unallocated.
func (c *Collector) uncharge(a *fact.Action) {
	j := c.job(a.Job)
	if j == nil || j.start == workload.Unknown || j.kind != allocated {
		return
	}
	c.leave(j, a.At)
	j.kind, j.kindSince = unallocated, a.At
	c.milliBy[unallocated] += j.milli
}

// leave books what a run had in its class.
func (c *Collector) leave(j *jobState, at workload.Time) {
	c.endCharge(j, at)
	if j.wants > 0 {
		c.accounts.ask(j.runs, -j.wants)
		j.wants = 0
	}
	c.milliBy[j.kind] -= j.milli
	c.both[0].ran(j, at, -workload.Never, workload.Never)
	c.both[1].ran(j, at, c.from, c.to)
}

// endCharge ends the charge of a run that is told to stop, or has ended.
func (c *Collector) endCharge(j *jobState, at workload.Time) {
	if j.charged > 0 {
		c.accounts.charge(j.leaf, j.runs, at, -j.charged)
		j.charged = 0
	}
}

// stopWaiting books the stretch of waiting that ends now as demand.
func (c *Collector) stopWaiting(j *jobState, now workload.Time) {
	if j.since == workload.Unknown || j.later {
		return
	}
	n := min(now-j.since, j.left)
	j.left -= n
	if j.counts {
		j.counts = false
		c.accounts.ask(j.queues, -j.asks)
	}
	if j.service >= 0 { // what it lacks counts, running or not
		return
	}
	c.groups.rows[j.group].waited.add(j.asks, overlap(j.since, j.since+n, c.from, c.to))
}
