package versus

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// part is a run that really was, or is.
type part struct {
	number int32
	spec   *workload.Job
	from   workload.Time
	to     workload.Time // [workload.Unknown] as long as it goes on
}

// event is the beginning or the end of one.
type event struct {
	at    workload.Time
	begin bool
	part  *part
}

// collect makes facts of what was observed, and has the same code count them that counts those of
// a scheduler.
func collect(spec *cluster.Spec, w metrics.Window, parts []part, levels []level, end workload.Time) metrics.Tally {
	c := metrics.NewCollector(metrics.Config{Cluster: spec, Window: w, Endless: true})
	var events []event
	for i := range parts {
		p := &parts[i]
		events = append(events, event{p.from, true, p})
		if p.to != workload.Unknown {
			events = append(events, event{max(p.to, p.from), false, p})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		x, y := 0, 0
		if a.begin {
			x = 1
		}
		if b.begin {
			y = 1
		}
		if a.part == b.part { // a run of no length begins before it ends
			x, y = -x, -y
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(x, y), cmp.Compare(a.part.number, b.part.number))
	})
	g := sim.Gauge{At: workload.Unknown}
	next := 0
	for i := 0; i < len(events) || next < len(levels); {
		at := workload.Never
		if i < len(events) {
			at = events[i].at
		}
		if next < len(levels) {
			at = min(at, levels[next].at)
		}
		if at > end {
			break
		}
		for ; next < len(levels) && levels[next].at <= at; next++ {
			g.Installed, g.Available = levels[next].installed, levels[next].available
		}
		for ; i < len(events) && events[i].at <= at; i++ {
			tell(c, &events[i], &g)
		}
		g.At = at
		c.Instant(&g)
	}
	return c.Tally(end)
}

// tell shows a collector the beginning or the end of a run.
func tell(c *metrics.Collector, e *event, g *sim.Gauge) {
	p := e.part
	milli := p.spec.Need.TotalMilli()
	if !e.begin {
		c.Fact(&fact.Fact{Kind: fact.JobFinished, Job: p.number, Attempt: 1, Node: -1, At: e.at})
		g.Assigned -= milli
		g.RunningJobs--
		return
	}
	c.Fact(&fact.Fact{Kind: fact.JobSubmitted, Job: p.number, Node: -1, At: e.at, Submitted: p.spec})
	c.Action(&fact.Action{Do: fact.Start, Job: p.number, Attempt: 1, For: -1, At: e.at, Count: p.spec.Need.TotalGPUs(), Milli: milli, Reason: fact.Reason{For: -1}})
	c.Fact(&fact.Fact{Kind: fact.JobStarted, Job: p.number, Attempt: 1, Node: -1, At: e.at})
	g.Assigned += milli
	g.RunningJobs++
}
