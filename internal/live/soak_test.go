package live

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

var soakSeeds = flag.Int("soak", 12, "random histories that TestRandomHistories goes through")

// TestRandomHistories has people and machines do at random what they may, the daemon die
// between any two batches, and reports come late, doubled and out of order. Whatever happens:
// deciding again comes to the same, the fold of the journal is the state, no job is lost or runs
// twice, and once it is quiet every job comes to its end.
func TestRandomHistories(t *testing.T) {
	for seed := range *soakSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { history(t, uint64(seed)) })
	}
}

func history(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	policies := []string{"contract", "fifo", "easy", "srtf", "conservative", "multifactor"}
	behave := func(o *world.Order) simworld.Behaviour {
		x := rand.New(rand.NewPCG(seed, uint64(o.Job)<<8|uint64(o.Attempt)))
		b := simworld.Behaviour{Duration: time.Duration(1+x.IntN(600)) * time.Second, Start: time.Duration(x.IntN(3)) * time.Second, Leave: time.Duration(x.IntN(15)) * time.Second}
		switch x.IntN(12) {
		case 0:
			b.Exit = 1
		case 1:
			b.Fail = "no room"
		case 2:
			b.Yield = true
		case 3:
			b.Fail, b.Own = "no such program", true
		}
		return b
	}
	edit := func(c *Config) {
		if p, err := policy.Resolve(policies[seed%uint64(len(policies))]); err == nil {
			c.Policy = p
		}
	}
	// Drawn from what is reported alone: reports come from many goroutines.
	draw := func(r *world.Report, salt uint64) *rand.Rand {
		return rand.New(rand.NewPCG(seed+salt, uint64(r.Job)<<24|uint64(r.Attempt)<<8|uint64(r.Kind)))
	}
	late := func(r *world.Report) time.Duration { return time.Duration(draw(r, 100).IntN(2000)) * time.Millisecond }
	double := func(r *world.Report) (bool, time.Duration) {
		x := draw(r, 200)
		return x.IntN(4) == 0, time.Duration(x.IntN(5000)) * time.Millisecond
	}
	if seed%3 == 0 {
		late, double = nil, nil
	}
	opts := simworld.Options{Behave: behave, Delay: late, Double: double, Now: time.Now}
	bubbleOn(t, opts, edit, func(r *rig) {
		var ids []string
		for range 150 {
			r.step(rnd, &ids)
			r.wait(time.Duration(rnd.IntN(20_000)) * time.Millisecond)
		}
		for n := range int32(2) { // quiet
			r.machine.Return(n)
			r.must(r.d.Resume(r.ctx(), []int32{n}, "root"))
		}
		for _, id := range ids {
			if j := r.job(id); j.Holds != 0 {
				_, _ = r.d.Release(r.ctx(), []int32{j.Number}, true, "root")
			}
		}
		for range 48 { // starts go on failing at random: a node that is drained for that is given back
			r.must(r.d.Resume(r.ctx(), []int32{0, 1}, "root"))
			r.wait(30 * time.Minute)
		}
		for _, id := range ids {
			if j := r.job(id); j.Phase.Alive() {
				t.Errorf("job %s is still %s", id, j.Fate())
			}
		}
	})
}

func (r *rig) ctx() context.Context { return r.t.Context() }

// must fails for errors that a caller's own mistake does not explain.
func (r *rig) must(err error) {
	r.t.Helper()
	var conflict *Conflict
	var missing *NotFound
	var invalid *Invalid
	if err != nil && !errors.As(err, &conflict) && !errors.As(err, &missing) && !errors.As(err, &invalid) {
		r.t.Fatal(err)
	}
}

// step does one thing at random.
func (r *rig) step(rnd *rand.Rand, ids *[]string) {
	pick := func() []int32 {
		if len(*ids) == 0 {
			return []int32{0}
		}
		return []int32{r.job((*ids)[rnd.IntN(len(*ids))]).Number}
	}
	switch rnd.IntN(16) {
	case 0:
		_, err := r.d.Cancel(r.ctx(), pick(), "ana", "")
		r.must(err)
	case 1:
		_, err := r.d.Hold(r.ctx(), pick(), rnd.IntN(2) == 0, "ana", "")
		r.must(err)
	case 2:
		_, err := r.d.Release(r.ctx(), pick(), rnd.IntN(2) == 0, "ana")
		r.must(err)
	case 3:
		r.must(r.d.Requeue(r.ctx(), pick()[0], "root"))
	case 4:
		r.must(r.d.Drain(r.ctx(), []int32{int32(rnd.IntN(2))}, "root", "a fan"))
	case 5, 6:
		r.must(r.d.Resume(r.ctx(), []int32{int32(rnd.IntN(2))}, "root"))
	case 7:
		r.machine.Crash(int32(rnd.IntN(2)))
	case 8, 9:
		r.machine.Return(int32(rnd.IntN(2)))
	case 10:
		r.kill()
		at := r.d.clock.of(time.Now()) + workload.Minute
		before := r.state(at)
		if rnd.IntN(2) == 0 {
			time.Sleep(time.Duration(rnd.IntN(120)) * time.Second)
		}
		r.open()
		if diff := cmp.Diff(before, r.state(at), cmpopts.EquateEmpty()); diff != "" {
			r.t.Fatalf("what was known before (-) and after (+) a restart:\n%s", diff)
		}
		r.run()
	default:
		array := rnd.IntN(6) == 0
		id := r.submit([]string{"ana", "eva", "ida"}[rnd.IntN(3)], int32(1+rnd.IntN(8)), func(s *Submission) {
			s.Job.Estimate = int64(rnd.IntN(900)) * workload.Second
			if rnd.IntN(4) == 0 {
				s.Job.Limit = int64(60+rnd.IntN(600)) * workload.Second
			}
			if rnd.IntN(3) > 0 {
				s.Job.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: int64(rnd.IntN(5)) * workload.Minute, CheckpointOnStop: rnd.IntN(2) == 0, NotResumable: rnd.IntN(5) == 0}
			}
			if len(*ids) > 0 && rnd.IntN(5) == 0 {
				if id := (*ids)[rnd.IntN(len(*ids))]; r.job(id).Phase != Refused {
					s.Job.After = []workload.Dependency{{Job: id, When: workload.AfterAny}}
				}
			}
			s.Hold = rnd.IntN(12) == 0
			if rnd.IntN(10) == 0 {
				s.Begin = time.Now().Add(time.Duration(rnd.IntN(300)) * time.Second)
			}
			if array {
				s.Indices, s.Throttle = []int32{1, 2, 3, 4}, rnd.IntN(3)
			}
		})
		if array {
			for _, n := range []string{"_1", "_2", "_3", "_4"} {
				*ids = append(*ids, id+n)
			}
		} else {
			*ids = append(*ids, id)
		}
	}
}

// state is all that the daemon knows of jobs that are alive, and of nodes.
func (r *rig) state(at workload.Time) map[string]any {
	counts := r.d.Counts()
	counts.Now = 0 // time has passed
	out := map[string]any{"nodes": r.d.Nodes(), "counts": counts, "engine": r.hash(at)}
	jobs, _ := r.d.Alive(Filter{}, -1, 1<<30)
	for i := range jobs {
		j := jobs[i]
		if len(j.Runs) == 0 {
			j.Runs = nil
		}
		out[j.Spec.ID] = j
	}
	return out
}

// hash is that of the engine's state, without what it remembers of jobs that have ended: a
// start forgets that.
func (r *rig) hash(at workload.Time) string {
	r.t.Helper()
	h := r.d.Header()
	e, err := engine.Restore(h.Cluster, h.Policy, r.d.defaults(), r.d.engine.Snapshot())
	if err != nil {
		r.t.Fatal(err)
	}
	e.Forget(workload.Never)
	e.Decided(at) // a fact that was refused moves time on, and leaves no line
	return e.Snapshot().Settled().Hash()
}
