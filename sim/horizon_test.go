package sim_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// keepsContracts watches that a plan stops nothing but what may be stopped, when it may.
type keepsContracts struct {
	t     testing.TB
	work  *workload.Workload
	since map[int32]workload.Time
	stops int
}

func (k *keepsContracts) Fact(f *fact.Fact) {
	if f.Kind == fact.JobStarted {
		k.since[f.Job] = f.At
	}
}

func (k *keepsContracts) Action(a *fact.Action) {
	if a.Do != fact.Stop || a.Reason.Code == fact.Withdrawn {
		return
	}
	k.stops++
	j := &k.work.Jobs[a.Job]
	switch c := &j.Contract; {
	case !c.HasMinRuntime || c.NotResumable || j.Service != nil:
		k.t.Fatalf("at %d: %s is stopped, and never agreed to that", a.At, j.ID)
	case a.At < k.since[a.Job]+c.MinRuntime:
		k.t.Fatalf("at %d: %s is stopped %d ms after its start; it is protected for %d", a.At, j.ID, a.At-k.since[a.Job], c.MinRuntime)
	}
}

func (*keepsContracts) Instant(*sim.Gauge) {}

func TestPlansKeepContracts(t *testing.T) {
	policies := map[string]*policy.Policy{}
	for _, p := range allPolicies(t) {
		policies[p.Name] = p
	}
	stops := 0
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		for _, name := range []string{"horizon", "horizon-interrupt"} {
			k := &keepsContracts{t: fatal{t, rt}, work: x.work, since: map[int32]workload.Time{}}
			x.run(rt, policies[name], k, newLegal(fatal{t, rt}, x.spec, x.work))
			if name == "horizon" && k.stops > 0 {
				rt.Fatalf("%d jobs are stopped by a policy that stops nobody", k.stops)
			}
			stops += k.stops
		}
	})
	if stops == 0 {
		t.Error("no job was ever stopped: this test shows nothing")
	}
}

// swaps counts the changes of a real-time application, and when.
type swaps struct {
	t    testing.TB
	work *workload.Workload
	has  map[int32][]cluster.Grant
	at   map[int32][]workload.Time // one entry for each GPU gained or lost by a resize
}

func (s *swaps) Fact(f *fact.Fact) {
	if f.Kind == fact.JobStopped || f.Kind == fact.JobFinished {
		delete(s.has, f.Job)
		delete(s.at, f.Job)
	}
}

func (s *swaps) Action(a *fact.Action) {
	if a.Do != fact.Start && a.Do != fact.Resize || s.work.Jobs[a.Job].Service == nil {
		return
	}
	own := append([]cluster.Grant(nil), a.Place...)
	defer func() { s.has[a.Job] = own }()
	if a.Do == fact.Start {
		return
	}
	had, has := gpuSet(s.has[a.Job]), gpuSet(own)
	for g := range had {
		if !has[g] {
			s.at[a.Job] = append(s.at[a.Job], a.At)
		}
	}
	for g := range has {
		if !had[g] {
			s.at[a.Job] = append(s.at[a.Job], a.At)
		}
	}
	svc := s.work.Jobs[a.Job].Service
	n := int32(0)
	for _, t := range s.at[a.Job] {
		if t+svc.SwapEvery > a.At {
			n++
		}
	}
	if svc.Swaps > 0 && n > svc.Swaps {
		s.t.Fatalf("at %d: %s has changed %d GPUs within %d ms; it may change %d", a.At, s.work.Jobs[a.Job].ID, n, svc.SwapEvery, svc.Swaps)
	}
}

func (*swaps) Instant(*sim.Gauge) {}

type gpu struct {
	node int32
	bit  int
}

func gpuSet(gs []cluster.Grant) map[gpu]bool {
	m := map[gpu]bool{}
	for _, g := range gs {
		for b := range 64 {
			if g.GPUs>>b&1 == 1 {
				m[gpu{g.Node, b}] = true
			}
		}
	}
	return m
}

// Where nothing forces it (no node fails, nothing is more than there is), an application
// changes no more GPUs than it may.
func TestSwapLimit(t *testing.T) {
	p := shipped(t, "horizon")
	short := *p.Horizon
	short.Step, short.Replan = 60_000, 60_000
	own := *p
	own.Horizon = &short
	rapid.Check(t, func(rt *rapid.T) {
		w := &workload.Workload{Name: "services"}
		life := workload.Span(60) * 60_000
		for i := range rapid.IntRange(1, 3).Draw(rt, "services") {
			s := &workload.Service{Swaps: int32(rapid.IntRange(1, 3).Draw(rt, "swaps")), SwapEvery: rapid.SampledFrom([]workload.Span{20_000, 60_000, 300_000}).Draw(rt, "every"),
				Demand: workload.Curve{Step: 60_000, Values: rapid.SliceOfN(rapid.Int32Range(0, 4), 2, 30).Draw(rt, "demand"), Repeat: true}}
			s.Demand.Values[0] = max(1, s.Demand.Values[0])
			w.Jobs = append(w.Jobs, workload.Job{ID: string(rune('a' + i)), Kind: workload.KindRealtime, Estimate: life, Service: s,
				Need: workload.Need{Tasks: s.Demand.Peak(), GPUs: 1}})
			w.Actual = append(w.Actual, workload.Actual{Duration: life, Start: workload.Unknown, End: workload.Unknown})
		}
		for i := range rapid.IntRange(0, 12).Draw(rt, "jobs") {
			d := workload.Span(rapid.IntRange(1, 20).Draw(rt, "minutes")) * 60_000
			w.Jobs = append(w.Jobs, workload.Job{ID: "j" + string(rune('a'+i)), Submit: workload.Time(rapid.IntRange(0, 30).Draw(rt, "at")) * 60_000,
				Estimate: d, Need: workload.Need{GPUs: int32(rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "gpus"))}})
			w.Actual = append(w.Actual, workload.Actual{Duration: d, Start: workload.Unknown, End: workload.Unknown})
		}
		w.Sort()
		spec := cluster.Uniform("two", 2, 8)
		_, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: &own,
			Forecast:  sim.Forecast{Error: rapid.SampledFrom([]float64{0, 0.3}).Draw(rt, "error"), Seed: 1},
			Observers: []sim.Observer{&swaps{t: fatal{t, rt}, work: w, has: map[int32][]cluster.Grant{}, at: map[int32][]workload.Time{}}, newLegal(fatal{t, rt}, spec, w)}})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// Maintenance that is known in advance: nothing starts that it would end, the rest waits for
// a node that stays; a policy that does not look ahead loses the run.
func TestPlannedMaintenance(t *testing.T) {
	w := &workload.Workload{Name: "two"}
	for _, id := range []string{"a", "b"} {
		w.Jobs = append(w.Jobs, workload.Job{ID: id, Need: workload.Need{GPUs: 4}, Estimate: 3 * workload.Hour})
		w.Actual = append(w.Actual, workload.Actual{Duration: 3 * workload.Hour, Start: workload.Unknown, End: workload.Unknown})
	}
	spec := cluster.Uniform("two", 2, 4)
	node := spec.Nodes[1].Name
	spec.Outages = []cluster.Outage{{At: 2 * workload.Hour, Node: node, Change: "down", Planned: true}, {At: 6 * workload.Hour, Node: node, Change: "up", Planned: true}}
	for _, c := range []struct {
		policy   string
		start    [2]workload.Time
		failures int32
	}{{"horizon", [2]workload.Time{0, 3 * workload.Hour}, 0}, {"fifo", [2]workload.Time{0, 0}, 1}} {
		res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: shipped(t, c.policy), Assume: sim.Assumptions{Checkpoint: -1}})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.start {
			if got := res.Jobs[i].FirstStart; got != want {
				t.Errorf("%s: job %d starts at %d, want %d", c.policy, i, got, want)
			}
		}
		if n := res.Jobs[0].NodeFailures + res.Jobs[1].NodeFailures; n != c.failures {
			t.Errorf("%s: %d runs are lost to the maintenance, want %d", c.policy, n, c.failures)
		}
	}
}

// Where estimates hold, no job is hit by maintenance that a plan reaches: neither those that are
// planned, nor those that start on what is left.
func TestPlannedMaintenanceHitsNobody(t *testing.T) {
	long := *shipped(t, "horizon").Horizon
	long.Step, long.Steps = 1000, 400
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		if x.spec.Count > 0 {
			return
		}
		x.assume = sim.Assumptions{Grace: x.assume.Grace}
		for i := range x.work.Jobs {
			x.work.Jobs[i].Contract.CheckpointInterval = 0
			if x.work.Jobs[i].Service == nil {
				x.work.Jobs[i].Estimate = max(x.work.Actual[i].Duration, 1)
			}
		}
		for i := range x.spec.Outages {
			x.spec.Outages[i].Planned = true
		}
		own, h := *shipped(t, "horizon"), long
		h.PowerOfTwo, h.Interrupt = rapid.Bool().Draw(rt, "power of two"), rapid.Bool().Draw(rt, "interrupt")
		own.Horizon = &h
		res, ok := x.run(rt, &own)
		for i := range x.work.Jobs {
			if ok && x.work.Jobs[i].Service == nil && res.Jobs[i].NodeFailures > 0 {
				rt.Errorf("%s (%s) is hit by maintenance", x.work.Jobs[i].ID, &x.work.Jobs[i].Need)
			}
		}
	})
}

// A service leaves a node before its maintenance, at the pace of its swap limit.
func TestServiceLeavesBeforeMaintenance(t *testing.T) {
	life := 40 * workload.Hour
	w := &workload.Workload{Name: "one", Jobs: []workload.Job{{ID: "s", Kind: workload.KindRealtime, Need: workload.Need{Tasks: 3, GPUs: 1}, Estimate: life,
		Service: &workload.Service{Demand: workload.Curve{Step: workload.Hour, Values: []int32{3}}, Swaps: 2, SwapEvery: workload.Hour}}},
		Actual: []workload.Actual{{Duration: life, Start: workload.Unknown, End: workload.Unknown}}}
	spec := cluster.Uniform("two", 2, 4)
	for i, node := range spec.Nodes {
		if i == 1 { // where it begins, from the end of the row, before any plan reaches that far
			spec.Outages = []cluster.Outage{{At: 30*workload.Hour + 30*workload.Minute, Node: node.Name, Change: "down", Planned: true}}
		}
	}
	watch := &swaps{t: t, work: w, has: map[int32][]cluster.Grant{}, at: map[int32][]workload.Time{}}
	res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: shipped(t, "horizon"), Observers: []sim.Observer{watch, newLegal(t, spec, w)}})
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Jobs[0].NodeFailures; n != 0 {
		t.Errorf("the service is hit by the maintenance that it could have left")
	}
}
