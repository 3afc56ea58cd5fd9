package engine

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/pack"
)

// Windows are those that were not over, in the order in which they were set: read only.
func (s *State) Windows() []fact.Window { return s.windows }

func cloneWindow(w *fact.Window) fact.Window {
	x := *w
	x.Nodes, x.Teams, x.Users = slices.Clone(w.Nodes), slices.Clone(w.Teams), slices.Clone(w.Users)
	return x
}

func (s *State) codeWindow(c *pack.Coder, w *fact.Window) {
	c.Plain(&w.ID)
	pack.List(c, &w.Nodes, c.Int32)
	c.From(&w.From, s.now)
	c.From(&w.Until, s.now)
	pack.List(c, &w.Teams, c.Plain)
	pack.List(c, &w.Users, c.Plain)
}

// windows takes over which nodes are kept, before classes are made.
func (r *restoring) windows() error {
	e := r.e
	for i := range r.s.windows {
		w := &r.s.windows[i]
		if err := w.Check(len(e.layout.Spec.Nodes)); err != nil {
			return err
		}
		if w.Until <= r.s.now || e.windowOf(w.ID) >= 0 {
			return fmt.Errorf("window %s is over, or there are two", w.ID)
		}
		e.windows.list = append(e.windows.list, cloneWindow(w))
		if w.From <= r.s.now {
			e.idles(w, 1)
		}
	}
	if len(e.windows.list) > 0 {
		e.tracks, e.windows.filed = true, true
		e.indexWindows()
	}
	return nil
}
