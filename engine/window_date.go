package engine

import (
	"github.com/escala-sched/escala/workload"
)

// A date rests on time of a node that lies before the windows there that keep its job off, if
// the job is certain to be gone when they begin, or after all of them.

// between is until when a job may start on a node before windows keep it off, and from when on
// it may after them.
func (e *Engine) between(n, node int32) (last, after workload.Time) {
	last, after = workload.Never, never
	j := &e.jobs[n]
	c := &e.classes[j.class]
	for _, i := range e.windows.on[node] {
		if w := &e.windows.list[i]; !w.Allows(j.spec.Team, j.spec.User) {
			last, after = min(last, e.lastStart(c, n, c.span, w.From)), max(after, w.Until)
		}
	}
	return last, after
}

// pastWindows puts off what is released of nodes by a time until after their windows, where a
// start then would not be over before these. It tells whether there was any.
func (e *Engine) pastWindows(w *claimant, rel []release, used int, by workload.Time) bool {
	if len(e.windows.list) == 0 {
		return false
	}
	var late []int32
	for i := range rel[:used] {
		if last, after := e.between(w.job, rel[i].node); by > last && rel[i].at < after {
			late = append(late, rel[i].node)
		}
	}
	if len(late) == 0 {
		return false
	}
	for i := range rel {
		for _, node := range late {
			if rel[i].node == node {
				_, after := e.between(w.job, node)
				rel[i].at = max(rel[i].at, after)
			}
		}
	}
	return true
}

// clashes tells whether a window that was set since keeps the job of a date off its place.
func (e *Engine) clashes(x *date) bool {
	if len(e.windows.list) == 0 {
		return false
	}
	at := max(x.at, e.now)
	for i := range x.grants {
		if last, after := e.between(x.job, x.grants[i].Node); at > last && at < after {
			return true
		}
	}
	return false
}

// early tells whether windows have to be over before the place of a date may be cleared.
func (e *Engine) early(x *date) bool {
	for i := range x.grants {
		if len(e.windows.list) == 0 {
			return false
		}
		last, after := e.between(x.job, x.grants[i].Node)
		if e.now < after && (e.now > last || x.at > last && e.now+e.sharing.longestGrace() > last) {
			return true
		}
	}
	return false
}
