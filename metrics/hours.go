package metrics

import "github.com/escala-sched/escala/workload"

// hourCount counts the hours of the input's clock (multiples of 3,600 s) that stretches
// of time touch, each hour once. The stretches come in order.
type hourCount struct {
	n int64
	// next is the first hour that was not counted yet.
	next int64
	some bool
}

func (h *hourCount) add(from, to workload.Time) {
	if to <= from {
		return
	}
	first, after := hourOf(from), hourOf(to-1)+1
	if h.some {
		first = max(first, h.next)
	}
	if after > first {
		h.n, h.next, h.some = h.n+after-first, after, true
	}
}

// hourOf is the number of the hour that a time lies in; clocks may be below zero.
func hourOf(t workload.Time) int64 {
	h := t / workload.Hour
	if t%workload.Hour < 0 {
		h--
	}
	return h
}
