package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// maintenance is a time for which a node is known to be down.
type maintenance struct {
	node     int32
	from, to workload.Time // to Never: nobody knows when it is back
}

// plannedOutages pairs the planned changes of a cluster: a node that goes down by plan is down
// until its next planned change up.
func plannedOutages(l *cluster.Layout) []maintenance {
	var list []maintenance
	down := map[string]int{} // index of the open one, by node
	for _, o := range l.Spec.Outages {
		if !o.Planned {
			continue
		}
		i, open := down[o.Node]
		switch {
		case o.Change == "down" && !open:
			down[o.Node] = len(list)
			list = append(list, maintenance{node: l.Node(o.Node), from: o.At, to: workload.Never})
		case o.Change == "up" && open:
			list[i].to = o.At
			delete(down, o.Node)
		}
	}
	return list
}

// closeMaintenance closes nodes for the steps in which they are known to be down: from the
// step in which that begins to the one in which it ends.
func (h *ahead) closeMaintenance(e *Engine, p *horizon.Problem, now workload.Time) {
	end := now + int64(p.Steps)*p.StepLength
	for _, m := range h.planned {
		if m.to <= now || m.from >= end || h.row.first[m.node] < 0 {
			continue
		}
		w := horizon.Window{Name: "maintenance of " + e.layout.Spec.Nodes[m.node].Name, First: int(h.row.first[m.node]), Count: int(e.layout.Spec.Nodes[m.node].GPUs),
			From: int(max(m.from-now, 0) / p.StepLength), To: p.Steps}
		if m.to < end {
			w.To = int((m.to - now + p.StepLength - 1) / p.StepLength)
		}
		p.Closed = append(p.Closed, w)
	}
}

// maintains tells whether a plan made now knows of any maintenance.
func (h *ahead) maintains(e *Engine, now workload.Time) bool {
	end := now + int64(e.pol.Horizon.Steps)*e.pol.Horizon.Step
	return slices.ContainsFunc(h.planned, func(m maintenance) bool { return m.to > now && m.from <= end }) ||
		slices.ContainsFunc(e.windows.list, func(w fact.Window) bool { return w.From <= end })
}

// cameUp ends the maintenance of a node that is up again before its planned time, or without one.
func (h *ahead) cameUp(n int32, at workload.Time) {
	for i := range h.planned {
		if m := &h.planned[i]; m.node == n && m.from <= at && at < m.to {
			m.to = at
		}
	}
}

// backByPlan is the step from which a node that is down now is known to be up, the last one
// where nobody knows.
func (h *ahead) backByPlan(n int32, p *horizon.Problem, now workload.Time) int {
	i := slices.IndexFunc(h.planned, func(m maintenance) bool { return m.node == n && m.from <= now && now < m.to && m.to < workload.Never })
	if i < 0 {
		return p.Steps
	}
	return int(min((h.planned[i].to-now+p.StepLength-1)/p.StepLength, int64(p.Steps)))
}

// hit tells whether a run of span d on these grants would be hit by maintenance that a plan
// made now reaches. A plan keeps off that by whole steps, but what ends at the very instant is hit
// (SEMANTICS 3), and so may be what comes up late. So it is with windows that keep job n off.
func (h *ahead) hit(e *Engine, n int32, gs []cluster.Grant, now workload.Time, d workload.Span) bool {
	end := min(now+e.defaults.StartLatency+d, now+int64(e.pol.Horizon.Steps)*e.pol.Horizon.Step)
	return e.barredPlace(gs, n, 0, now) || slices.ContainsFunc(h.planned, func(m maintenance) bool {
		return m.to > now && m.from <= end && slices.ContainsFunc(gs, func(g cluster.Grant) bool { return g.Node == m.node })
	})
}

// anywhere starts a job wherever it fits, but for nodes that will be down before it is done.
func (h *ahead) anywhere(e *Engine, d *decision, ci, n int32) verdict {
	kept := h.keepOff(e, d.now, e.longestRun(&e.classes[ci], &e.jobs[n]))
	v := e.tryStart(d, ci, n)
	e.unveil()
	h.letOn(e, kept)
	return v
}

// keepOff makes nodes take nothing that are known to be down before a job that starts now is
// done, and returns them; letOn takes that back.
func (h *ahead) keepOff(e *Engine, now workload.Time, d workload.Span) []int32 {
	var nodes []int32
	for _, m := range h.planned {
		if m.to <= now || m.from > now+e.defaults.StartLatency+d {
			continue
		}
		if f := e.frees[e.layout.PoolOf[m.node]]; !f.Shut(e.layout.Local[m.node]) {
			f.SetShut(m.node, true)
			nodes = append(nodes, m.node)
		}
	}
	return nodes
}

func (h *ahead) letOn(e *Engine, nodes []int32) {
	for _, n := range nodes {
		e.frees[e.layout.PoolOf[n]].SetShut(n, false)
	}
}
