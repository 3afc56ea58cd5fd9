package journal

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// someJobs draws a workload in which every field of a job is used by some job.
func someJobs(seed uint64, n int, gangs bool) *workload.Workload {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &workload.Workload{Name: fmt.Sprintf("w%d", seed), Epoch: workload.Unknown}
	at := int64(0)
	for i := range n {
		at += int64(r.IntN(4)) * 30 * workload.Second
		j := workload.Job{ID: fmt.Sprintf("j%d", i), User: fmt.Sprintf("u%d", r.IntN(5)), Team: []string{"vision", "speech \"x\"", "größe"}[r.IntN(3)],
			Submit: at, Priority: int64(r.IntN(4)), Need: workload.Need{GPUs: 1 << r.IntN(5)}}
		a := workload.Actual{Duration: int64(1+r.IntN(600)) * workload.Second, Outcome: workload.Outcome(r.IntN(2)), Start: workload.Unknown, End: workload.Unknown}
		switch r.IntN(8) {
		case 0:
			j.Estimate = a.Duration * int64(1+r.IntN(3))
		case 1:
			j.Limit = a.Duration/2 + 1
		case 2:
			j.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: int64(r.IntN(2)) * workload.Minute, Grace: int64(r.IntN(2)) * workload.Second}
		case 3:
			j.Contract = workload.Contract{CheckpointInterval: workload.Minute, RestartCost: 10 * workload.Second, NotResumable: i%2 == 0}
		case 4:
			j.Labels = map[string]string{"b": "2", "a\t": "1"}
			j.Deadline = at + workload.Hour
			j.Kind = workload.KindQuantization
		case 5:
			a.CancelAfter = int64(r.IntN(300)) * workload.Second
		case 6:
			if i > 3 {
				j.After = []workload.Dependency{{Job: fmt.Sprintf("j%d", i-1-r.IntN(3)), When: workload.Condition(r.IntN(3))}, {Job: "j0"}}
			}
		case 7:
			if gangs {
				j.Need = workload.Need{Tasks: 1 + int32(r.IntN(3)), GPUs: 2, CPU: 2000, Memory: 512, GPUTypes: "V100|A100", Within: "rack"}
				if r.IntN(2) == 0 {
					j.Need = workload.Need{Tasks: 2, MinTasks: 1, MaxTasks: 4, GPUs: 1, PerNode: 2}
				}
				if r.IntN(3) == 0 {
					j.Need = workload.Need{GPUs: 1, Milli: 250}
				}
				j.Speed = []workload.Speed{{GPUType: "A100", Milli: 1500}}
			}
		}
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
	}
	return w
}

// withServices adds two real-time applications: one that needs what it declares, and one
// that needs something else and is gone before the last job.
func withServices(w *workload.Workload) *workload.Workload {
	m := workload.Minute
	day := workload.Curve{Start: -5 * m, Step: 4 * m, Values: []int32{1, 3, 2, 5, 2}, Repeat: true}
	other := workload.Curve{Start: 2 * m, Step: 90 * workload.Second, Values: []int32{2, 0, 4}}
	service := func(id string, at workload.Time, life workload.Span, tasks int32, s workload.Service) workload.Job {
		return workload.Job{ID: id, Team: "vision", Kind: workload.KindRealtime, Submit: at, Estimate: life, Priority: 2,
			Need: workload.Need{Tasks: tasks, GPUs: 1}, Contract: workload.Contract{HasMinRuntime: true, MinRuntime: life}, Service: &s}
	}
	w.Jobs = append(w.Jobs,
		service("chat", 0, 50*m, 5, workload.Service{Demand: day, Min: workload.Curve{Start: -5 * m, Step: 4 * m, Values: []int32{1}}, Swaps: 2, SwapEvery: 4 * m, Penalty: 9}),
		service("search", 2*m, 20*m, 4, workload.Service{Demand: workload.Curve{Step: workload.Hour, Values: []int32{2}}}))
	w.Actual = append(w.Actual, workload.Actual{Duration: 50 * m, Start: workload.Unknown, End: workload.Unknown},
		workload.Actual{Duration: 20 * m, Demand: &other, Start: workload.Unknown, End: workload.Unknown})
	w.Sort()
	return w
}

// suits tells whether a policy can run on the cluster.
func suits(p *policy.Policy, c *cluster.Spec) bool {
	return len(c.Nodes) > 0 || !p.Placement.By.NeedsNodes() && p.Horizon == nil
}

// lab is a cluster of two GPU types with racks, and nodes that come and go.
func lab(outages bool) *cluster.Spec {
	s := &cluster.Spec{Name: "lab", Levels: []string{"rack"}, PUE: 1.25, Currency: "EUR", Types: []cluster.Type{{Name: "A100", PricePerHour: 2.5, IdleWatts: 50, ActiveWatts: 400}}}
	for i := range 6 {
		n := cluster.Node{Name: fmt.Sprintf("n%02d", i+8), GPUType: "V100", GPUs: 8, CPU: 64_000, Memory: 1 << 18, Places: []string{fmt.Sprintf("r%d", i/2)}}
		if i > 3 {
			n.GPUType = "A100"
		}
		s.Nodes = append(s.Nodes, n)
	}
	if outages {
		m := workload.Minute
		s.Outages = []cluster.Outage{{At: 5 * m, Node: "n08", Change: "down"}, {At: 9 * m, Node: "n09", Change: "drain"}, {At: 20 * m, Node: "n09", Change: "resume"},
			{At: 25 * m, Node: "n08", Change: "up"}, {At: 30 * m, Node: "n12", Change: "down"}, {At: 44 * m, Node: "n12", Change: "up"}}
	}
	return s
}

func shipped(t testing.TB, ref string) *policy.Policy {
	t.Helper()
	p, err := policy.Resolve(ref)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// record runs a simulation and returns its journal and the writer's hash.
func record(t testing.TB, o sim.Options) ([]byte, string) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, HeaderOf(&o, "test"))
	if err != nil {
		t.Fatal(err)
	}
	o.Observers = []sim.Observer{w}
	if _, err := sim.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.Hash()
}

func reader(t testing.TB, data []byte) *Reader {
	t.Helper()
	r, err := NewReader("run.jsonl", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
