package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// nodeFacts collects what happens to nodes.
type nodeFacts []fact.Fact

func (n *nodeFacts) Action(*fact.Action) {}
func (n *nodeFacts) Instant(*sim.Gauge)  {}
func (n *nodeFacts) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		*n = append(*n, *f)
	}
}

func (n nodeFacts) count(k fact.Kind) (c int) {
	for i := range n {
		if n[i].Kind == k {
			c++
		}
	}
	return c
}

// oneJob is a workload of one job that saves its work every minute.
func oneJob(gpus int32, d workload.Span) *workload.Workload {
	w := &workload.Workload{Name: "one job", Jobs: []workload.Job{{ID: "a", Estimate: d}},
		Actual: []workload.Actual{{Duration: d, Start: workload.Unknown, End: workload.Unknown}}}
	w.Jobs[0].Need.GPUs = gpus
	w.Jobs[0].Contract.CheckpointInterval = workload.Minute
	return w
}

// TestPlannedOutagesDrawNoFailures: three planned outages add three times that a
// node goes down, give or take one that is hidden by a failure: they start no
// failures of their own.
func TestPlannedOutagesDrawNoFailures(t *testing.T) {
	downs := func(planned int) int {
		spec := cluster.Uniform("ten", 10, 1)
		for i := range planned {
			at, node := workload.Time(100*(i+1))*workload.Hour, fmt.Sprint("n", i+1)
			spec.Outages = append(spec.Outages, cluster.Outage{At: at, Node: node, Change: "down"},
				cluster.Outage{At: at + workload.Hour, Node: node, Change: "up"})
		}
		var seen nodeFacts
		_, err := sim.Run(t.Context(), sim.Options{Workload: oneJob(1, 3000*workload.Hour), Cluster: spec, Policy: shipped(t, "fifo"),
			Until: 2000 * workload.Hour, Faults: sim.Faults{MTBF: 100 * workload.Hour, MTTR: workload.Hour, Seed: 7}, Observers: []sim.Observer{&seen}})
		if err != nil {
			t.Fatal(err)
		}
		return seen.count(fact.NodeDown)
	}
	without, with := downs(0), downs(3)
	if without < 150 || without > 250 { // 10 nodes x 2,000 h / 101 h
		t.Errorf("%d failures drawn, about 198 expected", without)
	}
	if more := with - without; more < 0 || more > 3 {
		t.Errorf("%d times down with three planned outages, %d without", with, without)
	}
}

// TestPlannedOutageLasts: a node that fails and is repaired by chance within a
// planned outage stays down until the planned end.
func TestPlannedOutageLasts(t *testing.T) {
	const from, to = 10 * workload.Hour, 40 * workload.Hour
	for seed := range uint64(20) {
		spec := cluster.Uniform("one", 1, 1)
		spec.Outages = []cluster.Outage{{At: from, Node: "n1", Change: "down"}, {At: to, Node: "n1", Change: "up"}}
		var seen nodeFacts
		res, err := sim.Run(t.Context(), sim.Options{Workload: oneJob(1, 20*workload.Hour), Cluster: spec, Policy: shipped(t, "fifo"),
			Faults: sim.Faults{MTBF: workload.Hour, MTTR: workload.Minute, Seed: seed}, Observers: []sim.Observer{&seen}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range seen {
			if f := &seen[i]; f.At > from && f.At < to {
				t.Errorf("seed %d: %s at %d, within the planned outage", seed, f.Kind, f.At)
			}
		}
		if end := res.Jobs[0].Finish; end < to {
			t.Errorf("seed %d: 20 h of work end at %d", seed, end)
		}
	}
}

// TestRunsEnd: a job that waits for a node that never comes back does not keep a
// run going, not even where other nodes fail and are repaired for ever.
func TestRunsEnd(t *testing.T) {
	for _, name := range []string{"fifo", "easy", "multifactor", "wfp3", "las", "srtf"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			spec := cluster.Uniform("two", 2, 4)
			spec.Outages = []cluster.Outage{{At: 0, Node: "n2", Change: "drain"}}
			w := oneJob(8, workload.Hour)
			w.Jobs[0].Submit = workload.Minute
			res, err := sim.Run(ctx, sim.Options{Workload: w, Cluster: spec, Policy: shipped(t, name),
				Faults: sim.Faults{MTBF: workload.Hour, MTTR: 10 * workload.Minute, Seed: 1}})
			if err != nil {
				t.Fatal(err)
			}
			if x := &res.Jobs[0]; x.State != sim.Unstarted || x.FirstStart != workload.Unknown {
				t.Errorf("job ends up as %+v", *x)
			}
		})
	}
}

// TestRunWaitsForDates: a run is not over while a waiting job has a date. r ends
// at 10, before its time; s moves up from 15 to 10 and is gone at 14, l at 15, and
// then nothing runs and nothing is submitted any more, but big is still to start.
func TestRunWaitsForDates(t *testing.T) {
	w := &workload.Workload{Name: "dates"}
	for _, x := range []struct {
		id               string
		gpus             int32
		submit, d, guess workload.Span
	}{{"r", 1, 0, 10, 20}, {"l", 1, 0, 15, 15}, {"big", 2, 1, 5, 5}, {"s", 1, 2, 4, 4}} {
		j := workload.Job{ID: x.id, Submit: x.submit * workload.Second, Estimate: x.guess * workload.Second}
		j.Need.GPUs = x.gpus
		w.Jobs = append(w.Jobs, j)
		w.Actual = append(w.Actual, workload.Actual{Duration: x.d * workload.Second, Start: workload.Unknown, End: workload.Unknown})
	}
	res := simulateAssuming(t, w, &cluster.Spec{Name: "pool", Count: 2}, shipped(t, "conservative"), sim.Assumptions{})
	for i := range res.Jobs {
		if x := &res.Jobs[i]; x.State != sim.Ended {
			t.Errorf("job %s ends up as %+v", w.Jobs[i].ID, *x)
		}
	}
}
