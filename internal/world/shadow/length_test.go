package shadow_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/shadow"
	"github.com/escala-sched/escala/workload"
)

// observed is what is told after a while: Real with times since the start of the shadow run.
type observed struct{ at, started, ended time.Duration }

const not = -1000 * time.Hour // a time that is not known

// ends runs a job in shadow and returns when and how it ends.
func ends(t *testing.T, o world.Order, tells ...observed) (after time.Duration, r world.Report) {
	t.Helper()
	w := shadow.Over(cluster.Uniform("test", 1, 8), time.Now)
	defer w.Close()
	var got heard
	if err := w.Begin(t.Context(), nil, got.report); err != nil {
		t.Fatal(err)
	}
	o.Do, o.Run = fact.Start, world.Run{Job: 1, Attempt: 1}
	began := time.Now()
	w.Do(o)
	for _, x := range tells {
		time.Sleep(x.at - time.Since(began))
		real := world.Real{Started: began.Add(x.started), Outcome: workload.OutcomeFailed, Exit: 3}
		if x.ended != not {
			real.Ended = began.Add(x.ended)
		}
		w.Watch(1, real)
	}
	time.Sleep(100 * time.Hour)
	synctest.Wait()
	list := got.all()
	if len(list) < 2 {
		return not, r
	}
	return got.last.Sub(began), list[len(list)-1]
}

// heard keeps reports.
type heard struct {
	mu   sync.Mutex
	list []world.Report
	last time.Time
}

func (h *heard) report(rs ...world.Report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list, h.last = append(h.list, rs...), time.Now()
}

func (h *heard) all() []world.Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

func TestHowLongARunLasts(t *testing.T) {
	h, m := time.Hour, time.Minute
	says := func(estimate, limit time.Duration) world.Order {
		return world.Order{Spec: &workload.Job{Estimate: estimate.Milliseconds(), Limit: limit.Milliseconds()}, Limit: limit}
	}
	resumed := says(2*h, 0)
	resumed.Done, resumed.Restart = 90*m, 5*m
	over := says(h, 0)
	over.Done = 3 * h
	for name, x := range map[string]struct {
		order world.Order
		tells []observed
		want  time.Duration
		guess bool
		how   workload.Outcome
	}{
		"by its estimate":                         {says(2*h, 8*h), nil, 2 * h, true, workload.OutcomeCompleted},
		"by its limit":                            {says(0, 8*h), nil, 8 * h, true, workload.OutcomeCompleted},
		"its estimate is beyond its limit":        {says(9*h, 8*h), nil, 8 * h, true, workload.OutcomeCompleted},
		"nothing is said":                         {says(0, 0), nil, shadow.Unsaid, true, workload.OutcomeCompleted},
		"real length, known early":                {says(h, 0), []observed{{0, -5 * h, -2 * h}}, 3 * h, false, workload.OutcomeFailed},
		"real length, known in time":              {says(5*h, 0), []observed{{h, -h, h}}, 2 * h, false, workload.OutcomeFailed},
		"it has lasted longer than the real one":  {says(5*h, 0), []observed{{3 * h, h, 2 * h}}, 3 * h, false, workload.OutcomeFailed},
		"real length beyond its limit":            {says(h, h), []observed{{0, -3 * h, -h}}, 2 * h, false, workload.OutcomeFailed},
		"reality goes on, and began before":       {says(h, 0), []observed{{0, -2 * h, not}, {4 * h, -2 * h, 4 * h}}, 6 * h, false, workload.OutcomeFailed},
		"reality began at about the same time":    {says(h, 0), []observed{{m, 30 * time.Second, not}, {3 * h, 30 * time.Second, 3 * h}}, 3 * h, false, workload.OutcomeFailed},
		"reality is behind, and not as far":       {says(h, 0), []observed{{30 * m, 30 * m, not}, {3 * h, 30 * m, 3 * h}}, h, true, workload.OutcomeCompleted},
		"reality goes on beyond the limit":        {says(h, 2*h), []observed{{0, -5 * h, not}}, 2 * h, false, workload.OutcomeTimeout},
		"a resumed run does what is left":         {resumed, []observed{{0, -9 * h, -7 * h}}, 35 * m, false, workload.OutcomeFailed},
		"a resumed run guesses what is left":      {resumed, nil, 35 * m, true, workload.OutcomeCompleted},
		"a resumed run that is beyond its guess":  {over, nil, m, true, workload.OutcomeCompleted},
		"a correction of what was told":           {says(h, 0), []observed{{0, -9 * h, -4 * h}, {h, -6 * h, -4 * h}}, 2 * h, false, workload.OutcomeFailed},
		"reality turns out to have gone on, late": {says(h, 0), []observed{{2 * h, -h, h}}, h, true, workload.OutcomeCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, r := ends(t, x.order, x.tells...)
				if after != x.want || r.Kind != fact.JobFinished || r.Outcome != x.how || (r.Text == shadow.GuessText) != x.guess {
					t.Errorf("ended after %v with %+v, want %v", after, r, x.want)
				}
			})
		})
	}
}

func TestAStopTakesItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shadow.Over(cluster.Uniform("test", 1, 8), time.Now)
		defer w.Close()
		var heard heard
		if err := w.Begin(t.Context(), nil, heard.report); err != nil {
			t.Fatal(err)
		}
		run := world.Run{Job: 1, Attempt: 1}
		w.Do(world.Order{Do: fact.Start, Run: run, Spec: &workload.Job{}})
		w.Do(world.Order{Do: fact.Stop, Run: run, Grace: 10 * time.Minute, Cause: fact.CausePreempted})
		w.Do(world.Order{Do: fact.Stop, Run: run, Grace: 20 * time.Minute, Cause: fact.CauseCancelled}) // never longer
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		if got := heard.all(); len(got) != 1 {
			t.Fatalf("%+v", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := heard.all(); len(got) != 2 || got[1].Kind != fact.JobStopped || got[1].Cause != fact.CausePreempted {
			t.Errorf("%+v", got)
		}
	})
}

// A world that is made again goes on where the journal believes that its runs are.
func TestARestartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(30 * time.Minute)
		w := shadow.Over(cluster.Uniform("test", 1, 8), time.Now)
		defer w.Close()
		var heard heard
		o := world.Order{Do: fact.Start, Run: world.Run{Job: 1, Attempt: 1}, Spec: &workload.Job{Estimate: workload.Hour}}
		over := world.Order{Do: fact.Start, Run: world.Run{Job: 2, Attempt: 1}, Spec: &workload.Job{Estimate: workload.Minute}}
		if err := w.Begin(t.Context(), []world.Belief{{Order: o, Up: true, Since: began}, {Order: over, Up: true, Since: began}}, heard.report); err != nil {
			t.Fatal(err)
		}
		if got := heard.all(); len(got) != 1 || got[0].Job != 2 || !got[0].When.Equal(began.Add(time.Minute)) {
			t.Errorf("what is over is told before Begin returns: %+v", got)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if got := heard.all(); len(got) != 2 || got[1].Job != 1 {
			t.Errorf("%+v", got)
		}
	})
}
