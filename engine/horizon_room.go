package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// flexible tells whether anything that runs could make room for what waits: applications move and
// fall short, and jobs may be interrupted.
func (h *ahead) flexible(e *Engine, now workload.Time) bool {
	if len(e.active) == 0 {
		return false
	}
	for _, s := range e.services {
		if j := &e.jobs[s.job]; (j.state == starting || j.state == running) && j.milli > 0 {
			return true
		}
	}
	for p := range e.pools {
		if slices.ContainsFunc(e.pools[p].running, func(n int32) bool { return e.stoppable(n, now) }) {
			return true
		}
	}
	return false
}

// stoppable tells whether a running job may be interrupted now.
func (e *Engine) stoppable(n int32, now workload.Time) bool {
	j := &e.jobs[n]
	return j.state == running && e.mayInterrupt(j) && j.since+e.protection(j) <= now
}

// mayClear tells, by counting, whether a waiting job might start if what can make room did:
// where enough is free it is enough that applications move; else what it takes from others
// must be worth less than it brings.
func (h *ahead) mayClear(e *Engine, o *outlook) bool {
	room, price := h.room(e, o)
	for i, ci := range o.classes {
		if ci == none {
			continue
		}
		j, s := &o.p.Jobs[i], smallest(e.classes[ci].shape)
		for k, p := range s.Pools {
			if price[p] == noPrice || !e.placer.MayFit(room[p], s, k) {
				continue
			}
			free := min(e.frees[p].Whole(), int64(s.GPUs))
			if (int64(s.GPUs)-free)*price[p] < int64(s.GPUs)*j.Priority || free == int64(s.GPUs) {
				return true
			}
		}
	}
	return false
}

const noPrice = int64(-1)

// room is what would be free in each pool without anything that can make room, and what the
// cheapest GPU of that costs in a step, noPrice where there is none.
func (h *ahead) room(e *Engine, o *outlook) (room []*cluster.Free, price []int64) {
	room, price = slices.Clone(e.frees), make([]int64, len(e.frees))
	for p := range price {
		price[p] = noPrice
	}
	give := func(n int32, cost int64) {
		j := &e.jobs[n]
		if p := j.pool; room[p] == e.frees[p] {
			room[p] = e.scratchOf(p)
			room[p].CopyFrom(e.frees[p])
		}
		room[j.pool].Give(j.grants)
		if p := &price[j.pool]; *p == noPrice || cost < *p {
			*p = cost
		}
	}
	for i, n := range o.services {
		if e.jobs[n].state != waiting && len(e.jobs[n].grants) > 0 {
			give(n, o.p.Apps[i].Penalty)
		}
	}
	for i, n := range o.jobs {
		if o.classes[i] == none && o.p.Jobs[i].MinSteps > 0 && e.stoppable(n, e.now) {
			give(n, o.p.Jobs[i].Priority)
		}
	}
	return room, price
}

// mustBegin tells whether an application that has what it needs now has to change all the same: it
// lies on a node that will be down, or what it needs or may have later is more than its swaps from
// then on away.
func (h *ahead) mustBegin(e *Engine, j *job, s *service, now workload.Time) bool {
	pol := e.pol.Horizon
	for _, m := range h.planned {
		if m.to > now && m.from < now+int64(pol.Steps)*pol.Step && slices.ContainsFunc(j.grants, func(g cluster.Grant) bool { return g.Node == m.node }) {
			return true
		}
	}
	spec := j.spec.Service
	if e.inWindow(j.grants, s.job, now, now+int64(pol.Steps)*pol.Step) {
		return true
	}
	if spec.Swaps == 0 {
		return false
	}
	has, reach := j.milli/1000, int64(0)
	for t := 1; t < int(pol.Steps); t++ {
		if reach += h.swapCap(e, spec); reach >= int64(h.row.slots) {
			return false
		}
		n := int64(h.needs(e, spec, s, now, t))
		if n > has+reach {
			return true
		}
		if from := now + int64(t)*pol.Step; len(spec.Max.Values) > 0 && max(int64(spec.Max.Max(from, from+pol.Step)), n) < has-reach {
			return true
		}
	}
	return false
}

// elsewhere starts jobs that the plan knows only a part of: those that could go to pools of other
// node sizes where it has them later or not at all, and those of variable size where it has them not
// at all. They take nothing that the plan has for others before they are done.
func (h *ahead) elsewhere(e *Engine, d *decision, o *outlook, plan *horizon.Plan) {
	known := false
	for i, ci := range o.classes {
		if ci == none || e.jobs[o.jobs[i]].tentative || h.when[o.jobs[i]] == d.now {
			continue
		}
		n, c := o.jobs[i], &e.classes[ci]
		never := h.when[n] == workload.Never
		if b := h.block(e, c); !b.others && (c.shape.Rigid() == nil || !never) || !e.placer.MayFitAny(e.frees, smallest(c.shape)) {
			continue
		}
		if !known {
			known = true
			h.findWanted(plan)
		}
		sizes := c.shape.Rigid()
		if sizes == nil {
			h.startElsewhere(e, d, ci, n, c.shape, 0)
			continue
		}
		for _, s := range sizes {
			if (never || s.Need.Tasks == sizes[0].Need.Tasks) && h.startElsewhere(e, d, ci, n, s, s.Need.Tasks) {
				break
			}
		}
	}
}

// startElsewhere starts a job where the placer puts it, unless the plan wants that before it is done.
func (h *ahead) startElsewhere(e *Engine, d *decision, ci, n int32, s *place.Shape, tasks int32) bool {
	from := len(d.arena)
	kept := h.keepOff(e, d.now, e.longestRun(&e.classes[ci], &e.jobs[n]))
	e.veil(&e.classes[ci], n, 0, 0)
	arena, pool, ok := e.placer.Place(e.frees, s, d.arena)
	d.arena = arena
	e.unveil()
	h.letOn(e, kept)
	if !ok {
		return false
	}
	until := h.steps(e, e.durationIn(&e.jobs[n], pool, tasks))
	for _, slot := range h.row.slotsOf(d.arena[from:]) {
		if h.wanted[slot] < until {
			d.arena = d.arena[:from]
			return false
		}
	}
	c := &e.classes[ci]
	whole := c.shape
	c.shape = s
	e.start(d, c, n, pool, from, tasks, fact.Reason{Code: fact.InOrder, For: none})
	c.shape = whole
	return true
}

// findWanted finds the first later step in which a plan, or a known outage, uses each slot.
func (h *ahead) findWanted(plan *horizon.Plan) {
	p := plan.Problem
	h.wanted = slices.Grow(h.wanted[:0], p.GPUs)[:p.GPUs]
	for s := range h.wanted {
		h.wanted[s] = 1 << 30
	}
	use := func(first, n, t int) {
		for s := first; s < first+n; s++ {
			h.wanted[s] = min(h.wanted[s], t)
		}
	}
	for i := range plan.Placed {
		if st := &plan.Placed[i]; st.Start > 0 {
			use(st.Offset, st.Size, st.Start)
		}
	}
	for _, w := range p.Closed {
		if w.From > 0 {
			use(w.First, w.Count, w.From)
		}
	}
	for i := range plan.Held {
		for t := p.Steps - 1; t > 0; t-- {
			for _, s := range plan.Held[i][t].Slots() {
				h.wanted[s] = min(h.wanted[s], t)
			}
		}
	}
}
