package simworld

import (
	"cmp"
	"slices"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// killed is the exit code of a process that SIGKILL ended.
const killed = 128 + 9

// run is one run on the machine. Its methods are called with the machine locked.
type run struct {
	m     *Machine
	order world.Order
	does  Behaviour
	up    bool
	at    time.Time
	// cause is that of the first stop, stopping tells whether there was one.
	stopping bool
	cause    fact.Cause
	timers   []*time.Timer
	// end is the report of its end, nil as long as it lasts.
	end *world.Report
}

// sorted lists the runs in an order that does not depend on chance.
func (m *Machine) sorted() []*run {
	all := make([]*run, 0, len(m.runs))
	for _, x := range m.runs {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.order.Job, b.order.Job), cmp.Compare(a.order.Attempt, b.order.Attempt))
	})
	return all
}

func (x *run) on(node int32) bool {
	return slices.ContainsFunc(x.order.Place, func(g fact.Grant) bool { return g.Node == node })
}

func (x *run) hidden() bool {
	return slices.ContainsFunc(x.order.Place, func(g fact.Grant) bool { return x.m.hidden[g.Node] })
}

// start carries out a start.
func (m *Machine) start(o world.Order) {
	if x := m.runs[o.Run]; x != nil {
		x.again()
		return
	}
	m.check(&o)
	o.Place = slices.Clone(o.Place)
	x := &run{m: m, order: o, does: m.behave(&o)}
	m.runs[o.Run] = x
	for _, g := range o.Place {
		if g.Node < 0 || int(g.Node) >= len(m.spec.Nodes) && len(m.spec.Nodes) > 0 {
			x.fail("there is no such node", -1, true)
			return
		}
		if m.down[g.Node] {
			x.fail("the node does not answer", g.Node, false)
			return
		}
	}
	x.wait(x.does.Start, x.rise)
}

// wait does something once so much time has passed, unless the run ends before.
func (x *run) wait(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	x.timers = append(x.timers, x.m.after(d, func() {
		if x.end == nil {
			f()
		}
	}))
}

func (x *run) rise() {
	if x.does.Fail != "" {
		node := int32(-1)
		if !x.does.Own && len(x.order.Place) > 0 {
			node = x.order.Place[0].Node
		}
		x.fail(x.does.Fail, node, x.does.Own)
		return
	}
	x.up = true
	if x.m.opts.Now != nil {
		x.at = x.m.opts.Now()
	}
	x.tell(x.started())
	if x.does.Duration > 0 {
		x.wait(x.does.Duration, func() { x.finish(false) })
	}
	if x.order.Limit > 0 {
		x.wait(x.order.Limit, x.limit)
	}
	if x.does.Checkpoint > 0 {
		x.wait(x.does.Checkpoint, x.checkpoint)
	}
}

func (x *run) checkpoint() {
	x.tell(world.Report{Kind: fact.JobCheckpointed, Run: x.order.Run, Node: -1})
	x.wait(x.does.Checkpoint, x.checkpoint)
}

func (x *run) limit() {
	if !x.stopping {
		x.over(world.Report{Kind: fact.JobFinished, Outcome: workload.OutcomeTimeout, Exit: 128 + 15, Text: "it reached its time limit"})
	}
}

// stop carries out a stop.
func (m *Machine) stop(o world.Order) {
	x := m.runs[o.Run]
	switch {
	case x == nil:
		x = &run{m: m, order: o}
		m.runs[o.Run] = x
		x.gone(o.Cause, "it was not there")
		return
	case x.end != nil && x.end.Kind == fact.StartFailed:
		x.end = nil
		x.gone(o.Cause, "its start had failed")
		return
	case x.end != nil:
		x.again()
		return
	case !x.stopping:
		x.stopping, x.cause = true, o.Cause
		if !x.up {
			x.gone(o.Cause, "it was still starting")
			return
		}
		x.wait(x.does.Leave, func() { x.finish(false) })
	}
	if x.end == nil { // told again, the earlier deadline counts
		x.wait(o.Grace, func() { x.finish(true) })
	}
}

// finish ends a run that came up.
func (x *run) finish(kill bool) {
	switch r := (world.Report{Kind: fact.JobFinished, Outcome: outcome(x.does.Exit), Exit: x.does.Exit}); {
	case x.stopping:
		exit := x.does.Exit
		if kill {
			exit = killed
		}
		x.over(world.Report{Kind: fact.JobStopped, Cause: x.cause, Exit: exit})
	case x.does.Yield:
		x.over(world.Report{Kind: fact.JobStopped, Cause: fact.CauseYielded, Exit: x.does.Exit})
	default:
		x.over(r)
	}
}

// gone ends a run without its own doing.
func (x *run) gone(c fact.Cause, text string) {
	x.over(world.Report{Kind: fact.JobStopped, Cause: c, Text: text})
}

func (x *run) fail(text string, node int32, own bool) {
	x.end = &world.Report{Kind: fact.StartFailed, Run: x.order.Run, Node: node, Text: text, Own: own}
	x.over(*x.end)
}

func (x *run) over(r world.Report) {
	for _, t := range x.timers {
		t.Stop()
	}
	if r.Kind != fact.StartFailed {
		r.Node = -1
	}
	r.Run = x.order.Run
	if x.m.opts.Now != nil {
		r.When = x.m.opts.Now()
	}
	x.end = &r
	x.tell(r)
}

func (x *run) started() world.Report {
	return world.Report{Kind: fact.JobStarted, Run: x.order.Run, Node: -1, When: x.at}
}

// again tells how things stand.
func (x *run) again() {
	if x.up {
		x.tell(x.started())
	}
	if x.end != nil {
		x.tell(*x.end)
	}
}

// tell reports, unless nothing can be heard of the run now: [Machine.Return] makes up for it.
func (x *run) tell(r world.Report) {
	if !x.hidden() {
		x.m.tell(r)
	}
}
