package simworld

import (
	"fmt"
	"sync"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// Machine is the cluster behind the worlds: what runs on it outlives them.
type Machine struct {
	opts Options
	spec *cluster.Spec

	mu     sync.Mutex
	runs   map[world.Run]*run
	down   map[int32]bool
	hidden map[int32]bool
	open   *World
	broken []string
}

// New returns a machine of that cluster on which nothing runs.
func New(spec *cluster.Spec, o Options) *Machine {
	return &Machine{opts: o, spec: spec, runs: map[world.Run]*run{}, down: map[int32]bool{}, hidden: map[int32]bool{}}
}

// Open returns a world over the machine. The one before it has to be closed.
func (m *Machine) Open() *World {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open != nil {
		panic("simworld: the world before it is still open")
	}
	m.open = newWorld(m)
	return m.open
}

// End lets the run of a job end by itself with an exit code. It does nothing to one that
// does not run.
func (m *Machine) End(r world.Run, exit int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.runs[r]; x != nil && x.up && x.end == nil {
		x.does.Exit = exit
		x.finish(false)
	}
}

// Crash takes a node down with all that runs there.
func (m *Machine) Crash(node int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down[node] {
		return
	}
	m.down[node] = true
	m.tell(world.Report{Kind: fact.NodeDown, Node: node, Text: "the node does not answer any more"})
	for _, x := range m.sorted() {
		if x.end == nil && x.on(node) {
			x.gone(fact.CauseNodeFailure, "its node failed")
		}
	}
}

// Hide makes the runs of a node go out of sight: they go on, and nothing is heard of them.
func (m *Machine) Hide(node int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hidden[node] {
		return
	}
	for _, x := range m.sorted() {
		if x.up && x.end == nil && x.on(node) && !x.hidden() {
			m.tell(world.Report{Kind: fact.LostSight, Run: x.order.Run, Node: -1, Text: "its node cannot be reached"})
		}
	}
	m.hidden[node] = true
}

// Return brings a node back: empty if it crashed, with all its runs if it was hidden.
func (m *Machine) Return(node int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down[node] {
		delete(m.down, node)
		m.tell(world.Report{Kind: fact.NodeUp, Node: node})
	}
	if !m.hidden[node] {
		return
	}
	delete(m.hidden, node)
	for _, x := range m.sorted() {
		if !x.on(node) || x.hidden() {
			continue
		}
		if x.up {
			m.tell(world.Report{Kind: fact.Found, Run: x.order.Run, Node: -1})
		}
		x.again()
	}
}

// Alive is the number of runs that have GPUs or cores now.
func (m *Machine) Alive() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, x := range m.runs {
		if x.end == nil {
			n++
		}
	}
	return n
}

// Broken lists what must never happen: a start on GPUs that another run still has.
func (m *Machine) Broken() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.broken...)
}

// check notes which live runs already have whole GPUs that an order wants.
func (m *Machine) check(o *world.Order) {
	for _, x := range m.runs {
		if x.end != nil {
			continue
		}
		for _, has := range x.order.Place {
			for _, g := range o.Place {
				if g.Node == has.Node && g.GPUs&has.GPUs != 0 && (g.Milli == 1000 || has.Milli == 1000) {
					m.broken = append(m.broken, fmt.Sprintf("job %d starts on GPUs %b of node %d, which job %d has", o.Job, g.GPUs&has.GPUs, g.Node, x.order.Job))
				}
			}
		}
	}
}

// tell hands a report to the open world, if it has begun; the state is remembered anyway.
func (m *Machine) tell(r world.Report) {
	if m.opts.Now != nil && r.When.IsZero() {
		r.When = m.opts.Now()
	}
	if m.open != nil {
		m.open.post(r)
	}
}

func (m *Machine) behave(o *world.Order) Behaviour {
	if m.opts.Behave == nil {
		return Behaviour{}
	}
	return m.opts.Behave(o)
}

func outcome(exit int32) workload.Outcome {
	if exit != 0 {
		return workload.OutcomeFailed
	}
	return workload.OutcomeCompleted
}

// after is time.AfterFunc with the machine locked.
func (m *Machine) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		f()
	})
}
