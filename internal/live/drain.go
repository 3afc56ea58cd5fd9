package live

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// passOn passes on what people have closed and opened. What the daemon closed by a guess of its own stays here: the
// cluster is not to lose a node to others' jobs by that. What the world told has nobody's name.
func (d *Daemon) passOn(t *tx) {
	w, ok := d.cfg.World.(world.Drainer)
	if !ok {
		return
	}
	var list []world.Drained
	for i := range t.facts {
		f := &t.facts[i]
		if (f.Kind == fact.NodeDrained || f.Kind == fact.NodeResumed) && f.By != "" && f.By != "escala" {
			list = append(list, world.Drained{Node: f.Node, Closed: f.Kind == fact.NodeDrained, By: f.By, Text: f.Text})
		}
	}
	if len(list) > 0 {
		w.Drain(list...)
	}
}
