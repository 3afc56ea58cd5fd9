package sim_test

import (
	"context"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// A future in which everything takes as long as it really does, and everything comes that
// really comes, is what really happens.
func TestAFutureThatKnowsAllIsTheTruth(t *testing.T) {
	for _, p := range allPolicies(t) {
		if p.PerEvent || p.Horizon != nil {
			continue // it does not decide as one who looks ahead at whole instants would
		}
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := drawWorld(t, true)
				spec := *x.spec
				spec.Outages = nil
				x.spec, x.faults = &spec, sim.Faults{}
				for i := range x.work.Jobs {
					x.work.Actual[i].Duration = max(x.work.Actual[i].Duration, 1)
					x.work.Actual[i].Outcome = workload.OutcomeCompleted // futures take that for granted
					x.work.Actual[i].CancelAfter, x.work.Actual[i].IdleAfter = 0, 0
					x.work.Jobs[i].Service = nil
				}
				at := rapid.IntRange(1, 40).Draw(t, "instant")
				fill := engine.Defaults{Checkpoint: x.assume.Checkpoint, RestartCost: x.assume.RestartCost, Grace: x.assume.Grace, StartLatency: x.assume.StartLatency}
				var f *sim.Future
				starts := map[int32]workload.Time{}
				n := 0
				all := &allStarts{}
				_, done := x.probed(t, p, func(now workload.Time, e *engine.Engine) {
					if n++; n != at {
						return
					}
					copied, err := engine.Restore(x.spec, p, fill, e.Snapshot())
					if err != nil {
						t.Fatal(err)
					}
					f = &sim.Future{Engine: copied, Now: now, Fill: fill, Shares: p.Sharing != nil, Until: workload.Never - 1,
						Work:    func(n int32) workload.Span { return x.work.Actual[n].Duration },
						Started: func(n int32, at workload.Time) bool { starts[n] = at; return true }}
					for _, r := range copied.Runs() {
						if !r.Up || r.Stopping { // when these were told is the world's to know
							f = nil
							return
						}
						f.Runs = append(f.Runs, sim.Alive{Job: r.Job, Attempt: r.Attempt, Up: true})
					}
					for i := range x.work.Jobs {
						if x.work.Jobs[i].Submit > now {
							if f.First == 0 {
								f.First = int32(i)
							}
							f.Arrivals = append(f.Arrivals, sim.Arrival{Job: &x.work.Jobs[i], Estimate: sim.Estimate(p.Estimates, int32(i), &x.work.Jobs[i], &x.work.Actual[i])})
						}
					}
				}, all)
				if f == nil || !done {
					return
				}
				if err := f.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				want := map[int32]workload.Time{}
				for _, a := range *all {
					if _, ok := want[a.Job]; !ok && a.At > f.Now {
						want[a.Job] = a.At
					}
				}
				if !maps.Equal(starts, want) {
					t.Fatalf("from %d on\ngot  %v\nwant %v", f.Now, starts, want)
				}
			})
		})
	}
}

// allStarts are the start actions of a run.
type allStarts []fact.Action

func (s *allStarts) Fact(*fact.Fact)    {}
func (s *allStarts) Instant(*sim.Gauge) {}
func (s *allStarts) Action(a *fact.Action) {
	if a.Do == fact.Start {
		*s = append(*s, *a)
	}
}
