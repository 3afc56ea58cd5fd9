package simworld_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/internal/world/worldtest"
	"github.com/escala-sched/escala/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a machine whose jobs do what their kind says.
func harness(o simworld.Options) worldtest.Harness {
	var mu sync.Mutex
	kinds := map[int32]worldtest.Kind{}
	o.Now = time.Now
	o.Behave = func(order *world.Order) simworld.Behaviour {
		mu.Lock()
		defer mu.Unlock()
		k := kinds[order.Job]
		b := simworld.Behaviour{Start: time.Millisecond, Exit: k.Code, Yield: k.Yields}
		switch {
		case k.Fails:
			b.Fail, b.Own = "no such program", !k.Node
		case k.Slow:
			b.Start = time.Hour
		}
		if k.Exits || k.Yields {
			b.Duration = time.Millisecond
		}
		if k.Saves {
			b.Leave = time.Second
		}
		if k.Ignores {
			b.Leave = 1000 * time.Hour
		}
		return b
	}
	m := simworld.New(cluster.Uniform("test", 2, 8), o)
	return worldtest.Harness{
		World: m.Open(),
		Job: func(_ *testing.T, k worldtest.Kind) world.Order {
			mu.Lock()
			defer mu.Unlock()
			job := int32(len(kinds))
			kinds[job] = k
			return world.Order{Do: fact.Start, Run: world.Run{Job: job, Attempt: 1}, ID: "j", Spec: &workload.Job{},
				Place: []fact.Grant{{Node: 0, Milli: 500, GPUs: 1, Count: 1}}}
		},
		Release:  func(r world.Run) { m.End(r, 0) },
		Reopen:   func(*testing.T) world.World { return m.Open() },
		Lose:     m.Crash,
		Return:   m.Return,
		Hide:     m.Hide,
		Show:     m.Return,
		Patience: 10 * time.Minute, Quiet: 10 * time.Second, Grace: time.Minute, Limit: time.Minute,
	}
}

func conform(t *testing.T, o func() simworld.Options) {
	for _, c := range worldtest.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, harness(o())) })
		})
	}
}

func TestConformance(t *testing.T) {
	conform(t, func() simworld.Options { return simworld.Options{} })
}

func TestConformanceWithBadReports(t *testing.T) {
	conform(t, func() simworld.Options {
		r := rand.New(rand.NewPCG(1, 2))
		return simworld.Options{
			Delay: func(*world.Report) time.Duration { return time.Duration(r.IntN(3000)) * time.Millisecond },
			Double: func(*world.Report) (bool, time.Duration) {
				return r.IntN(3) == 0, time.Duration(r.IntN(3000)) * time.Millisecond
			},
		}
	})
}
