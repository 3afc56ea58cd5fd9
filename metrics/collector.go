package metrics

import (
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
	// Bins is the size of the time series, 0 = none. Between half of it and all
	// of it comes to be used. At least 2.
	Bins int
	// Runs is the number of run parts kept for the picture of who ran where, 0 = none.
	Runs int
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
	types                       typeTotals
	finish                      workload.Time
	anyFinish                   bool

	submitted, finished  bool  // in this instant
	allocated, installed int64 // right after the last submission

	jobs   []jobState
	open   openRuns
	groups groupTable
	lost   [fact.CauseDrain + 2]area // by cause, in job order of the window
	// lost and restart time spent inside the window, and in all
	burnt, burntAll area
	series          seriesBuilder
	runs            runStore
}

// totals are integrals over one stretch of time.
type totals struct {
	installed, available, assigned, held, fragmented area
}

func (t *totals) add(g *sim.Gauge, ms workload.Span) {
	t.installed.add(g.Installed, ms)
	t.available.add(g.Available, ms)
	t.assigned.add(g.Assigned, ms)
	if g.Held != 0 {
		t.held.add(g.Held, ms)
	}
	if g.Fragmented {
		t.fragmented.add(idle(g), ms)
	}
}

// idle is what neither runs anything nor is held for a winner.
func idle(g *sim.Gauge) int64 { return max(0, g.Available-g.Assigned-g.Held) }

// jobState is what the collector knows of one job.
type jobState struct {
	submit workload.Time
	// since when it waits; workload.Unknown while it does not.
	since workload.Time
	// left is how much more waiting may count as demand (SEMANTICS 34: a
	// request never demands more than GPUs x remaining run time).
	left workload.Span
	// start of the current run, workload.Unknown without one, and what it holds.
	start workload.Time
	milli int64
	// asks is what the job asks for, in milli-GPU.
	asks  int64
	group int32
	slot  int32 // of openRuns
	// known: the job was submitted; later: it has dependencies, so that its wait
	// is no demand before it first starts.
	known, later bool
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
	c.groups.index = make(map[string]int32)
	c.series.limit = cfg.Bins
	c.runs.limit = cfg.Runs
	return c
}

// Window returns the window that the numbers are over.
func (c *Collector) Window() Window { return Window{c.from, c.to} }

// Fact takes in one fact.
func (c *Collector) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.JobSubmitted:
		c.submit(f)
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		c.endRun(f)
	case fact.JobCancelled:
		if j := c.job(f.Job); j != nil {
			c.stopWaiting(j, f.At)
			j.since = workload.Unknown
		}
	case fact.NodeDown:
		c.types.nodeDown(f.Node, true)
	case fact.NodeUp:
		c.types.nodeDown(f.Node, false)
	}
}

// Action takes in one decision.
func (c *Collector) Action(a *fact.Action) {
	switch a.Do {
	case fact.Start:
		c.startRun(a)
	case fact.Refuse:
		if j := c.job(a.Job); j != nil {
			c.stopWaiting(j, a.At)
			j.since = workload.Unknown
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
	g := &c.prev
	if ms := overlap(g.At, now, c.from, c.to); ms > 0 {
		c.inWindow.add(g, ms)
	}
	if !c.began {
		return
	}
	from := max(g.At, c.begin)
	if ms := now - from; ms > 0 {
		c.overall.add(g, ms)
		c.types.add(ms)
		if c.series.limit > 0 {
			c.series.add(g, from, now)
		}
	}
}

// job returns the state of a submitted job, nil for a number never submitted.
func (c *Collector) job(n int32) *jobState {
	if n < 0 || int(n) >= len(c.jobs) || !c.jobs[n].known {
		return nil
	}
	return &c.jobs[n]
}

func (c *Collector) submit(f *fact.Fact) {
	w := f.Submitted
	if w == nil || f.Job < 0 {
		return
	}
	for int(f.Job) >= len(c.jobs) {
		c.jobs = append(c.jobs, jobState{})
	}
	c.jobs[f.Job] = jobState{
		submit: f.At, since: f.At, start: workload.Unknown, slot: -1,
		left: c.runTime(f.Job, w), asks: w.Need.TotalMilli(),
		group: c.groups.of(c.cfg.By.key(w)), known: true, later: len(w.After) > 0,
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

func (c *Collector) startRun(a *fact.Action) {
	j := c.job(a.Job)
	if j == nil || j.start != workload.Unknown {
		return
	}
	c.stopWaiting(j, a.At)
	j.since, j.start, j.later = workload.Unknown, a.At, false
	if len(a.Place) == 0 {
		j.milli = a.Milli
		c.types.assignPool(j.milli)
	} else {
		j.milli = 0
		for i := range a.Place {
			g := &a.Place[i]
			m := milliOf(g)
			j.milli += m
			c.types.assign(g.Node, m)
		}
	}
	j.slot = c.open.put(a.Place)
}

func (c *Collector) endRun(f *fact.Fact) {
	j := c.job(f.Job)
	if j == nil {
		return
	}
	if j.start != workload.Unknown {
		c.loss(j, f)
		c.release(f.Job, j, f.At)
	} else {
		c.stopWaiting(j, f.At)
	}
	j.since = workload.Unknown
	if f.Kind == fact.JobFinished {
		if c.sel.Contains(j.submit) {
			c.finished = true
		}
		return
	}
	if f.Cause != fact.CauseCancelled {
		j.since = f.At // back in the queue
	}
}

// release gives back what a run holds.
func (c *Collector) release(n int32, j *jobState, at workload.Time) {
	place := c.open.take(j.slot)
	if place == nil {
		c.types.assignPool(-j.milli)
	}
	for i := range place {
		c.types.assign(place[i].Node, -milliOf(&place[i]))
	}
	c.groups.rows[j.group].served(j, at, c.from, c.to)
	if c.runs.limit > 0 {
		c.runs.add(n, j.start, at, place, j.milli)
	}
	j.start, j.milli, j.slot = workload.Unknown, 0, -1
}

// loss books what the end of a run costs. Lost work and restart overhead are
// run time, so they lie in the run that ends: the overhead at its beginning,
// the lost work at its end.
func (c *Collector) loss(j *jobState, f *fact.Fact) {
	if f.Lost == 0 && f.Restart == 0 {
		return
	}
	c.burntAll.add(j.milli, f.Lost+f.Restart)
	c.burnt.add(j.milli, overlap(max(j.start, f.At-f.Lost), f.At, c.from, c.to))
	c.burnt.add(j.milli, overlap(j.start, min(f.At, j.start+f.Restart), c.from, c.to))
	if c.sel.Contains(j.submit) {
		i := int(f.Cause)
		if f.Kind == fact.JobFinished {
			i = len(c.lost) - 1
		}
		c.lost[i].add(j.milli, f.Lost)
	}
}

// stopWaiting books the stretch of waiting that ends now as demand.
func (c *Collector) stopWaiting(j *jobState, now workload.Time) {
	if j.since == workload.Unknown || j.later {
		return
	}
	n := min(now-j.since, j.left)
	j.left -= n
	c.groups.rows[j.group].waited.add(j.asks, overlap(j.since, j.since+n, c.from, c.to))
}
