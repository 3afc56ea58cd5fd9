package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// outlook is the engine's state as a problem of the horizon, and what its parts are.
type outlook struct {
	p horizon.Problem
	// jobs[i] is the number of p.Jobs[i], classes[i] its class where it waits, none where it runs.
	jobs     []int32
	classes  []int32
	services []int32 // of p.Apps
	// exempt names what lies where no rule would put it, and is pinned all the same.
	exempt []string
}

// look builds the outlook at now.
func (h *ahead) look(e *Engine, d *decision, now workload.Time) *outlook {
	pol := e.pol.Horizon
	o := &outlook{}
	o.p = horizon.Problem{GPUs: h.row.slots, Steps: int(pol.Steps), StepLength: pol.Step, Decay: float64(pol.Decay) / 1000,
		Types: h.row.kind, Reading: horizon.Reading{AnySize: !pol.PowerOfTwo}}
	for _, g := range h.row.gaps {
		g.To = o.p.Steps
		o.p.Closed = append(o.p.Closed, g)
	}
	taken := horizon.NewSet(h.row.slots)
	h.addClaims(e, o, taken)
	h.addServices(e, o, taken, now)
	h.addRunning(e, o, taken, now)
	h.closeRest(e, o, taken, now)
	h.closeMaintenance(e, &o.p, now)
	h.closeWindows(e, &o.p, now)
	h.addWaiting(e, d, o, now)
	o.fit()
	return o
}

// steps is how many steps a span of time touches, at least one.
func (h *ahead) steps(e *Engine, d workload.Span) int {
	step := e.pol.Horizon.Step
	return int(min(max((d+step-1)/step, 1), 1<<20))
}

// addRunning pins what runs where it is: as a job where it holds a row of slots, as
// closed slots where it does not.
func (h *ahead) addRunning(e *Engine, o *outlook, taken horizon.Set, now workload.Time) {
	held := h.heldSlots(e)
	for p := range e.pools {
		for _, n := range h.sorted(e.pools[p].running) {
			j := &e.jobs[n]
			if j.spec.Service != nil && j.state != stopping && !j.leaving {
				continue
			}
			slots := h.row.slotsOf(j.grants)
			if len(slots) == 0 {
				continue
			}
			left := h.steps(e, j.end-now)
			if j.state == stopping || j.spec.Service != nil {
				left = h.steps(e, e.contract(j).Grace)
			}
			slices.Sort(slots)
			slots = slices.Compact(slots) // parts of one GPU
			if t := e.outBy(n, now); t < j.end {
				left = h.steps(e, t-now)
			}
			h.closeDrained(e, o, slots, left)
			if j.spec.Need.Fractional() { // others may have other parts of the same GPUs
				closeSlots(&o.p, j.spec.ID, slots, min(left, o.p.Steps))
				for _, s := range slots {
					taken.Add(s)
				}
				continue
			}
			if slices.ContainsFunc(slots, taken.Has) {
				if slots = slices.DeleteFunc(slots, taken.Has); len(slots) == 0 {
					continue // it leaves for a job that is there already
				}
			}
			for _, s := range slots {
				taken.Add(s)
			}
			if !h.regular(e, j, slots) {
				o.exempt = append(o.exempt, j.spec.ID)
			}
			first, k := slots[0], len(slots)
			job := horizon.Job{ID: j.spec.ID, Kind: j.spec.Kind, GPUs: k, Slots: k, Align: 1, Steps: left,
				Priority: h.worth(e, j.spec, now), Running: &horizon.Running{Offset: first, Elapsed: h.steps(e, now-j.since), Foreign: true}}
			if slots[k-1]-first != k-1 || !h.alone(o, &job, held) {
				closeSlots(&o.p, j.spec.ID, slots, min(left, o.p.Steps))
				continue
			}
			if e.mayInterrupt(j) && j.state != stopping {
				h.interruptible(e, &job, j, now)
			}
			o.jobs, o.classes = append(o.jobs, n), append(o.classes, none)
			o.p.Jobs = append(o.p.Jobs, job)
		}
	}
}

// heldSlots are all slots that anybody holds, or that are no GPUs: what a block that is rounded up may
// not reach into.
func (h *ahead) heldSlots(e *Engine) horizon.Set {
	held := horizon.NewSet(h.row.slots)
	if !e.pol.Horizon.PowerOfTwo {
		return held // nothing is rounded up
	}
	for s, n := range h.row.node {
		if n < 0 {
			held.Add(s)
		}
	}
	for p := range e.pools {
		for _, n := range e.pools[p].running {
			for _, s := range h.row.slotsOf(e.jobs[n].grants) {
				held.Add(s)
			}
		}
	}
	for i := range e.claims {
		for _, s := range h.row.slotsOf(e.claims[i].grants) {
			held.Add(s)
		}
	}
	return held
}

// alone tells whether the block of a running job, which the reading may round up, holds
// nothing but GPUs that nobody else has.
func (h *ahead) alone(o *outlook, j *horizon.Job, held horizon.Set) bool {
	size, _ := o.p.Reading.Block(j)
	for s := j.Running.Offset + j.Slots; s < j.Running.Offset+size; s++ {
		if s >= h.row.slots || held.Has(s) || h.row.kind[s] != h.row.kind[j.Running.Offset] {
			return false
		}
	}
	for s := j.Running.Offset + j.Slots; s < j.Running.Offset+size; s++ {
		held.Add(s)
	}
	return true
}

// closeDrained closes slots of nodes that take nothing new once those who are there have gone.
func (h *ahead) closeDrained(e *Engine, o *outlook, slots []int, left int) {
	for _, s := range slots {
		if e.drained[h.row.node[s]] && left < o.p.Steps {
			o.p.Closed = append(o.p.Closed, horizon.Window{Name: "out", First: s, Count: 1, From: left, To: o.p.Steps})
		}
	}
}

// regular tells whether a job lies on a block that a plan could have given it.
func (h *ahead) regular(e *Engine, j *job, slots []int) bool {
	b := h.block(e, &e.classes[j.class])
	if b.size == 0 {
		return true // no plan has a form for it
	}
	first, k := slots[0], len(slots)
	return slots[k-1]-first == k-1 && first%b.align == 0 && (j.tasks != b.tasks || k <= b.size)
}

// addClaims pins jobs whose place is being cleared where they will be.
func (h *ahead) addClaims(e *Engine, o *outlook, taken horizon.Set) {
	for i := range e.claims {
		c := &e.claims[i]
		j := &e.jobs[c.job]
		slots := h.row.slotsOf(c.grants)
		slices.Sort(slots)
		for _, s := range slots {
			taken.Add(s)
		}
		closeSlots(&o.p, j.spec.ID, slots, min(h.steps(e, e.durationIn(j, c.pool, c.tasks)), o.p.Steps))
	}
}

// closeSlots closes single slots until a step.
func closeSlots(p *horizon.Problem, name string, slots []int, to int) {
	for i := 0; i < len(slots); {
		k := i + 1
		for k < len(slots) && slots[k] == slots[k-1]+1 {
			k++
		}
		p.Closed = append(p.Closed, horizon.Window{Name: name, First: slots[i], Count: k - i, From: 0, To: to})
		i = k
	}
}

// closeRest closes what is neither free nor known to be taken: nodes that are out, GPUs of
// which somebody has a part.
func (h *ahead) closeRest(e *Engine, o *outlook, taken horizon.Set, now workload.Time) {
	var shut []int
	for s := range h.row.slots {
		n := h.row.node[s]
		if n < 0 || taken.Has(s) {
			continue
		}
		f, at := e.frees[e.layout.PoolOf[n]], e.layout.Local[n]
		switch {
		case e.down[n] && h.backByPlan(n, &o.p, now) < o.p.Steps:
			closeSlots(&o.p, "out", []int{s}, h.backByPlan(n, &o.p, now))
		case f.Shut(at) || f.Mask(at)>>h.row.gpu[s]&1 == 0:
			shut = append(shut, s)
		}
	}
	closeSlots(&o.p, "out", shut, o.p.Steps)
}

// addWaiting adds the first waiting jobs of each pool in the policy's order, as many as a plan looks at.
func (h *ahead) addWaiting(e *Engine, d *decision, o *outlook, now workload.Time) {
	heap := d.heap[:0]
	for _, ci := range e.active {
		c := &e.classes[ci]
		if h.block(e, c).size == 0 {
			continue
		}
		e.headKey(c, d.now)
		heap = append(heap, ci)
		d.touched = append(d.touched, ci)
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		e.sift(heap, i)
	}
	looked := make([]int32, len(e.pools)) // in each pool: those who wait for one keep nobody from another
	for len(heap) > 0 {
		ci := heap[0]
		n := e.classes[ci].cur
		pool := h.block(e, &e.classes[ci]).pool
		if looked[pool] < e.pol.Horizon.Queue && e.jobs[n].spec.Service == nil {
			h.addJob(e, o, ci, n, now)
			looked[pool]++
		}
		if looked[pool] < e.pol.Horizon.Queue && e.moveOn(d, ci, n) {
			e.sift(heap, 0)
		} else {
			heap = e.pop(heap)
		}
	}
	d.heap = heap[:0]
}

// addJob adds one waiting job.
func (h *ahead) addJob(e *Engine, o *outlook, ci, n int32, now workload.Time) {
	b := h.block(e, &e.classes[ci])
	if b.size == 0 {
		return
	}
	j := &e.jobs[n]
	job := horizon.Job{ID: j.spec.ID, Kind: j.spec.Kind, GPUs: int(b.shape.GPUs), Slots: b.size, Align: b.align, Types: b.types,
		Priority: h.worth(e, j.spec, now), Steps: h.steps(e, e.durationIn(j, b.shape.Pools[0], b.tasks))}
	if dl := j.spec.Deadline; dl > 0 {
		if job.Deadline, job.Late = int(max(dl-now, 0)/e.pol.Horizon.Step), lateWorth; job.Deadline == 0 {
			job.Late = 0 // it is late already: that changes nothing any more
		}
	}
	if e.mayInterrupt(j) && !h.maintains(e, now) { // it is stopped for others, not for maintenance
		h.interruptible(e, &job, j, now)
	}
	o.jobs, o.classes = append(o.jobs, n), append(o.classes, ci)
	o.p.Jobs = append(o.p.Jobs, job)
}

// lateWorth is what a job that ends after its deadline is worth, in thousandths: still
// more than nothing, so that it is not left out for good.
const lateWorth = 500

// fine is how many parts a priority of 1 has in a plan, so that a wait can count for less.
const fine = 16

// worth is what a GPU-step of a job counts in a plan: its priority, at least 1, since without
// one all would be worth nothing; and as much again for each span of the policy's aging that
// it has waited, up to eight, so that among equals those who came first go first and nobody
// waits for ever.
func (h *ahead) worth(e *Engine, j *workload.Job, now workload.Time) int64 {
	p := min(max(j.Priority, 1), 1<<20) * h.unit()
	if h.plain {
		return p
	}
	if aging := e.pol.Horizon.Aging; aging > 0 && j.Service == nil {
		wait := min(max(now-j.Submit, 0), 8*aging)
		p += p * (wait / workload.Minute) / max(aging/workload.Minute, 1)
	}
	return p
}

// unit is what a priority of 1 counts.
func (h *ahead) unit() int64 {
	if h.plain {
		return 1
	}
	return fine
}

// fit brings what jobs and applications are worth into the range of a plan, all by the same factor,
// and what they are worth together into what a plan can add up.
func (o *outlook) fit() {
	most, top := int64(1<<20), int64(0)
	for cells := int64(o.p.GPUs) * int64(o.p.Steps) * int64(1+len(o.p.Apps)); most > 1 && most*cells > 1<<48; {
		most >>= 1
	}
	for i := range o.p.Jobs {
		top = max(top, o.p.Jobs[i].Priority)
	}
	for i := range o.p.Apps {
		top = max(top, o.p.Apps[i].Penalty)
	}
	if top <= most {
		return
	}
	by := (top + most - 1) / most
	for i := range o.p.Jobs {
		o.p.Jobs[i].Priority = max(1, o.p.Jobs[i].Priority/by)
	}
	for i := range o.p.Apps {
		o.p.Apps[i].Penalty /= by
	}
}

// sorted returns jobs by number: lists of what runs are in no order.
func (h *ahead) sorted(list []int32) []int32 {
	h.list = append(h.list[:0], list...)
	slices.Sort(h.list)
	return h.list
}

// grantsOf appends slots that a service holds as grants, by node.
func (h *ahead) grantsOf(held horizon.Set, need *workload.Need, buf []cluster.Grant) []cluster.Grant {
	from := len(buf)
	for _, s := range held.Slots() {
		n := h.row.node[s]
		if k := len(buf) - 1; k >= from && buf[k].Node == n {
			buf[k].GPUs |= 1 << h.row.gpu[s]
			buf[k].Count++
			continue
		}
		buf = append(buf, cluster.Grant{Node: n, Milli: 1000, GPUs: 1 << h.row.gpu[s], Count: 1})
	}
	for k := from; k < len(buf); k++ {
		buf[k].CPU, buf[k].Memory = need.CPU*int64(buf[k].Count), need.Memory*int64(buf[k].Count)
	}
	return buf
}
