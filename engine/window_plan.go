package engine

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// shutBetween shuts the nodes of a pool on which a run of a job from at until a time would be in
// the way of a window.
func (e *Engine) shutBetween(f *cluster.Free, n, pool int32, at, until workload.Time) {
	for i := range e.windows.list {
		if !e.meets(i, n, at, until) {
			continue
		}
		for _, node := range e.windows.list[i].Nodes {
			if e.layout.PoolOf[node] == pool {
				f.SetShut(node, true)
			}
		}
	}
}

// inWindow tells whether a run of a job on a place would be in the way of a window.
func (e *Engine) inWindow(gs []cluster.Grant, n int32, at, until workload.Time) bool {
	for i := range gs {
		if len(e.windows.list) == 0 {
			return false
		}
		for _, w := range e.windows.on[gs[i].Node] {
			if e.meets(int(w), n, at, until) {
				return true
			}
		}
	}
	return false
}

// meets tells whether a run that is predicted to last from at until a time, and to have its
// grace after that, meets a window that keeps it off.
func (e *Engine) meets(i int, n int32, at, until workload.Time) bool {
	w, j := &e.windows.list[i], &e.jobs[n]
	if w.Allows(j.spec.Team, j.spec.User) || at >= w.Until {
		return false
	}
	if at >= w.From {
		return true
	}
	last := e.defaults.StartLatency + e.contract(j).Grace
	if l := j.spec.Limit; l > 0 && at+e.defaults.StartLatency+l <= w.From {
		return false
	}
	return until >= forever || until+last > w.From
}

// closeWindows closes the nodes of windows for the steps that these touch: a plan uses them for
// nobody. Whom a window lets in is started there beside the plan.
func (h *ahead) closeWindows(e *Engine, p *horizon.Problem, now workload.Time) {
	end := now + int64(p.Steps)*p.StepLength
	for i := range e.windows.list {
		w := &e.windows.list[i]
		if w.From >= end {
			continue
		}
		from, to := int(max(w.From-now, 0)/p.StepLength), p.Steps
		if w.Until < end {
			to = int((w.Until - now + p.StepLength - 1) / p.StepLength)
		}
		for _, n := range w.Nodes {
			if h.row.first[n] >= 0 {
				p.Closed = append(p.Closed, horizon.Window{Name: "window " + w.ID, First: int(h.row.first[n]), Count: int(e.layout.Spec.Nodes[n].GPUs), From: from, To: to})
			}
		}
	}
}

// outBy is when a run has left for the windows on its nodes.
func (e *Engine) outBy(n int32, now workload.Time) workload.Time {
	t, j := workload.Never, &e.jobs[n]
	for k := range j.grants {
		if len(e.windows.list) == 0 {
			break
		}
		for _, i := range e.windows.on[j.grants[k].Node] {
			if w := &e.windows.list[i]; !w.Allows(j.spec.Team, j.spec.User) {
				t = min(t, max(e.leaveBy(n, w.From, now), now)+e.contract(j).Grace)
			}
		}
	}
	return t
}
