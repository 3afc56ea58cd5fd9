package observe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// rig is a daemon before a machine of pretended runs, in a bubble of pretended time.
type rig struct {
	t       *testing.T
	machine *simworld.Machine
	cfg     live.Config
	d       *live.Daemon
	m       *Metrics
	stop    func()
}

func inBubble(t *testing.T, behave func(o *world.Order) simworld.Behaviour, test func(r *rig)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Resolve("contract")
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, machine: simworld.New(cluster.Uniform("rig", 2, 8), simworld.Options{Behave: behave, Now: time.Now})}
		r.cfg = live.Config{Store: st, Policy: p, Version: "test", Holder: "test", Now: time.Now,
			Assume: sim.Assumptions{Checkpoint: -1, Grace: 10 * workload.Second, StartLatency: 30 * workload.Second}}
		r.start()
		test(r)
		r.stop()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// start opens a daemon over what the store has.
func (r *rig) start(more ...live.Observer) {
	r.t.Helper()
	r.m = New(Config{Now: time.Now, Version: "test"})
	r.cfg.World, r.cfg.Observers = r.machine.Open(), append([]live.Observer{r.m}, more...)
	d, err := live.Open(r.t.Context(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.d = d
	r.m.Begin(d)
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- d.Run(ctx) }()
	go func() { r.m.Probe(ctx); ended <- nil }()
	r.stop = func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
	}
	synctest.Wait()
}

// same holds that the metrics say what the daemon does.
func (r *rig) same(when string) {
	r.t.Helper()
	c := r.d.Counts()
	var asked int64 // also by those for whom others leave, whose place the engine counts as held
	list, _ := r.d.Alive(live.Filter{States: []string{"waiting", "clearing"}}, -1, 1e6)
	for i := range list {
		asked += list[i].Spec.Need.TotalMilli()
	}
	for _, x := range []struct {
		name string
		want float64
	}{
		{"escala_waiting_jobs", float64(c.Waiting)}, {"escala_running_jobs", float64(c.Running)}, {"escala_kept_jobs", float64(c.Held + c.Blocked)},
		{"escala_waiting_gpus", float64(asked) / 1000}, {"escala_running_gpus", float64(c.Used) / 1000}, {"escala_assigned_gpus", float64(c.Used) / 1000},
		{"escala_nodes", 2}, {"escala_available_gpus", float64(c.Available) / 1000},
	} {
		if v, _ := sum(r.t, r.m, x.name); v != x.want {
			r.t.Errorf("%s: %s is %v, the daemon says %v", when, x.name, v, x.want)
		}
	}
}

// TestMetricsFollowTheDaemon lets people and nodes do this and that, with restarts, and compares
// what is counted from facts with what the daemon says.
func TestMetricsFollowTheDaemon(t *testing.T) {
	src, fate := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4))
	behave := func(*world.Order) simworld.Behaviour {
		src := fate // the loop asks
		b := simworld.Behaviour{Duration: time.Duration(1+src.IntN(3000)) * time.Second, Leave: time.Second}
		switch src.IntN(8) {
		case 0:
			b.Fail = "no such disk"
		case 1:
			b.Yield, b.Exit = true, 75
		case 2:
			b.Exit = 1
		}
		return b
	}
	inBubble(t, behave, func(r *rig) {
		ctx := r.t.Context()
		var ids []string
		for k := range 400 {
			team := fmt.Sprintf("team-%d", src.IntN(4))
			switch src.IntN(12) {
			case 0, 1, 2, 3, 4:
				s := &live.Submission{By: team, Job: workload.Job{User: team, Team: team, Need: workload.Need{GPUs: int32(1 + src.IntN(16))}, Estimate: 600 * workload.Second,
					Contract: workload.Contract{HasMinRuntime: src.IntN(2) == 0, MinRuntime: workload.Span(src.IntN(3)) * 300 * workload.Second, NotResumable: src.IntN(5) == 0}}}
				if len(ids) > 0 && src.IntN(4) == 0 {
					s.Job.After = []workload.Dependency{{Job: ids[len(ids)-1], When: workload.Condition(src.IntN(3))}}
				}
				s.Hold = src.IntN(6) == 0
				if done, err := r.d.Submit(ctx, s); err == nil {
					ids = append(ids, done.ID)
				}
			case 5, 6, 7:
				if len(ids) == 0 {
					continue
				}
				list, err := r.d.Members(ctx, ids[src.IntN(len(ids))])
				if err != nil {
					t.Fatal(err)
				}
				switch src.IntN(4) {
				case 0:
					_, _ = r.d.Hold(ctx, list, src.IntN(2) == 0, "op", "")
				case 1:
					_, _ = r.d.Release(ctx, list, true, "op")
				case 2:
					_, _ = r.d.Cancel(ctx, list, "op", "")
				default:
					_ = r.d.Requeue(ctx, list[0], "op")
				}
			case 8:
				node := int32(src.IntN(2))
				if src.IntN(2) == 0 {
					_ = r.d.Drain(ctx, []int32{node}, "op", "")
				} else {
					_ = r.d.Resume(ctx, []int32{0, 1}, "op")
				}
			case 9:
				r.machine.Crash(int32(src.IntN(2)))
				time.Sleep(time.Minute)
				r.machine.Return(0)
				r.machine.Return(1)
			case 10:
				time.Sleep(time.Duration(src.IntN(1200)) * time.Second)
			default:
				time.Sleep(time.Second)
			}
			synctest.Wait()
			r.same(fmt.Sprintf("step %d", k))
			if t.Failed() {
				return
			}
			if k%97 == 96 {
				r.stop()
				r.start()
				r.same(fmt.Sprintf("restart at step %d", k))
			}
		}
		if v, n := sum(t, r.m, "escala_job_requeue_wait_seconds"); n == 0 {
			t.Errorf("nothing was ever queued again (%v)", v)
		}
	})
}

// TestNamesAreRight: what promlint has to say, and that all that is defined can be gathered.
func TestNamesAreRight(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		if _, err := r.d.Submit(r.t.Context(), &live.Submission{By: "ann", Job: workload.Job{User: "ann", Team: "a", Need: workload.Need{GPUs: 1}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		all, err := r.m.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.NewWithMetricFamilies(all).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
		if v, n := sum(t, r.m, "escala_decision_seconds"); n == 0 || v < 0 {
			t.Error("no decision was timed")
		}
		if v, _ := sum(t, r.m, "escala_journal_segment_bytes"); v == 0 {
			t.Error("the segment has no size")
		}
		if v, _ := sum(t, r.m, "escala_account_share_ratio"); v != 1 {
			t.Errorf("the shares add up to %v", v)
		}
	})
}
