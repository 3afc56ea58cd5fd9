package sim_test

import (
	"bytes"
	"testing"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// swapped puts an engine that was restored from bytes in place of another.
func swapped(t *rapid.T, x *world, p *policy.Policy, e *engine.Engine) {
	data := e.Snapshot().AppendTo(nil)
	s, err := engine.ParseState(data)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	r, err := engine.Restore(x.spec, p, x.defaults(), s)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	if again := r.Snapshot().AppendTo(nil); !bytes.Equal(again, data) {
		t.Fatalf("%s: a state of %d bytes came back as one of %d", p.Name, len(data), len(again))
	}
	*e = *r
}

// defaults are the assumptions as engines take them.
func (x *world) defaults() engine.Defaults {
	a := &x.assume
	return engine.Defaults{Checkpoint: a.Checkpoint, RestartCost: a.RestartCost, Grace: a.Grace, StartLatency: a.StartLatency}
}

// now and then draws after which instants a run is interrupted.
func nowAndThen(t *rapid.T) func() bool {
	every := rapid.SampledFrom([]int{1, 1, 2, 5, 11}).Draw(t, "every")
	n := rapid.IntRange(0, every).Draw(t, "from")
	return func() bool { n++; return n%every == 0 }
}

func compare(t *rapid.T, name string, a, b *digest) {
	for i := range a.lines {
		if i >= len(b.lines) || a.lines[i] != b.lines[i] {
			other := "nothing"
			if i < len(b.lines) {
				other = b.lines[i]
			}
			for _, l := range a.lines[max(0, i-30):i] {
				t.Log(defaults.ReplaceAllString(l, ""))
			}
			t.Fatalf("%s: line %d is\n%s\nand with engines that are restored\n%s", name, i, a.lines[i], other)
		}
	}
	if len(b.lines) > len(a.lines) {
		t.Fatalf("%s: with engines that are restored comes in the end\n%s", name, b.lines[len(a.lines)])
	}
}

// TestRestoredGoesOn: under every shipped policy a run in which the engine is replaced, now
// and then, by one that was restored from its bytes is the same to the last line.
func TestRestoredGoesOn(t *testing.T) {
	policies := allPolicies(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		p := rapid.SampledFrom(policies).Draw(rt, "policy")
		var a, b digest
		if _, ok := x.run(rt, p, &a); !ok {
			return
		}
		due := nowAndThen(rt)
		probe := func(_ workload.Time, e *engine.Engine) {
			if due() {
				swapped(rt, &x, p, e)
			}
		}
		x.probed(rt, p, probe, &b)
		compare(rt, p.Name, &a, &b)
	})
}

// TestContractRestoredGoesOn is the same under random contracts and budgets.
func TestContractRestoredGoesOn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawShared(rt, rapid.Bool().Draw(rt, "budgets"))
		var a, b digest
		if _, ok := x.simulate(rt, sim.Options{Observers: []sim.Observer{&a}}); !ok {
			return
		}
		due := nowAndThen(rt)
		probe := func(_ workload.Time, e *engine.Engine) {
			if due() {
				swapped(rt, &x.world, x.pol, e)
			}
		}
		x.simulate(rt, sim.Options{Observers: []sim.Observer{&b}, Probe: probe})
		compare(rt, "contract", &a, &b)
	})
}

// TestPolicyChangesMidway: whatever policy takes over from whichever other, at any instant,
// the run stays legal, and all jobs that can end do.
func TestPolicyChangesMidway(t *testing.T) {
	policies := allPolicies(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		first := rapid.SampledFrom(policies).Draw(rt, "policy")
		order := []string{first.Name}
		due, told := nowAndThen(rt), first.Sharing != nil
		probe := func(now workload.Time, e *engine.Engine) {
			if !due() || rapid.Bool().Draw(rt, "stay") {
				return
			}
			p := rapid.SampledFrom(policies).Draw(rt, "next policy")
			if !told {
				if err := e.Apply(&fact.Fact{Kind: fact.BudgetsChanged, At: now, Job: -1, Node: -1, Budgets: sim.EqualBudgets(x.work), Epoch: workload.Unknown}); err != nil {
					rt.Fatal(err)
				}
				told = true
			}
			s := e.Snapshot()
			if _, bad := engine.New(x.spec, p, x.defaults()); bad != nil {
				return
			}
			r, err := engine.Restore(x.spec, p, x.defaults(), s)
			if err != nil {
				rt.Fatalf("%v, then %s: %v", order, p.Name, err)
			}
			order = append(order, p.Name)
			*e = *r
		}
		var d digest
		never := refusals{} // some that have run already never fit under another placement
		res, ok := x.probed(rt, first, probe, newLegal(fatal{t, rt}, x.spec, x.work), &d, never)
		if !ok {
			return
		}
		for i := range res.Jobs {
			switch j := &res.Jobs[i]; j.State {
			case sim.Ended, sim.Refused, sim.NeverReady, sim.Withdrawn:
			default:
				if !x.waitsForRefused(res, i) && !never[int32(i)] {
					for _, l := range d.lines[max(0, len(d.lines)-40):] {
						rt.Log(defaults.ReplaceAllString(l, ""))
					}
					rt.Fatalf("%v: job %d (%s) is left in state %d", order, i, &x.work.Jobs[i].Need, j.State)
				}
			}
		}
	})
}

// refusals are the jobs that were refused.
type refusals map[int32]bool

func (refusals) Fact(*fact.Fact)    {}
func (refusals) Instant(*sim.Gauge) {}
func (r refusals) Action(a *fact.Action) {
	if a.Do == fact.Refuse {
		r[a.Job] = true
	}
}
