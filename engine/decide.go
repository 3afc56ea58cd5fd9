package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Decision is what to do now, and when to ask again if nothing happens before.
type Decision struct {
	// Actions in the order in which they are to be journalled, committed and
	// sent. They are the engine's memory: valid until the next call of Decide.
	Actions []fact.Action
	// Wake is the time at which time alone could change something, [workload.Never] if none.
	Wake workload.Time
	// Again: what the actions give back is not shared out yet. Decide once more at
	// the same time when they are committed.
	Again bool
}

// decision is the scratch of one call of Decide.
type decision struct {
	now     workload.Time
	actions []fact.Action
	arena   []cluster.Grant
	undo    []undo
	given   []undo // tentatively given back
	heap    []int32
	heads   []int32 // by pool, see candidates
	touched []int32
	// barred[l]: a blocked head keeps lane l from those behind it; by barredBy[l]. A
	// pool has two lanes, see lane.
	barred   []bool
	barredBy []int32
	nBarred  int
	// passed is the first job that was refused in this decision, none so far.
	passed  int32
	leaving []int32
	// tentative holds the jobs that start in this decision and are filed under a predicted end.
	tentative []int32
	// tentativeDates are the last dates, made in this decision.
	tentativeDates int
	wake           workload.Time
	again          bool
}

// undo is a tentative take.
type undo struct {
	pool     int32
	from, to int
	milli    int64
	// looked: those who look past work that may stop see it taken too.
	looked bool
}

// Decide returns what to do now. It changes no state that a caller could see.
func (e *Engine) Decide(now workload.Time) Decision {
	now = max(now, e.now) // a clock that goes back does not turn anything round
	e.advance(now)
	// Nothing happened that could change anything. Under an order that depends on
	// time and has no grid, time alone can.
	if !e.dirty && e.uncommitted == 0 && now < e.wake && (!e.order.dynamic || e.order.interval > 0) {
		return Decision{Wake: e.wake}
	}
	e.dirty = false
	d := &e.decision
	d.reset(now, len(e.pools))
	d.actions = append(d.actions, e.toRefuse...)
	refused := len(d.actions)
	for i := range d.actions {
		d.actions[i].At = now
	}
	e.stopCancelled(d)
	if e.sharing == nil {
		e.leaveWindows(d)
	}
	e.serveClaims(d)
	switch {
	case e.sharing != nil:
		e.sharing.decide(e, d)
	case e.ahead != nil:
		e.ahead.decide(e, d)
	case len(e.active) == 0:
	case e.plans:
		e.planAhead(d)
	default:
		e.pass(d)
	}
	e.rollback(d)
	// Until its actions are committed, the next call must come to the same ones.
	e.uncommitted = len(d.actions)
	e.wake = d.wake
	if e.order.interval > 0 && len(e.active) > 0 {
		e.wake = min(e.wake, now-now%e.order.interval+e.order.interval)
	}
	if e.order.attained != nil {
		e.wake = min(e.wake, e.nextDemotion(now, d.actions))
	}
	e.wake = min(e.wake, e.nextWindow(now))
	// Whatever is due at this very instant is part of it: waking is for later.
	e.wake = max(e.wake, now+1)
	e.actionsOut(d.actions, refused)
	return Decision{Actions: d.actions, Wake: e.wake, Again: d.again}
}

// Decided tells the engine that a decision was taken at now whose actions are
// known and will be committed: for folding a journal without deciding again.
func (e *Engine) Decided(now workload.Time) {
	now = max(now, e.now)
	e.advance(now)
	e.plan.settled()
	if s := e.sharing; s != nil {
		s.pending = scope{fresh: s.pending.fresh[:0]}
	}
	e.dirty, e.uncommitted, e.wake = false, 0, 0
	if e.ahead != nil { // plans made at other times may be others
		e.wake = max(min(e.ahead.wakeAfter(e, now), e.nextWindow(now)), now+1)
	}
}

// Reconsider makes the next decision look at everything that waits as if nothing
// were known of it: for reasons to be at hand where decisions were not taken but folded.
func (e *Engine) Reconsider() {
	e.dirty = true
	if s := e.sharing; s != nil {
		s.pending.all, s.pending.swaps = true, true
	}
}

// advance brings what time alone changes up to now: a function of the facts and
// of now, however often it is called in between.
func (e *Engine) advance(now workload.Time) {
	e.passWindows(now)
	e.now = max(e.now, now)
	if e.sharing != nil {
		e.sharing.expire(e, now)
		e.sharing.tick(now)
	}
	if e.predicts {
		e.overruns(now)
	}
	if e.order.attained != nil && e.order.attained.Promote > 0 {
		e.promote(now)
	}
	if e.order.shares != nil {
		e.decayShares(now)
	}
}

func (d *decision) reset(now workload.Time, pools int) {
	d.now, d.passed, d.wake, d.nBarred, d.again = now, none, workload.Never, 0, false
	d.actions, d.arena, d.undo, d.given, d.heap = d.actions[:0], d.arena[:0], d.undo[:0], d.given[:0], d.heap[:0]
	d.touched, d.leaving, d.tentative = d.touched[:0], d.leaving[:0], d.tentative[:0]
	d.tentativeDates = 0
	if d.barred == nil {
		d.barred, d.barredBy = make([]bool, 2*pools), make([]int32, 2*pools)
	}
	for i := range d.barred {
		d.barred[i], d.barredBy[i] = false, none
	}
}

// rollback undoes everything tentative.
func (e *Engine) rollback(d *decision) {
	e.unveil()
	defer func() { // what was given up in this decision was in use before all else
		for _, g := range d.given {
			e.frees[g.pool].Take(d.arena[g.from:g.to])
		}
	}()
	for i := len(d.undo) - 1; i >= 0; i-- {
		u := &d.undo[i]
		if e.layout.Counted() {
			e.frees[u.pool].GiveCount(u.milli)
		} else {
			e.frees[u.pool].Give(d.arena[u.from:u.to])
		}
		if u.looked {
			e.sharing.loose.give(e, u.pool, d.arena[u.from:u.to], u.milli)
			e.sharing.soft.give(e, u.pool, d.arena[u.from:u.to], u.milli)
		}
	}
	if s := e.sharing; s != nil {
		s.dates = s.dates[:len(s.dates)-d.tentativeDates]
	}
	for _, n := range d.tentative {
		e.untrackEnd(n)
		e.jobs[n].grants, e.jobs[n].milli, e.jobs[n].tentative = nil, 0, false
	}
	for _, n := range d.leaving {
		e.jobs[n].leaving = false
	}
	e.limit.forget()
	for _, ci := range d.touched {
		c := &e.classes[ci]
		c.cur, c.short = c.head, false
	}
}

// pass goes through the waiting jobs in order, class by class.
func (e *Engine) pass(d *decision) {
	easy := e.pol.Blocking == policy.EASY
	if easy {
		e.easy.begin()
	}
	h := e.candidates(d)
	for i := len(h)/2 - 1; i >= 0; i-- {
		e.sift(h, i)
	}
	for len(h) > 0 {
		ci := h[0]
		c := &e.classes[ci]
		if d.nBarred > 0 && e.isBarred(d, c) {
			h = e.pop(h)
			if d.nBarred == len(e.pools) && !e.coresOnly {
				break
			}
			continue
		}
		n := c.cur
		more := false
		switch e.tryStart(d, ci, n) {
		case started:
			d.touched = append(d.touched, ci)
			more = e.moveOn(d, ci, n)
		case delays: // a shorter one of its class may not
			d.touched = append(d.touched, ci)
			more = e.moveOn(d, ci, n)
			d.pass(n)
		case capped: // and so is the rest of its class
			d.pass(n)
		case noPlace: // nor is there one for the rest of its class
			switch {
			case easy:
				e.easy.reserve(e, ci, n)
			case e.pol.Preemption.By != policy.PreemptNone && e.preempt(d, ci, n):
				d.touched = append(d.touched, ci)
				more = e.moveOn(d, ci, n)
			case e.pol.Blocking == policy.Strict:
				e.bar(d, c, n)
			}
			d.pass(n)
		}
		if more {
			e.sift(h, 0)
		} else {
			h = e.pop(h)
		}
	}
	if easy {
		e.easy.announce(e, d)
	}
	if e.pol.Blocking == policy.Strict {
		e.reserved(d)
	}
}

// candidates are the classes worth looking at. Where nobody gives way, a class
// that counting refuses matters only as a head: the first such class of each pool
// bars it, takes its reservation, or is who others pass. So a long queue of many
// different needs costs one count a class, not a place in the heap.
func (e *Engine) candidates(d *decision) []int32 {
	h := d.heap[:0]
	// A class of several pools can be kept from one by a head of another, and then the
	// next one in line matters: with such classes all are looked at.
	all := e.pol.Preemption.By != policy.PreemptNone || len(e.active) <= fewClasses || e.straddles ||
		// With nodes out, a head may have no date, and the next one takes it.
		e.pol.Blocking == policy.EASY && e.nDown+e.nDrained > 0
	if d.heads == nil {
		d.heads = make([]int32, 2*len(e.pools))
	}
	for p := range d.heads {
		d.heads[p] = none
	}
	for _, ci := range e.active {
		c := &e.classes[ci]
		e.headKey(c, d.now)
		if all || e.placer.MayFitAny(e.frees, smallest(c.shape)) {
			h = append(h, ci)
			continue
		}
		c.reason = fact.Reason{Code: fact.NoShape, For: none}
		for _, p := range c.shape.Pools {
			if l := e.lane(p, c); d.heads[l] == none || e.before(ci, d.heads[l]) {
				d.heads[l] = ci
			}
		}
	}
	for l, ci := range d.heads {
		if ci != none && !slices.Contains(d.heads[:l], ci) {
			h = append(h, ci)
		}
	}
	d.heap = h
	return h
}

// fewClasses is a number of classes that is not worth sifting.
const fewClasses = 16

func (e *Engine) pop(h []int32) []int32 {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	if last > 1 {
		e.sift(h, 0)
	}
	return h
}

func (e *Engine) sift(h []int32, i int) {
	for {
		l := 2*i + 1
		if l >= len(h) {
			return
		}
		if r := l + 1; r < len(h) && e.before(h[r], h[l]) {
			l = r
		}
		if !e.before(h[l], h[i]) {
			return
		}
		h[i], h[l] = h[l], h[i]
		i = l
	}
}

// moveOn moves a class on to the job behind n; false if there is none to look at.
func (e *Engine) moveOn(d *decision, ci, n int32) bool {
	c := &e.classes[ci]
	longest := workload.Span(1<<63 - 1)
	if c.short {
		longest = c.slack
	}
	c.cur = e.q.after(c.root, n, longest)
	if c.cur == none {
		return false
	}
	e.headKey(c, d.now)
	return true
}

// isBarred tells whether a blocked head keeps the class from all its pools. One
// pool in common is enough (SEMANTICS 12).
func (e *Engine) isBarred(d *decision, c *class) bool {
	for _, p := range c.shape.Pools {
		if l := e.lane(p, c); d.barred[l] {
			c.reason = fact.Reason{Code: fact.BlockedByHead, For: d.barredBy[l]}
			return true
		}
	}
	return false
}

// lane is where a class queues for a pool: work without GPUs is a class of need
// of its own and neither keeps GPUs from others nor waits behind those who want
// them, even on the same nodes (SEMANTICS 12).
func (e *Engine) lane(pool int32, c *class) int32 {
	if c.shape.Need.GPUs == 0 {
		return pool + int32(len(e.pools))
	}
	return pool
}

func (e *Engine) bar(d *decision, c *class, n int32) {
	for _, p := range c.shape.Pools {
		if l := e.lane(p, c); !d.barred[l] {
			d.barred[l], d.barredBy[l] = true, n
			d.nBarred++
		}
	}
}

// pass notes the first job that others go before.
func (d *decision) pass(n int32) {
	if d.passed == none {
		d.passed = n
	}
}

// verdict is what came of trying to start a job.
type verdict uint8

const (
	started verdict = iota
	noPlace
	delays // it fits, but would delay a reservation
	capped // its team holds all that it may
)

// tryStart starts the job if it fits and delays no reservation.
func (e *Engine) tryStart(d *decision, ci, n int32) verdict {
	c := &e.classes[ci]
	sizes := c.shape.Rigid()
	if sizes == nil {
		return e.tryShape(d, ci, n, 0)
	}
	v := noPlace
	for _, s := range sizes {
		if v = e.tryElastic(d, ci, n, s.Need.Tasks); v == started {
			break
		}
	}
	return v
}

func (e *Engine) tryElastic(d *decision, ci, n, tasks int32) verdict {
	c := &e.classes[ci]
	elastic := c.shape
	c.shape = elastic.Sized(tasks)
	v := e.tryShape(d, ci, n, tasks)
	c.shape = elastic
	return v
}

func (e *Engine) tryShape(d *decision, ci, n, tasks int32) verdict {
	c := &e.classes[ci]
	if !e.limit.admits(c) {
		c.reason = fact.Reason{Code: fact.TeamLimit, For: none}
		return capped
	}
	e.veil(c, n, 0, 0)
	from := len(d.arena)
	reason := fact.Reason{Code: fact.InOrder, For: none}
	if d.passed != none {
		reason = fact.Reason{Code: fact.Skipped, For: d.passed}
	}
	if len(e.easy.list) > 0 && len(c.shape.Pools) > 1 {
		return e.tryPools(d, c, n, tasks, reason)
	}
	arena, pool, ok := e.placer.Place(e.frees, c.shape, d.arena)
	d.arena = arena
	if !ok {
		c.reason = fact.Reason{Code: fact.NoShape, For: none}
		return noPlace
	}
	if len(e.easy.list) > 0 && !e.easy.admit(e, d, c, n, tasks, pool, from, &reason) {
		d.arena = d.arena[:from]
		return delays
	}
	e.start(d, c, n, pool, from, tasks, reason)
	return started
}

// tryPools tries the pools of a shape one by one, since a reservation in one of
// them says nothing of the others.
func (e *Engine) tryPools(d *decision, c *class, n, tasks int32, reason fact.Reason) verdict {
	from, v := len(d.arena), noPlace
	c.reason = fact.Reason{Code: fact.NoShape, For: none}
	for k, pool := range c.shape.Pools {
		arena, ok := e.placer.PlaceIn(e.frees[pool], c.shape, k, d.arena)
		d.arena = arena
		if !ok {
			continue
		}
		if e.easy.admit(e, d, c, n, tasks, pool, from, &reason) {
			e.start(d, c, n, pool, from, tasks, reason)
			return started
		}
		v = delays
		d.arena = d.arena[:from]
	}
	return v
}

// start decides a start on the grants at the end of the arena.
func (e *Engine) start(d *decision, c *class, n, pool int32, from int, tasks int32, reason fact.Reason) {
	to := len(d.arena)
	milli := c.shape.Milli
	d.undo = append(d.undo, undo{pool: pool, from: from, to: to, milli: milli})
	if e.layout.Counted() {
		e.frees[pool].TakeCount(milli)
	} else {
		e.frees[pool].Take(d.arena[from:to])
	}
	e.limit.take(c, milli)
	j := &e.jobs[n]
	if e.predicts {
		// A later reservation of this decision must see where it is and when it goes.
		j.pool, j.milli, j.tentative = pool, milli, true
		if to > from {
			j.grants = d.arena[from:to:to]
		}
		e.trackEnd(pool, ending{d.now + e.durationIn(j, pool, tasks), n})
		d.tentative = append(d.tentative, n)
	}
	var place []cluster.Grant
	if to > from {
		place = d.arena[from:to:to]
	}
	d.actions = append(d.actions, fact.Action{Do: fact.Start, Job: n, Attempt: j.attempt + 1, For: none, Tasks: tasks,
		Count: devices(milli), Milli: milli, At: d.now, Place: place, Reason: reason})
}

// devices is the number of GPUs that a capacity touches at least.
func devices(milli int64) int32 { return int32((milli + 999) / 1000) }

// stopCancelled stops runs that their owners withdrew.
func (e *Engine) stopCancelled(d *decision) {
	for _, n := range e.toStop {
		if s := e.jobs[n].state; s == running || s == starting {
			e.jobs[n].leaving = true
			d.leaving = append(d.leaving, n)
			d.actions = append(d.actions, fact.Action{Do: fact.Stop, Job: n, Attempt: e.jobs[n].attempt, For: none, At: d.now,
				Reason: fact.Reason{Code: fact.Withdrawn, For: none}})
		}
	}
}

// serveClaims starts jobs whose victims have gone, and gives up places that can
// no longer come true.
func (e *Engine) serveClaims(d *decision) {
	for i := range e.claims {
		c := &e.claims[i]
		a := fact.Action{Job: c.job, For: none, At: d.now}
		switch {
		case e.unclaimable(c):
			a.Do, a.Reason = fact.Release, fact.Reason{Code: fact.PlaceLost, For: none}
			d.again = true
		case c.ready:
			a.Do, a.Reason = fact.Start, fact.Reason{Code: fact.Freed, For: none}
			a.Attempt, a.Place, a.Count, a.Milli, a.Tasks = e.jobs[c.job].attempt+1, c.grants, devices(c.milli), c.milli, c.tasks
			d.again = d.again || c.adopted || e.pol.Preemption.By != policy.PreemptNone
			switch {
			case c.adopted:
				e.adoptedStart(&a, c)
			case e.sharing != nil:
				a.Until = d.now + e.sharing.heldSpan(c.job)
			}
		default:
			continue
		}
		d.actions = append(d.actions, a)
	}
}
