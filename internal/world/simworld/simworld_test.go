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

func start(job int32, gpus uint64) world.Order {
	return world.Order{Do: fact.Start, Run: world.Run{Job: job, Attempt: 1}, Place: []fact.Grant{cluster.WholeGrant(0, gpus)}}
}

func TestDoubleUseIsFound(t *testing.T) {
	m := simworld.New(cluster.Uniform("test", 1, 8), simworld.Options{})
	w := m.Open()
	defer w.Close()
	if err := w.Begin(t.Context(), nil, func(...world.Report) {}); err != nil {
		t.Fatal(err)
	}
	w.Do(start(0, 0b11), start(1, 0b100))
	if b := m.Broken(); len(b) > 0 {
		t.Errorf("%q", b)
	}
	w.Do(start(2, 0b110))
	if b := m.Broken(); len(b) != 2 {
		t.Errorf("%q", b)
	}
	if m.Alive() != 3 {
		t.Error(m.Alive())
	}
}

func TestCheckpointsAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := simworld.New(cluster.Uniform("test", 1, 8), simworld.Options{Behave: func(*world.Order) simworld.Behaviour {
			return simworld.Behaviour{Duration: time.Hour, Checkpoint: 25 * time.Minute, Exit: 3}
		}})
		w := m.Open()
		defer w.Close()
		counts := map[fact.Kind]int{}
		if err := w.Begin(t.Context(), nil, func(rs ...world.Report) {
			for _, r := range rs {
				counts[r.Kind]++
			}
		}); err != nil {
			t.Fatal(err)
		}
		w.Do(start(0, 1))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if counts[fact.JobStarted] != 1 || counts[fact.JobCheckpointed] != 2 || counts[fact.JobFinished] != 1 {
			t.Error(counts)
		}
	})
}
