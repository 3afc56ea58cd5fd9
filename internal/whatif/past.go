package whatif

import (
	"cmp"
	"context"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Past is what another scheduler did with the jobs of a workload, from its accounting: there is
// no journal, and nothing of its state is known.
type Past struct {
	Workload *workload.Workload
	// Cluster with its outages.
	Cluster *cluster.Spec
	// Policy comes as near to what decided as is known; Assume is what jobs do not declare.
	Policy *policy.Policy
	Assume sim.Assumptions
	// Window of the figures; the default is that of the workload.
	Window metrics.Window
	// Runs of the jobs.
	Runs []PastRun
	// Progress as in [sim.Options].
	Progress func(done, total int)
}

// PastRun is one run of a job.
type PastRun struct {
	// Job is its number in the workload, Attempt 1 for its first run.
	Job, Attempt int32
	Start, End   workload.Time
	// Milli is what it held, in milli-GPU.
	Milli int64
	// Again: the job went back to the queue for Cause, and Lost of the run was lost.
	Again bool
	Cause fact.Cause
	Lost  workload.Span
}

// Check holds a replay of a past under its policy to what happened, and returns what came of the
// replay. Both go to their end.
func (p *Past) Check(ctx context.Context) (*report.Check, *sim.Result, error) {
	was, rec := p.collector(), newRecorder(p.Workload.Jobs)
	p.play(was, rec)
	is := p.collector()
	res, err := sim.Run(ctx, sim.Options{Workload: p.Workload, Cluster: p.Cluster, Policy: p.Policy, Assume: p.Assume, Observers: []sim.Observer{is}, Progress: p.Progress})
	if err != nil {
		return nil, nil, named(p.Policy, err)
	}
	happened := rec.result(p.end())
	happened.Cut = false
	return &report.Check{Recorded: metrics.Compute(was, p.Workload, happened), Replay: metrics.Compute(is, p.Workload, res)}, res, nil
}

func (p *Past) collector() *metrics.Collector {
	return metrics.NewCollector(metrics.Config{Cluster: p.Cluster, Workload: p.Workload, Window: p.Window, By: metrics.GroupingOf(p.Workload)})
}

func (p *Past) end() workload.Time {
	var end workload.Time
	for i := range p.Runs {
		end = max(end, p.Runs[i].End)
	}
	return end
}

// moment is something that happened: an end, a change of a node, a submission or a start. Of one
// instant they come in this order.
type moment struct {
	at   workload.Time
	kind uint8
	n    int32
}

const (
	runEnds uint8 = iota
	nodeChanges
	jobComes
	runStarts
)

// play shows observers what happened, as a simulation shows them what it does.
func (p *Past) play(observers ...sim.Observer) {
	list := make([]moment, 0, len(p.Workload.Jobs)+2*len(p.Runs)+len(p.Cluster.Outages))
	for i := range p.Workload.Jobs {
		list = append(list, moment{p.Workload.Jobs[i].Submit, jobComes, int32(i)})
	}
	for i := range p.Runs {
		list = append(list, moment{p.Runs[i].Start, runStarts, int32(i)}, moment{p.Runs[i].End, runEnds, int32(i)})
	}
	for i := range p.Cluster.Outages {
		list = append(list, moment{p.Cluster.Outages[i].At, nodeChanges, int32(i)})
	}
	// A run that ends when it starts must start first.
	slices.SortStableFunc(list, func(a, b moment) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Compare(p.rank(a), p.rank(b))
	})
	t := newTeller(p, observers)
	for i := 0; i < len(list); {
		at := list[i].at
		for ; i < len(list) && list[i].at == at; i++ {
			t.tell(list[i])
		}
		t.show(at)
	}
}

func (p *Past) rank(m moment) uint8 {
	if m.kind == runEnds && p.Runs[m.n].Start == p.Runs[m.n].End {
		return runStarts + 1
	}
	return m.kind
}

// teller makes facts of moments, and counts what they do to the cluster.
type teller struct {
	p         *Past
	observers []sim.Observer
	gauge     sim.Gauge
	nodes     map[string]int32
	out       []uint8 // of each node: down, drained
}

func newTeller(p *Past, observers []sim.Observer) *teller {
	t := &teller{p: p, observers: observers, nodes: map[string]int32{}, out: make([]uint8, len(p.Cluster.Nodes))}
	t.gauge.Installed = p.Cluster.GPUs() * 1000
	t.gauge.Available = t.gauge.Installed
	for i := range p.Cluster.Nodes {
		t.nodes[p.Cluster.Nodes[i].Name] = int32(i)
	}
	return t
}

func (t *teller) fact(f fact.Fact) {
	for _, o := range t.observers {
		o.Fact(&f)
	}
}

func (t *teller) tell(m moment) {
	switch m.kind {
	case jobComes:
		j := &t.p.Workload.Jobs[m.n]
		t.gauge.WaitingJobs++
		t.gauge.WaitingMilli += j.Need.TotalMilli()
		t.fact(fact.Fact{Kind: fact.JobSubmitted, At: m.at, Job: m.n, Node: -1, Submitted: j})
	case runStarts:
		t.starts(m.at, &t.p.Runs[m.n])
	case runEnds:
		t.ends(m.at, &t.p.Runs[m.n])
	default:
		t.changes(&t.p.Cluster.Outages[m.n])
	}
}

func (t *teller) starts(at workload.Time, r *PastRun) {
	g := &t.gauge
	g.WaitingJobs--
	g.WaitingMilli -= t.p.Workload.Jobs[r.Job].Need.TotalMilli()
	g.RunningJobs++
	g.Assigned += r.Milli
	a := fact.Action{Do: fact.Start, Job: r.Job, Attempt: r.Attempt, For: -1, Count: int32((r.Milli + 999) / 1000), Milli: r.Milli, At: at, Reason: fact.Reason{For: -1}}
	for _, o := range t.observers {
		o.Action(&a)
	}
	t.fact(fact.Fact{Kind: fact.JobStarted, At: at, Job: r.Job, Attempt: r.Attempt, Node: -1})
}

func (t *teller) ends(at workload.Time, r *PastRun) {
	g := &t.gauge
	g.RunningJobs--
	g.Assigned -= r.Milli
	f := fact.Fact{Kind: fact.JobFinished, At: at, Job: r.Job, Attempt: r.Attempt, Node: -1, Outcome: t.p.Workload.Actual[r.Job].Outcome}
	if r.Again {
		f.Kind, f.Cause, f.Lost = fact.JobStopped, r.Cause, r.Lost
		g.WaitingJobs++
		g.WaitingMilli += t.p.Workload.Jobs[r.Job].Need.TotalMilli()
	}
	t.fact(f)
}

// changes takes a node out of the capacity, or back into it.
func (t *teller) changes(o *cluster.Outage) {
	n, ok := t.nodes[o.Node]
	if !ok {
		return
	}
	kinds := map[string]fact.Kind{"down": fact.NodeDown, "up": fact.NodeUp, "drain": fact.NodeDrained, "resume": fact.NodeResumed}
	was := t.out[n] != 0
	switch o.Change {
	case "down":
		t.out[n] |= 1
	case "up":
		t.out[n] &^= 1
	case "drain":
		t.out[n] |= 2
	case "resume":
		t.out[n] &^= 2
	}
	if is := t.out[n] != 0; is != was {
		milli := int64(t.p.Cluster.Nodes[n].GPUs) * 1000
		if is {
			milli = -milli
		}
		t.gauge.Available += milli
	}
	t.fact(fact.Fact{Kind: kinds[o.Change], At: o.At, Job: -1, Node: n})
}

// show ends an instant. What carries work counts as available, drained or not.
func (t *teller) show(at workload.Time) {
	g := t.gauge
	g.At, g.Available = at, max(g.Available, g.Assigned)
	for _, o := range t.observers {
		o.Instant(&g)
	}
}
