package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/local"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// scrape reads what is not counted as it happens.
type scrape struct{ m *Metrics }

// Describe implements [prometheus.Collector].
func (s scrape) Describe(ch chan<- *prometheus.Desc) {
	for _, x := range catalogue {
		if x.buckets == nil && x != httpRequests {
			ch <- x.desc
		}
	}
}

// Collect implements [prometheus.Collector].
func (s scrape) Collect(ch chan<- prometheus.Metric) {
	m := s.m
	list := []prometheus.Metric{buildInfo.of(1, m.cfg.Version, m.cfg.Revision, goVersion())}
	if c := m.count(); c != nil {
		list = append(list, m.counted(c)...)
	}
	if d := m.daemon(); d != nil {
		list = append(list, m.asked(d)...)
	}
	for _, x := range list {
		ch <- x
	}
}

// count is what was counted as it happened, up to a time.
type count struct {
	tally   metrics.Tally
	gauge   sim.Gauge
	teams   []team
	kept    [places]int64
	stops   [fact.CauseMaintenance + 1]int64
	failed  int64
	refused int64
	nodes   int64
	written int64
	segment int64
	decided time.Time
	lag     time.Duration
}

// count copies it, up to now: the loop waits meanwhile. nil before anything is counted.
func (m *Metrics) count() *count {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil {
		return nil
	}
	now := m.cfg.Now()
	m.at, m.seen = m.at+max(now.Sub(m.seen), 0).Milliseconds(), now
	j := m.jobs
	c := &count{tally: m.c.Tally(m.at), gauge: m.gauge, kept: j.kept, stops: j.preempted, failed: j.failedStarts, refused: j.refused, nodes: j.nodeFailures,
		written: m.written, segment: m.segment, decided: m.decided, lag: m.probe.lag(now), teams: make([]team, len(j.teams.list))}
	for i, x := range j.teams.list {
		c.teams[i] = *x
	}
	return c
}

func (m *Metrics) daemon() *live.Daemon {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.d
}

// counted makes metrics of what was counted.
func (m *Metrics) counted(c *count) []prometheus.Metric {
	t, g := &c.tally, &c.gauge
	out := []prometheus.Metric{
		installedTime.of(t.Installed * 3600), availableTime.of(t.Available * 3600), heldTime.of(t.Held * 3600), fragmentedTime.of(t.Fragmented * 3600),
		assignedTime.of(t.Allocated*3600, "allocated"), assignedTime.of(t.Unallocated*3600, "unallocated"), assignedTime.of(t.Squat*3600, "squat"),
		restartTime.of(t.Restart * 3600),
		installedGPUs.of(gpus(g.Installed)), availableGPUs.of(gpus(g.Available)), assignedGPUs.of(gpus(g.Assigned)), heldGPUs.of(gpus(g.Held)),
		keptJobs.of(float64(c.kept[held]), "held"), keptJobs.of(float64(c.kept[blocked]), "blocked"), keptJobs.of(float64(c.kept[parked]), "parked"),
		failedStarts.of(float64(c.failed)), refusedJobs.of(float64(c.refused)), nodeFailures.of(float64(c.nodes)),
		journalBytes.of(float64(c.written)), segmentBytes.of(float64(c.segment)), lastDecision.of(float64(c.decided.UnixMilli()) / 1000), loopLag.of(c.lag.Seconds()),
	}
	for _, x := range causes {
		out = append(out, preemptions.of(float64(c.stops[x]), x.String()))
	}
	for _, x := range lostCauses {
		out = append(out, lostTime.of(t.Lost[x]*3600, x))
	}
	for i := range c.teams {
		out = c.teams[i].values(out)
	}
	return m.accountValues(out, t.Accounts)
}

func gpus(milli int64) float64 { return float64(milli) / 1000 }

// values are those of a team: all sizes and classes, so that what is not there is 0.
func (x *team) values(out []prometheus.Metric) []prometheus.Metric {
	for k, size := range sizeNames {
		out = append(out, waitingJobs.of(float64(x.waiting[k].jobs), x.name, size), waitingGPUs.of(gpus(x.waiting[k].milli), x.name, size), submittedJobs.of(float64(x.submitted[k]), x.name, size))
	}
	for k, class := range classNames {
		out = append(out, runningJobs.of(float64(x.running[k].jobs), x.name, class), runningGPUs.of(gpus(x.running[k].milli), x.name, class), startedJobs.of(float64(x.starts[k]), x.name, class))
	}
	for o := range outcomes {
		if n := x.finished[o]; n > 0 || o <= workload.OutcomeCancelled {
			out = append(out, finishedJobs.of(float64(n), x.name, o.String()))
		}
	}
	return out
}

// accountValues are those of the accounts, the first ones by name.
func (m *Metrics) accountValues(out []prometheus.Metric, list []metrics.AccountUse) []prometheus.Metric {
	m.naming.Lock()
	defer m.naming.Unlock()
	rest, any := metrics.AccountUse{Account: others}, false
	one := func(u *metrics.AccountUse) {
		out = append(out, owedTime.of(u.Owed*3600, u.Account), chargedTime.of(u.Charged*3600, u.Account), deliveredTime.of(u.Delivered*3600, u.Account), accountShare.of(u.Share, u.Account))
	}
	for i := range list {
		u := &list[i]
		if !m.accounts[u.Account] && (len(m.accounts) >= m.cfg.Teams || u.Account == others) {
			rest.Owed, rest.Charged, rest.Delivered, rest.Share, any = rest.Owed+u.Owed, rest.Charged+u.Charged, rest.Delivered+u.Delivered, rest.Share+u.Share, true
			continue
		}
		m.accounts[u.Account] = true
		one(u)
	}
	if any {
		one(&rest)
	}
	return out
}

// asked is what the daemon is asked for at a scrape.
func (m *Metrics) asked(d *live.Daemon) []prometheus.Metric {
	s := d.Stats()
	ok, _ := d.Ready()
	within, all := d.Accuracy()
	out := []prometheus.Metric{
		ready.of(truth(ok)), writable.of(truth(!d.Trouble())), batches.of(float64(s.Batches.Load())), facts.of(float64(s.Facts.Load())), actions.of(float64(s.Actions.Load())),
		decisions.of(float64(s.Decisions.Load())), refusedFacts.of(float64(s.Refused.Load())), retries.of(float64(s.Retries.Load())),
		listeners.of(float64(d.Events().Listeners())), forecastStarts.of(float64(all)), forecastWithin.of(float64(within)),
	}
	if v := d.LastView(); v != nil && len(v.Queue) > 0 {
		out = append(out, forecastAge.of(max(d.Now().Sub(d.Wall(v.At)).Seconds(), 0)))
	}
	states := map[string]int{"up": 0, "down": 0, "draining": 0, "drained": 0}
	for _, n := range d.Nodes() {
		states[stateOf(&n)]++
	}
	for _, s := range []string{"up", "down", "draining", "drained"} {
		out = append(out, nodesBy.of(float64(states[s]), s))
	}
	out = append(out, m.diskValues()...)
	out = append(out, m.activityValues()...)
	if m.cfg.Hooks != nil {
		for _, h := range m.cfg.Hooks() {
			out = append(out, hookDelivered.of(float64(h.Delivered), h.Name), hookFailed.of(float64(h.Failed), h.Name), hookDropped.of(float64(h.Dropped), h.Name), hookBehind.of(float64(h.Behind), h.Name))
		}
	}
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func stateOf(n *live.Node) string {
	switch {
	case n.Down:
		return "down"
	case n.Drained && len(n.Runs) > 0:
		return "draining"
	case n.Drained:
		return "drained"
	}
	return "up"
}

// stale is the age from which on a measurement says nothing any more.
const stale = 2 * time.Minute

// activityValues are those of the last measurement. What was not measured is missing, and not 0.
func (m *Metrics) activityValues() (out []prometheus.Metric) {
	if m.cfg.Activity == nil {
		return nil
	}
	s := m.cfg.Activity()
	if s.At.IsZero() || m.cfg.Now().Sub(s.At) > stale {
		return nil
	}
	busy, measured := local.Mean(activities(&s))
	out = append(out, activityGPUs.of(measured), anomalies.of(float64(s.Anomalies)))
	if measured > 0 {
		out = append(out, activityRatio.of(busy))
	}
	var used, total int64
	for i := range s.GPUs {
		used, total = used+s.GPUs[i].MemoryUsed, total+s.GPUs[i].MemoryTotal
	}
	if total > 0 {
		out = append(out, memoryUsed.of(float64(used<<20)), memoryTotal.of(float64(total<<20)))
	}
	return out
}

func activities(s *world.Sample) []local.Activity {
	out := make([]local.Activity, len(s.GPUs))
	for i := range s.GPUs {
		g := &s.GPUs[i]
		out[i] = local.Activity{Busy: float64(g.Busy) / 1000, Measured: g.Busy >= 0, Part: float64(g.Part) / 1000}
	}
	return out
}
