package shadow_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/shadow"
	"github.com/escala-sched/escala/internal/world/worldtest"
	"github.com/escala-sched/escala/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reality tells shadow worlds what really happens to jobs.
type reality struct {
	mu   sync.Mutex
	real map[int32]world.Real
	w    *shadow.World
}

func (r *reality) tell(job int32, x world.Real) {
	r.mu.Lock()
	r.real[job] = x
	w := r.w
	r.mu.Unlock()
	w.Watch(job, x)
}

// told is a world whose orders come with what is known, as those of the loop do.
type told struct {
	*shadow.World
	r *reality
}

func (r *reality) open(spec *cluster.Spec) world.World {
	r.w = shadow.Over(spec, time.Now)
	return told{r.w, r}
}

func (t told) Begin(ctx context.Context, believed []world.Belief, report func(...world.Report)) error {
	t.r.mu.Lock()
	for i := range believed {
		believed[i].Real = t.r.real[believed[i].Job]
	}
	t.r.mu.Unlock()
	return t.World.Begin(ctx, believed, report)
}

func (t told) Do(orders ...world.Order) {
	t.r.mu.Lock()
	for i := range orders {
		orders[i].Real = t.r.real[orders[i].Job]
	}
	t.r.mu.Unlock()
	t.World.Do(orders...)
}

func harness() worldtest.Harness {
	r := &reality{real: map[int32]world.Real{}}
	spec := cluster.Uniform("test", 2, 8)
	jobs := int32(0)
	return worldtest.Harness{
		World: r.open(spec),
		Job: func(_ *testing.T, k worldtest.Kind) world.Order {
			if k.Fails || k.Slow || k.Yields || k.Ignores || k.Forks { // nothing is there that could
				return world.Order{Run: world.Run{Job: worldtest.Cannot}}
			}
			job := jobs
			jobs++
			// It really runs since a minute ago, and goes on until it is released.
			x := world.Real{Started: time.Now().Add(-time.Minute)}
			if k.Exits {
				x.Ended, x.Exit, x.Outcome = x.Started.Add(time.Millisecond), k.Code, workload.OutcomeCompleted
				if k.Code != 0 {
					x.Outcome = workload.OutcomeFailed
				}
			}
			r.real[job] = x
			return world.Order{Do: fact.Start, Run: world.Run{Job: job, Attempt: 1}, ID: "j", Spec: &workload.Job{}, Place: []fact.Grant{cluster.WholeGrant(0, 1)}}
		},
		Release: func(run world.Run) { // it was as short as can be: whatever runs in shadow is over
			x := r.real[run.Job]
			x.Ended = x.Started
			r.tell(run.Job, x)
		},
		Reopen:   func(*testing.T) world.World { return r.open(spec) },
		Believes: true,
		Patience: 10 * time.Minute, Quiet: 10 * time.Second, Grace: time.Minute, Limit: time.Minute,
	}
}

func TestConformance(t *testing.T) {
	for _, c := range worldtest.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, harness()) })
		})
	}
}
