package sim_test

import (
	"context"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// hours is a small world for stories of plans, told in hours and minutes.
type hours struct {
	t      *testing.T
	work   workload.Workload
	spec   *cluster.Spec
	assume sim.Assumptions
	policy policy.Policy
	plan   policy.Horizon
	watch  *sizes
	res    *sim.Result
}

func newHours(t *testing.T, spec *cluster.Spec) *hours {
	w := &hours{t: t, spec: spec, policy: *shipped(t, "horizon"), watch: &sizes{at: map[int32][]size{}}}
	w.plan = *w.policy.Horizon
	return w
}

// job submits one; what it declares besides is up to the caller.
func (w *hours) job(id string, at workload.Time, gpus int32, d workload.Span) *workload.Job {
	w.work.Jobs = append(w.work.Jobs, workload.Job{ID: id, Submit: at, Need: workload.Need{GPUs: gpus}, Estimate: d})
	w.work.Actual = append(w.work.Actual, workload.Actual{Duration: d, Start: workload.Unknown, End: workload.Unknown})
	return &w.work.Jobs[len(w.work.Jobs)-1]
}

// serve submits an application.
func (w *hours) serve(id string, at workload.Time, life workload.Span, step workload.Span, demand ...int32) *workload.Service {
	j := w.job(id, at, 1, life)
	j.Kind, j.Service = workload.KindRealtime, &workload.Service{Demand: workload.Curve{Step: step, Values: demand}}
	j.Need.Tasks = j.Service.Demand.Peak()
	return j.Service
}

func (w *hours) run() {
	w.t.Helper()
	w.policy.Horizon = &w.plan
	var err error
	w.res, err = sim.Run(context.Background(), sim.Options{Workload: &w.work, Cluster: w.spec, Policy: &w.policy, Assume: w.assume,
		Observers: []sim.Observer{w.watch, newLegal(w.t, w.spec, &w.work), &swaps{t: w.t, work: &w.work, has: map[int32][]cluster.Grant{}, at: map[int32][]workload.Time{}}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// starts holds when a job first started.
func (w *hours) starts(n int, want workload.Time) {
	w.t.Helper()
	if got := w.res.Jobs[n].FirstStart; got != want {
		w.t.Errorf("%s starts at %d min, want %d", w.work.Jobs[n].ID, got/workload.Minute, want/workload.Minute)
	}
}

// has holds how many GPUs a job has at a time.
func (w *hours) has(n int32, at workload.Time, want int32) {
	w.t.Helper()
	got := int32(0)
	for _, s := range w.watch.at[n] {
		if s.at <= at {
			got = s.gpus
		}
	}
	if got != want {
		w.t.Errorf("%s has %d GPUs at %d min, want %d", w.work.Jobs[n].ID, got, at/workload.Minute, want)
	}
}

// sizes watches how many GPUs jobs have.
type sizes struct{ at map[int32][]size }

type size struct {
	at   workload.Time
	gpus int32
}

func (s *sizes) Fact(f *fact.Fact) {
	if f.Kind == fact.JobStopped || f.Kind == fact.JobFinished {
		s.at[f.Job] = append(s.at[f.Job], size{f.At, 0})
	}
}

func (s *sizes) Action(a *fact.Action) {
	if a.Do == fact.Start || a.Do == fact.Resize {
		s.at[a.Job] = append(s.at[a.Job], size{a.At, a.Count})
	}
}

func (*sizes) Instant(*sim.Gauge) {}
