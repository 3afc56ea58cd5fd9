package sim

import "github.com/escala-sched/escala/workload"

// event is something due at a time. Events of one instant are served in the
// order of SEMANTICS 3: by kind, then by number.
type event struct {
	at      workload.Time
	kind    eventKind
	subject int32 // job number or node index
	attempt int32
}

type eventKind uint8

const (
	rules eventKind = iota // budgets and windows; the subject is the place among the events of [From]
	nodeDown
	drawnDown // by chance, not by plan
	nodeUp
	drawnUp
	nodeDrain
	nodeResume
	finish
	stopped
	confirm
	idle
	active
	closed // a parked session whose owner does not come back
	demand // of a real-time application
	cancel
	retire // a real-time application is taken down
)

func (a event) less(b event) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.kind != b.kind:
		return a.kind < b.kind
	}
	return a.subject < b.subject
}

// heap is a 4-ary min-heap: fewer cache misses than a binary one for the same work.
type heap []event

func (h *heap) push(x event) {
	*h = append(*h, x)
	s := *h
	i := len(s) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !x.less(s[p]) {
			break
		}
		s[i] = s[p]
		i = p
	}
	s[i] = x
}

func (h *heap) pop() event {
	s := *h
	top, last := s[0], len(s)-1
	x := s[last]
	s = s[:last]
	*h = s
	if last == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= last {
			break
		}
		best := c
		for k := c + 1; k < min(c+4, last); k++ {
			if s[k].less(s[best]) {
				best = k
			}
		}
		if !s[best].less(x) {
			break
		}
		s[i] = s[best]
		i = best
	}
	s[i] = x
	return top
}
