package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// witness writes a run down, and from an instant on what the world knew then, and what was
// to come of it.
type witness struct {
	all digest
	// cut is the number of lines up to the instant.
	cut   int
	now   workload.Time
	state *engine.State
	told  map[int32]*sim.Before
	from  *sim.From
}

func (w *witness) before(n int32) *sim.Before {
	if w.told[n] == nil {
		w.told[n] = &sim.Before{}
	}
	return w.told[n]
}

func (w *witness) Fact(f *fact.Fact) {
	w.all.Fact(f)
	if w.state != nil && f.At > w.now {
		w.later(f)
		return
	}
	switch f.Kind {
	case fact.JobStarted:
		b := w.before(f.Job)
		if b.Starts++; b.Starts == 1 {
			b.FirstStart = f.At
		}
	case fact.SessionIdle:
		w.before(f.Job).Idle = true
	case fact.SessionActive:
		w.before(f.Job).Idle = false
	}
}

// later takes in what comes after the instant.
func (w *witness) later(f *fact.Fact) {
	switch f.Kind {
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		w.from.Events = append(w.from.Events, *f)
	case fact.DemandChanged:
		w.from.Events = append(w.from.Events, *f)
	case fact.SessionActive:
		if b := w.before(f.Job); b.Active == 0 {
			b.Active = f.At
		}
	}
}

func (w *witness) Action(a *fact.Action) {
	w.all.Action(a)
	if (w.state == nil || a.At == w.now) && a.Do == fact.Stop {
		b := w.before(a.Job)
		b.Told, b.Cause = a.At, a.Cause()
	}
}

func (w *witness) Instant(g *sim.Gauge) {
	if w.all.Instant(g); w.state != nil && g.At == w.now {
		w.cut = len(w.all.lines)
	}
}

// TestGoesOnFromAnyInstant: under every shipped policy a run that begins with the state of
// another, at any instant of it, is the rest of it to the last line, reasons included.
func TestGoesOnFromAnyInstant(t *testing.T) {
	policies := allPolicies(t)
	rapid.Check(t, func(rt *rapid.T) {
		x := drawWorld(rt, true)
		p := rapid.SampledFrom(policies).Draw(rt, "policy")
		goesOn(rt, &x, p, nil)
	})
}

// TestContractGoesOnFromAnyInstant is the same under random contracts and budgets.
func TestContractGoesOnFromAnyInstant(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawShared(rt, rapid.Bool().Draw(rt, "budgets"))
		goesOn(rt, &x.world, x.pol, x)
	})
}

func goesOn(rt *rapid.T, x *world, p *policy.Policy, shared *shared) {
	x.faults = sim.Faults{} // chance is not in a state
	at := rapid.IntRange(1, 60).Draw(rt, "instant")
	w := &witness{told: map[int32]*sim.Before{}, from: &sim.From{Before: map[int32]sim.Before{}, StartLatency: x.assume.StartLatency}}
	n := 0
	probe := func(now workload.Time, e *engine.Engine) {
		if n++; n < at || w.state != nil && now > w.now {
			return // work that takes no time may have several instants at one time: the state is of the last
		}
		data := e.Snapshot().AppendTo(nil)
		s, err := engine.ParseState(data)
		if err != nil {
			rt.Fatal(err)
		}
		w.state, w.now = s, now
	}
	o := sim.Options{Workload: x.work, Cluster: x.spec, Policy: p, Assume: x.assume, Observers: []sim.Observer{w}, Probe: probe}
	if shared != nil {
		o.Budgets, o.Until = shared.tree, 200*workload.Day
	}
	if _, err := sim.Run(context.Background(), o); err != nil {
		if _, bad := engine.New(x.spec, p, engine.Defaults{}); bad != nil || strings.Contains(err.Error(), "what is stopped loses its work") {
			return
		}
		rt.Fatal(err)
	}
	if w.state == nil {
		return
	}
	w.from.State, w.from.Now = w.state, w.now
	for n, b := range w.told {
		w.from.Before[n] = *b
	}
	var rest digest
	o.From, o.Observers, o.Probe = w.from, []sim.Observer{&rest}, nil
	if _, err := sim.Run(context.Background(), o); err != nil {
		rt.Fatal(err)
	}
	// When it is asked for nothing is its own affair: the state is asked anew at its own time.
	want, got := happenings(w.all.lines[w.cut:]), happenings(rest.lines)
	compare(rt, p.Name, &want, &got)
}

// happenings are the facts and actions of a digest.
func happenings(lines []string) (d digest) {
	for _, l := range lines {
		if l[0] != 'G' {
			d.lines = append(d.lines, l)
		}
	}
	return d
}
