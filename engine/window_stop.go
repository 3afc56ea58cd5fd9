package engine

import (
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// leaveWindows stops what runs on the nodes of windows and may not be there, in time to be gone when
// they begin; what is protected longer when its protection is over.
func (e *Engine) leaveWindows(d *decision) {
	if len(e.windows.list) == 0 {
		return
	}
	var out []int32
	e.intruders(func(v int32, w *fact.Window) {
		if e.leaveBy(v, w.From, d.now) <= d.now && !slices.Contains(out, v) {
			out = append(out, v)
		}
	})
	slices.Sort(out)
	for _, v := range out {
		w, node := e.windowOver(v, d.now)
		reason := fact.Reason{Code: fact.InWindow, For: none, Block: node, Until: w.Until}
		if e.sharing != nil {
			e.stopFor(d, v, none, reason, 0)
			continue
		}
		j := &e.jobs[v]
		j.leaving = true
		d.leaving = append(d.leaving, v)
		d.actions = append(d.actions, fact.Action{Do: fact.Stop, Job: v, Attempt: j.attempt, For: none, Count: devices(j.milli), Milli: j.milli,
			At: d.now, Reason: reason})
	}
}

// intruders visits the runs on nodes of windows that do not let them in, once for each such
// window and node.
func (e *Engine) intruders(visit func(v int32, w *fact.Window)) {
	s := &e.windows
	look := func(v, node int32) {
		j := &e.jobs[v]
		if j.leaving || j.state != running && j.state != starting {
			return
		}
		for _, i := range s.on[node] {
			if w := &s.list[i]; !w.Allows(j.spec.Team, j.spec.User) {
				visit(v, w)
			}
		}
	}
	if e.sharing != nil {
		for i := range s.list {
			for _, n := range s.list[i].Nodes {
				if s.on[n][0] != int32(i) {
					continue // it is one of an earlier window, too
				}
				for _, v := range e.sharing.onNode[n] {
					look(v, n)
				}
			}
		}
		return
	}
	for p := range e.pools {
		for _, v := range e.pools[p].running {
			for k := range e.jobs[v].grants {
				look(v, e.jobs[v].grants[k].Node)
			}
		}
	}
}

// windowOver is the window that a run has to leave for, and a node of it where it is.
func (e *Engine) windowOver(v int32, now workload.Time) (w *fact.Window, node int32) {
	s, j := &e.windows, &e.jobs[v]
	for k := range j.grants {
		for _, i := range s.on[j.grants[k].Node] {
			if x := &s.list[i]; !x.Allows(j.spec.Team, j.spec.User) && e.leaveBy(v, x.From, now) <= now && (w == nil || x.From < w.From) {
				w, node = x, j.grants[k].Node
			}
		}
	}
	return w, node
}

// leaveBy is when a run has to be told to go for a window that begins at from: its grace
// before that, or when its protection ends; not before, where a hard limit ends it in time.
func (e *Engine) leaveBy(v int32, from, now workload.Time) workload.Time {
	j := &e.jobs[v]
	if l := j.spec.Limit; l > 0 && j.spec.Service == nil {
		end := j.since + l
		if j.state == starting {
			end += e.defaults.StartLatency
		}
		if end <= from {
			return from
		}
	}
	s := e.sharing
	if s == nil {
		at := from - e.contract(j).Grace
		if e.ahead != nil && e.mayInterrupt(j) {
			if j.state == starting {
				return max(at, j.since+e.protection(j), now+1)
			}
			at = max(at, j.since+e.protection(j))
		}
		return at
	}
	c := &s.jobs[v]
	at := from - e.graceOf(v, c.unallocated)
	switch {
	case c.unallocated || c.open:
	case j.state == starting: // its protection counts from its confirmation
		at = max(at, c.until, now+1)
	default:
		at = max(at, c.until)
	}
	return at
}

// nextWindow is when windows alone could next change something: one begins or ends, or
// somebody has to leave.
func (e *Engine) nextWindow(now workload.Time) workload.Time {
	next := workload.Never
	for i := range e.windows.list {
		w := &e.windows.list[i]
		if w.From > now {
			next = min(next, w.From)
		}
		next = min(next, w.Until)
	}
	if len(e.windows.list) > 0 {
		e.intruders(func(v int32, w *fact.Window) {
			if t := e.leaveBy(v, w.From, now); t > now {
				next = min(next, t)
			}
		})
	}
	return next
}
