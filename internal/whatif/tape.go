package whatif

import (
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// tape shows observers what happened in a stretch, with the numbers of the scene, and the
// state after each instant.
type tape struct {
	c         *scene
	e         *engine.Engine
	observers []sim.Observer
	at        workload.Time
	gauge     sim.Gauge
	seen      bool
}

// Snapshot begins the stretch, or another segment in it.
func (t *tape) Snapshot(e *engine.Engine, _ []byte) {
	if t.e = e; !t.seen {
		t.look(t.c.s.now)
	}
}

func (t *tape) Fact(f *fact.Fact) {
	t.step(f.At)
	g := *f
	if g.Job >= 0 {
		g.Job = t.c.number(f.Job)
	}
	for _, o := range t.observers {
		o.Fact(&g)
	}
	t.look(f.At)
}

func (t *tape) Action(a *fact.Action) {
	t.step(a.At)
	b := *a
	b.Job, b.For, b.Reason.For = t.c.number(a.Job), t.c.number(a.For), t.c.number(a.Reason.For)
	for _, o := range t.observers {
		o.Action(&b)
	}
	t.look(a.At)
}

// number of a job in the scene, -1 for one that had ended before.
func (c *scene) number(was int32) int32 {
	if n, ok := c.numbers[was]; ok {
		return n
	}
	return -1
}

// step ends the instant before a time.
func (t *tape) step(at workload.Time) {
	if t.seen && at > t.at {
		t.show()
	}
}

func (t *tape) show() {
	for _, o := range t.observers {
		o.Instant(&t.gauge)
	}
}

// look takes the state as it is after a line.
func (t *tape) look(at workload.Time) {
	t.at, t.seen = at, true
	t.gauge = gauge(t.e, at)
}

func gauge(e *engine.Engine, at workload.Time) sim.Gauge {
	g := e.Gauge()
	return sim.Gauge{At: at, Installed: g.Installed, Available: g.Available, Assigned: g.Assigned, Held: g.Held, WaitingJobs: g.WaitingJobs,
		WaitingMilli: g.WaitingMilli, RunningJobs: g.RunningJobs, Fragmented: g.WaitingJobs > 0 && e.Fragmented()}
}
