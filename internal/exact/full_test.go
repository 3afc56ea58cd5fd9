package exact_test

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/internal/exact"
	"github.com/escala-sched/escala/internal/horizontest"
)

// clock goes on by a minute whenever it is looked at, so that runs end after as many looks
// on every machine.
func clock() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
}

func full(t *rapid.T, p *horizon.Problem, work int) *horizon.Result {
	r, err := exact.Full(context.Background(), p, exact.Options{Budget: time.Hour, Work: work, Now: clock()})
	if err != nil {
		t.Fatalf("%v\n%s", err, horizontest.Text(p))
	}
	if v := legal.Check(r.Plan); len(v) > 0 {
		t.Fatalf("%v\n%s", v, horizontest.Text(p))
	}
	return r
}

// TestFullIsNoWorseThanFast: with the same work.
func TestFullIsNoWorseThanFast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.Draw(t, rapid.SampledFrom([]horizontest.Size{horizontest.Tiny, horizontest.Small}).Draw(t, "size"))
		const work = 50
		fast, err := horizon.Fast(p, horizon.Options{Work: work})
		if err != nil {
			return
		}
		r := full(t, p, work)
		if r.Score.Objective < fast.Score.Objective {
			t.Fatalf("full %v, fast %v", r.Score.Objective, fast.Score.Objective)
		}
		if r.Bound < r.Score.Objective || r.Bound > fast.Bound+1e-6 {
			t.Fatalf("full has a bound of %v for %v, fast one of %v", r.Bound, r.Score.Objective, fast.Bound)
		}
	})
}

// TestFullIsStopped: one that is cancelled, or has no time, still has the plan of a search.
func TestFullIsStopped(t *testing.T) {
	p := &horizon.Problem{GPUs: 3, Steps: 3, Decay: 1, Jobs: []horizon.Job{{ID: "a", GPUs: 1, Steps: 2, Priority: 1}, {ID: "b", GPUs: 2, Steps: 3, Priority: 2}}}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, tc := range map[string]struct {
		ctx    context.Context
		budget time.Duration
	}{"cancelled": {cancelled, time.Hour}, "no time": {context.Background(), time.Nanosecond}} {
		r, err := exact.Full(tc.ctx, p, exact.Options{Budget: tc.budget, Work: 1000, Now: clock()})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := legal.Check(r.Plan); len(v) > 0 || r.Work > 100 {
			t.Errorf("%s: %v after %d decodes", name, v, r.Work)
		}
	}
}
