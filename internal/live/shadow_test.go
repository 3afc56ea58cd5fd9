package live

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world/shadow"
	"github.com/escala-sched/escala/workload"
)

func inShadow(c *Config) { c.Shadow = true }

// observe tells what was seen of a job, and holds that it is taken.
func (r *rig) observe(o Observation) {
	r.t.Helper()
	errs, err := r.d.Observe(r.ctx(), []Observation{o}, "slurm")
	if err = errors.Join(append(errs, err)...); err != nil {
		r.t.Fatal(err)
	}
	r.wait(0)
}

func TestInShadowRunsLastAsLongAsTheyReallyDo(t *testing.T) {
	bubble(t, nil, inShadow, func(r *rig) {
		says := func(s *Submission) { s.Job.Estimate = workload.Hour }
		a, b := r.submit("ana", 16, says), r.submit("eva", 16, says)
		began := time.Now()
		r.want(a, "running")
		r.observe(Observation{ID: b, Started: began}) // reality has another order
		r.wait(10 * time.Minute)
		r.observe(Observation{ID: b, Ended: time.Now(), Outcome: workload.OutcomeFailed, HasOutcome: true, Exit: 7, Where: "n2"})
		r.kill() // what is known outlives the daemon
		r.wait(time.Minute)
		r.start()
		r.want(a, "running")
		r.wait(50 * time.Minute)
		r.want(a, "completed")
		if j := r.job(a); j.Text != shadow.GuessText || j.Kept < 59*workload.Minute || j.Kept > workload.Hour {
			t.Errorf("%+v", j)
		}
		r.want(b, "running")
		r.wait(9*time.Minute - time.Second)
		r.want(b, "running")
		r.wait(2 * time.Second)
		r.want(b, "failed")
		if j := r.job(b); j.Exit != 7 || j.Text != "" || j.Real.Where != "n2" || j.Kept < 9*workload.Minute+59_000 || j.Kept > 10*workload.Minute {
			t.Errorf("%+v", j)
		}
	})
}

func TestAStoppedShadowDoesTheRestLater(t *testing.T) {
	bubble(t, nil, inShadow, func(r *rig) {
		fill := r.submit("ana", 16, func(s *Submission) {
			s.Job.Contract = workload.Contract{HasMinRuntime: true, CheckpointOnStop: true, RestartCost: workload.Minute}
		})
		began := time.Now()
		r.observe(Observation{ID: fill, Started: began.Add(-2 * time.Hour), Ended: began.Add(-time.Hour)})
		r.wait(20 * time.Minute)
		top := r.submit("eva", 16, func(s *Submission) {
			s.Job.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: workload.Hour}
		})
		r.observe(Observation{ID: top, Started: began, Ended: began.Add(5 * time.Minute)})
		r.wait(11 * time.Second) // the grace
		r.want(top, "running")
		r.wait(5 * time.Minute)
		r.want(fill, "running")
		r.wait(40 * time.Minute) // and a minute to restart
		r.want(fill, "running")
		r.wait(time.Minute + time.Second)
		r.want(fill, "completed")
		if j := r.job(fill); j.Kept < workload.Hour-1000 || j.Kept > workload.Hour || j.Runs[0].Cause != fact.CausePreempted {
			t.Errorf("%+v", j)
		}
	})
}

func TestWhoWithdrawsAJobReallyWithdrawsItsShadow(t *testing.T) {
	bubble(t, nil, inShadow, func(r *rig) {
		a, b := r.submit("ana", 16, nil), r.submit("eva", 16, nil)
		for _, id := range []string{a, b} {
			r.observe(Observation{ID: id, Ended: time.Now(), Outcome: workload.OutcomeCancelled, HasOutcome: true})
		}
		r.wait(11 * time.Second)
		r.want(a, "cancelled")
		r.want(b, "cancelled")
	})
}

func TestObservations(t *testing.T) {
	bubble(t, nil, inShadow, func(r *rig) {
		id := r.submit("ana", 1, func(s *Submission) { s.Job.Estimate = workload.Minute })
		r.wait(time.Hour)
		now := time.Now()
		lines := func() int64 { return r.d.Stats().Facts.Load() }
		n := lines()
		for _, o := range []Observation{
			{ID: id},
			{ID: id, Ended: now},
			{ID: id, Started: now, Ended: now.Add(-time.Second)},
			{ID: id, Started: now.Add(time.Hour)},
			{ID: id, Started: now, HasOutcome: true, Outcome: workload.OutcomeFailed},
			{ID: "nobody", Started: now},
		} {
			if errs, err := r.d.Observe(r.ctx(), []Observation{o}, "slurm"); err != nil || errs[0] == nil {
				t.Errorf("%+v was taken: %v", o, err)
			}
		}
		if lines() != n {
			t.Error("what was refused is in the journal")
		}
		r.observe(Observation{ID: id, Started: now, Where: "n1"})
		n = lines()
		r.observe(Observation{ID: id, Started: now, Where: "n1"})
		if lines() != n {
			t.Error("what is known already is in the journal twice")
		}
		r.want(id, "completed") // by a guess
		if len(r.reals()) != 1 {
			t.Errorf("%+v", r.reals())
		}
		for range 2 { // it goes on in reality, and is known there, although it has ended here
			r.kill()
			r.start()
		}
		if len(r.d.Some([]int32{0})) > 0 || len(r.reals()) != 1 {
			t.Errorf("%+v", r.reals())
		}
		r.observe(Observation{ID: id, Ended: now})
		if len(r.reals()) != 0 {
			t.Errorf("%+v", r.reals())
		}
		want := &Real{Since: r.d.Time(now), Until: r.d.Time(now), Outcome: workload.OutcomeCompleted, Where: "n1"}
		if diff := cmp.Diff(want, r.job(id).Real); diff != "" {
			t.Errorf("(-want,+got):\n%s", diff)
		}
	})
	bubble(t, nil, nil, func(r *rig) {
		var no *Conflict
		if _, err := r.d.Observe(r.ctx(), []Observation{{ID: r.submit("ana", 1, nil)}}, "slurm"); !errors.As(err, &no) {
			t.Errorf("a scheduler that runs jobs was told of others: %v", err)
		}
	})
}

func TestAJournalOfShadowsIsNotEnforced(t *testing.T) {
	bubble(t, nil, inShadow, func(r *rig) {
		r.submit("ana", 1, nil)
		r.kill()
		r.cfg.Shadow, r.cfg.World = false, r.machine.Open()
		var no *OtherMode
		if _, err := Open(r.ctx(), r.cfg); !errors.As(err, &no) || !no.Shadow {
			t.Errorf("opened: %v", err)
		}
		r.must(r.cfg.World.Close())
		r.cfg.Shadow = true
		r.start()
	})
}

// TestRandomShadows has people do at random what they may while another scheduler does at random
// what it likes, and the daemon die between any two batches.
func TestRandomShadows(t *testing.T) {
	for seed := range uint64(*soakSeeds) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		bubble(t, nil, inShadow, func(r *rig) {
			first := r.submit("ana", 1, nil)
			ids := []string{first}
			for i := range 120 {
				r.step(rnd, &ids)
				r.look(rnd, ids)
				// What the engine refused moved its clock. It is compared where a fact has done so, too.
				r.observe(Observation{ID: first, Started: time.Now(), Where: strconv.Itoa(i)})
				r.wait(time.Duration(rnd.IntN(40_000)) * time.Millisecond)
				if rnd.IntN(10) == 0 {
					r.kill()
					before := r.reals()
					r.start()
					if diff := cmp.Diff(before, r.reals(), cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("what goes on in reality (-before,+after a restart):\n%s", diff)
					}
				}
			}
			for n := range int32(2) {
				r.must(r.d.Resume(r.ctx(), []int32{n}, "root"))
			}
			for _, id := range ids {
				if j := r.job(id); j.Holds != 0 {
					_, _ = r.d.Release(r.ctx(), []int32{j.Number}, true, "root")
				}
				if j := r.job(id); j.Real != nil && j.Real.Open() {
					r.observe(Observation{ID: id, Ended: time.Now()})
				}
			}
			for range 48 {
				r.wait(30 * time.Minute)
			}
			for _, id := range ids {
				if j := r.job(id); j.Phase.Alive() {
					t.Errorf("seed %d: job %s is %s for ever", seed, id, j.Fate())
				}
			}
			if len(r.reals()) != 0 {
				t.Errorf("seed %d: %+v", seed, r.reals())
			}
		})
	}
}

// look observes something of a job at random.
func (r *rig) look(rnd *rand.Rand, ids []string) {
	if len(ids) == 0 {
		return
	}
	o := Observation{ID: ids[rnd.IntN(len(ids))]}
	ago := func() time.Time { return time.Now().Add(-time.Duration(rnd.IntN(1000)) * time.Second) }
	switch rnd.IntN(4) {
	case 0:
		o.Ended = ago()
	case 1:
		o.Started = ago()
		o.Ended = o.Started.Add(time.Duration(rnd.IntN(300)) * time.Second)
	case 2:
		o.Ended, o.Outcome, o.HasOutcome = ago(), workload.OutcomeCancelled, true
	default:
		o.Started = ago()
	}
	_, err := r.d.Observe(r.ctx(), []Observation{o}, "slurm")
	r.must(err)
}
