package metrics

import (
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// maintenance is a window in which what is idle of nodes cannot be used.
type maintenance struct {
	window *fact.Window
	begun  bool
}

// window takes in that one was set or lifted. A reservation changes nothing: its nodes are used
// by some.
func (p *accountPools) window(f *fact.Fact) {
	if f.Window == nil {
		return
	}
	if f.Kind == fact.WindowSet {
		if f.Window.Maintenance() {
			p.windows = append(p.windows, maintenance{window: f.Window})
		}
		return
	}
	p.drop(func(m *maintenance) bool { return m.window.ID == f.Window.ID })
}

// pass makes windows begin and end that do so by a time.
func (p *accountPools) pass(at workload.Time) {
	if len(p.windows) == 0 {
		return
	}
	p.drop(func(m *maintenance) bool { return m.window.Until <= at })
	for i := range p.windows {
		if m := &p.windows[i]; !m.begun && m.window.From <= at {
			m.begun = true
			p.rest(m, 1)
		}
	}
}

func (p *accountPools) drop(over func(m *maintenance) bool) {
	for i := range p.windows {
		if m := &p.windows[i]; m.begun && over(m) {
			p.rest(m, -1)
		}
	}
	p.windows = slices.DeleteFunc(p.windows, func(m maintenance) bool { return over(&m) })
}

// rest counts the maintenance windows of nodes.
func (p *accountPools) rest(m *maintenance, by int) {
	for _, n := range m.window.Nodes {
		if int(n) < len(p.nodes) {
			p.nodes[n].rests += by
			p.show(&p.nodes[n])
		}
	}
}
