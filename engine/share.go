package engine

import (
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// startUsage is what a start counts in the decision that makes it, per GPU.
const startUsage = workload.Minute

// enter and leave file a class with waiting jobs under its leaf.
func (s *sharing) enter(e *Engine, ci int32) {
	c := &e.classes[ci]
	list := s.list(c)
	c.inLeaf = int32(len(*list))
	*list = append(*list, ci)
	if !c.fill {
		s.leaves[c.leaf].nWork++
	}
}

func (s *sharing) leave(e *Engine, ci int32) {
	c := &e.classes[ci]
	list := s.list(c)
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[c.inLeaf] = moved
	e.classes[moved].inLeaf = c.inLeaf
	*list = (*list)[:last]
	if !c.fill {
		s.leaves[c.leaf].nWork--
	}
}

func (s *sharing) list(c *class) *[]int32 {
	if c.fill {
		return &s.leaves[c.leaf].fill
	}
	l := &s.leaves[c.leaf]
	for i := range l.work {
		if l.work[i].known == c.known {
			c.group = int32(i)
			return &l.work[i].classes
		}
	}
	l.work = append(l.work, group{known: c.known})
	c.group = int32(len(l.work) - 1)
	return &l.work[c.group].classes
}

// queued takes in that a job joined its class; true if that can change anything.
func (s *sharing) queued(e *Engine, ci int32) bool {
	c := &e.classes[ci]
	if !c.fill {
		s.waitingWork++
	}
	if c.n > 1 {
		return false
	}
	s.pending.fresh = append(s.pending.fresh, ci)
	return true
}

// floor is the last multiple of a span.
func floor(t workload.Time, d workload.Span) workload.Time {
	if r := t % d; r < 0 {
		return t - r - d
	}
	return t - t%d
}

// tick moves the grid on; true if shares have drifted since and that matters.
func (s *sharing) tick(now workload.Time) {
	g := floor(now, s.pol.Interval)
	if g > s.grid {
		if s.grid = g; s.waitingWork > 0 {
			s.pending.all, s.pending.swaps = true, true
		}
	}
	if s.accounts != nil {
		if now >= s.moneyAt {
			s.pending.all = true
		}
		s.moneyAt = workload.Never
		for l := range s.leaves[:s.outside] {
			if s.tree.Nodes[l].Leaf() {
				s.moneyAt = min(s.moneyAt, s.accounts.Next(int32(l), now))
			}
		}
	}
	for i := range s.dates {
		if x := &s.dates[i]; !x.due && x.at-s.longestGrace() <= now {
			x.due, s.pending.all = true, true
		}
	}
	if s.limited && now >= s.nextEvict {
		s.limited = false
		s.pending.all, s.pending.swaps = true, true
	}
}

// decide settles what the decision looks at and takes it. Until its actions are
// committed, another call looks at the same; broken off, it goes on with the rest.
func (s *sharing) decide(e *Engine, d *decision) {
	p := &s.present
	if e.uncommitted == 0 {
		p.all, p.swaps, p.fresh = false, false, p.fresh[:0]
	}
	p.all, p.swaps = p.all || s.pending.all, p.swaps || s.pending.swaps
	for _, ci := range p.fresh {
		e.classes[ci].fresh = true
	}
	for _, ci := range s.pending.fresh {
		if c := &e.classes[ci]; !c.fresh {
			c.fresh = true
			p.fresh = append(p.fresh, ci)
		}
	}
	s.pending = scope{fresh: s.pending.fresh[:0]}
	e.share(d)
	for _, ci := range p.fresh {
		e.classes[ci].fresh = false
	}
	if d.again {
		e.dirty = true
		s.pending.all, s.pending.swaps = p.all, p.swaps
		s.pending.fresh = append(s.pending.fresh, p.fresh...)
	}
}

// share decides under a policy of budgets and contracts.
func (e *Engine) share(d *decision) {
	s := e.sharing
	s.stamp++
	p := &s.present
	s.fillers = s.fillers[:0]
	if e.spend(d); d.again {
		return
	}
	if !p.all && !p.swaps && len(p.fresh) == 0 {
		e.wakeShared(d)
		return
	}
	if p.swaps || p.all {
		if e.retire(d); d.again {
			return // who is told to go is gone by a time that is known once it is committed
		}
	}
	if !e.serveDates(d) {
		for _, class := range [...]budget.Standing{budget.Entitled, budget.Served, budget.Spent} {
			if !e.walkWork(d, class) {
				break
			}
		}
		if !d.again {
			e.walkFill(d)
		}
	}
	s.walk.begin()
	s.walk.forget()
	if !d.again {
		e.wakeShared(d)
	}
}

// used is the usage of a node at the grid time.
func (s *sharing) used(n int32) int64 {
	u := &s.usage[n]
	if u.stamp != s.stamp {
		u.stamp, u.charged = s.stamp, s.ledger.Usage(n, s.grid)
	}
	return u.charged
}

// filled is the unallocated time a node had.
func (s *sharing) filled(n int32) int64 { return s.fill.Charged(n, s.grid) }

// stands is the standing of a leaf at the grid time.
func (s *sharing) stands(leaf int32) budget.Standing {
	if leaf == s.outside {
		return budget.Served
	}
	u := &s.usage[leaf]
	if u.stood != s.stamp {
		more := int64(0)
		if u.begunAt == s.stamp {
			more = u.begun
		}
		u.stood, u.standing = s.stamp, s.ledger.StandingWith(leaf, s.grid, more)
	}
	return u.standing
}

// startedRate is what the last start of the decision is charged, in milli-GPU.
func (e *Engine) startedRate(d *decision) int64 {
	a := &d.actions[len(d.actions)-1]
	pool := int32(0)
	if len(a.Place) > 0 {
		pool = e.layout.PoolOf[a.Place[0].Node]
	}
	return e.rateOf(a.Job, a.Milli, pool, a.Tasks)
}

// begins counts a start of this decision to the rate of its leaf: with it the leaf may
// have claimed back as much as it may.
func (s *sharing) begins(leaf int32, rate int64) {
	u := &s.usage[leaf]
	if u.begunAt != s.stamp {
		u.begunAt, u.begun = s.stamp, 0
	}
	u.begun += rate
	u.stood = 0
}

// walkWork goes through the charged work of the leaves of one standing; false if
// the decision is to be committed before it goes on.
func (e *Engine) walkWork(d *decision, standing budget.Standing) bool {
	s, w := e.sharing, &e.sharing.walk
	w.begin()
	some := false
	add := func(l int32, ci int32) {
		if c := &e.classes[ci]; c.cur != none && (e.worthTrying(d, c) || s.brute) {
			w.add(l, ci)
			some = true
			if k := c.known; k.inWalk != s.walks {
				k.inWalk = s.walks
				s.alive++
			}
		}
	}
	s.walks++
	s.alive = 0
	if !s.present.all {
		for _, ci := range s.present.fresh {
			if c := &e.classes[ci]; c.n > 0 && !c.fill && s.stands(c.leaf) == standing {
				add(c.leaf, ci)
			}
		}
	} else if s.waitingWork > 0 {
		for l := range s.leaves {
			if s.leaves[l].nWork == 0 || s.stands(int32(l)) != standing {
				continue
			}
			for i := range s.leaves[l].work {
				g := &s.leaves[l].work[i]
				if len(g.classes) == 0 || !e.groupWorth(int32(l), g.known) {
					continue
				}
				for _, ci := range g.classes {
					add(int32(l), ci)
				}
			}
		}
		for _, ci := range s.present.fresh { // these may have others stopped at once
			if c := &e.classes[ci]; c.n > 0 && !c.fill && s.stands(c.leaf) == standing && !e.groupWorth(c.leaf, c.known) {
				add(c.leaf, ci)
			}
		}
	}
	if !some {
		return true
	}
	e.build(w, s.used)
	for {
		l, ci, ok := w.next()
		if !ok || s.alive == 0 && !s.brute {
			return true
		}
		if s.stands(l) != standing { // it was entitled when this decision began
			e.step(w, l, false, 0, s.used)
			continue
		}
		c := &e.classes[ci]
		n := c.cur
		again, started := false, int64(0)
		switch e.tryWork(d, ci, n) {
		case tookPlace:
			d.touched = append(d.touched, ci)
			again = e.moveOn(d, ci, n)
			started = c.shape.Milli * startUsage
			s.begins(l, e.startedRate(d))
			if d.again || s.accounts != nil && s.accounts.Limits(l) {
				// What it took of a budget, or gave up by its date, is known once it is committed.
				d.again = true
				return false
			}
		case madeRoom:
			d.again = true
			return false
		default:
			e.bury(c)
		}
		e.step(w, l, again, started, s.used)
	}
}

// bury notes that no class of a shape can start any more in this decision: what is
// free and what unallocated work would free only becomes less.
func (e *Engine) bury(c *class) {
	s, k := e.sharing, c.known
	if s.present.swaps || len(s.present.fresh) > 0 || k.dead == s.walks || k.noFreeBars|k.noRoomBars != 0 {
		return
	}
	if (k.noFree == s.stamp || !e.placer.MayFitAny(e.frees, k.shape)) && k.noRoom == e.roomVersion(k.shape) {
		k.dead = s.walks
		s.alive--
	}
}

// look finds out by counting what may become of a shape in this decision.
func (e *Engine) look(k *knownShape) {
	s := e.sharing
	if k.seen == s.stamp {
		return
	}
	k.seen, k.free, k.room, k.swapped = s.stamp, false, false, false
	for i, p := range k.shape.Pools {
		k.free = k.free || e.placer.MayFit(e.frees[p], k.shape, i)
		k.room = k.room || e.placer.MayFit(s.loose.of(p, k.debug), k.shape, i)
		k.swapped = k.swapped || e.placer.MayFit(s.soft.of(p, k.debug), k.shape, i)
	}
}

// groupWorth refuses the classes of a leaf that ask for the same shape.
func (e *Engine) groupWorth(leaf int32, k *knownShape) bool {
	s := e.sharing
	e.look(k)
	switch {
	case k.free, k.room, s.brute:
		return true
	case s.present.swaps && k.swapped && e.mightFree(leaf, k.shape, k.debug):
		return true
	}
	return s.present.swaps && s.pol.Reservations.Count > 0 && k.shape.Milli > s.pol.Reservations.Above*1000
}

// worthTrying refuses by counting: free GPUs, then those that work which may be
// stopped would free, then a date.
func (e *Engine) worthTrying(d *decision, c *class) bool {
	s := e.sharing
	k := c.known
	e.look(k)
	switch {
	case k.free && (k.noFree != s.stamp || k.noFreeBars != 0), k.room && !e.roomless(d, c, k.shape):
		return true
	case (s.present.swaps || c.fresh) && k.swapped && e.mightFree(c.leaf, k.shape, k.debug) && !e.failedFor(d, c):
		return true
	}
	if s.mayDate(e, c) {
		return true
	}
	c.reason = fact.Reason{For: none}
	return false
}

// outcome is what came of trying a job.
type outcome uint8

const (
	refusedNow outcome = iota
	tookPlace
	madeRoom
)

// tryWork starts a job that is charged, makes room for it, or gives it a date.
func (e *Engine) tryWork(d *decision, ci, n int32) outcome {
	s := e.sharing
	c := &e.classes[ci]
	span, ok := e.paysSomewhere(d, c, n)
	if !ok {
		return refusedNow
	}
	shape := smallest(c.shape)
	c.reason = fact.Reason{For: none}
	if bars := e.barredBy(d, c, n, span, 0); e.placer.MayFitAny(e.frees, shape) &&
		(c.known.noFree != s.stamp || bars&c.known.noFreeBars != c.known.noFreeBars || s.brute) {
		e.keepOff(d, c, n, span, 0)
		if e.placeShared(d, c, n, span, false) {
			return tookPlace
		}
		// Within a pass what is free only becomes less. Where pools have prices, another
		// account may be able to pay for what this one cannot.
		if !s.priced() && len(s.dates) <= mostMarked {
			c.known.noFree, c.known.noFreeBars = s.stamp, bars
		}
	}
	swaps := s.present.swaps || c.fresh
	// Small debug jobs leave the debug nodes whole for those that need a node.
	if s.nDebug > 0 && s.isDebug(c) && e.smaller(shape) &&
		(e.makeRoom(d, c, shape, n, span, false, true) || swaps && e.makeRoom(d, c, shape, n, span, true, true)) {
		return madeRoom
	}
	if e.makeRoom(d, c, shape, n, span, false, false) || swaps && e.makeRoom(d, c, shape, n, span, true, false) {
		return madeRoom
	}
	e.giveDate(d, c, shape, n, span)
	return refusedNow
}

// smaller tells whether a shape leaves some of each node for others.
func (e *Engine) smaller(shape *place.Shape) bool {
	for k, p := range shape.Pools {
		if shape.Cut(k).GPUs >= e.layout.Pools[p].MaxGPUs {
			return false
		}
	}
	return !e.layout.Counted()
}

// pays asks the hard budgets; false if the job has to wait, or may run unallocated
// only. span is the protection that they pay for.
func (e *Engine) pays(d *decision, c *class, n, pool int32) (span workload.Span, ok bool) {
	s := e.sharing
	if s.accounts == nil || c.leaf == s.outside {
		return c.span, true
	}
	shape := smallest(c.shape)
	a := s.accounts.Ask(c.leaf, d.now, e.rateOf(n, shape.Milli, pool, shape.Need.Tasks), c.span)
	if a.OK {
		return c.span, true
	}
	const hour = 1000 * int64(workload.Hour)
	c.reason = fact.Reason{Code: fact.BudgetShort, For: none, Have: int32(max(a.Left, 0) / hour), Want: int32((a.Need + hour - 1) / hour)}
	switch a.Rule {
	case budget.Truncate:
		if a.MinRuntime > 0 {
			return a.MinRuntime, true
		}
		fallthrough // nothing is left to be protected by
	case budget.RunUnallocated:
		s.fillers = append(s.fillers, c.self)
	}
	return 0, false
}

// paysSomewhere asks for one pool after the other: GPU types may weigh differently.
func (e *Engine) paysSomewhere(d *decision, c *class, n int32) (span workload.Span, ok bool) {
	for _, pool := range c.shape.Pools {
		if span, ok = e.pays(d, c, n, pool); ok || len(e.sharing.pol.GPUWeights) == 0 {
			break
		}
	}
	return span, ok
}

// priced tells whether what a start costs a hard budget depends on the pool.
func (s *sharing) priced() bool { return s.accounts != nil && len(s.pol.GPUWeights) > 0 }

// paysAll tells whether hard budgets pay for a size of an elastic job in full.
func (e *Engine) paysAll(d *decision, c *class, n, tasks int32) bool {
	s := e.sharing
	if s.accounts == nil || c.leaf == s.outside || len(c.shape.Pools) == 0 {
		return true
	}
	return s.accounts.Ask(c.leaf, d.now, e.rateOf(n, c.shape.Milli, c.shape.Pools[0], tasks), c.span).OK
}

// placeShared starts a job on what is free and not kept from it.
func (e *Engine) placeShared(d *decision, c *class, n int32, span workload.Span, fill bool) bool {
	if sizes := c.shape.Rigid(); sizes != nil {
		elastic := c.shape
		defer func() { c.shape = elastic }()
		for _, z := range sizes {
			c.shape = z
			if z != sizes[len(sizes)-1] && !fill && !e.paysAll(d, c, n, z.Need.Tasks) {
				continue
			}
			if e.placeSized(d, c, n, z.Need.Tasks, span, fill) {
				return true
			}
		}
		return false
	}
	return e.placeSized(d, c, n, 0, span, fill)
}

func (e *Engine) placeSized(d *decision, c *class, n, tasks int32, span workload.Span, fill bool) bool {
	s := e.sharing
	for k, pool := range c.shape.Pools {
		f := e.frees[pool]
		if !e.placer.MayFit(f, c.shape, k) {
			continue
		}
		if s.priced() && !fill {
			was := span
			ok := true
			if span, ok = e.pays(d, c, n, pool); !ok {
				span = was
				continue
			}
			e.keepOff(d, c, n, span, 0)
		}
		if e.layout.Counted() {
			if f.Milli() < c.shape.Milli || !e.roomBesideDates(d, pool, c, n, span, 0) {
				continue
			}
			e.startShared(d, c, n, pool, len(d.arena), tasks, span, fill)
			return true
		}
		veil := e.veilOf(f, pool)
		from := len(d.arena)
		var ok bool
		if len(veil) > 0 {
			f.Take(veil)
			d.arena, ok = e.placer.PlaceIn(f, c.shape, k, d.arena)
			f.Give(veil)
		} else {
			d.arena, ok = e.placer.PlaceIn(f, c.shape, k, d.arena)
		}
		if ok {
			e.startShared(d, c, n, pool, from, tasks, span, fill)
			return true
		}
	}
	return false
}

// startShared decides a start on the grants at the end of the arena.
func (e *Engine) startShared(d *decision, c *class, n, pool int32, from int, tasks int32, span workload.Span, fill bool) {
	s := e.sharing
	reason := fact.Reason{Code: fact.AboveShare, For: none}
	switch {
	case !fill && s.stands(c.leaf) == budget.Entitled:
		reason.Code = fact.BelowShare
	case fill:
		reason.Code = fact.Fill
	}
	if p := e.jobs[n].promised; e.jobs[n].dated && p <= d.now {
		reason = fact.Reason{Code: fact.Promised, For: none, Until: p}
	}
	if x := e.crosses(d.arena[from:], n); x != nil {
		reason = fact.Reason{Code: fact.ProtectionEnds, For: x.job, Until: x.at}
	}
	e.start(d, c, n, pool, from, tasks, reason)
	if !fill && slices.ContainsFunc(s.dates, func(x date) bool { return x.job == n }) {
		d.again = true // its reserved place is free for others
	}
	a := &d.actions[len(d.actions)-1]
	a.Unallocated = fill
	if !fill {
		a.Until = d.now + span
		d.undo[len(d.undo)-1].looked = true
		s.loose.take(e, pool, d.arena[from:len(d.arena)], c.shape.Milli)
		s.soft.take(e, pool, d.arena[from:len(d.arena)], c.shape.Milli)
	}
}

// keepOff lists what a class may not use: debug nodes, unless it is debug work, and
// what is reserved for others before its protection would be over (contract backfill).
func (e *Engine) keepOff(d *decision, c *class, n int32, span, wait workload.Span) {
	s := e.sharing
	s.bars = s.bars[:0]
	if e.layout.Counted() {
		return
	}
	if s.nDebug > 0 && !c.fill && span > 0 && !c.known.debug {
		e.keepOffDebug()
	}
	for i := range s.dates {
		if x := &s.dates[i]; x.job != n && !e.overBy(d, x.at, s.safeFor(c, span), wait) {
			s.bars = append(s.bars, x.grants...)
		}
	}
}

// barredBy is the set of dates that keep a start of the class off their GPUs.
func (e *Engine) barredBy(d *decision, c *class, n int32, span, wait workload.Span) (set uint64) {
	s := e.sharing
	for i := range s.dates {
		if x := &s.dates[i]; x.job != n && !e.overBy(d, x.at, s.safeFor(c, span), wait) {
			set |= 1 << (i & 63)
		}
	}
	return set
}

// veilOf lists what is free of the barred GPUs of a pool, the rest of GPUs in part use
// included: who may not use them is placed with the veil taken.
func (e *Engine) veilOf(f *cluster.Free, pool int32) []cluster.Grant {
	s := e.sharing
	veil := s.veil[:0]
	seen := uint64(0)
	for i := range s.bars {
		g := &s.bars[i]
		if e.layout.PoolOf[g.Node] != pool {
			continue
		}
		at := e.layout.Local[g.Node]
		if i == 0 || s.bars[i-1].Node != g.Node {
			seen = 0
		}
		gpus := g.GPUs &^ seen // a node may be barred twice
		seen |= g.GPUs
		if now := gpus & f.Mask(at); now != 0 {
			veil = append(veil, cluster.WholeGrant(g.Node, now))
			gpus &^= now
		}
		for m := gpus; m != 0 && s.parts > 0; m &= m - 1 {
			if left := f.Left(at, bits.TrailingZeros64(m)); left > 0 {
				veil = append(veil, cluster.Grant{Node: g.Node, GPUs: m & -m, Milli: left, Count: 1})
			}
		}
	}
	s.veil = veil
	return veil
}

// mostMarked is the number of dates that a set of bars can tell apart.
const mostMarked = 64

// keepOffDebug adds the debug nodes to what a class may not use.
func (e *Engine) keepOffDebug() {
	s := e.sharing
	for i := range e.layout.Pools {
		nodes := e.layout.Pools[i].Nodes
		for k := len(nodes) - 1; k >= 0 && s.debug[nodes[k]]; k-- {
			s.bars = append(s.bars, cluster.WholeGrant(nodes[k], uint64(1)<<e.layout.Spec.Nodes[nodes[k]].GPUs-1))
		}
	}
}

// overBy tells whether a run that starts after a wait is sure to be gone by a date.
func (e *Engine) overBy(d *decision, date workload.Time, span, wait workload.Span) bool {
	p := e.sharing.pol
	grace := p.GraceAllocated
	if span == 0 {
		grace = p.GraceUnallocated
	}
	return d.now+wait+e.defaults.StartLatency+span+grace <= date
}

// walkFill fills what is left with unallocated work.
func (e *Engine) walkFill(d *decision) {
	s, w := e.sharing, &e.sharing.walk
	fillers := e.unpaid(d)
	free := false
	for _, f := range e.frees {
		free = free || f.Milli() > 0
	}
	if !free && !e.coresOnly {
		return
	}
	w.begin()
	some := false
	add := func(l, ci int32) {
		if c := &e.classes[ci]; e.placer.MayFitAny(e.frees, smallest(c.shape)) {
			w.add(l, ci)
			some = true
		}
	}
	if !s.present.all {
		for _, ci := range s.present.fresh {
			if c := &e.classes[ci]; c.n > 0 && c.fill {
				add(c.leaf, ci)
			}
		}
	} else {
		for l := range s.leaves {
			for _, ci := range s.leaves[l].fill {
				add(int32(l), ci)
			}
		}
	}
	for _, ci := range fillers {
		if c := &e.classes[ci]; c.n > 0 && !slices.Contains(w.classes[c.leaf], ci) {
			add(c.leaf, ci)
		}
	}
	if !some {
		return
	}
	w.forget()
	e.build(w, s.filled)
	for {
		l, ci, ok := w.next()
		if !ok {
			return
		}
		c := &e.classes[ci]
		n := c.cur
		e.keepOff(d, c, n, 0, 0)
		again, started := false, int64(0)
		if e.placeShared(d, c, n, 0, true) {
			d.touched = append(d.touched, ci)
			again = e.moveOn(d, ci, n)
			started = c.shape.Milli * startUsage
		} else if c.fill {
			c.reason = fact.Reason{For: none}
		}
		e.step(w, l, again, started, s.filled)
	}
}

// unpaid lists the classes whose hard budgets let them run unallocated only.
func (e *Engine) unpaid(d *decision) []int32 {
	s := e.sharing
	s.fillers = s.fillers[:0]
	if s.accounts == nil {
		return nil
	}
	for l := range s.leaves[:s.outside] {
		if s.leaves[l].nWork == 0 || !s.accounts.Limits(int32(l)) {
			continue
		}
		for i := range s.leaves[l].work {
			for _, ci := range s.leaves[l].work[i].classes {
				if c := &e.classes[ci]; c.cur != none {
					reason := c.reason
					if _, ok := e.paysSomewhere(d, c, c.cur); ok {
						c.reason = reason
					}
				}
			}
		}
	}
	slices.Sort(s.fillers)
	s.fillers = slices.Compact(s.fillers)
	return s.fillers
}

// retire stops what runs on drained nodes once nothing there is protected any more
// (SEMANTICS 31).
func (e *Engine) retire(d *decision) {
	if e.nDrained == 0 {
		return
	}
	s := e.sharing
	for n := range e.drained {
		if !e.drained[n] || len(s.onNode[n]) == 0 {
			continue
		}
		last := d.now
		for _, v := range s.onNode[n] {
			switch c := &s.jobs[v]; {
			case c.unallocated || c.open || e.jobs[v].state == stopping:
			case e.jobs[v].state == starting:
				last = max(last, c.until, d.now+1) // its protection counts from its confirmation
			default:
				last = max(last, c.until)
			}
		}
		if last > d.now {
			d.wake = min(d.wake, last)
			continue
		}
		for _, v := range s.onNode[n] {
			if j := &e.jobs[v]; (j.state == running || j.state == starting) && !j.leaving {
				e.stopFor(d, v, none, fact.Reason{Code: fact.Drained, For: none}, 0)
			}
		}
	}
}

// spend makes runs unallocated whose hard budget is used up.
func (e *Engine) spend(d *decision) {
	s := e.sharing
	if s.accounts == nil {
		return
	}
	for i := range e.pools {
		for _, n := range e.pools[i].running {
			c := &s.jobs[n]
			if !c.draws || e.jobs[n].state != running && e.jobs[n].state != starting {
				continue
			}
			if s.accounts.Exhausted(c.leaf, d.now) {
				d.actions = append(d.actions, fact.Action{Do: fact.Uncharge, Job: n, Attempt: e.jobs[n].attempt, For: none, At: d.now,
					Reason: fact.Reason{Code: fact.BudgetShort, For: none}})
				d.again = true
			} else {
				d.wake = min(d.wake, s.accounts.Next(c.leaf, d.now))
			}
		}
	}
}

// stopFor decides to stop a run for another job, or for none; wait lets it reach a
// checkpoint first where that is soon.
func (e *Engine) stopFor(d *decision, v, winner int32, reason fact.Reason, wait workload.Span) {
	s := e.sharing
	j := &e.jobs[v]
	if e.parks(v) && reason.Code != fact.Drained {
		reason.Code = fact.Idle
	}
	until := d.now + e.graceOf(v, s.jobs[v].unallocated)
	if c := e.contract(j); wait > 0 && !c.CheckpointOnStop && c.CheckpointInterval > 0 {
		done := j.kept + e.progress(j, d.now)
		if left := scale(c.CheckpointInterval-done%c.CheckpointInterval, e.speed(j, j.pool)); left <= wait {
			until = max(until, d.now+left)
		}
	}
	j.leaving = true
	d.leaving = append(d.leaving, v)
	d.actions = append(d.actions, fact.Action{Do: fact.Stop, Job: v, Attempt: j.attempt, For: winner, Count: devices(j.milli), Milli: j.milli,
		At: d.now, Until: until, Reason: reason})
	d.again = true
}

// wakeShared says when time alone may change something.
func (e *Engine) wakeShared(d *decision) {
	s := e.sharing
	now := d.now
	next := s.nextEnd(e)
	for i := range d.actions {
		if a := &d.actions[i]; a.Do == fact.Start && !a.Unallocated {
			next = min(next, a.Until)
		}
	}
	if s.waitingWork > 0 {
		if e.gauge.runningJobs > 0 || len(d.actions) > 0 {
			d.wake = min(d.wake, s.grid+s.pol.Interval)
		}
		d.wake = min(d.wake, next)
		if s.nextEvict > now {
			d.wake = min(d.wake, s.nextEvict)
		}
	}
	if s.accounts != nil || e.nDrained > 0 {
		d.wake = min(d.wake, next)
	}
	if s.accounts != nil && s.waitingWork > 0 {
		d.wake = min(d.wake, s.moneyAt)
	}
	for i := range s.dates {
		x := &s.dates[i]
		if t := e.dueFrom(x); t > now {
			d.wake = min(d.wake, t)
		}
	}
}

// count of GPUs in a set.
func count(m uint64) int32 { return int32(bits.OnesCount64(m)) }

// overlaps tells whether two places share GPUs.
func overlaps(a, b []cluster.Grant) bool {
	for i := range a {
		for k := range b {
			if a[i].Node == b[k].Node && a[i].GPUs&b[k].GPUs != 0 {
				return true
			}
		}
	}
	return false
}
