package live

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/workload"
)

// TestOdds holds the forecasts to what comes: in the second half of six hours of a lab whose people
// say up to three times what it takes, at least 85 % of the jobs that had to wait start by
// their P90; docs/reliability.md has what a longer stretch came to.
func TestOdds(t *testing.T) {
	if testing.Short() {
		t.Skip("it looks ahead a thousand times")
	}
	const minutes = 6 * 60
	runs := map[int32]time.Duration{}
	behave := func(o *world.Order) simworld.Behaviour {
		return simworld.Behaviour{Duration: runs[o.Job], Start: time.Second, Leave: 2 * time.Second}
	}
	bubble(t, behave, func(c *Config) { c.ForeseeEvery = time.Minute }, func(r *rig) {
		ctx, stop := context.WithCancel(r.t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.d.Foresee(ctx) }()
		rnd := rand.New(rand.NewPCG(3, 3))
		var half, halfAll int64
		people := []string{"ana", "bruno", "carla", "diego", "elena", "felix", "gabi", "hugo"}
		for end := time.Now().Add(minutes * time.Minute); time.Now().Before(end); {
			u := rnd.IntN(len(people))
			gpus := []int32{1, 1, 1, 2, 4, 8}[rnd.IntN(6)]
			run := 60 * math.Pow(40, rnd.Float64()) // one to forty minutes
			said := run * math.Pow(3, rnd.Float64())
			runs[r.next()] = time.Duration(run * float64(time.Second))
			r.submit(people[u], gpus, func(s *Submission) {
				s.Job.Estimate = int64(said) * workload.Second
				s.Job.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: int64(rnd.IntN(4)) * 5 * workload.Minute, CheckpointOnStop: true}
			})
			mean := 2.8 * 645 / (16 * 1.1) // GPUs x seconds of a job, at 110 % load
			r.wait(time.Duration(mean * -math.Log(1-rnd.Float64()) * float64(time.Second)))
			if left := time.Until(end); left < minutes/2*time.Minute && halfAll == 0 {
				half, halfAll = r.d.Accuracy()
			}
		}
		stop()
		<-done
		synctest.Wait()
		within, all := r.d.Accuracy()
		within, all = within-half, all-halfAll
		part := float64(within) / float64(all)
		t.Logf("%d of %d that waited started by their P90: %.1f %%", within, all, 100*part)
		if all < 25 || part < 0.85 {
			t.Errorf("%d of %d started by their P90", within, all)
		}
	})
}

// TestFewData holds that a forecast is marked as rough until enough jobs have ended, and that starts
// which come a moment late do not stretch waits of hours to days.
func TestFewData(t *testing.T) {
	bubble(t, lasts(10*time.Minute), nil, func(r *rig) {
		look := func() *Queued {
			t.Helper()
			v, err := r.d.View(r.t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.d.foresee(r.t.Context(), v, futures); err != nil {
				t.Fatal(err)
			}
			return &r.d.LastView().Queue[0]
		}
		for range 2 {
			r.submit("ana", 16, nil)
		}
		r.wait(time.Minute)
		if q := look(); !q.Few || q.Futures != futures {
			t.Errorf("nothing has ended: %+v", q)
		}
		for range 30 {
			r.submit("ana", 16, nil)
		}
		r.wait(250 * time.Minute)
		if q := look(); q.Few {
			t.Errorf("25 jobs have ended: %+v", q)
		}
	})
	f := forecaster{predicted: map[int32]prediction{}}
	for i := range int32(2 * enoughSeen) { // said to start at once, and done so after three seconds
		f.predicted[i] = prediction{at: 0, p90: 1, raw: 1}
		f.action(&fact.Action{Do: fact.Start, Job: i, At: 3 * workload.Second})
	}
	if by := f.stretch(); stretched(0, 6*workload.Hour, by) > 7*workload.Hour || stretched(0, 1, by) < 3*workload.Second {
		t.Errorf("stretched by %d: six hours become %d min, a moment %d ms", by, stretched(0, 6*workload.Hour, by)/workload.Minute, stretched(0, 1, by))
	}
}
