package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// ahead decides by a plan of the next hours: what runs stays where it is, real-time
// applications follow their demand, waiting jobs go where the plan of all brings most; what
// the plan has in its first step is done now. Each plan is made from the state alone, so
// that the same state gives the same plan.
type ahead struct {
	row *row
	// planned are the outages that are known in advance.
	planned []maintenance
	list    []int32 // scratch
	// blocks remembers what classes take.
	blocks map[*place.Shape]block
	// when is the planned start of waiting jobs, as of the last plan; end is its horizon.
	when map[int32]workload.Time
	end  workload.Time
	// wanted is the first step after this one in which the last plan uses a slot.
	wanted []int
	// plain: jobs count their priorities and nothing else.
	plain bool
	// proposed is a plan made elsewhere, nil for none.
	proposed *fact.Plan
}

// maxPools is how many kinds of GPUs a plan tells apart.
const maxPools = 64

func newAhead(l *cluster.Layout, pol *policy.Horizon) (*ahead, error) {
	if l.Counted() {
		return nil, errors.New("a plan of the horizon needs to know the nodes, but the cluster is a mere count of GPUs; give it as NODESxGPUS")
	}
	if n := len(l.Pools); n > maxPools {
		return nil, fmt.Errorf("a plan of the horizon tells up to %d pools (GPU types and partitions) apart, and the cluster has %d", maxPools, n)
	}
	h := &ahead{row: newRow(l), planned: plannedOutages(l), blocks: map[*place.Shape]block{}}
	empty := horizon.Problem{GPUs: h.row.slots, Steps: int(pol.Steps), Decay: 1}
	if err := empty.Check(); h.row.slots > 0 && err != nil {
		return nil, fmt.Errorf("a plan of this cluster: %w", err)
	}
	return h, nil
}

func (h *ahead) decide(e *Engine, d *decision) {
	if h.startProposed(e, d) {
		d.again = true // the rest is planned around them
		return
	}
	if quick := h.worthwhile(e, d.now); quick || h.flexible(e, d.now) {
		if o := h.look(e, d, d.now); quick || h.mayClear(e, o) {
			if plan := h.plan(e, d, o); plan != nil {
				h.follow(e, d, o, plan)
			}
		}
	}
	h.rest(e, d)
	e.reserved(d)
	d.wake = min(d.wake, h.wakeAfter(e, d.now))
	for i := range d.actions {
		d.wake = min(d.wake, h.wakeOf(e, &d.actions[i]))
	}
}

// wakeOf is when what an action does will count no longer: the swaps of a resize, the protection
// of a start.
func (h *ahead) wakeOf(e *Engine, a *fact.Action) workload.Time {
	j := &e.jobs[a.Job]
	switch s := j.spec.Service; {
	case a.Do == fact.Resize && s != nil && s.Swaps > 0:
		return a.At + s.SwapEvery
	case a.Do == fact.Start && e.mayInterrupt(j):
		return a.At + e.protection(j)
	}
	return workload.Never
}

// wakeAfter is when time alone may change the plan: on the policy's grid, when a start of a
// proposed plan is due, when swaps no longer count, when a protection ends.
func (h *ahead) wakeAfter(e *Engine, now workload.Time) workload.Time {
	if len(e.active) == 0 && !h.serving(e) {
		return workload.Never
	}
	every := e.pol.Horizon.Replan
	wake := min(now-now%every+every, h.nextProposed(now))
	for _, s := range e.services {
		j := &e.jobs[s.job]
		if j.state == starting || j.state == running {
			wake = min(wake, s.expiry(now, j.spec.Service.SwapEvery))
		}
	}
	if e.pol.Horizon.Interrupt {
		for p := range e.pools {
			for _, n := range e.pools[p].running {
				if j := &e.jobs[n]; j.state == running && e.mayInterrupt(j) && j.since+e.protection(j) > now {
					wake = min(wake, j.since+e.protection(j))
				}
			}
		}
	}
	return wake
}

// worthwhile tells whether a plan could change anything now, by counting: some waiting job
// may fit, or some application has not what it needs in this step, or has to begin with what
// it will need later.
func (h *ahead) worthwhile(e *Engine, now workload.Time) bool {
	for _, s := range e.services {
		j := &e.jobs[s.job]
		switch j.state {
		case waiting:
			if h.needs(e, j.spec.Service, s, now, 0) > 0 {
				return true
			}
		case starting, running:
			if int(j.milli/1000) != h.needs(e, j.spec.Service, s, now, 0) || h.mustBegin(e, j, s, now) {
				return true
			}
		}
	}
	for _, ci := range e.active {
		if c := &e.classes[ci]; h.block(e, c).size > 0 && e.placer.MayFitAny(e.frees, smallest(c.shape)) {
			return true
		}
	}
	return false
}

// serving tells whether there is any real-time application.
func (h *ahead) serving(e *Engine) bool {
	for _, s := range e.services {
		if st := e.jobs[s.job].state; st == waiting || st == starting || st == running {
			return true
		}
	}
	return false
}

// plan makes the plan. Where the applications cannot keep their rules (a node was lost, more
// is needed than there is), first their bounds give way, then their swap limits; never
// what is wanted.
func (h *ahead) plan(e *Engine, d *decision, o *outlook) *horizon.Plan {
	s, err := horizon.NewSearch(&o.p, 0)
	for _, give := range []func(*horizon.App, int){giveBounds, giveSwaps} {
		for _, all := range []bool{false, true} { // those that cannot whatever the others do; else all
			if err == nil {
				break
			}
			for i := range o.p.Apps {
				if all || o.stuck(i) {
					give(&o.p.Apps[i], o.p.GPUs)
				}
			}
			s, err = horizon.NewSearch(&o.p, 0)
		}
	}
	if err != nil {
		return nil
	}
	if order := h.proposedOrder(o, d.now); order != nil {
		s.Suggest(order)
	}
	s.Run(int(e.pol.Horizon.Work), nil)
	return s.Plan()
}

func giveBounds(a *horizon.App, gpus int) {
	for t := range a.Min {
		a.Min[t], a.Max[t] = 0, gpus
	}
}

func giveSwaps(a *horizon.App, gpus int) { a.SwapCap, a.Used = 2*gpus, 0 }

// stuck tells whether an application cannot keep its rules even alone with what runs.
func (o *outlook) stuck(i int) bool {
	q := o.p
	q.Apps, q.Jobs = o.p.Apps[i:i+1], nil
	for k, ci := range o.classes {
		if ci == none {
			q.Jobs = append(q.Jobs, o.p.Jobs[k])
		}
	}
	_, err := horizon.NewSearch(&q, 0)
	return err != nil
}

// follow does what the plan has in its first step: applications give up, then jobs
// start, then applications take.
func (h *ahead) follow(e *Engine, d *decision, o *outlook, plan *horizon.Plan) {
	for i, n := range o.services {
		if e.jobs[n].state != waiting {
			h.giveUp(e, d, n, plan.Held[i][0])
		}
	}
	h.end = d.now + int64(o.p.Steps)*o.p.StepLength
	h.when = map[int32]workload.Time{}
	for i, ci := range o.classes {
		if ci != none {
			h.when[o.jobs[i]] = workload.Never
		}
	}
	for i := range plan.Placed {
		st := &plan.Placed[i]
		n, ci := o.jobs[st.Job], o.classes[st.Job]
		if ci == none {
			continue
		}
		if t := d.now + int64(st.Start)*o.p.StepLength; t < h.when[n] {
			h.when[n] = t
		}
		if st.Start > 0 {
			continue
		}
		if v := h.inTheWay(e, o, plan, st.Offset, st.Size); len(v) == 0 || !h.makeRoom(e, d, ci, n, st, v) {
			h.start(e, d, ci, n, st)
		}
	}
	for i, n := range o.services {
		for _, s := range plan.Held[i][0].Slots() {
			for _, v := range h.inTheWay(e, o, plan, s, 1) {
				h.stop(e, d, v, n)
			}
		}
		h.take(e, d, n, plan.Held[i][0])
	}
	h.elsewhere(e, d, o, plan)
}

// start starts a job on the block that the plan has for it. Where that is not free after
// all (cores and memory, which the plan does not know, may be missing) or not what the job
// asks for, anywhere else.
func (h *ahead) start(e *Engine, d *decision, ci, n int32, st *horizon.Stretch) {
	c := &e.classes[ci]
	b := h.block(e, c)
	nodes, gpus := h.row.split(e.layout, st.Offset, st.Size)
	pool := e.layout.PoolOf[h.row.node[h.firstReal(st.Offset)]]
	from := len(d.arena)
	arena, ok := e.placer.OnBlock(e.frees[pool], b.shape, b.shape.PoolIndex(pool), nodes, gpus, d.arena)
	d.arena = arena
	if !ok || h.hit(e, n, d.arena[from:], d.now, e.durationIn(&e.jobs[n], pool, b.tasks)) {
		d.arena = d.arena[:from]
		h.anywhere(e, d, ci, n)
		return
	}
	whole := c.shape
	c.shape = b.shape
	e.start(d, c, n, pool, from, b.tasks, fact.Reason{Code: fact.Planned, For: none})
	c.shape = whole
}

func (h *ahead) firstReal(slot int) int {
	for h.row.node[slot] < 0 {
		slot++
	}
	return slot
}

// giveUp lets an application go down to what it keeps of what it has.
func (h *ahead) giveUp(e *Engine, d *decision, n int32, want horizon.Set) {
	j := &e.jobs[n]
	keep, lost := horizon.NewSet(h.row.slots), horizon.NewSet(h.row.slots)
	for _, s := range h.row.slotsOf(j.grants) {
		if want.Has(s) {
			keep.Add(s)
		} else {
			lost.Add(s)
		}
	}
	if lost.Len() == 0 {
		return
	}
	from := len(d.arena)
	d.arena = h.grantsOf(lost, &j.spec.Need, d.arena)
	d.given = append(d.given, undo{pool: j.pool, from: from, to: len(d.arena)})
	e.frees[j.pool].Give(d.arena[from:])
	h.resize(e, d, n, keep)
}

// take gives an application what the plan has for it, as far as it is free.
func (h *ahead) take(e *Engine, d *decision, n int32, want horizon.Set) {
	j := &e.jobs[n]
	if want.Len() == 0 {
		return
	}
	pool := e.layout.PoolOf[h.row.node[want.Slots()[0]]]
	has := horizon.NewSet(h.row.slots)
	if j.state != waiting {
		for _, s := range h.row.slotsOf(j.grants) {
			has.Add(s)
		}
	}
	gained, all := horizon.NewSet(h.row.slots), horizon.NewSet(h.row.slots)
	for _, s := range want.Slots() {
		switch {
		case has.Has(s):
			all.Add(s)
		case h.isFree(e, s):
			gained.Add(s)
		}
	}
	from := len(d.arena)
	d.arena = h.grantsOf(gained, &j.spec.Need, d.arena)
	if f := e.frees[pool]; !available(f, e.layout, d.arena[from:]) {
		gained = h.withCores(e, j, pool, gained)
		d.arena = h.grantsOf(gained, &j.spec.Need, d.arena[:from])
	}
	if gained.Len() == 0 {
		return
	}
	for _, s := range gained.Slots() {
		all.Add(s)
	}
	d.undo = append(d.undo, undo{pool: pool, from: from, to: len(d.arena)})
	e.frees[pool].Take(d.arena[from:])
	h.resize(e, d, n, all)
}

// isFree tells whether the GPU of a slot is wholly free.
func (h *ahead) isFree(e *Engine, s int) bool {
	n := h.row.node[s]
	return n >= 0 && e.frees[e.layout.PoolOf[n]].Mask(e.layout.Local[n])>>h.row.gpu[s]&1 == 1
}

// withCores are as many free slots of a pool as an application was to gain, or fewer, on nodes that
// have cores and memory for them: those that it was to gain first.
func (h *ahead) withCores(e *Engine, j *job, pool int32, gained horizon.Set) horizon.Set {
	slots, most := gained.Slots(), gained.Len()
	for s := range h.row.slots {
		if h.isFree(e, s) && h.row.kind[s] == int(pool) && !gained.Has(s) {
			slots = append(slots, s)
		}
	}
	got := horizon.NewSet(h.row.slots)
	for _, s := range slots {
		more := slices.Clone(got)
		more.Add(s)
		if got.Len() < most && available(e.frees[pool], e.layout, h.grantsOf(more, &j.spec.Need, nil)) {
			got = more
		}
	}
	return got
}

// resize writes the action: a start where the application does not run yet.
func (h *ahead) resize(e *Engine, d *decision, n int32, slots horizon.Set) {
	j, count := &e.jobs[n], slots.Len()
	from := len(d.arena)
	d.arena = h.grantsOf(slots, &j.spec.Need, d.arena)
	a := fact.Action{Do: fact.Resize, Job: n, Attempt: j.attempt, For: none, Tasks: int32(count), Count: int32(count), Milli: int64(count) * 1000,
		At: d.now, Place: d.arena[from:len(d.arena):len(d.arena)],
		Reason: fact.Reason{Code: fact.FollowsDemand, For: none, Have: int32(count), Want: int32(e.demandNow(n))}}
	if j.state == waiting {
		a.Do, a.Attempt = fact.Start, j.attempt+1
	}
	d.actions = append(d.actions, a)
}

// demandNow is what an application was last told to need.
func (e *Engine) demandNow(n int32) int {
	if s := e.service(n); s != nil && s.told {
		return int(s.demand)
	}
	return int(e.jobs[n].spec.Service.Demand.At(e.now))
}

// rest starts what a plan has no form for: work without GPUs, or for a part of one, in order.
func (h *ahead) rest(e *Engine, d *decision) {
	heap := d.heap[:0]
	for _, ci := range e.active {
		if c := &e.classes[ci]; h.block(e, c).size == 0 {
			e.headKey(c, d.now)
			heap = append(heap, ci)
			d.touched = append(d.touched, ci)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		e.sift(heap, i)
	}
	for len(heap) > 0 {
		ci := heap[0]
		n := e.classes[ci].cur
		if (e.jobs[n].spec.Service != nil || h.anywhere(e, d, ci, n) == started) && e.moveOn(d, ci, n) {
			e.sift(heap, 0)
		} else {
			heap = e.pop(heap)
		}
	}
	d.heap = heap[:0]
}

// why says when the last plan has a job.
func (h *ahead) why(n int32, now workload.Time) (fact.Reason, bool) {
	if at, off := h.offPlan(n, now); off {
		return fact.Reason{Code: fact.OffPlan, For: none, Until: at}, true
	}
	t, ok := h.when[n]
	switch {
	case !ok:
		return fact.Reason{}, false
	case t == workload.Never:
		return fact.Reason{Code: fact.Unplanned, For: none, Until: h.end}, true
	}
	return fact.Reason{Code: fact.PlannedLater, For: none, Until: t}, true
}
