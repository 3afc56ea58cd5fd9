package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// knownShape is what was found of a shape, for debug classes and others apart:
// whoever asks for the same with no fewer bars is refused without a search. Bars are a
// set of dates that keep off, by their place in the list.
type knownShape struct {
	shape *place.Shape
	debug bool
	// whole is the shape in all lanes of a class that may run in several, of which shape is
	// the part in one; else nil.
	whole *place.Shape
	// seen is the stamp of the rest: whether counting allows it on what is free, if
	// unallocated work went, and if all went that is not protected.
	seen                uint64
	free, room, swapped bool
	// noFree: nothing that is free holds it, in the pass of this stamp.
	noFree     uint64
	noFreeBars uint64
	// noRoom: nor would it if unallocated work went, at this version.
	noRoom     uint64
	noRoomBars uint64
	// failures are searches for allocated work to stop that found nothing, by the account
	// above who asked.
	failures map[int32]failure
	// inWalk and dead: it is in the walk of this number, and nothing can come of it any more.
	inWalk, dead uint64
}

// failure is such a search: when, for whom, for how long a protection, kept off by which
// bars, and what the leaf would have had, by which the guard measures it.
type failure struct {
	stamp, bars uint64
	span        workload.Span
	leaf        int32
	mine        int64
}

type knownKey struct {
	shape *place.Shape
	debug bool
}

// know returns what is remembered of a class's shape, or of its part in one lane.
func (s *sharing) know(e *Engine, c *class, shape *place.Shape) *knownShape {
	// Who fits nowhere else may use the debug nodes as well.
	key := knownKey{shape, s.isDebug(c) || !s.fitsBeside(e, c.shape)}
	k := s.known[key]
	if k == nil {
		k = &knownShape{shape: smallest(shape), debug: key.debug}
		s.known[key] = k
	}
	return k
}

// fitsBeside tells whether the nodes that are not kept for debug jobs, all empty,
// could hold a shape.
func (s *sharing) fitsBeside(e *Engine, shape *place.Shape) bool {
	if s.nDebug == 0 {
		return true
	}
	shape = smallest(shape)
	for k, p := range shape.Pools {
		if s.beside == nil {
			s.beside = make([]*cluster.Free, len(e.layout.Pools))
		}
		if s.beside[p] == nil {
			s.beside[p] = cluster.NewFree(e.layout, p)
			for _, n := range e.layout.Pools[p].Nodes {
				s.beside[p].SetShut(n, s.debug[n])
			}
		}
		if e.placer.FitsIn(s.beside[p], shape, k) {
			return true
		}
	}
	return false
}

// largest is the largest gang of an elastic shape.
func largest(s *place.Shape) *place.Shape {
	if sizes := s.Rigid(); sizes != nil {
		return sizes[0]
	}
	return s
}

// isDebug tells whether a class is short and small.
func (s *sharing) isDebug(c *class) bool {
	d := &s.pol.Debug
	return !c.fill && c.span <= d.MinRuntime && largest(c.shape).Milli <= d.GPUs*1000
}

// look finds out by counting what may become of a shape in this decision.
func (e *Engine) look(k *knownShape) {
	s := e.sharing
	if k.seen == s.stamp {
		return
	}
	e.unveil() // it holds for all who ask for the shape
	k.seen, k.free, k.room, k.swapped = s.stamp, false, false, false
	for i, p := range k.shape.Pools {
		k.free = k.free || e.placer.MayFit(e.frees[p], k.shape, i)
	}
	clear := k.shape
	if k.whole != nil { // room for it is made in any of its lanes
		clear = k.whole
	}
	for i, p := range clear.Pools {
		k.room = k.room || e.placer.MayFit(s.loose.of(p, k.debug), clear, i)
		k.swapped = k.swapped || e.placer.MayFit(s.soft.of(p, k.debug), clear, i)
	}
}

// groupWorth refuses the classes of a leaf that ask for the same shape.
func (e *Engine) groupWorth(leaf int32, k *knownShape) bool {
	s := e.sharing
	e.look(k)
	switch {
	case k.free, k.room, s.brute:
		return true
	case s.present.swaps && k.swapped && (k.whole != nil || e.mightFree(leaf, k.shape, k.debug)):
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
	case k.whole != nil && (k.free || k.room || (s.present.swaps || c.fresh) && k.swapped):
		return true
	case k.whole != nil:
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

// bury notes that no class of a shape can start any more in this decision: what is
// free and what unallocated work would free only becomes less.
func (e *Engine) bury(c *class) {
	s, k := e.sharing, c.known
	if s.present.swaps || len(s.present.fresh) > 0 || k.whole != nil || k.dead == s.walks || e.windows.nClosed > 0 || k.noFreeBars|k.noRoomBars != 0 {
		return
	}
	if (k.noFree == s.stamp || !e.placer.MayFitAny(e.frees, k.shape)) && k.noRoom == e.roomVersion(k.shape) {
		k.dead = s.walks
		s.alive--
	}
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

// failedForSibling is the same across accounts: under the window guard whoever would have
// more for its share than a sibling may stop nobody whom that one may not, itself aside.
func (e *Engine) failedForSibling(d *decision, c *class) bool {
	s := e.sharing
	if !e.comparable(c) {
		return false
	}
	nodes := s.tree.Nodes
	f, ok := c.known.failures[nodes[c.leaf].Parent]
	if !ok || f.stamp != s.stamp || c.span < f.span || f.leaf == c.leaf {
		return false
	}
	w := e.claimantOf(c)
	return budget.CompareRatio(s.mine(c.leaf, &w), nodes[c.leaf].Share, f.mine, nodes[f.leaf].Share) >= 0 && !e.guard(&w, f.leaf) &&
		(f.bars == 0 || e.barredBy(d, c, c.cur, c.span, s.leaveTime())&f.bars == f.bars)
}

// noteFailure remembers a search for siblings.
func (e *Engine) noteFailure(c *class, bars uint64) {
	s := e.sharing
	if !e.comparable(c) {
		return
	}
	if c.known.failures == nil {
		c.known.failures = map[int32]failure{}
	}
	w := e.claimantOf(c)
	c.known.failures[s.tree.Nodes[c.leaf].Parent] = failure{stamp: s.stamp, bars: bars, span: c.span, leaf: c.leaf, mine: s.mine(c.leaf, &w)}
}

// comparable tells whether usage for the share decides alone whom a class may stop.
func (e *Engine) comparable(c *class) bool {
	s := e.sharing
	return !s.brute && s.pol.Guard == policy.GuardWindow && !s.pol.InTeam && s.accounts == nil && c.leaf != s.outside &&
		(len(s.pol.GPUWeights) == 0 || len(c.shape.Pools) == 1)
}

// claimantOf is the next job of a class as the guard sees it.
func (e *Engine) claimantOf(c *class) claimant {
	shape := smallest(c.shape)
	return claimant{job: c.cur, leaf: c.leaf, milli: shape.Milli, more: area(e.rateOf(c.cur, shape.Milli, shape.Pools[0], shape.Need.Tasks), c.span)}
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
