package engine

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// drawWindow draws a window that is set, or lifted, by one of a few names.
func drawWindow(t *rapid.T, nodes int, now workload.Time) fact.Fact {
	f := fact.Fact{Kind: fact.WindowSet, Job: none, Node: none, Window: &fact.Window{ID: rapid.SampledFrom([]string{"v", "w", "m"}).Draw(t, "window")}}
	w := f.Window
	if rapid.IntRange(0, 3).Draw(t, "lift") == 0 {
		f.Kind = fact.WindowLifted
		return f
	}
	for n := range nodes {
		if rapid.Bool().Draw(t, "on node") {
			w.Nodes = append(w.Nodes, int32(n))
		}
	}
	w.From = now + workload.Time(rapid.SampledFrom([]int{-5000, 0, 1000, 20_000, 70_000, 400_000}).Draw(t, "from"))
	w.Until = w.From + workload.Time(rapid.SampledFrom([]int{1, 5000, 60_000, 500_000}).Draw(t, "for"))
	switch rapid.IntRange(0, 4).Draw(t, "who") {
	case 0:
		w.Teams = []string{"x"}
	case 1:
		w.Teams, w.Users = []string{"y", "z"}, []string{"v"}
	}
	return f
}

// checkWindows holds that whoever runs on the node of a window that has begun may do so, or is
// protected.
func checkWindows(e *Engine) error {
	for n := range e.jobs {
		j := &e.jobs[n]
		if j.state != running && j.state != starting {
			continue
		}
		for _, g := range j.grants {
			for i := range e.windows.list {
				w := &e.windows.list[i]
				if w.From > e.now || !slices.Contains(w.Nodes, g.Node) || slices.Contains(w.Teams, j.spec.Team) || slices.Contains(w.Users, j.spec.User) {
					continue
				}
				safe := false
				if s := e.sharing; s != nil {
					c := &s.jobs[n]
					safe = !c.unallocated && !c.open && (j.state == starting || c.until > e.now)
				} else if e.ahead != nil && e.mayInterrupt(j) {
					safe = j.state == starting || j.since+e.protection(j) > e.now
				}
				if !safe {
					return fmt.Errorf("at %d: job %d is on node %d in window %+v", e.now, n, g.Node, *w)
				}
			}
		}
	}
	return nil
}

// checkStart holds that a start is over when windows on its nodes begin, as far as that can be known.
func checkStart(e *Engine, a *fact.Action) error {
	j := &e.jobs[e.numbering.place(a.Job)]
	for _, g := range a.Place {
		for i := range e.windows.list {
			w := &e.windows.list[i]
			if !slices.Contains(w.Nodes, g.Node) || slices.Contains(w.Teams, j.spec.Team) || slices.Contains(w.Users, j.spec.User) {
				continue
			}
			end := a.At + e.defaults.StartLatency
			switch s := e.sharing; {
			case s != nil && a.Unallocated:
				end += s.pol.GraceUnallocated
			case s != nil:
				end += max(a.Until-a.At, 0) + s.pol.GraceAllocated
			case e.predicts && j.spec.Service == nil:
				end += e.durationIn(j, e.layout.PoolOf[g.Node], a.Tasks) + e.contract(j).Grace
			default:
				end += forever
			}
			if l := j.spec.Limit; l > 0 {
				end = min(end, a.At+e.defaults.StartLatency+l)
			}
			if end > w.From {
				if j.spec.Service != nil && w.From > a.At {
					continue // it moves in time
				}
				return fmt.Errorf("at %d: job %d starts on node %d until %d before window %+v", a.At, a.Job, g.Node, end, *w)
			}
		}
	}
	return nil
}
