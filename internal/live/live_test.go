package live

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

func TestAJobRunsToItsEnd(t *testing.T) {
	bubble(t, lasts(time.Minute), nil, func(r *rig) {
		id := r.submit("ana", 4, nil)
		r.want(id, "running")
		r.wait(61 * time.Second)
		r.want(id, "completed")
		j := r.job(id)
		if n := len(j.Runs); n != 1 || j.Runs[0].Kept < 59_000 || j.Runs[0].Kept > 60_000 {
			t.Errorf("runs: %+v", j.Runs)
		}
	})
}

func TestCancelStopsWhatRunsAndWithdrawsWhatWaits(t *testing.T) {
	bubble(t, lasts(time.Hour), nil, func(r *rig) {
		a, b := r.submit("ana", 16, nil), r.submit("ana", 16, nil)
		r.want(a, "running")
		r.want(b, "waiting")
		for _, id := range []string{a, b} {
			if n, err := r.d.Cancel(r.t.Context(), r.numbers(id), "ana", "wrong data"); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		r.wait(20 * time.Second)
		r.want(a, "cancelled")
		r.want(b, "cancelled")
		var late *Conflict
		if _, err := r.d.Cancel(r.t.Context(), r.numbers(a), "ana", ""); !errors.As(err, &late) {
			t.Errorf("cancelled twice: %v", err)
		}
	})
}

func TestHoldsKeepAJobBack(t *testing.T) {
	bubble(t, lasts(time.Minute), nil, func(r *rig) {
		id := r.submit("ana", 4, func(s *Submission) { s.Hold = true })
		r.want(id, "held")
		n := r.numbers(id)
		if _, err := r.d.Hold(r.t.Context(), n, true, "root", "a look first"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.d.Release(r.t.Context(), n, false, "ana"); err != nil {
			t.Fatal(err)
		}
		r.want(id, "held")
		var no *Conflict
		if _, err := r.d.Release(r.t.Context(), n, false, "ana"); !errors.As(err, &no) {
			t.Errorf("the owner released an operator's hold: %v", err)
		}
		if _, err := r.d.Release(r.t.Context(), n, true, "root"); err != nil {
			t.Fatal(err)
		}
		r.wait(time.Second)
		r.want(id, "running")
	})
}

func TestAnArrayRunsSoManyAtOnce(t *testing.T) {
	bubble(t, lasts(time.Minute), nil, func(r *rig) {
		id := r.submit("ana", 1, func(s *Submission) { s.Indices, s.Throttle = []int32{0, 1, 2, 3, 4, 5, 6}, 3 })
		running := func() (n int) {
			jobs, _ := r.d.Alive(Filter{Array: id}, -1, 100)
			for i := range jobs {
				if jobs[i].Phase == Running {
					n++
				}
			}
			return n
		}
		if n := running(); n != 3 {
			t.Errorf("%d run at once, want 3", n)
		}
		r.kill() // what is known of arrays is rebuilt
		r.start()
		r.wait(61 * time.Second)
		if n := running(); n != 3 {
			t.Errorf("%d run after the first three, want 3", n)
		}
		r.wait(3 * time.Minute)
		r.want(id+"_6", "completed")
	})
}

func TestDependencies(t *testing.T) {
	fails := func(o *world.Order) simworld.Behaviour {
		b := simworld.Behaviour{Duration: time.Minute}
		if o.Spec.User == "eva" {
			b.Exit = 3
		}
		return b
	}
	bubble(t, fails, nil, func(r *rig) {
		after := func(id string, when workload.Condition) func(*Submission) {
			return func(s *Submission) { s.Job.After = []workload.Dependency{{Job: id, When: when}} }
		}
		good, bad := r.submit("ana", 1, nil), r.submit("eva", 1, nil)
		a := r.submit("ana", 1, after(good, workload.AfterOK))
		b := r.submit("ana", 1, after(bad, workload.AfterOK))
		c := r.submit("ana", 1, after(bad, workload.AfterAny))
		r.want(a, "blocked")
		r.wait(62 * time.Second)
		r.want(bad, "failed")
		r.want(a, "running")
		r.want(b, "refused")
		r.want(c, "running")
		d := r.submit("ana", 1, after(good, workload.AfterOK)) // it ended already
		r.want(d, "running")
		_, err := r.d.Submit(r.t.Context(), &Submission{Job: workload.Job{User: "ana", Team: "ana", Need: workload.Need{GPUs: 1}, After: []workload.Dependency{{Job: bad, When: workload.AfterOK}}}})
		var wrong *Invalid
		if !errors.As(err, &wrong) {
			t.Errorf("a dependency that can never be satisfied was taken: %v", err)
		}
	})
}

func TestAJobWaitsForAllOfAnArray(t *testing.T) {
	bubble(t, lasts(time.Minute), nil, func(r *rig) {
		array := r.submit("ana", 4, func(s *Submission) { s.Indices, s.Throttle = []int32{3, 4}, 1 })
		id := r.submit("ana", 1, func(s *Submission) { s.Job.After = []workload.Dependency{{Job: array, When: workload.AfterOK}} })
		r.wait(62 * time.Second)
		r.want(array+"_3", "completed")
		r.want(id, "blocked")
		r.wait(61 * time.Second)
		r.want(id, "running")
	})
}

func TestAKeyMakesASubmissionOne(t *testing.T) {
	bubble(t, lasts(time.Minute), nil, func(r *rig) {
		with := func(s *Submission) { s.Key = "k" }
		a := r.submit("ana", 1, with)
		r.kill()
		r.start()
		if b := r.submit("ana", 1, with); b != a {
			t.Errorf("the same key gave %s and %s", a, b)
		}
		s := &Submission{Job: workload.Job{User: "ana", Team: "ana", Need: workload.Need{GPUs: 2}}, By: "ana", Key: "k"}
		var no *Conflict
		if _, err := r.d.Submit(r.t.Context(), s); !errors.As(err, &no) {
			t.Errorf("the key was taken for another submission: %v", err)
		}
	})
}

func TestFailedStartsAreTriedAgainLater(t *testing.T) {
	n := 0
	behave := func(*world.Order) simworld.Behaviour {
		n++
		b := simworld.Behaviour{Duration: time.Minute}
		if n <= 2 {
			b.Fail = "no room"
		}
		return b
	}
	bubble(t, behave, nil, func(r *rig) {
		id := r.submit("ana", 1, nil)
		r.want(id, "held")
		r.wait(11 * time.Second)
		r.want(id, "held")
		r.wait(21 * time.Second)
		r.want(id, "running")
	})
}

func TestANodeOnWhichStartsOfManyFailIsDrained(t *testing.T) {
	behave := func(o *world.Order) simworld.Behaviour {
		b := simworld.Behaviour{Duration: time.Minute}
		if o.Place[0].Node == 0 {
			b.Fail = "no room"
		}
		return b
	}
	bubble(t, behave, nil, func(r *rig) {
		for _, u := range []string{"ana", "eva", "ida"} {
			r.submit(u, 1, nil)
		}
		if n := r.d.Nodes(); !n[0].Drained || n[1].Drained {
			t.Errorf("nodes: %+v", n)
		}
		r.wait(30 * time.Second)
		if c := r.d.Counts(); c.Running != 3 {
			t.Errorf("%d run, want 3 on the other node", c.Running)
		}
	})
}

func TestPreemption(t *testing.T) {
	bubble(t, lasts(time.Hour), nil, func(r *rig) {
		fill := r.submit("ana", 16, func(s *Submission) { s.Job.Contract.HasMinRuntime = true })
		r.want(fill, "running")
		if !r.job(fill).Run().Unallocated {
			t.Error("it declares a minimum runtime of 0, and is charged")
		}
		r.wait(time.Minute)
		id := r.submit("eva", 8, func(s *Submission) {
			s.Job.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: workload.Hour}
		})
		r.wait(40 * time.Second)
		r.want(id, "running")
		j := r.job(fill)
		if j.Phase != Waiting || j.Runs[0].Cause != fact.CausePreempted {
			t.Errorf("the job that gave way is %s: %+v", j.Fate(), j.Runs[0])
		}
	})
}

func TestANodeThatFailsAndComesBack(t *testing.T) {
	bubble(t, lasts(time.Hour), nil, func(r *rig) {
		id := r.submit("ana", 16, nil)
		r.wait(time.Minute)
		r.machine.Crash(1)
		r.wait(time.Second)
		r.want(id, "waiting")
		if !r.d.Nodes()[1].Down {
			t.Error("the node is not down")
		}
		r.machine.Return(1)
		r.wait(time.Second)
		r.want(id, "running")
	})
}

func TestRestartWithJobsRunning(t *testing.T) {
	bubble(t, lasts(10*time.Minute), nil, func(r *rig) {
		a, b := r.submit("ana", 8, nil), r.submit("eva", 8, nil)
		w := r.submit("eva", 8, nil)
		r.wait(time.Minute)
		r.kill()
		r.machine.End(world.Run{Job: r.job(b).Number, Attempt: 1}, 7) // nobody looks
		time.Sleep(5 * time.Minute)
		r.start()
		r.wait(time.Second)
		r.want(a, "running")
		r.want(b, "failed")
		if j := r.job(b); j.Exit != 7 || j.Kept < 59_000 || j.Kept > 61_000 {
			t.Errorf("exit %d, kept %d ms", j.Exit, j.Kept)
		}
		r.want(w, "running")
		r.wait(5 * time.Minute)
		r.want(a, "completed")
	})
}

func TestPolicyChange(t *testing.T) {
	bubble(t, lasts(10*time.Minute), nil, func(r *rig) {
		a, b := r.submit("ana", 16, nil), r.submit("ana", 16, nil)
		r.wait(time.Minute)
		p, err := policy.Resolve("fifo")
		if err != nil {
			t.Fatal(err)
		}
		var late *Conflict
		if err := r.d.SetPolicy(r.t.Context(), p, "root", "another"); !errors.As(err, &late) {
			t.Errorf("a stale tag was taken: %v", err)
		}
		trial, err := r.d.Try(r.t.Context(), p)
		if err != nil || trial.Waiting != 1 || len(trial.Starts) != 0 {
			t.Fatalf("%+v, %v", trial, err)
		}
		if err := r.d.SetPolicy(r.t.Context(), p, "root", ""); err != nil {
			t.Fatal(err)
		}
		r.want(a, "running")
		r.want(b, "waiting")
		r.kill()
		r.start()
		if q, by, _ := r.d.Policy(); q.Name != "fifo" || by != "root" {
			t.Errorf("policy %s by %q", q.Name, by)
		}
		r.wait(10 * time.Minute)
		r.want(a, "completed")
		r.want(b, "running")
		c := r.submit("eva", 4, nil)
		if want := "waiting"; r.job(c).Fate() != want {
			t.Errorf("job %s is %s", c, r.job(c).Fate())
		}
	})
}

func TestQueueSaysWhy(t *testing.T) {
	bubble(t, lasts(10*time.Minute), nil, func(r *rig) {
		r.submit("ana", 16, nil)
		var ids []string
		for range 3 {
			ids = append(ids, r.submit("eva", 16, nil))
		}
		v, err := r.d.View(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range v.Queue {
			if j.Why.Code == 0 {
				t.Errorf("no reason for job %d", j.Job)
			}
			got = append(got, r.d.Some([]int32{j.Job})[0].Spec.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("queue %v, want %v", got, ids)
		}
		if x, ok, err := r.d.Explain(r.t.Context(), v.Queue[1].Job); !ok || err != nil || x.Rank != 2 {
			t.Errorf("%+v %v %v", x, ok, err)
		}
	})
}

func TestAUserHasNoMoreGPUsThanTheSiteAllows(t *testing.T) {
	limit := func(c *Config) { c.Limits.UserGPUs = 6 }
	bubble(t, lasts(time.Minute), limit, func(r *rig) {
		var ids []string
		for _, gpus := range []int32{4, 4, 2, 8} {
			ids = append(ids, r.submit("ana", gpus, nil))
		}
		other := r.submit("eva", 4, nil)
		for i, want := range []string{"running", "held", "running", "held"} {
			r.want(ids[i], want)
		}
		r.want(other, "running")
		r.kill() // limits are rebuilt from what is known of jobs
		r.start()
		r.wait(61 * time.Second)
		r.want(ids[1], "running")
		r.want(ids[3], "held") // it is more than the limit: it runs alone
		r.wait(61 * time.Second)
		r.want(ids[3], "running")
	})
}
