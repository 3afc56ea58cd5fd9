package report

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/metrics"
)

// unit says how a figure is written and how two of them are compared.
type unit uint8

const (
	ratioUnit   unit = iota // 0..1, written in per cent, compared in percentage points
	secondsUnit             // compared as a factor
	hoursUnit               // GPU-hours, compared as a factor
	countUnit               // compared as a factor
	numberUnit              // a plain number, compared as a factor
	indexUnit               // 0..1 without a unit, compared by subtraction
	moneyUnit               // compared as a factor
	energyUnit              // kWh, compared as a factor
)

// row is one figure of the report.
type row struct {
	section, label, key string
	unit                unit
	// better: +1 where more is better, -1 where less is, 0 where neither.
	better int
	// always shows the row even if it is zero for every policy.
	always bool
	get    func(*metrics.Metrics) (float64, bool)
	// bound tells whether the figure is only a lower bound; nil = never.
	bound func(*metrics.Metrics) bool
	// definition is one sentence for the page.
	definition string
	// added: CSV has it behind the columns of the first version. budgets: it is shown
	// only where policies are judged by budgets.
	added, budgets bool
	// onDemand: CSV has it last, and only where a run has it.
	onDemand bool
}

// value returns the figure, 0 where the policy has none.
func (r *row) value(m *metrics.Metrics) float64 {
	v, _ := r.get(m)
	return v
}

// isBound tells whether the figure is only a lower bound.
func (r *row) isBound(m *metrics.Metrics) bool { return r.bound != nil && r.bound(m) }

// shown tells whether the figure says anything about these policies.
func (r *row) shown(c *Comparison) bool {
	if r.budgets && !budgeted(c) {
		return false
	}
	for i := range c.Policies {
		if v, ok := r.get(&c.Policies[i].Metrics); ok && (r.always || v != 0) {
			return true
		}
	}
	return false
}

// plain makes an accessor for a figure that every run has.
func plain(f func(*metrics.Metrics) float64) func(*metrics.Metrics) (float64, bool) {
	return func(m *metrics.Metrics) (float64, bool) { return f(m), true }
}

// optional makes an accessor for a figure that a run may lack.
func optional(f func(*metrics.Metrics) *float64) func(*metrics.Metrics) (float64, bool) {
	return func(m *metrics.Metrics) (float64, bool) {
		if p := f(m); p != nil {
			return *p, true
		}
		return 0, false
	}
}

const (
	useSection      = "Use of the cluster"
	waitSection     = "Waiting"
	finishSection   = "Finishing"
	lossSection     = "Interruption and loss"
	fairSection     = "Fairness"
	moneySection    = "Money and energy"
	jobsSection     = "Jobs"
	slowdownMeaning = "max(1, (queue time + run) / max(run, 10 s)), where run is service without lost work."
)

// rows lists every figure in the order of the report.
var rows = behind(behind(behind(behind(buildRows(), useSection, serviceRows()), waitSection, classRows()), lossSection, stopRows()), fairSection, budgetRows())

func buildRows() []row {
	r := []row{
		{section: useSection, label: "Occupancy", key: "occupancy", unit: ratioUnit, better: 1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.Occupancy }),
			definition: "GPU-time assigned to jobs / available GPU-time, over the observation window. Others call it utilisation."},
		{section: useSection, label: "Occupancy, makespan", key: "occupancy_makespan", unit: ratioUnit, better: 1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.OccupancyMakespan }),
			definition: "The same from the first submission to the last finish."},
	}
	r = append(r, servedRows()...)
	r = append(r, []row{
		{section: useSection, label: "Goodput occupancy", key: "goodput_occupancy", unit: ratioUnit, better: 1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.GoodputOccupancy }),
			definition: "Occupancy without GPU-time that was lost again or spent on restarting."},
		{section: useSection, label: "Fragmentation", key: "fragmentation", unit: ratioUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.Fragmentation }),
			definition: "GPU-time idle while some waiting job fits by count and none fits in shape / available GPU-time."},
		{section: useSection, label: "Allocated GPU ratio", key: "allocated_gpu_ratio", unit: ratioUnit, better: 1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.AllocatedGPURatio }),
			definition: "GPUs assigned / installed right after the last submission of the window (FGD's measure)."},
		{section: useSection, label: "Availability", key: "availability", unit: ratioUnit, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.Availability }),
			definition: "GPU-time of GPUs that are up and schedulable, or still carrying work / installed GPU-time."},
		{section: useSection, label: "Held", key: "held_gpu_hours", unit: hoursUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return m.HeldGPUHours }),
			definition: "GPU-time kept free for a winner while the jobs stopped for it shut down."},
	}...)
	r = append(r, distRows(waitSection, "Wait", "wait", secondsUnit, true, func(m *metrics.Metrics) *metrics.Dist { return &m.Wait },
		"First start - submission.")...)
	r = append(r, distRows(waitSection, "Queue time", "queue_time", secondsUnit, false, func(m *metrics.Metrics) *metrics.Dist { return &m.QueueTime },
		"All time in the queue, stretches after a preemption included.")...)
	r = append(r, distRows(waitSection, "Debug wait", "debug_wait", secondsUnit, false, func(m *metrics.Metrics) *metrics.Dist { return m.DebugWait },
		"Wait of jobs of at most 8 GPUs with a declared minimum runtime of at most 15 minutes.")...)
	r = append(r,
		row{section: waitSection, label: "Waited over 24 h", key: "starvation.jobs", unit: countUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Starvation.Jobs) }),
			definition: "Jobs that waited longer than a day before their first start."},
		row{section: waitSection, label: "Longest wait", key: "starvation.longest", unit: secondsUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.Starvation.Longest }),
			bound:      func(m *metrics.Metrics) bool { return m.Wait.Bounds.Max || m.Unstarted > 0 },
			definition: "The longest wait of any job."})
	r = append(r, distRows(finishSection, "JCT", "jct", secondsUnit, true, func(m *metrics.Metrics) *metrics.Dist { return &m.JCT },
		"Job completion time: last finish - submission.")...)
	r = append(r, distRows(finishSection, "Bounded slowdown", "bounded_slowdown", numberUnit, true,
		func(m *metrics.Metrics) *metrics.Dist { return &m.BoundedSlowdown }, slowdownMeaning)...)
	return append(r,
		row{section: finishSection, label: "Makespan", key: "makespan", unit: secondsUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.Makespan }),
			bound:      func(m *metrics.Metrics) bool { return m.Cut },
			definition: "Last finish - first submission."},
		row{section: lossSection, label: "Preemptions", key: "preemptions", unit: countUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Preemptions) }),
			definition: "Runs stopped for another job."},
		row{section: lossSection, label: "per 1,000 GPU-hours", key: "preemptions_per_1000_gpu_hours", unit: numberUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return m.PreemptionsPer1000GPUHours }),
			definition: "Preemptions per 1,000 GPU-hours assigned."},
		row{section: lossSection, label: "Node failures met", key: "node_failures", unit: countUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.NodeFailures) }),
			definition: "Runs ended by the failure of a node."},
		row{section: lossSection, label: "Lost", key: "lost_gpu_hours", unit: hoursUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.LostGPUHours }),
			definition: "GPU-hours of work since the last checkpoint when a run was stopped: it is done again."},
		row{section: lossSection, label: "Restarting", key: "restart_gpu_hours", unit: hoursUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return m.RestartGPUHours }),
			definition: "GPU-hours spent on restarting."},
		row{section: lossSection, label: "Lost + restarting", key: "loss_gpu_hours", unit: hoursUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return m.LossGPUHours }),
			definition: "The sum of both."},
		row{section: fairSection, label: "Jain index", key: "jain", unit: indexUnit, better: 1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.Jain }),
			definition: "Jain's index over teams (else partitions, else users) of delivered / demanded GPU-time in the window: 1 = all got the same part of what they asked for."},
		row{section: fairSection, label: "Groups", key: "jain_n", unit: countUnit, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.JainN) }),
			definition: "The number of groups the index is over."},
		row{section: moneySection, label: "Cost of work", key: "cost", unit: moneyUnit, better: -1, always: true,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.Cost }),
			definition: "Assigned GPU-hours x price of the GPU type, from the first submission to the last finish."},
		row{section: moneySection, label: "Cost of idling", key: "idle_cost", unit: moneyUnit, better: -1, always: true,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.IdleCost }),
			definition: "Unassigned GPU-hours x price, over the same time."},
		row{section: moneySection, label: "Energy", key: "kwh", unit: energyUnit, better: -1, always: true,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.KWh }),
			definition: "(Idle watts x idle time + active watts x assigned time) x PUE, over the same time."},
		row{section: jobsSection, label: "Jobs in the window", key: "jobs", unit: countUnit, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Jobs) }),
			definition: "Jobs submitted in the observation window."},
		row{section: jobsSection, label: "GPU-hours assigned", key: "gpu_hours", unit: hoursUnit, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.GPUHours }),
			definition: "GPU-time assigned from the first submission to the last finish."},
		row{section: jobsSection, label: "Unstarted", key: "unstarted", unit: countUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Unstarted) }),
			definition: "Jobs that had not started when the run ended; their wait so far is a lower bound."},
		row{section: jobsSection, label: "Unfinished", key: "unfinished", unit: countUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Unfinished) }),
			definition: "Jobs that had started and not ended when the run did."},
		row{section: jobsSection, label: "Refused", key: "refused", unit: countUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Refused) }),
			definition: "Jobs that the empty cluster could not hold. They have no wait."},
		row{section: jobsSection, label: "Never ready", key: "never_ready", unit: countUnit,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.NeverReady) }),
			definition: "Jobs whose dependencies could never be satisfied."},
		row{section: jobsSection, label: "Withdrawn", key: "withdrawn", unit: countUnit,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Withdrawn) }),
			definition: "Jobs cancelled by their owner before they started."},
	)
}

// distRows are the four figures of one distribution.
func distRows(section, label, key string, u unit, always bool, d func(*metrics.Metrics) *metrics.Dist, definition string) []row {
	figures := []struct {
		name, key string
		of        func(*metrics.Dist) float64
		bound     func(*metrics.Dist) bool
	}{
		{"mean", "mean", func(d *metrics.Dist) float64 { return d.Mean }, (*metrics.Dist).MeanBound},
		{"median", "p50", func(d *metrics.Dist) float64 { return d.P50 }, func(d *metrics.Dist) bool { return d.Bounds.P50 }},
		{"p90", "p90", func(d *metrics.Dist) float64 { return d.P90 }, func(d *metrics.Dist) bool { return d.Bounds.P90 }},
		{"p99", "p99", func(d *metrics.Dist) float64 { return d.P99 }, func(d *metrics.Dist) bool { return d.Bounds.P99 }},
	}
	var out []row
	for _, f := range figures {
		out = append(out, row{
			section: section, label: label + ", " + f.name, key: key + "." + f.key, unit: u, better: -1, always: always,
			get: func(m *metrics.Metrics) (float64, bool) {
				if p := d(m); p != nil && p.N > 0 {
					return f.of(p), true
				}
				return 0, false
			},
			bound: func(m *metrics.Metrics) bool {
				p := d(m)
				return p != nil && f.bound(p)
			},
			definition: definition,
		})
	}
	return out
}

// shownRows are the figures that say something about these policies. Queue time
// repeats the wait where nothing was preempted; with budgets the wait of debug jobs
// is that of the class, which leaves unallocated ones out. Each of several real-time
// applications has a row behind those of all.
func shownRows(c *Comparison) []*row {
	var preempted bool
	for i := range c.Policies {
		preempted = preempted || c.Policies[i].Metrics.QueueTime != c.Policies[i].Metrics.Wait
	}
	var out []*row
	for i := range rows {
		r := &rows[i]
		switch {
		case !preempted && strings.HasPrefix(r.key, "queue"):
		case budgeted(c) && strings.HasPrefix(r.key, "debug_wait"):
		case r.shown(c):
			out = append(out, r)
		}
	}
	if at := slices.IndexFunc(out, func(r *row) bool { return r.section == serviceSection }); at >= 0 {
		for at < len(out) && out[at].section == serviceSection {
			at++
		}
		out = slices.Insert(out, at, lacks(c)...)
	}
	return out
}
