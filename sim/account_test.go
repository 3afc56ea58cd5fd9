package sim_test

import (
	"math"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestStopWhileStarting: z starts at 0 and is up at 10, until 110. x is told to
// start then, and displaced by b at 115, 5 s before it would be up. b is up from
// 125 to 135, and x, told again at 135, from 145: it has waited 145 s in all, it
// came up once, and there is nothing to restart.
func TestStopWhileStarting(t *testing.T) {
	const s = workload.Second
	job := func(id string, submit, d workload.Span, priority int64) (workload.Job, workload.Actual) {
		j := workload.Job{ID: id, Submit: submit, Estimate: d, Priority: priority}
		j.Need.GPUs = 1
		return j, workload.Actual{Duration: d, Start: workload.Unknown, End: workload.Unknown}
	}
	w := &workload.Workload{Name: "stop while starting", Jobs: make([]workload.Job, 3), Actual: make([]workload.Actual, 3)}
	w.Jobs[0], w.Actual[0] = job("z", 0, 100*s, 0)
	w.Jobs[1], w.Actual[1] = job("x", 0, 100*s, 0)
	w.Jobs[2], w.Actual[2] = job("b", 115*s, 10*s, 9)
	got := simulateAssuming(t, w, cluster.Uniform("one", 1, 1), shipped(t, "priority"),
		sim.Assumptions{Checkpoint: -1, RestartCost: 7 * s, StartLatency: 10 * s}).Jobs
	const gpu = 1000 // milli-GPU
	want := []sim.JobResult{
		{FirstStart: 10 * s, Finish: 110 * s, Queued: 10 * s, Ran: 100 * s, Assigned: 110 * s * gpu, Starts: 1},
		{FirstStart: 145 * s, Finish: 245 * s, Queued: 145 * s, Ran: 100 * s, Assigned: (5 + 110) * s * gpu, Starts: 1, Preemptions: 1},
		{FirstStart: 125 * s, Finish: 135 * s, Queued: 10 * s, Ran: 10 * s, Assigned: 20 * s * gpu, Starts: 1},
	}
	for i := range want {
		if got[i].Outcome != workload.OutcomeCompleted {
			t.Errorf("job %s: outcome %v", w.Jobs[i].ID, got[i].Outcome)
		}
		got[i].Outcome = want[i].Outcome
		if got[i] != want[i] {
			t.Errorf("job %s:\n got %+v\nwant %+v", w.Jobs[i].ID, got[i], want[i])
		}
	}
}

// TestLostWorkBeyondInt64: a million GPUs lose 15,000,000 s of work, more milli-GPU
// x ms than an int64 holds: the largest one stands for it.
func TestLostWorkBeyondInt64(t *testing.T) {
	const million = 1_000_000
	w := &workload.Workload{Name: "large"}
	for i, id := range []string{"low", "high"} {
		d := 20 * million * workload.Second
		j := workload.Job{ID: id, Submit: workload.Time(i) * 15 * million * workload.Second, Estimate: d, Priority: int64(i)}
		j.Need.GPUs = million
		w.Jobs = append(w.Jobs, j)
		w.Actual = append(w.Actual, workload.Actual{Duration: d, Start: workload.Unknown, End: workload.Unknown})
	}
	res := simulateAssuming(t, w, &cluster.Spec{Name: "pool", Count: million}, shipped(t, "priority"), sim.Assumptions{Checkpoint: -1})
	if x := &res.Jobs[0]; x.Preemptions != 1 || x.Lost != math.MaxInt64 || x.Assigned != math.MaxInt64 {
		t.Errorf("got %+v", *x)
	}
}
