package metrics

import (
	"math"

	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

const (
	// slowdownFloor keeps very short runs from dominating the slowdown
	// (Feitelson & Rudolph, JSSPP'98).
	slowdownFloor = 10 * workload.Second
	starved       = 24 * workload.Hour
	debugGPUs     = 8
	debugRuntime  = 15 * workload.Minute
)

// Compute returns the numbers of the run that c watched, of which r is the
// result. It changes neither, so that a live run may be asked again and again.
func Compute(c *Collector, w *workload.Workload, r *sim.Result) Metrics {
	v := view{c: c, end: max(c.prev.At, r.End), cut: r.Cut}
	v.close()
	m := Metrics{
		Window:        Bounds{seconds(v.from), seconds(v.to)},
		InstalledGPUs: float64(c.prev.Installed) / 1000,
		JainBy:        c.cfg.By.String(), Cut: r.Cut,
	}
	m.gauges(&v)
	m.jobs(&v, w, r)
	m.losses(c)
	m.split(&v)
	m.budget(&v)
	m.services(&v)
	m.value(&v)
	m.money(&v)
	return m
}

// view is the collector's state brought up to the end of what is reported.
type view struct {
	c        *Collector
	end      workload.Time
	cut      bool
	from, to workload.Time
	// begin and finish bound the makespan.
	begin, finish    workload.Time
	window, makespan totals
	atFinish         bool // the types' integrals are those of the last finish
	groups           []group
	all, win         stretch
	services         []service
	shortHours       [2]hourCount
	earned           area
}

// close continues the last state: a window may outlast the last fact, and a run
// that was cut ends at its cut.
func (v *view) close() {
	c := v.c
	v.from, v.to, v.begin = c.from, c.to, c.begin
	if v.cut || v.to == workload.Never {
		v.to = min(v.to, v.end)
	}
	if v.from == -workload.Never {
		v.from = c.begin
	}
	v.window, v.makespan = c.inWindow, c.overall
	if c.hasOne {
		v.window.add(&c.prev, c.realtime.heldOver, overlap(c.prev.At, v.to, v.from, v.to))
	}
	v.finish, v.atFinish = c.finish, true
	if c.anyFinish && !v.cut {
		v.makespan = c.atFinish
	} else {
		v.finish, v.atFinish = v.end, false
		if c.began {
			v.makespan.add(&c.prev, c.realtime.heldOver, v.end-max(c.prev.At, c.begin))
		}
	}
	v.groups = append([]group(nil), c.groups.rows...)
	v.all, v.win = c.both[0], c.both[1]
	v.closeServices()
	v.earned = c.worth.sum
	for i := range c.jobs {
		j := c.jobs[i] // a copy: closing it must not touch the collector
		switch {
		case !j.known:
		case j.start != workload.Unknown:
			v.groups[j.group].served(&j, v.end, v.from, v.to)
			v.all.ran(&j, v.end, -workload.Never, workload.Never)
			v.win.ran(&j, v.end, v.from, v.to)
			v.earned.plus(c.worth.of(&j, v.end, 0, 0))
		case j.since != workload.Unknown && !j.later && j.service < 0:
			n := min(v.end-j.since, j.left)
			v.groups[j.group].waited.add(j.asks, overlap(j.since, j.since+n, v.from, v.to))
		}
	}
}

func (m *Metrics) gauges(v *view) {
	win, all := &v.window, &v.makespan
	m.OccupancyMakespan = ratio(all.assigned.float(), all.available.float())
	if v.to <= v.from { // all jobs submitted at once: the window is empty, the makespan is not
		win = all
	}
	available := win.available.float()
	m.Occupancy = ratio(win.assigned.float(), available)
	m.Availability = ratio(available, win.installed.float())
	m.Fragmentation = ratio(win.fragmented.float(), available)
	m.HeldGPUHours = win.held.gpuHours()
	m.AllocatedGPURatio = ratio(float64(v.c.allocated), float64(v.c.installed))
	m.GoodputOccupancy = max(0, ratio(win.assigned.float()-v.burnt(win).float()-v.squat(win).float(), available))
	m.GPUHours = all.assigned.gpuHours()
	m.Makespan = seconds(max(0, v.finish-v.begin))
	m.Jain, m.JainN = jain(v.groups)
}

// burnt is the GPU-time lost or spent on restarting within the window.
func (v *view) burnt(win *totals) area {
	if win != &v.makespan {
		return v.c.burnt
	}
	return v.c.burntAll
}

// squat is the GPU-time of parked jobs, which comes to nothing.
func (v *view) squat(win *totals) area {
	if win != &v.makespan {
		return v.win.run[squat]
	}
	return v.all.run[squat]
}

func (m *Metrics) losses(c *Collector) {
	for i := range c.lost {
		if c.lost[i] == (area{}) {
			continue
		}
		name := causeOf(i)
		if m.LostByCause == nil {
			m.LostByCause = make(map[string]float64)
		}
		m.LostByCause[name] = c.lost[i].gpuHours()
	}
}

// tally collects the distributions over the jobs of the window.
type tally struct{ wait, queue, jct, slowdown, debug sample }

func newTally(n int) *tally {
	t := &tally{}
	for _, s := range []*sample{&t.wait, &t.queue, &t.jct, &t.slowdown} {
		s.keys = make([]uint64, 0, n)
		s.decode = milliseconds
	}
	t.debug.decode = milliseconds
	t.slowdown.decode = math.Float64frombits
	return t
}

func (m *Metrics) jobs(v *view, w *workload.Workload, r *sim.Result) {
	n := min(len(w.Jobs), len(r.Jobs))
	t := newTally(n)
	groups, kinds := newGroupTally(len(v.groups)), newClassTally()
	var lost, restart area
	for i := range n {
		j, o := &w.Jobs[i], &r.Jobs[i]
		if !v.c.sel.Contains(j.Submit) || v.cut && j.Submit > v.end {
			continue
		}
		if j.Service != nil {
			if i < len(v.c.jobs) && v.c.jobs[i].known {
				groups.addService(v.c.jobs[i].group)
			}
			continue
		}
		m.Jobs++
		m.Preemptions += int64(o.Preemptions)
		m.NodeFailures += int64(o.NodeFailures)
		lost.add(o.Lost, 1)
		restart.add(o.Restart, 1)
		kinds.add(j, o, v.end)
		wait, waited := m.job(t, v, j, o, declared(w, i))
		if i < len(v.c.jobs) && v.c.jobs[i].known {
			groups.add(v.c.jobs[i].group, wait, waited)
		}
	}
	m.LostGPUHours, m.RestartGPUHours = lost.gpuHours(), restart.gpuHours()
	m.LossGPUHours = m.LostGPUHours + m.RestartGPUHours
	m.PreemptionsPerJob = ratio(float64(m.Preemptions), float64(m.Jobs))
	m.PreemptionsPer1000GPUHours = ratio(float64(m.Preemptions)*1000, m.GPUHours)

	tmp := make([]uint64, m.Jobs)
	m.Classes, m.Sizes = kinds.waits(tmp)
	m.Wait, m.QueueTime = t.wait.dist(tmp), t.queue.dist(tmp)
	m.JCT, m.BoundedSlowdown = t.jct.dist(tmp), t.slowdown.dist(tmp)
	if len(t.debug.keys) > 0 {
		d := t.debug.dist(tmp)
		m.DebugWait = &d
	}
	m.WaitCDF = cdf(t.wait.keys)
	m.Starvation.Longest = m.Wait.Max
	m.Groups = groups.uses(v.groups)
}

// declared is the run time that the record tells, 0 where there is none (live).
func declared(w *workload.Workload, i int) workload.Span {
	if i < len(w.Actual) {
		return w.Actual[i].Duration
	}
	return 0
}

// job enters one job and returns its wait in milliseconds, if it has one.
func (m *Metrics) job(t *tally, v *view, j *workload.Job, o *sim.JobResult, duration workload.Span) (uint64, bool) {
	switch o.State {
	case sim.Refused:
		m.Refused++
		return 0, false
	case sim.NeverReady:
		m.NeverReady++
		return 0, false
	case sim.Withdrawn:
		m.Withdrawn++
		return 0, false
	case sim.Unstarted:
		m.Unstarted++
	case sim.Requeued, sim.Running:
		m.Unfinished++
	}
	soFar := max(0, v.end-j.Submit)
	wait, open := soFar, o.FirstStart == workload.Unknown
	if !open {
		wait = o.FirstStart - j.Submit
	}
	wait = max(0, wait-o.Held)
	queued, jct, ran := o.Queued, soFar, o.Ran
	if open {
		queued = max(queued, wait)
	}
	unfinished := o.State != sim.Ended
	if !unfinished {
		jct = o.Finish - j.Submit
	} else {
		ran = max(ran, duration)
	}
	t.wait.add(key(wait), open)
	t.queue.add(key(queued), unfinished)
	t.jct.add(key(jct), unfinished)
	// Without any run time nothing can be said about the slowdown, not even a bound.
	if !unfinished || ran > 0 {
		t.slowdown.add(math.Float64bits(slowdown(queued, ran)), unfinished)
	}
	if isDebug(j) {
		t.debug.add(key(wait), open)
	}
	if wait > starved {
		m.Starvation.Jobs++
	}
	return key(wait), true
}

func slowdown(queued, ran workload.Span) float64 {
	return max(1, float64(queued+ran)/float64(max(ran, slowdownFloor)))
}

func isDebug(j *workload.Job) bool {
	return j.Contract.HasMinRuntime && j.Contract.MinRuntime <= debugRuntime && j.Need.TotalGPUs() <= debugGPUs
}

func key(s workload.Span) uint64 { return uint64(max(0, s)) }

func seconds(s workload.Span) float64 { return float64(s) / 1000 }
