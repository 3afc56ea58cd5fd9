package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// option is a node that could be cleared, with what that takes.
type option struct {
	node     int32
	from, to int // its victims in the scratch list
}

// makeRoom looks for work that has to stop so that a job fits, decides the stops
// and holds the place. Unallocated work goes first: allocated is looked at only
// where that is not enough. It refuses by counting before it searches.
func (e *Engine) makeRoom(d *decision, c *class, shape *place.Shape, n int32, span workload.Span, allocated, beside bool) bool {
	s := e.sharing
	wait := s.leaveTime()
	bars := e.barredBy(d, c, n, span, wait)
	if allocated {
		if d.now < e.jobs[n].since+s.pol.EvictAfter || !e.mightFree(c.leaf, shape, c.known.debug) {
			return false
		}
		if !beside && e.failedFor(d, c) {
			return false
		}
	} else if e.roomless(d, c, shape) {
		return false
	}
	w := claimant{job: n, leaf: c.leaf, milli: shape.Milli}
	s.rejected = false
	e.keepOff(d, c, n, span, wait)
	if beside {
		e.keepOffDebug()
	}
	for k, pool := range shape.Pools {
		if s.priced() {
			ok := true
			if span, ok = e.pays(d, c, n, pool); !ok {
				continue
			}
			e.keepOff(d, c, n, span, wait)
			if beside {
				e.keepOffDebug()
			}
		}
		w.more = area(e.rateOf(n, shape.Milli, pool, shape.Need.Tasks), span)
		s.mayAt++
		base := s.loose.of(pool, c.known.debug)
		if allocated {
			base = s.soft.of(pool, c.known.debug)
		}
		if !e.placer.FitsIn(base, shape, k) {
			continue
		}
		if allocated && !e.enoughOpen(d, c, shape, &w, pool) {
			continue
		}
		e.victimSets++
		if e.clear(d, c, shape, k, &w, span, allocated) {
			return true
		}
	}
	if allocated && !beside && !s.priced() && !s.rejected && len(s.dates) <= mostMarked {
		g := s.groupOf(c)
		g.failed, g.failedBars, g.failedMore = s.stamp, bars, c.span
	}
	if !allocated && !beside && !s.priced() && !s.rejected && len(s.dates) <= mostMarked {
		c.known.noRoom, c.known.noRoomBars = e.roomVersion(shape), bars
	}
	return false
}

// failedFor remembers within a decision that stopping allocated work would not help
// one of the class's group that asked for no more.
func (e *Engine) failedFor(d *decision, c *class) bool {
	s := e.sharing
	g := s.groupOf(c)
	if g.failed != s.stamp || c.span < g.failedMore || s.brute {
		return false
	}
	return g.failedBars == 0 || e.barredBy(d, c, c.cur, c.span, s.leaveTime())&g.failedBars == g.failedBars
}

func (s *sharing) groupOf(c *class) *group { return &s.leaves[c.leaf].work[c.group] }

// leaveTime is how long those who are stopped, or leave already, may take to go.
func (s *sharing) leaveTime() workload.Span {
	return max(s.pol.GraceAllocated, s.pol.GraceUnallocated, s.pol.CheckpointWait)
}

// roomless remembers that unallocated work could not make room for the shape, and that
// nothing has become free since.
func (e *Engine) roomless(d *decision, c *class, shape *place.Shape) bool {
	k := c.known
	if k.noRoom != e.roomVersion(shape) || e.sharing.brute {
		return false
	}
	return k.noRoomBars == 0 || e.barredBy(d, c, c.cur, c.span, e.sharing.leaveTime())&k.noRoomBars == k.noRoomBars
}

// roomVersion changes whenever a shape that unallocated work could not make room
// for may fit: allocated work has gone, or a date.
func (e *Engine) roomVersion(shape *place.Shape) uint64 {
	v := e.sharing.dateChanges + 1
	for _, p := range shape.Pools {
		v += e.sharing.loose.all[p].Grown()
	}
	return v
}

// mightFree is a bound by counting: what a leaf could have if its start cost nothing.
func (e *Engine) mightFree(leaf int32, shape *place.Shape, debug bool) bool {
	s := e.sharing
	if s.brute {
		return true
	}
	l := &s.leaves[leaf]
	if l.haveAt != s.stamp {
		l.have, l.haveAt = s.mightHave(&claimant{job: none, leaf: leaf}), s.stamp
	}
	if l.have == 0 {
		return false
	}
	for _, p := range shape.Pools {
		if s.loose.of(p, debug).Milli()+l.have >= shape.Milli {
			return true
		}
	}
	return false
}

// enoughOpen is the counting bound for stopping allocated work: what the guard lets
// the claimant have, wherever it runs.
func (e *Engine) enoughOpen(d *decision, c *class, shape *place.Shape, w *claimant, pool int32) bool {
	s := e.sharing
	if !s.maySwap(d.now) {
		c.reason = fact.Reason{Code: fact.RateLimited, For: none, Until: max(s.nextEvict, 0)}
		return false
	}
	if s.brute || s.loose.all[pool].Milli()+s.mightHave(w) >= shape.Milli {
		return true
	}
	if s.ranks.total > 0 {
		c.reason = e.guardReason(w)
	}
	return false
}

// guardReason says why shares do not let a job stop others: under the entitlement
// guard what its account would hold of what.
func (e *Engine) guardReason(w *claimant) fact.Reason {
	s := e.sharing
	r := fact.Reason{Code: fact.GuardOff, For: none}
	if s.pol.Guard == policy.GuardEntitlement && w.leaf != s.outside {
		num, den := s.tree.ProductShare(w.leaf)
		r.Have = devices(s.held[w.leaf] + w.milli)
		r.Want = int32(uint64(e.usable()) * num / den / 1000)
	}
	return r
}

// clear finds the cheapest place in one pool and decides to clear it.
func (e *Engine) clear(d *decision, c *class, shape *place.Shape, k int, w *claimant, span workload.Span, allocated bool) bool {
	s := e.sharing
	pool := shape.Pools[k]
	var set []victim
	var hold []cluster.Grant
	ok := false
	switch cut := shape.Cut(k); {
	case e.layout.Counted():
		set, ok = e.clearCount(d, c, shape, w, span, allocated)
	case shape.Plain() && cut.Tasks == 1 && cut.Rest == 0:
		set, hold, ok = e.clearNode(d, shape, k, w, c.known.debug, allocated)
	default:
		if shape.Plain() && 2*cut.GPUs > e.layout.Pools[pool].MaxGPUs && cut.Rest == 0 {
			set, ok = e.clearNodes(d, shape, k, w, c.known.debug, allocated)
		} else {
			set, ok = e.clearAny(d, shape, k, w, allocated)
		}
	}
	if !ok {
		return false
	}
	sum, small := e.kills(w, set)
	if !small {
		s.rejected = true
		c.reason = fact.Reason{Code: fact.OverKill, For: none, Have: devices(sum), Want: devices(s.pol.OverKill * w.milli)}
		return false
	}
	if !e.fair(w, set) {
		s.rejected = true
		c.reason = e.guardReason(w)
		return false
	}
	if !e.layout.Counted() && hold == nil {
		t := e.without(pool, set)
		from := len(d.arena)
		if d.arena, ok = e.placer.PlaceIn(t, shape, k, d.arena); !ok {
			d.arena = d.arena[:from]
			return false
		}
		hold = d.arena[from:len(d.arena):len(d.arena)]
	}
	debug := s.isDebug(c)
	for i := range set {
		wait := s.pol.CheckpointWait
		if debug {
			wait = 0
		}
		e.stopFor(d, set[i].job, w.job, fact.Reason{Code: fact.GaveWay, For: w.job}, wait)
	}
	e.holdFor(d, shape, w.job, hold, d.now+span, fact.Reason{Code: fact.Leaving, For: firstOf(set), Want: int32(len(set))})
	return true
}

func firstOf(set []victim) int32 {
	if len(set) == 0 {
		return none
	}
	return set[0].job
}

// holdFor keeps a place for a job until who is there has gone.
func (e *Engine) holdFor(d *decision, shape *place.Shape, n int32, hold []cluster.Grant, until workload.Time, why fact.Reason) {
	a := fact.Action{Do: fact.Hold, Job: n, Attempt: e.jobs[n].attempt + 1, For: none, Count: devices(shape.Milli), Milli: shape.Milli,
		At: d.now, Until: until, Place: hold, Reason: why}
	if shape.Need.Tasks > 0 && e.jobs[n].spec.Need.MaxTasks > 0 {
		a.Tasks = shape.Need.Tasks
	}
	d.actions = append(d.actions, a)
	d.again = true
}

// price is what stopping a run costs: allocated and unallocated work apart.
func (e *Engine) priceOf(v int32, now workload.Time) victim {
	j := &e.jobs[v]
	x := victim{job: v, since: j.since}
	if lost := e.lost(j, now); e.sharing.jobs[v].unallocated {
		x.lost = lost
	} else {
		x.key = lost
		if !resumable(j) {
			x.last = 1 // among equals it goes last: its run is lost for good
		}
		if e.parks(v) {
			x.key = 0 // nobody works there, and nothing is lost
		}
	}
	x.allocated = !e.sharing.jobs[v].unallocated
	return x
}

// setCost is the price of a set (SEMANTICS 26), compared field by field.
type setCost struct {
	allocated, final, lost int64
	count, excess          int32
	since                  workload.Time // latest start, larger is better
	last                   int32         // last submitted, larger is better
}

func (a *setCost) add(v *victim) {
	a.allocated += v.key
	a.final += int64(v.last)
	a.lost += v.lost
	if a.count++; a.count == 1 || v.since > a.since {
		a.since = v.since
	}
	a.last = max(a.last, v.job)
}

func (a *setCost) less(b *setCost) bool {
	switch {
	case a.allocated != b.allocated:
		return a.allocated < b.allocated
	case a.final != b.final:
		return a.final < b.final
	case a.lost != b.lost:
		return a.lost < b.lost
	case a.count != b.count:
		return a.count < b.count
	case a.excess != b.excess:
		return a.excess < b.excess
	case a.since != b.since:
		return a.since > b.since
	}
	return a.last > b.last
}

// exactUpTo is the number of candidates on a node up to which every set is looked at.
const exactUpTo = 16

// clearNode clears GPUs of one node at the least price. Exact up to 16 candidates a
// node; with more, the cheapest ones come in question.
func (e *Engine) clearNode(d *decision, shape *place.Shape, k int, w *claimant, debug, allocated bool) (set []victim, hold []cluster.Grant, ok bool) {
	s := e.sharing
	pool := shape.Pools[k]
	f, base := e.frees[pool], s.loose.of(pool, debug)
	if allocated {
		base = s.soft.of(pool, debug)
	}
	g := shape.Cut(k).GPUs
	limit := int64(1) << 62
	if s.pol.OverKill > 0 && w.milli <= s.pol.OverKillGPUs*1000 {
		limit = s.pol.OverKill * w.milli
	}
	s.barNodes()
	var best setCost
	bestNode := none
	var bestFree uint64
	for free := g; free <= e.layout.Pools[pool].MaxGPUs; free++ {
		if base.CountWith(free) == 0 {
			continue
		}
		for at := base.NextWith(free, 0); at >= 0; at = base.NextWith(free, at+1) {
			node := e.layout.Pools[pool].Nodes[at]
			cand, within := e.candidatesOn(w, node, base.Mask(at), s.barOn[node], allocated, d.now)
			if bestNode != none && dearer(cand, within, g, &best) {
				continue
			}
			if cost, chosen, ok := e.cheapest(cand, within, g, limit); ok && (bestNode == none || cost.less(&best)) {
				best, bestNode = cost, node
				set = append(set[:0], chosen...)
				bestFree = within
				for i := range cand {
					if !slices.ContainsFunc(chosen, func(x victim) bool { return x.job == cand[i].job }) {
						bestFree &^= cand[i].gpus
					}
				}
				if cost.count == 0 {
					break // nobody has to go: it only waits for those who leave
				}
			}
		}
		if bestNode != none && s.debug[bestNode] {
			break // debug nodes are filled tightly: whole ones are for those who need one
		}
	}
	s.unbarNodes()
	if bestNode == none {
		return nil, nil, false
	}
	// What is free now first, then what is being left, then what the victims have.
	now := f.Mask(e.layout.Local[bestNode]) & bestFree
	pick := place.Lowest(now, min(g, count(now)))
	left := bestFree &^ now
	for i := range set {
		left &^= set[i].gpus
	}
	pick |= place.Lowest(left, min(g-count(pick), count(left)))
	rest := bestFree &^ pick
	pick |= place.Lowest(rest, min(g-count(pick), count(rest)))
	from := len(d.arena)
	d.arena = append(d.arena, cluster.WholeGrant(bestNode, pick))
	return set, d.arena[from : from+1 : from+1], true
}

// candidatesOn lists who may have to go on a node, and the GPUs there that would be
// free if they all went: not barred, and held by nobody else. base is what would be
// free of the node if everybody went who is of that kind.
func (e *Engine) candidatesOn(w *claimant, node int32, base, barred uint64, allocated bool, now workload.Time) (cand []victim, within uint64) {
	s := e.sharing
	cand, within = e.victims[:0], base&^barred
	for _, v := range s.onNode[node] {
		j := &e.jobs[v]
		if e.givesWay(w, v, allocated) {
			if m := touched(j.grants, node); m&within != 0 && (len(cand) == 0 || cand[len(cand)-1].job != v) {
				x := e.priceOf(v, now)
				x.gpus = m
				cand = append(cand, x)
			}
		} else if r := &s.jobs[v]; r.open || r.unallocated && j.state != stopping && !j.leaving {
			within &^= touched(j.grants, node)
		}
	}
	e.victims = cand
	return cand, within
}

// touched is the set of GPUs of a node that a place has, or has a part of.
func touched(gs []cluster.Grant, node int32) (m uint64) {
	for i := range gs {
		if gs[i].Node == node {
			m |= gs[i].GPUs
		}
	}
	return m
}

// cheapest finds the cheapest candidates without whom g GPUs of those within reach are
// free, none of whom could be spared. Their capacity in all is at most limit.
func (e *Engine) cheapest(cand []victim, within uint64, g int32, limit int64) (best setCost, chosen []victim, ok bool) {
	if count(within) < g {
		return best, nil, false
	}
	if len(cand) == 0 {
		return best, nil, true
	}
	if count(within) == g { // all of it is needed: nobody there can stay
		var milli int64
		for i := range cand {
			best.add(&cand[i])
			milli += e.jobs[cand[i].job].milli
		}
		if milli > limit {
			e.sharing.rejected = true
			return best, nil, false
		}
		return best, slices.Clone(cand), true
	}
	if len(cand) > exactUpTo {
		return e.greedy(cand, within, g, limit)
	}
	all := uint32(1)<<len(cand) - 1
	// freeOf is what is free when a set has gone: all within reach less what the others touch.
	freeOf := func(set uint32) int32 {
		m := within
		for rest := all &^ set; rest != 0; rest &= rest - 1 {
			m &^= cand[bits.TrailingZeros32(rest)].gpus
		}
		return count(m)
	}
	if freeOf(0) >= g {
		return setCost{}, nil, true
	}
	bestSet := uint32(0)
search:
	for set := uint32(1); set <= all; set++ {
		got := freeOf(set)
		if got < g {
			continue
		}
		var cost setCost
		var milli int64
		for m := set; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			cost.add(&cand[i])
			milli += e.jobs[cand[i].job].milli
		}
		if cost.excess = got - g; ok && !cost.less(&best) {
			continue
		}
		if milli > limit {
			e.sharing.rejected = true
			continue
		}
		for m := set; m != 0; m &= m - 1 {
			if freeOf(set&^(m&-m)) >= g {
				continue search // one could be spared
			}
		}
		best, bestSet, ok = cost, set, true
	}
	for m := bestSet; m != 0; m &= m - 1 {
		chosen = append(chosen, cand[bits.TrailingZeros32(m)])
	}
	return best, chosen, ok
}

// greedy is cheapest for many candidates: the cheapest go until there is room, then those
// are spared who need not, the dearest first.
func (e *Engine) greedy(cand []victim, within uint64, g int32, limit int64) (cost setCost, chosen []victim, ok bool) {
	e.sortPriced(cand)
	stay := make([]bool, len(cand))
	for i := range stay {
		stay[i] = true
	}
	free := func() int32 {
		m := within
		for i := range cand {
			if stay[i] {
				m &^= cand[i].gpus
			}
		}
		return count(m)
	}
	n := 0
	for ; n < len(cand) && free() < g; n++ {
		stay[n] = false
	}
	for i := n - 1; i >= 0; i-- {
		if stay[i] = true; free() < g {
			stay[i] = false
		}
	}
	var milli int64
	for i := range cand {
		if !stay[i] {
			cost.add(&cand[i])
			milli += e.jobs[cand[i].job].milli
			chosen = append(chosen, cand[i])
		}
	}
	if milli > limit {
		e.sharing.rejected = true
		return cost, nil, false
	}
	cost.excess = free() - g
	return cost, chosen, true
}

// dearer tells whether every set of candidates that makes room costs more than one
// that is known: it has one of them at least.
func dearer(cand []victim, within uint64, g int32, best *setCost) bool {
	for i := range cand {
		within &^= cand[i].gpus
	}
	if count(within) >= g {
		return false
	}
	for i := range cand {
		v := &cand[i]
		if v.key < best.allocated || v.key == best.allocated && (int64(v.last) < best.final || int64(v.last) == best.final && v.lost <= best.lost) {
			return false
		}
	}
	return true
}

// sortPriced puts those who go first in front.
func (e *Engine) sortPriced(v []victim) {
	slices.SortFunc(v, func(a, b victim) int {
		return cmp.Or(cmp.Compare(b2i(a.allocated), b2i(b.allocated)), cmp.Compare(a.key, b.key), cmp.Compare(a.last, b.last), cmp.Compare(a.lost, b.lost),
			cmp.Compare(b.since, a.since), cmp.Compare(b.job, a.job))
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// everybody lists all in a pool that may have to go, cheapest first.
func (e *Engine) everybody(w *claimant, pool int32, allocated bool, now workload.Time) []victim {
	out := e.victims[:0]
	for _, v := range e.pools[pool].running {
		if e.givesWay(w, v, allocated) {
			out = append(out, e.priceOf(v, now))
		}
	}
	e.victims = out
	e.sortPriced(out)
	return out
}

// clearCount makes room on a cluster without nodes.
func (e *Engine) clearCount(d *decision, c *class, shape *place.Shape, w *claimant, span workload.Span, allocated bool) ([]victim, bool) {
	s := e.sharing
	if !e.roomBesideDates(d, shape.Pools[0], c, w.job, span, s.leaveTime()) {
		return nil, false
	}
	cand := e.everybody(w, shape.Pools[0], allocated, d.now)
	// Free, or being left and not claimed: what is loose less what unallocated work has.
	have := s.loose.all[0].Milli()
	for _, v := range e.pools[0].running {
		if j := &e.jobs[v]; s.jobs[v].unallocated && (j.state == running || j.state == starting) && !j.leaving {
			have -= j.milli
		}
	}
	need := shape.Milli - have
	got, n := int64(0), 0
	for n < len(cand) && got < need {
		got += e.jobs[cand[n].job].milli
		n++
	}
	if got < need {
		return nil, false
	}
	set := slices.Clone(cand[:n])
	for i := len(set) - 1; i >= 0; i-- {
		if m := e.jobs[set[i].job].milli; got-m >= need {
			got -= m
			set = slices.Delete(set, i, i+1)
		}
	}
	return set, true
}

// without fills a scratch index with a pool in which the victims are gone, and
// nobody else: what is free, what is being left, what the victims have, less what is barred.
func (e *Engine) without(pool int32, set []victim) *cluster.Free {
	s := e.sharing
	t := e.scratchOf(pool)
	t.CopyFrom(s.loose.all[pool])
	for _, v := range e.pools[pool].running {
		if j := &e.jobs[v]; s.jobs[v].unallocated && (j.state == running || j.state == starting) && !j.leaving &&
			!slices.ContainsFunc(set, func(x victim) bool { return x.job == v }) {
			t.Take(j.grants)
		}
	}
	for i := range set {
		if c := &s.jobs[set[i].job]; !c.unallocated {
			t.Give(e.jobs[set[i].job].grants)
		}
	}
	t.Take(e.veilOf(t, pool))
	return t
}

// barNodes notes on each node what is barred, for searches that go by node; unbarNodes
// forgets it.
func (s *sharing) barNodes() {
	for i := range s.bars {
		s.barOn[s.bars[i].Node] |= s.bars[i].GPUs
	}
}

func (s *sharing) unbarNodes() {
	for i := range s.bars {
		s.barOn[s.bars[i].Node] = 0
	}
}

// unbarred is what a run gives of a place: GPUs that are barred are of no use. The nodes
// have to be barred.
func (s *sharing) unbarred(gs []cluster.Grant) []cluster.Grant {
	out := slices.Clone(gs)
	for i := range out {
		if g := &out[i]; g.GPUs&s.barOn[g.Node] != 0 {
			g.GPUs &^= s.barOn[g.Node]
			g.Count = count(g.GPUs)
		}
	}
	return out
}

// clearAny lets victims go one by one, the cheapest first, until the shape fits,
// then spares those that are not needed, the dearest first.
func (e *Engine) clearAny(d *decision, shape *place.Shape, k int, w *claimant, allocated bool) ([]victim, bool) {
	pool := shape.Pools[k]
	cand := slices.Clone(e.everybody(w, pool, allocated, d.now))
	t := e.without(pool, cand)
	if !e.placer.FitsIn(t, shape, k) {
		return nil, false
	}
	s := e.sharing
	s.barNodes()
	defer s.unbarNodes()
	t = e.without(pool, nil)
	n := 0
	for n < len(cand) && !e.placer.FitsIn(t, shape, k) {
		t.Give(s.unbarred(e.jobs[cand[n].job].grants))
		n++
	}
	return e.spare(t, shape, k, cand[:n]), true
}

// spare takes victims off a set that fits without them. The nodes have to be barred.
func (e *Engine) spare(t *cluster.Free, shape *place.Shape, k int, set []victim) []victim {
	for i := len(set) - 1; i >= 0; i-- {
		g := e.sharing.unbarred(e.jobs[set[i].job].grants)
		t.Take(g)
		if e.placer.FitsIn(t, shape, k) {
			set = slices.Delete(set, i, i+1)
		} else {
			t.Give(g)
		}
	}
	return set
}

// clearNodes clears as many nodes as a gang has tasks: node after node the one that
// adds least to the price of the set, a gang that is stopped already costing nothing
// more. Two ways to price a gang on one of its nodes are tried, in full and by node;
// the cheaper set wins, less whom it can spare.
func (e *Engine) clearNodes(d *decision, shape *place.Shape, k int, w *claimant, debug, allocated bool) ([]victim, bool) {
	s := e.sharing
	pool := shape.Pools[k]
	base := s.loose.of(pool, debug)
	if allocated {
		base = s.soft.of(pool, debug)
	}
	cut := shape.Cut(k)
	s.barNodes()
	var all []victim
	opts := s.options[:0]
	if !e.enoughNodes(w, base, k, shape, allocated) {
		s.unbarNodes()
		return nil, false
	}
	for free := cut.GPUs; free <= e.layout.Pools[pool].MaxGPUs; free++ {
		for at := base.NextWith(free, 0); at >= 0; at = base.NextWith(free, at+1) {
			node := e.layout.Pools[pool].Nodes[at]
			cand, within := e.candidatesOn(w, node, base.Mask(at), s.barOn[node], allocated, d.now)
			if _, chosen, ok := e.cheapest(cand, within, cut.GPUs, 1<<62); ok {
				opts = append(opts, option{node: node, from: len(all), to: len(all) + len(chosen)})
				all = append(all, chosen...)
			}
		}
	}
	s.options = opts
	s.unbarNodes()
	if int32(len(opts)) < cut.Tasks {
		return nil, false
	}
	var best []victim
	var bestCost setCost
	for _, byNode := range [...]bool{false, true} {
		set, cost := e.pickNodes(opts, all, cut.Tasks, byNode)
		if best == nil || cost.less(&bestCost) {
			best, bestCost = set, cost
		}
	}
	// A gang that was chosen later may have made an earlier one needless.
	e.sortPriced(best)
	s.barNodes()
	defer s.unbarNodes()
	return e.spare(e.without(pool, best), shape, k, best), true
}

// enoughNodes tells whether as many nodes as a gang has tasks could be cleared, without
// looking at what that costs.
func (e *Engine) enoughNodes(w *claimant, base *cluster.Free, k int, shape *place.Shape, allocated bool) bool {
	s := e.sharing
	pool, cut := shape.Pools[k], shape.Cut(k)
	nodes := int32(0)
	for free := cut.GPUs; free <= e.layout.Pools[pool].MaxGPUs; free++ {
		for at := base.NextWith(free, 0); at >= 0; at = base.NextWith(free, at+1) {
			node := e.layout.Pools[pool].Nodes[at]
			has := base.Mask(at) &^ s.barOn[node]
			if allocated {
				for _, v := range s.onNode[node] {
					if c := &s.jobs[v]; c.open && !e.givesWay(w, v, true) {
						has &^= touched(e.jobs[v].grants, node)
					}
				}
			}
			if count(has) >= cut.GPUs {
				if nodes++; nodes >= cut.Tasks {
					return true
				}
			}
		}
	}
	return false
}

// pickNodes picks that many options greedily and returns their victims.
func (e *Engine) pickNodes(opts []option, all []victim, tasks int32, byNode bool) (set []victim, cost setCost) {
	gone := map[int32]bool{}
	used := make([]bool, len(opts))
	set = []victim{}
	for range tasks {
		best, bestPrice := -1, setCost{}
		for i := range opts {
			if used[i] {
				continue
			}
			var p setCost
			for _, v := range all[opts[i].from:opts[i].to] {
				if gone[v.job] {
					continue
				}
				if byNode {
					on := int64(max(len(e.jobs[v.job].grants), 1))
					v.key, v.lost = v.key/on, v.lost/on
				}
				p.add(&v)
			}
			if best < 0 || p.less(&bestPrice) {
				best, bestPrice = i, p
			}
		}
		used[best] = true
		for _, v := range all[opts[best].from:opts[best].to] {
			if !gone[v.job] {
				gone[v.job] = true
				set = append(set, v)
				cost.add(&v)
			}
		}
	}
	return set, cost
}

// resumable tells whether a stopped job goes on where it was.
func resumable(j *job) bool { return !j.spec.Contract.NotResumable }
