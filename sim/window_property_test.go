package sim_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// guardian watches who is on the nodes of windows, with a book-keeping of its own.
type guardian struct {
	t       *rapid.T
	jobs    []workload.Job
	pol     *policy.Policy
	windows map[string]*fact.Window
	runs    map[int32]*guarded
	grace   workload.Span
}

type guarded struct {
	place                  []fact.Grant
	decided, up, safe, out workload.Time
}

func (g *guardian) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.WindowSet:
		g.windows[f.Window.ID] = f.Window
	case fact.WindowLifted:
		delete(g.windows, f.Window.ID)
	case fact.JobStarted:
		r := g.runs[f.Job]
		r.up = f.At
		if r.safe > 0 {
			r.safe += f.At - r.decided
		}
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		delete(g.runs, f.Job)
	}
}

func (g *guardian) Action(a *fact.Action) {
	switch a.Do {
	case fact.Start:
		r := &guarded{place: slices.Clone(a.Place), decided: a.At, up: workload.Unknown, out: workload.Never}
		if g.pol.Sharing != nil && !a.Unallocated {
			r.safe = a.Until
		}
		g.runs[a.Job] = r
		for _, w := range g.windows {
			if g.meets(a.Job, r, w) && w.From <= a.At && a.At < w.Until {
				g.t.Fatalf("%s: job %d starts at %d in window %s, which is not its own", g.pol.Name, a.Job, a.At, w.ID)
			}
		}
	case fact.Resize:
		g.runs[a.Job].place = slices.Clone(a.Place)
	case fact.Stop:
		g.runs[a.Job].out = a.At + g.grace
	case fact.Uncharge:
		g.runs[a.Job].safe = 0
	}
}

// meets tells whether a run lies on a window that is another's.
func (g *guardian) meets(n int32, r *guarded, w *fact.Window) bool {
	j := &g.jobs[n]
	return !slices.Contains(w.Teams, j.Team) && !slices.Contains(w.Users, j.User) &&
		slices.ContainsFunc(r.place, func(x fact.Grant) bool { return slices.Contains(w.Nodes, x.Node) })
}

func (g *guardian) Instant(x *sim.Gauge) {
	for n, r := range g.runs {
		for _, w := range g.windows {
			if !g.meets(n, r, w) || x.At < w.From || x.At >= w.Until || x.At < r.safe || x.At <= r.out && r.out < workload.Never {
				continue
			}
			if r.up == workload.Unknown && r.safe > 0 || g.pol.Horizon != nil && g.pol.Horizon.Interrupt && g.jobs[n].Contract.HasMinRuntime {
				continue
			}
			if r.out == workload.Never || x.At > r.out {
				g.t.Fatalf("%s at %d: job %d (%+v) is on nodes of window %+v", g.pol.Name, x.At, n, *r, *w)
			}
		}
	}
}

// TestWindows holds under every policy: nobody is where he may not be unless he is protected, and
// when windows are over all goes on.
func TestWindows(t *testing.T) {
	for _, name := range policy.Names() {
		t.Run(name, func(t *testing.T) {
			p, _ := policy.Shipped(name)
			rapid.Check(t, func(rt *rapid.T) { runWindows(rt, p) })
		})
	}
}

func runWindows(t *rapid.T, p *policy.Policy) {
	w := drawWorld(t, true)
	if w.spec.Count > 0 {
		t.Skip("no nodes")
	}
	w.faults = sim.Faults{}
	if err := w.work.Check(); err != nil {
		t.Skip(err)
	}
	var events []fact.Fact
	for i := range rapid.IntRange(1, 4).Draw(t, "windows") {
		x := &fact.Window{ID: strconv.Itoa(i), From: workload.Time(rapid.IntRange(0, 120).Draw(t, "from")) * 1000}
		x.Until = x.From + workload.Span(rapid.IntRange(1, 90).Draw(t, "length"))*1000
		for n := range w.spec.Nodes {
			if rapid.Bool().Draw(t, "in") {
				x.Nodes = append(x.Nodes, int32(n))
			}
		}
		if rapid.Bool().Draw(t, "reserved") {
			x.Teams = []string{"x"}
		}
		set := workload.Time(rapid.IntRange(0, 60).Draw(t, "set")) * 1000
		if len(x.Nodes) == 0 || set >= x.Until {
			continue
		}
		events = append(events, fact.Fact{Kind: fact.WindowSet, At: set, Job: -1, Node: -1, Window: x})
		if at := set + workload.Span(rapid.IntRange(0, 100).Draw(t, "lifted"))*1000; rapid.Bool().Draw(t, "lift") && at < x.Until {
			events = append(events, fact.Fact{Kind: fact.WindowLifted, At: at, Job: -1, Node: -1, Window: &fact.Window{ID: x.ID}})
		}
	}
	slices.SortStableFunc(events, func(a, b fact.Fact) int { return int(a.At - b.At) })
	a := &w.assume
	e, err := engine.New(w.spec, p, engine.Defaults{Checkpoint: a.Checkpoint, RestartCost: a.RestartCost, Grace: a.Grace, StartLatency: a.StartLatency})
	if err != nil {
		t.Skip(err)
	}
	if p.Sharing != nil {
		f := fact.Fact{Kind: fact.BudgetsChanged, At: -1, Job: -1, Node: -1, Budgets: budget.Equal("equal", []string{"x", "y"}), Epoch: workload.Unknown}
		if err := e.Apply(&f); err != nil {
			t.Fatal(err)
		}
	}
	g := &guardian{t: t, jobs: w.work.Jobs, pol: p, windows: map[string]*fact.Window{}, runs: map[int32]*guarded{}, grace: a.Grace}
	for i := range w.work.Jobs {
		g.grace = max(g.grace, w.work.Jobs[i].Contract.Grace)
	}
	if p.Sharing != nil {
		g.grace = max(g.grace, p.Sharing.GraceAllocated, p.Sharing.CheckpointWait)
	}
	res, err := sim.Run(context.Background(), sim.Options{Workload: w.work, Cluster: w.spec, Policy: p, Assume: w.assume,
		From: &sim.From{State: e.Snapshot(), Now: -1, StartLatency: a.StartLatency, Events: events}, Observers: []sim.Observer{g}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Jobs {
		if s := res.Jobs[i].State; s == sim.Unstarted || s == sim.Requeued {
			t.Fatalf("%s: job %s never starts again: %v", p.Name, w.work.Jobs[i].ID, s)
		}
	}
}
