package sim_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// world is a random cluster with a random workload.
type world struct {
	spec   *cluster.Spec
	work   *workload.Workload
	assume sim.Assumptions
	faults sim.Faults
}

func drawCluster(t *rapid.T) *cluster.Spec {
	if rapid.IntRange(0, 4).Draw(t, "counted") == 0 {
		return &cluster.Spec{Name: "pool", Count: int32(rapid.IntRange(1, 24).Draw(t, "pool"))}
	}
	s := &cluster.Spec{Name: "nodes", Levels: []string{"rack"}}
	cores := rapid.Bool().Draw(t, "cores")
	types := []string{"A", "B"}[:rapid.IntRange(1, 2).Draw(t, "types")]
	for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		n := cluster.Node{Name: "n" + strconv.Itoa(i), GPUs: rapid.SampledFrom([]int32{2, 4, 8}).Draw(t, "gpus"),
			GPUType: rapid.SampledFrom(types).Draw(t, "type"), Places: []string{"r" + strconv.Itoa(i/2)}}
		if cores {
			n.CPU, n.Memory = 16000, 65536
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

func drawWorkload(t *rapid.T, spec *cluster.Spec, rich bool) *workload.Workload {
	w := &workload.Workload{Name: "random"}
	n := rapid.IntRange(1, 40).Draw(t, "jobs")
	for i := range n {
		j := workload.Job{ID: "j" + strconv.Itoa(i), Team: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "team"),
			Submit: workload.Time(rapid.IntRange(0, 60).Draw(t, "submit")) * 1000, Priority: int64(rapid.IntRange(0, 2).Draw(t, "priority"))}
		j.Need.GPUs = int32(rapid.SampledFrom([]int{1, 1, 2, 3, 4, 8, 12, 16}).Draw(t, "gpus"))
		d := workload.Span(rapid.IntRange(0, 40).Draw(t, "duration")) * 1000
		j.Estimate = max(d, 1)
		if rich {
			drawRich(t, &j, i, spec)
			if f := rapid.IntRange(1, 4).Draw(t, "error"); f > 1 {
				j.Estimate = max(d*workload.Span(f)/2, 1)
			}
		}
		a := workload.Actual{Duration: d, Start: workload.Unknown, End: workload.Unknown}
		if rich && rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
			a.Outcome = workload.OutcomeFailed
		}
		if rich && rapid.IntRange(0, 9).Draw(t, "cancel") == 0 {
			a.CancelAfter = workload.Span(rapid.IntRange(1, 30).Draw(t, "patience")) * 1000
		}
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
	}
	if rich && spec.Count == 0 && rapid.IntRange(0, 2).Draw(t, "services") == 0 {
		drawServices(t, w)
	}
	w.Sort()
	return w
}

// drawServices adds real-time applications.
func drawServices(t *rapid.T, w *workload.Workload) {
	for i := range rapid.IntRange(1, 2).Draw(t, "how many") {
		life := workload.Span(rapid.IntRange(1, 100).Draw(t, "life")) * 1000
		s := &workload.Service{Demand: workload.Curve{Step: 7000, Values: rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 8).Draw(t, "demand"), Repeat: rapid.Bool().Draw(t, "repeat")}}
		if s.Demand.Peak() == 0 {
			s.Demand.Values[0] = 1
		}
		if rapid.Bool().Draw(t, "capped") {
			s.Swaps, s.SwapEvery = int32(rapid.IntRange(1, 3).Draw(t, "swaps")), 10_000
		}
		if rapid.Bool().Draw(t, "floor") {
			s.Min = workload.Curve{Step: 1000, Values: []int32{1}}
		}
		j := workload.Job{ID: "s" + strconv.Itoa(i), Kind: workload.KindRealtime, Team: "x", Submit: workload.Time(rapid.IntRange(0, 60).Draw(t, "from")) * 1000,
			Need: workload.Need{Tasks: s.Demand.Peak(), GPUs: 1}, Estimate: life, Service: s}
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, workload.Actual{Duration: life, Start: workload.Unknown, End: workload.Unknown})
	}
}

func drawRich(t *rapid.T, j *workload.Job, i int, spec *cluster.Spec) {
	n := &j.Need
	switch rapid.IntRange(0, 9).Draw(t, "shape") {
	case 0:
		n.Tasks, n.GPUs = int32(rapid.IntRange(1, 4).Draw(t, "tasks")), int32(rapid.IntRange(1, 4).Draw(t, "per task"))
	case 1:
		n.GPUs, n.Milli, n.Tasks = 1, int32(rapid.SampledFrom([]int{100, 250, 500, 900}).Draw(t, "milli")), int32(rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "parts"))
	case 2:
		n.Span = true
	case 3:
		if spec.Count == 0 {
			n.Tasks, n.GPUs, n.Within = int32(rapid.IntRange(1, 3).Draw(t, "tasks")), 2, "rack"
		}
	case 4:
		n.Tasks, n.GPUs, n.MinTasks, n.MaxTasks = 2, 1, 1, int32(rapid.IntRange(2, 5).Draw(t, "max"))
	case 5:
		if spec.Count == 0 {
			n.GPUTypes = rapid.SampledFrom([]string{"A", "B", "A|B"}).Draw(t, "types")
		}
	}
	if spec.Count == 0 && spec.Nodes[0].CPU > 0 {
		if rapid.IntRange(0, 5).Draw(t, "cores only") == 0 {
			*n = workload.Need{Tasks: int32(rapid.IntRange(1, 3).Draw(t, "tasks")), CPU: int64(rapid.IntRange(1, 16).Draw(t, "cores")) * 1000,
				PerNode: int32(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "per node"))}
			return
		}
		n.CPU = int64(rapid.SampledFrom([]int{0, 1000, 4000}).Draw(t, "cpu"))
		n.Memory = int64(rapid.SampledFrom([]int{0, 1024, 20000}).Draw(t, "memory"))
	}
	if n.Tasks > 0 {
		n.PerNode = int32(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "per node"))
	}
	if i > 0 && rapid.IntRange(0, 5).Draw(t, "dependent") == 0 {
		j.After = []workload.Dependency{{Job: "j" + strconv.Itoa(rapid.IntRange(0, i-1).Draw(t, "on")),
			When: workload.Condition(rapid.IntRange(0, 2).Draw(t, "when"))}}
	}
	if rapid.IntRange(0, 2).Draw(t, "contract") == 0 {
		j.Contract.HasMinRuntime, j.Contract.MinRuntime = true, workload.Span(rapid.IntRange(0, 10).Draw(t, "min runtime"))*1000
	}
	j.Contract.CheckpointInterval = workload.Span(rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "checkpoint")) * 1000
}

func drawWorld(t *rapid.T, rich bool) world {
	x := world{spec: drawCluster(t)}
	x.work = drawWorkload(t, x.spec, rich)
	if !rich {
		return x
	}
	x.assume = sim.Assumptions{Checkpoint: workload.Span(rapid.SampledFrom([]int{-1, 0, 5000}).Draw(t, "assume")),
		RestartCost:  workload.Span(rapid.IntRange(0, 3).Draw(t, "restart")) * 1000,
		Grace:        workload.Span(rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "grace")) * 1000,
		StartLatency: workload.Span(rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "latency")) * 1000}
	if x.spec.Count == 0 {
		for range rapid.IntRange(0, 4).Draw(t, "outages") {
			n := rapid.SampledFrom(x.spec.Nodes).Draw(t, "node").Name
			at := workload.Time(rapid.IntRange(0, 100).Draw(t, "at")) * 1000
			pair := rapid.SampledFrom([][2]string{{"down", "up"}, {"drain", "resume"}}).Draw(t, "change")
			x.spec.Outages = append(x.spec.Outages, cluster.Outage{At: at, Node: n, Change: pair[0]},
				cluster.Outage{At: at + 30_000, Node: n, Change: pair[1]})
		}
		slices.SortStableFunc(x.spec.Outages, func(a, b cluster.Outage) int { return int(a.At - b.At) })
	}
	return x
}

func (x *world) run(t *rapid.T, p *policy.Policy, obs ...sim.Observer) (*sim.Result, bool) {
	return x.probed(t, p, nil, obs...)
}

func (x *world) probed(t *rapid.T, p *policy.Policy, probe func(workload.Time, *engine.Engine), obs ...sim.Observer) (*sim.Result, bool) {
	res, err := sim.Run(context.Background(), sim.Options{Workload: x.work, Cluster: x.spec, Policy: p, Assume: x.assume, Faults: x.faults, Observers: obs, Probe: probe})
	if err != nil {
		if _, bad := engine.New(x.spec, p, engine.Defaults{}); bad != nil {
			return nil, false // the policy means nothing on this cluster
		}
		t.Fatalf("%s: %v", p.Name, err)
	}
	return res, true
}

// allPolicies are the shipped ones.
func allPolicies(t testing.TB) []*policy.Policy {
	var out []*policy.Policy
	for _, n := range policy.Names() {
		p, ok := policy.Shipped(n)
		if !ok {
			t.Fatalf("no policy %s", n)
		}
		out = append(out, p)
		if p.Horizon != nil {
			stops, h := *p, *p.Horizon
			h.Interrupt, h.Step = true, 5000 // steps as short as the jobs of these tests
			stops.Name, stops.Horizon = p.Name+"-interrupt", &h
			out = append(out, &stops)
		}
	}
	return out
}

// TestEveryRunIsLegal: under every shipped policy, with node failures, errors in
// the estimates, parts of GPUs, gangs, elastic jobs and dependencies, no GPU is
// over-used, gangs are whole, nothing starts early, and every job that can end does.
func TestEveryRunIsLegal(t *testing.T) {
	policies := allPolicies(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		p := rapid.SampledFrom(policies).Draw(rt, "policy")
		res, ok := x.run(rt, p, newLegal(fatal{t, rt}, x.spec, x.work))
		if !ok {
			return
		}
		for i := range res.Jobs {
			switch j := &res.Jobs[i]; j.State {
			case sim.Ended:
				want := x.work.Actual[i].Duration
				if need := &x.work.Jobs[i].Need; need.MaxTasks == 0 && x.work.Jobs[i].Service == nil && j.Ran != want {
					rt.Fatalf("%s: job %d ran %d of %d", p.Name, i, j.Ran, want)
				}
			case sim.Refused, sim.NeverReady, sim.Withdrawn:
			default:
				if !x.waitsForRefused(res, i) {
					rt.Fatalf("%s: job %d (%s) is left in state %d", p.Name, i, &x.work.Jobs[i].Need, j.State)
				}
			}
		}
	})
}

// waitsForRefused: a job behind one that never runs waits for ever, by right.
func (x *world) waitsForRefused(res *sim.Result, i int) bool {
	for _, a := range x.work.Jobs[i].After {
		k := slices.IndexFunc(x.work.Jobs, func(j workload.Job) bool { return j.ID == a.Job })
		if s := res.Jobs[k].State; s == sim.Refused || s == sim.NeverReady || x.waitsForRefused(res, k) {
			return true
		}
	}
	return false
}

// fatal lets the checker report through rapid.
type fatal struct {
	testing.TB
	rt *rapid.T
}

func (f fatal) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }

// digest hashes everything a run tells.
type digest struct{ lines []string }

func (d *digest) Fact(f *fact.Fact) {
	x := *f
	x.Submitted, x.Budgets = nil, nil
	d.lines = append(d.lines, fmt.Sprintf("F%+v", x))
}
func (d *digest) Action(a *fact.Action) { d.lines = append(d.lines, fmt.Sprintf("A%+v", *a)) }
func (d *digest) Instant(g *sim.Gauge)  { d.lines = append(d.lines, fmt.Sprintf("G%+v", *g)) }
func (d *digest) sum() [32]byte         { return sha256.Sum256([]byte(fmt.Sprint(d.lines))) }

// TestSameInputSameBytes: a run depends on nothing but its input.
func TestSameInputSameBytes(t *testing.T) {
	policies := allPolicies(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		p := rapid.SampledFrom(policies).Draw(rt, "policy")
		var a, b digest
		if _, ok := x.run(rt, p, &a); !ok {
			return
		}
		x.run(rt, p, &b)
		if a.sum() != b.sum() {
			for i := range a.lines {
				if i >= len(b.lines) || a.lines[i] != b.lines[i] {
					rt.Fatalf("%s: line %d differs:\n%s\n%s", p.Name, i, a.lines[i], b.lines[i])
				}
			}
		}
	})
}

// TestOrderOfEqualFacts: with one pass per time stamp, the order in which equal
// jobs of one instant are listed changes nothing but which of them is which.
func TestOrderOfEqualFacts(t *testing.T) {
	policies := allPolicies(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, false)
		p := rapid.SampledFrom(policies).Draw(rt, "policy")
		if p.PerEvent {
			return
		}
		// Jobs that end at one instant are told by number; swapping the numbers of
		// two equal jobs that are submitted together swaps the order of their ends.
		k := rapid.IntRange(0, len(x.work.Jobs)-1).Draw(rt, "twin")
		twin, act := x.work.Jobs[k], x.work.Actual[k]
		twin.ID = "twin"
		x.work.Jobs = slices.Insert(x.work.Jobs, k+1, twin)
		x.work.Actual = slices.Insert(x.work.Actual, k+1, act)
		a, ok := x.run(rt, p)
		if !ok {
			return
		}
		x.work.Jobs[k], x.work.Jobs[k+1] = x.work.Jobs[k+1], x.work.Jobs[k]
		b, _ := x.run(rt, p)
		for i := range a.Jobs {
			if a.Jobs[i] != b.Jobs[i] {
				rt.Fatalf("%s: job %d: %+v, after a swap of equals %+v", p.Name, i, a.Jobs[i], b.Jobs[i])
			}
		}
	})
}

// TestNoIdleGPUThatCouldBeUsed: after every instant of a skipping policy, no
// waiting job fits what is free (held GPUs apart).
func TestNoIdleGPUThatCouldBeUsed(t *testing.T) {
	names := []string{"fifo-skip", "sjf-skip", "priority", "las", "srtf", "srsf", "place-topology", "place-contiguous"}
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		p, _ := policy.Shipped(rapid.SampledFrom(names).Draw(rt, "policy"))
		probe := func(now workload.Time, e *engine.Engine) {
			if n, ok := e.CouldStart(); ok {
				rt.Fatalf("%s at %d: job %d (%s) waits though it fits", p.Name, now, n, &x.work.Jobs[n].Need)
			}
		}
		var d digest
		defer func() {
			if rt.Failed() {
				for _, l := range d.lines {
					rt.Log(l)
				}
			}
		}()
		_, err := sim.Run(context.Background(), sim.Options{Workload: x.work, Cluster: x.spec, Policy: p, Assume: x.assume, Probe: probe, Observers: []sim.Observer{&d}})
		if err != nil {
			if _, bad := engine.New(x.spec, p, engine.Defaults{}); bad == nil {
				rt.Fatalf("%s: %v", p.Name, err)
			}
		}
	})
}

// queue follows which jobs wait and which have a date.
type queue struct {
	waiting map[int32]bool
	date    map[int32]workload.Time
}

func (q *queue) Instant(*sim.Gauge) {}
func (q *queue) Fact(f *fact.Fact) {
	if f.Kind == fact.JobSubmitted {
		q.waiting[f.Job] = true
	}
}
func (q *queue) Action(a *fact.Action) {
	switch a.Do {
	case fact.Reserve:
		q.date[a.Job] = a.Until
	case fact.Release:
		delete(q.date, a.Job)
	case fact.Start:
		delete(q.date, a.Job)
		delete(q.waiting, a.Job)
	case fact.Refuse:
		delete(q.waiting, a.Job)
	}
}

// TestBackfillUsesWhatItMay: under EASY in one pool, no job waits that fits now and
// would be gone by the head's date; where nobody has a date, none waits that fits.
// Under conservative backfill a job that fits now and still waits has a date of its own.
func TestBackfillUsesWhatItMay(t *testing.T) {
	for _, name := range []string{"easy", "conservative"} {
		p, _ := policy.Shipped(name)
		rapid.Check(t, func(rt *rapid.T) {
			x := drawWorld(rt, false)
			for i := range x.spec.Nodes {
				x.spec.Nodes[i].GPUType = "A"
			}
			q := &queue{waiting: map[int32]bool{}, date: map[int32]workload.Time{}}
			probe := func(now workload.Time, e *engine.Engine) {
				head := workload.Never
				for _, d := range q.date {
					head = min(head, d)
				}
				for n := range q.waiting {
					if !e.Fits(n) {
						continue
					}
					_, dated := q.date[n]
					switch {
					case name == "conservative" && !dated:
						rt.Fatalf("at %d: job %d fits, waits and has no date", now, n)
					case name == "easy" && !dated && now+x.work.Jobs[n].Estimate <= head:
						rt.Fatalf("at %d: job %d fits and would be gone by %d, but waits", now, n, head)
					}
				}
			}
			_, err := sim.Run(context.Background(), sim.Options{Workload: x.work, Cluster: x.spec, Policy: p, Probe: probe, Observers: []sim.Observer{q}})
			if err != nil {
				rt.Fatal(err)
			}
		})
	}
}

// promises watches the dates that jobs are given.
type promises struct {
	t    *rapid.T
	last map[int32]workload.Time
}

func (p *promises) Fact(*fact.Fact)    {}
func (p *promises) Instant(*sim.Gauge) {}
func (p *promises) Action(a *fact.Action) {
	switch a.Do {
	case fact.Reserve:
		if old, ok := p.last[a.Job]; ok && a.Until > old {
			p.t.Fatalf("at %d: job %d was promised %d, now %d", a.At, a.Job, old, a.Until)
		}
		p.last[a.Job] = a.Until
	case fact.Start:
		if date, ok := p.last[a.Job]; ok && a.At > date {
			p.t.Fatalf("job %d was promised %d and starts at %d", a.Job, date, a.At)
		}
	}
}

// TestConservativeKeepsPromises: where estimates hold and nothing fails, no date
// that conservative backfill gives ever moves back, and it is kept. With
// estimates that are too long, dates may only move forward.
func TestConservativeKeepsPromises(t *testing.T) {
	p, _ := policy.Shipped("conservative")
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, false)
		if rapid.Bool().Draw(rt, "too long") {
			for i := range x.work.Jobs {
				x.work.Jobs[i].Estimate *= workload.Span(rapid.IntRange(1, 5).Draw(rt, "factor"))
			}
		}
		x.run(rt, p, &promises{t: rt, last: map[int32]workload.Time{}}, newLegal(fatal{t, rt}, x.spec, x.work))
	})
}

// TestEASYKeepsTheHeadsDate: the same for the head of EASY, in a cluster of one
// pool. (With several, a job ahead of the head of one pool may come to it from another.)
func TestEASYKeepsTheHeadsDate(t *testing.T) {
	p, _ := policy.Shipped("easy")
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, false)
		for i := range x.spec.Nodes {
			x.spec.Nodes[i].GPUType = "A"
		}
		x.run(rt, p, &promises{t: rt, last: map[int32]workload.Time{}}, newLegal(fatal{t, rt}, x.spec, x.work))
	})
}
