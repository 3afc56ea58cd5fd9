package live

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/workload"
)

// wall is a clock on the wall that people set. The bubble's own goes on as it does.
type wall struct{ off atomic.Int64 }

func (w *wall) now() time.Time      { return time.Now().Add(time.Duration(w.off.Load())) }
func (w *wall) set(d time.Duration) { w.off.Add(int64(d)) }

// onWall runs a test before a wall clock that can be set.
func onWall(t *testing.T, behave func(*world.Order) simworld.Behaviour, test func(r *rig, w *wall)) {
	w := &wall{}
	bubbleOn(t, simworld.Options{Behave: behave, Now: w.now}, func(c *Config) {
		began := time.Now()
		c.Now, c.Mono = w.now, func() time.Duration { return time.Since(began) }
	}, func(r *rig) { test(r, w) })
}

// The wall clock is set forth or back by an hour, and back again: nothing shifts, nothing is early
// or late, and what is shown is by the wall as it is now.
func TestTheClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			onWall(t, lasts(10*time.Minute), func(r *rig, w *wall) {
				a := r.submit("ana", 16, nil)
				later := r.submit("ana", 1, func(s *Submission) { s.Begin = w.now().Add(5 * time.Minute) })
				limited := r.submit("eva", 16, func(s *Submission) { s.Job.Limit = 5 * workload.Minute })
				r.wait(2 * time.Minute)
				w.set(by)
				r.wait(3*time.Minute + 20*time.Second)
				if got := strings.Count(string(r.export()), `"clock-step"`); got != 1 {
					t.Errorf("%d facts of a clock that was set, want 1", got)
				}
				if d := r.d.Wall(r.job(a).Run().Up).Sub(w.now()); d > -5*time.Minute || d < -6*time.Minute {
					t.Errorf("it is shown to have started %v ago", -d)
				}
				r.want(later, "waiting") // its time has come
				r.want(a, "running")
				r.wait(4*time.Minute + 45*time.Second)
				r.want(a, "completed")
				if k := r.job(a).Runs[0].Kept; k < 599_000 || k > 601_000 {
					t.Errorf("it ran for %d ms, want 600,000", k)
				}
				b := r.submit("ana", 1, nil)
				if d := r.d.Wall(r.job(b).Spec.Submit).Sub(w.now()); d < -time.Second || d > time.Second {
					t.Errorf("a submission of now is shown %v off", d)
				}
				before := r.d.head.At
				r.kill()
				w.set(by / 60) // while nobody looks
				r.start()
				if r.d.head.At < before || r.d.clock.last < before {
					t.Errorf("the journal went on at %d, behind %d", r.d.head.At, before)
				}
				c := r.submit("ana", 1, nil)
				if d := r.d.Wall(r.job(c).Spec.Submit).Sub(w.now()); d < -time.Second || d > time.Second {
					t.Errorf("after a restart a submission of now is shown %v off", d)
				}
				w.set(-by)
				r.wait(40 * time.Minute)
				for _, id := range []string{later, b, c} {
					r.want(id, "completed")
					if k := r.job(id).Runs[0].Kept; k < 599_000 || k > 601_000 {
						t.Errorf("job %s ran for %d ms, want 600,000", id, k)
					}
				}
				r.want(limited, "timeout")
			})
		})
	}
}

// The wall is set back by days while the daemon is down: it goes on behind what is in the journal.
func TestTheClockWasSetBackMeanwhile(t *testing.T) {
	onWall(t, lasts(10*time.Minute), func(r *rig, w *wall) {
		a := r.submit("ana", 8, nil)
		r.wait(time.Minute)
		last := r.d.head.At
		r.kill()
		w.set(-100 * time.Hour)
		time.Sleep(time.Minute)
		r.start()
		if r.d.clock.last <= last {
			t.Errorf("it goes on at %d, and the journal ends at %d", r.d.clock.last, last)
		}
		b := r.submit("ana", 8, nil)
		r.wait(11 * time.Minute)
		for _, id := range []string{a, b} {
			r.want(id, "completed")
			if k := r.job(id).Runs[0].Kept; k > 601_000 || id == b && k < 599_000 {
				t.Errorf("job %s ran for %d ms", id, k)
			}
		}
	})
}
