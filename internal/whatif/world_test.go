package whatif

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// policies are the shipped ones that draw nothing.
func policies() (out []*policy.Policy) {
	for _, n := range policy.Names() {
		p, _ := policy.Shipped(n)
		if p.Placement.By != policy.Random && p.Estimates.Model != policy.EstimateHelios {
			out = append(out, p)
		}
	}
	return out
}

func drawCluster(t *rapid.T) *cluster.Spec {
	if rapid.IntRange(0, 4).Draw(t, "counted") == 0 {
		return &cluster.Spec{Name: "pool", Count: int32(rapid.IntRange(2, 24).Draw(t, "pool"))}
	}
	s := &cluster.Spec{Name: "nodes", Levels: []string{"rack"}}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		s.Nodes = append(s.Nodes, cluster.Node{Name: "n" + strconv.Itoa(i), GPUs: rapid.SampledFrom([]int32{2, 4, 8}).Draw(t, "gpus"),
			GPUType: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "type"), Places: []string{"r" + strconv.Itoa(i/2)}})
	}
	for range rapid.IntRange(0, 3).Draw(t, "outages") {
		n := rapid.SampledFrom(s.Nodes).Draw(t, "node").Name
		at := workload.Time(rapid.IntRange(0, 100).Draw(t, "at")) * 1000
		pair := rapid.SampledFrom([][2]string{{"down", "up"}, {"drain", "resume"}}).Draw(t, "change")
		s.Outages = append(s.Outages, cluster.Outage{At: at, Node: n, Change: pair[0]}, cluster.Outage{At: at + 30_000, Node: n, Change: pair[1]})
	}
	slices.SortStableFunc(s.Outages, func(a, b cluster.Outage) int { return int(a.At - b.At) })
	return s
}

func drawWorkload(t *rapid.T, spec *cluster.Spec) *workload.Workload {
	w := &workload.Workload{Name: "random", Epoch: workload.Unknown}
	sec := func(lo, hi int, name string) workload.Span {
		return workload.Span(rapid.IntRange(lo, hi).Draw(t, name)) * workload.Second
	}
	for i := range rapid.IntRange(1, 40).Draw(t, "jobs") {
		j := workload.Job{ID: "j" + strconv.Itoa(i), User: rapid.SampledFrom([]string{"u", "v"}).Draw(t, "user"), Team: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "team"),
			Submit: sec(0, 60, "submit"), Priority: int64(rapid.IntRange(0, 2).Draw(t, "priority"))}
		j.Need.GPUs = int32(rapid.SampledFrom([]int{1, 1, 2, 3, 4, 8, 12}).Draw(t, "gpus"))
		a := workload.Actual{Duration: sec(0, 40, "duration"), Start: workload.Unknown, End: workload.Unknown}
		if f := rapid.IntRange(0, 4).Draw(t, "estimate"); f > 0 {
			j.Estimate = max(a.Duration*workload.Span(f)/2, 1)
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			j.Need = workload.Need{Tasks: 2, GPUs: 1, MinTasks: 1, MaxTasks: 4, PerNode: 2}
		case 1:
			j.Need = workload.Need{GPUs: 1, Milli: 250}
		case 2:
			a.CancelAfter = sec(1, 30, "patience")
		case 3:
			j.Limit = sec(1, 60, "limit")
		case 4:
			if i > 0 {
				j.After = []workload.Dependency{{Job: "j" + strconv.Itoa(rapid.IntRange(0, i-1).Draw(t, "on")), When: workload.Condition(rapid.IntRange(0, 2).Draw(t, "when"))}}
			}
		case 5:
			if j.Kind = workload.KindInteractive; a.Duration > 2000 {
				a.IdleAfter, a.IdleFor = a.Duration/2, sec(0, 20, "idle")
			}
		case 6:
			j.Speed = []workload.Speed{{GPUType: "B", Milli: 1500}}
		case 7:
			j.Contract.NotResumable = true
		}
		if rapid.IntRange(0, 2).Draw(t, "contract") == 0 {
			j.Contract.HasMinRuntime, j.Contract.MinRuntime = true, sec(0, 10, "min runtime")
		}
		j.Contract.CheckpointInterval = workload.Span(rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "checkpoint")) * 1000
		if rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
			a.Outcome = workload.OutcomeFailed
		}
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
	}
	if spec.Count == 0 && rapid.IntRange(0, 2).Draw(t, "services") == 0 {
		life := sec(1, 100, "life")
		s := &workload.Service{Demand: workload.Curve{Step: 7000, Values: rapid.SliceOfN(rapid.Int32Range(1, 4), 1, 8).Draw(t, "demand"), Repeat: rapid.Bool().Draw(t, "repeat")}}
		w.Jobs = append(w.Jobs, workload.Job{ID: "s", Kind: workload.KindRealtime, Team: "x", Submit: sec(0, 60, "from"), Need: workload.Need{Tasks: s.Demand.Peak(), GPUs: 1}, Estimate: life, Service: s})
		w.Actual = append(w.Actual, workload.Actual{Duration: life, Start: workload.Unknown, End: workload.Unknown})
	}
	w.Sort()
	return w
}

// options draws a simulation.
func options(t *rapid.T, p *policy.Policy) sim.Options {
	o := sim.Options{Cluster: drawCluster(t), Policy: p}
	o.Workload = drawWorkload(t, o.Cluster)
	o.Assume = sim.Assumptions{Checkpoint: workload.Span(rapid.SampledFrom([]int{-1, 0, 5000}).Draw(t, "assume")),
		RestartCost: workload.Span(rapid.IntRange(0, 3).Draw(t, "restart")) * 1000, Grace: workload.Span(rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "grace")) * 1000,
		StartLatency: workload.Span(rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "latency")) * 1000}
	return o
}

// record runs a simulation and returns its journal, false where the policy means nothing on
// the cluster.
func record(t *rapid.T, o sim.Options) ([]byte, bool) {
	if _, err := engine.New(o.Cluster, o.Policy, engine.Defaults{}); err != nil {
		return nil, false
	}
	var out bytes.Buffer
	log, err := journal.NewWriter(&out, journal.HeaderOf(&o, "test"))
	if err != nil {
		t.Fatal(err)
	}
	o.Observers = append(o.Observers, log)
	if _, err := sim.Run(context.Background(), o); err != nil {
		t.Fatalf("%s: %v", o.Policy.Name, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), true
}

// starts lists start actions by what they say, from a time on.
type starts struct {
	ids  func(n int32) string
	from workload.Time
	list []string
}

func (s *starts) Fact(f *fact.Fact) {
	if f.Kind == fact.JobFinished || f.Kind == fact.JobStopped || f.Kind == fact.JobCancelled {
		s.add(f.At, f.Kind.String(), f.Job, f.Attempt)
	}
}
func (s *starts) Instant(*sim.Gauge) {}
func (s *starts) Action(a *fact.Action) {
	if a.Do == fact.Start {
		s.add(a.At, "start", a.Job, a.Attempt)
	}
}

func (s *starts) add(at workload.Time, what string, n, attempt int32) {
	if at > s.from {
		s.list = append(s.list, fmt.Sprintf("%d %s %s try %d", at, what, s.ids(n), attempt))
	}
}

func known(w *workload.Workload) truth {
	return func(id string) (workload.Actual, bool) {
		i := slices.IndexFunc(w.Jobs, func(j workload.Job) bool { return j.ID == id })
		return w.Actual[i], true
	}
}

func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d of %d and %d: %s, and in the what-if %s", i, len(a), len(b), x, y)
		}
	}
	return ""
}

// at is the time of a line of starts.
func at(line string) workload.Time {
	text, _, _ := strings.Cut(line, " ")
	v, _ := strconv.ParseInt(text, 10, 64)
	return v
}
