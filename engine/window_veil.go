package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// While a class is looked at, the nodes that windows keep it off take no work, as if they were
// drained: so everything that counts, places and clears holds of them. It goes on until
// another class is looked at, or all are shown again.

// veil shuts the nodes that windows keep a start of job n off.
func (e *Engine) veil(c *class, n int32, span, wait workload.Span) {
	s := &e.windows
	if len(s.list) == 0 {
		return
	}
	if c.view == none {
		e.unveil()
		return
	}
	start := e.decision.now + wait
	for i, off := range s.views[c.view] {
		e.closeWindow(i, off && start > e.lastStart(c, n, span, s.list[i].From))
	}
}

// veilNow is that for who looks from outside a decision.
func (e *Engine) veilNow(c *class, n int32) {
	if len(e.windows.list) > 0 {
		e.decision.now = e.now
		e.veil(c, n, c.span, 0)
	}
}

// whyWindow tells that a job would fit, but for windows: the first of them that is on nodes
// with something free, by when it ends.
func (e *Engine) whyWindow(c *class, n int32) (r fact.Reason, ok bool) {
	shape := smallest(c.shape)
	if len(e.windows.list) == 0 || c.view == none || !e.placer.Fits(e.frees, shape) {
		return r, false
	}
	e.veilNow(c, n)
	fits := e.placer.Fits(e.frees, shape)
	best := none
	for i, off := range e.windows.closed {
		if !off || fits {
			continue
		}
		for _, node := range e.windows.list[i].Nodes {
			f, at := e.frees[e.layout.PoolOf[node]], e.layout.Local[node]
			if shape.PoolIndex(e.layout.PoolOf[node]) < 0 || f.Mask(at) == 0 && shape.Need.GPUs > 0 && !shape.Need.Fractional() {
				continue
			}
			if w := &e.windows.list[i]; best == none || w.Until < r.Until {
				best, r = node, fact.Reason{Code: fact.InWindow, For: none, Block: node, Until: w.Until}
			}
			break
		}
	}
	e.unveil()
	return r, best != none
}

// unveil shows all nodes.
func (e *Engine) unveil() {
	if e.windows.nClosed == 0 {
		return
	}
	for i := range e.windows.closed {
		e.closeWindow(i, false)
	}
}

func (e *Engine) closeWindow(i int, off bool) {
	s := &e.windows
	if s.closed[i] == off {
		return
	}
	if s.closed[i] = off; off {
		s.nClosed++
	} else {
		s.nClosed--
	}
	for _, n := range s.list[i].Nodes {
		was := s.shut[n]
		if off {
			s.shut[n]++
		} else {
			s.shut[n]--
		}
		if was == 0 || s.shut[n] == 0 {
			e.reshut(n)
		}
	}
}

// reshut makes a node take work, or not, as things stand.
func (e *Engine) reshut(n int32) {
	s := &e.windows
	e.shut(n, e.down[n] || e.drained[n] || s.shut[n] > 0 || s.confined != nil && s.confined[n])
}

// confine shuts all nodes but those of reservations that have begun and let a class in; false
// if there are none. letOut takes it back.
func (e *Engine) confine(c *class, now workload.Time) bool {
	s := &e.windows
	in := make([]bool, len(s.on))
	any := false
	for i := range s.list {
		w := &s.list[i]
		if w.From > now || w.Maintenance() || c.view != none && s.views[c.view][i] {
			continue
		}
		for _, n := range w.Nodes {
			in[n], any = true, true
		}
	}
	if !any {
		return false
	}
	s.confined = make([]bool, len(s.on))
	for n := range s.confined {
		if s.confined[n] = !in[n]; s.confined[n] {
			e.reshut(int32(n))
		}
	}
	return true
}

func (e *Engine) letOut() {
	e.windows.confined = nil
	for n := range e.windows.on {
		e.reshut(int32(n))
	}
}

// reserved starts jobs on nodes that are reserved for them, where those who are before them
// may not use these: under a strict order a head would keep them off, and a plan of the
// horizon knows reserved nodes as closed.
func (e *Engine) reserved(d *decision) {
	s := &e.windows
	some := false
	for i := range s.list {
		some = some || s.list[i].From <= d.now && !s.list[i].Maintenance()
	}
	if !some {
		return
	}
	e.unveil()
	heap := d.heap[:0]
	for _, ci := range e.active {
		c := &e.classes[ci]
		if e.ahead != nil {
			c.cur = c.head
			d.touched = append(d.touched, ci)
		}
		if c.cur == none {
			continue
		}
		e.headKey(c, d.now)
		heap = append(heap, ci)
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		e.sift(heap, i)
	}
	for len(heap) > 0 {
		ci := heap[0]
		if e.startReserved(d, ci) && e.moveOn(d, ci, e.classes[ci].cur) {
			e.sift(heap, 0)
		} else {
			heap = e.pop(heap)
		}
	}
	d.heap = heap[:0]
}

// startReserved tries the next job of a class; false if the rest of it need not be looked at.
func (e *Engine) startReserved(d *decision, ci int32) bool {
	c := &e.classes[ci]
	n := c.cur
	switch {
	case e.jobs[n].tentative:
		return true
	case e.jobs[n].spec.Service != nil || !e.confine(c, d.now):
		return false
	}
	reason := c.reason
	v := e.tryStart(d, ci, n)
	e.unveil()
	e.letOut()
	if v != started {
		c.reason = reason
		return false
	}
	d.touched = append(d.touched, ci)
	return true
}
