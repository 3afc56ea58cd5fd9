package main

import (
	"context"
	"fmt"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// simulated is what the simulator says of the same jobs under a policy.
func simulated(ctx context.Context, jobs []job, p *policy.Policy, latency time.Duration) (*outcome, error) {
	w := &workload.Workload{Name: "day", Source: "drawn", Format: "drawn", Epoch: workload.Unknown}
	for i := range jobs {
		j := &jobs[i]
		x := workload.Job{ID: fmt.Sprint(i), User: j.account, Team: j.account, Submit: j.at.Milliseconds(), Need: workload.Need{GPUs: int32(j.gpus)}, Limit: int64(j.limit) * workload.Minute, Contract: j.contract()}
		if j.tasks > 1 {
			x.Need.Tasks, x.Need.PerNode = int32(j.tasks), 1
		}
		w.Jobs = append(w.Jobs, x)
		w.Actual = append(w.Actual, workload.Actual{Duration: j.length.Milliseconds(), Start: workload.Unknown, End: workload.Unknown})
	}
	w.Rows = len(w.Jobs)
	out := &outcome{name: fmt.Sprintf("simulated: %s, a start takes %s", p.Name, latency)}
	res, err := sim.Run(ctx, sim.Options{Workload: w, Cluster: cluster.Uniform("site", nodes, perNode), Policy: p, Budgets: budget.Equal("lab", accounts),
		Assume: sim.Assumptions{StartLatency: latency.Milliseconds()}, Observers: []sim.Observer{&recorder{out: out, open: map[int32]workload.Time{}}}})
	if err != nil {
		return nil, err
	}
	if len(res.Refusals) > 0 {
		return nil, fmt.Errorf("%d jobs can never run under %s", len(res.Refusals), p.Name)
	}
	for i := range jobs {
		out.submitted = append(out.submitted, jobs[i].at)
	}
	return out, nil
}

// recorder keeps runs as Slurm's accounting does: from the start that came true to the end.
type recorder struct {
	out  *outcome
	open map[int32]workload.Time
}

func (r *recorder) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.JobStarted:
		r.open[f.Job] = f.At
	case fact.JobFinished, fact.JobStopped:
		if from, ok := r.open[f.Job]; ok {
			r.out.runs = append(r.out.runs, run{int(f.Job), time.Duration(from) * time.Millisecond, time.Duration(f.At) * time.Millisecond})
			delete(r.open, f.Job)
		}
	}
}

func (r *recorder) Action(*fact.Action) {}
func (r *recorder) Instant(*sim.Gauge)  {}
