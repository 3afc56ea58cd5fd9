package engine

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// planProposed takes in a plan that was made elsewhere: its due starts are made where they are
// still legal, and its order is one that the engine's own plans try. A later one takes
// its place. Under a policy that does not plan the horizon it means nothing.
func (e *Engine) planProposed(f *fact.Fact) error {
	if f.Plan == nil {
		return ErrUnknown
	}
	for i := range f.Plan.Starts {
		s := &f.Plan.Starts[i]
		if s.Job < 0 || int(s.Job) >= len(e.jobs) || e.jobs[s.Job].spec == nil {
			return fmt.Errorf("plan that starts job %d: %w", e.numbering.number(s.Job), ErrUnknown)
		}
		if i > 0 && s.At < f.Plan.Starts[i-1].At {
			return fmt.Errorf("plan that starts job %d at %d ms, after one at %d; starts are by time: %w", e.numbering.number(s.Job), s.At, f.Plan.Starts[i-1].At, ErrUnknown)
		}
		for k := range s.Place {
			if n := s.Place[k].Node; n < 0 || int(n) >= len(e.layout.Spec.Nodes) || s.Place[k].Milli != 1000 {
				return fmt.Errorf("plan that starts job %d on part of node %d, or on none: %w", e.numbering.number(s.Job), n, ErrUnknown)
			}
			if slices.ContainsFunc(s.Place[:k], func(g fact.Grant) bool { return g.Node == s.Place[k].Node }) {
				return fmt.Errorf("plan that starts job %d on node %d twice: %w", e.numbering.number(s.Job), s.Place[k].Node, ErrUnknown)
			}
		}
	}
	if e.ahead != nil {
		e.ahead.proposed = f.Plan
		e.dirty = true
	}
	return nil
}

// valid is the proposed plan while it may be followed.
func (h *ahead) valid(now workload.Time) *fact.Plan {
	if h.proposed == nil || now >= h.proposed.Until {
		return nil
	}
	return h.proposed
}

// startProposed makes the starts of a proposed plan that are due and still legal. It tells
// whether there were any.
func (h *ahead) startProposed(e *Engine, d *decision) bool {
	p := h.valid(d.now)
	if p == nil {
		return false
	}
	any := false
	for i := range p.Starts {
		s := &p.Starts[i]
		if s.At > d.now {
			break
		}
		any = h.startOn(e, d, s) || any
	}
	return any
}

// nextProposed is when the next start of a valid plan is due.
func (h *ahead) nextProposed(now workload.Time) workload.Time {
	if p := h.valid(now); p != nil {
		for i := range p.Starts {
			if t := p.Starts[i].At; t > now && t < p.Until {
				return t
			}
		}
	}
	return workload.Never
}

// startOn starts a job on the GPUs that a plan names.
func (h *ahead) startOn(e *Engine, d *decision, s *fact.PlannedStart) bool {
	j := &e.jobs[s.Job]
	if j.state != waiting || j.tentative || len(s.Place) == 0 || j.spec.Service != nil {
		return false
	}
	c := &e.classes[j.class]
	b := h.block(e, c)
	pool := e.layout.PoolOf[s.Place[0].Node]
	if b.size == 0 || b.shape.PoolIndex(pool) < 0 {
		return false
	}
	var nodes []int32
	var gpus []uint64
	for k := range s.Place {
		if e.layout.PoolOf[s.Place[k].Node] != pool {
			return false
		}
		nodes, gpus = append(nodes, e.layout.Local[s.Place[k].Node]), append(gpus, s.Place[k].GPUs)
	}
	from := len(d.arena)
	arena, ok := e.placer.OnBlock(e.frees[pool], b.shape, b.shape.PoolIndex(pool), nodes, gpus, d.arena)
	if d.arena = arena; !ok || h.hit(e, s.Job, d.arena[from:], d.now, e.durationIn(j, pool, b.tasks)) {
		d.arena = d.arena[:from]
		return false
	}
	whole := c.shape
	c.shape = b.shape
	e.start(d, c, s.Job, pool, from, b.tasks, fact.Reason{Code: fact.Proposed, For: none})
	c.shape = whole
	return true
}

// proposedOrder is the order in which a valid plan starts the jobs of an outlook, nil for none.
func (h *ahead) proposedOrder(o *outlook, now workload.Time) []int {
	p := h.valid(now)
	if p == nil {
		return nil
	}
	index := make(map[int32]int, len(o.jobs))
	for i, n := range o.jobs {
		index[n] = i
	}
	var order []int
	for i := range p.Starts {
		if k, ok := index[p.Starts[i].Job]; ok && o.classes[k] != none {
			order = append(order, k)
		}
	}
	return order
}

// offPlan tells whether a valid plan had a waiting job start by now, and when.
func (h *ahead) offPlan(n int32, now workload.Time) (workload.Time, bool) {
	if p := h.valid(now); p != nil {
		for i := range p.Starts {
			if s := &p.Starts[i]; s.Job == n && s.At <= now {
				return s.At, true
			}
		}
	}
	return 0, false
}
