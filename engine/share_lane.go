package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// lane is the part of the cluster that has shares of its own (SEMANTICS 20): all of it,
// or the nodes of one GPU type where budgets have pools. The accounts are the same in
// all lanes, by number; shares, usage and what waits differ.
type lane struct {
	no   int32
	tree *budget.Tree
	// ledger is what accounts are charged, fill the unallocated time they got
	// (SEMANTICS 22).
	ledger, fill *budget.Ledger
	// leaves by node of the tree, and one for work that no account takes.
	leaves []leaf
	// held is the allocated milli-GPU that run or are held, by node of the tree.
	held []int64

	// scratch
	walk  walk
	usage []usage
	may   []verdictOf
	ranks ranks
}

// seat is a class in one of several lanes.
type seat struct {
	lane int32
	// shape is that of the class in the pools of the lane.
	shape         *place.Shape
	known         *knownShape
	inLeaf, group int32
}

// setTree begins with the shares of a tree.
func (s *sharing) setTree(e *Engine, t *budget.Tree, epoch, at workload.Time) {
	s.epoch = epoch
	s.lanes = make([]lane, max(len(t.Pools), 1))
	s.laneOf = make([]int32, len(e.layout.Pools))
	for i := range s.laneOf {
		s.laneOf[i] = max(int32(t.PoolOf(e.layout.Pools[i].GPUType)), 0)
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		l.no, l.tree = int32(i), t.In(i)
		l.ledger, l.fill = budget.NewLedger(l.tree, s.pol.Window), budget.NewLedger(l.tree, s.pol.Window)
		l.ledger.SetCreditCap(at, s.pol.CreditCap)
		s.layOut(l)
	}
	s.newAccounts(t)
}

// newAccounts looks at the first lane, and finds the accounts of jobs anew.
func (s *sharing) newAccounts(t *budget.Tree) {
	s.lane, s.outside = &s.lanes[0], int32(len(t.Nodes))
	clear(s.owners)
}

// layOut makes room for the nodes of the tree.
func (s *sharing) layOut(l *lane) {
	n := len(l.tree.Nodes)
	l.leaves, l.held = make([]leaf, n+1), make([]int64, n+1)
	l.usage, l.may = make([]usage, n+1), make([]verdictOf, n+1)
	l.ranks.init(n)
	l.walk.init(l.tree)
}

// covers refuses budgets whose pools leave GPUs of the cluster without shares, and
// other pools than those there are once work has come.
func (s *sharing) covers(e *Engine, t *budget.Tree) error {
	for i := range e.layout.Pools {
		if p := &e.layout.Pools[i]; p.GPUs > 0 && t.PoolOf(p.GPUType) < 0 {
			return fmt.Errorf("budgets with the pools %s, and GPUs of type %q: each needs shares", strings.Join(t.Pools, ", "), p.GPUType)
		}
	}
	if now := s.lanes[0].tree.Pools; len(s.jobs) > 0 && !slices.Equal(now, t.Pools) {
		return fmt.Errorf("the pools of the budgets cannot change while there is work: they were [%s]", strings.Join(now, ", "))
	}
	return nil
}

// in looks at the lane of a pool.
func (s *sharing) in(pool int32) { s.lane = &s.lanes[s.laneOf[pool]] }

// sit gives a new class its place in each lane that it may run in.
func (s *sharing) sit(e *Engine, c *class, partition string) {
	var in []int32
	shape := smallest(c.shape)
	for k, p := range shape.Pools {
		if l := s.laneOf[p]; !slices.Contains(in, l) && e.placer.FitsIn(e.empty[p], shape, k) {
			in = append(in, l)
		}
	}
	slices.Sort(in)
	if len(in) < 2 {
		if c.lane = 0; len(in) > 0 {
			c.lane = in[0]
		}
		c.known = s.know(e, c, c.shape)
		return
	}
	for _, l := range in {
		part := s.partOf(e, c.shape, partition, l)
		known := s.know(e, c, part)
		known.whole = shape
		c.seats = append(c.seats, seat{lane: l, shape: part, known: known})
	}
	c.whole, c.lane, c.known = c.shape, in[0], c.seats[0].known
}

// partKey is a shape in one lane.
type partKey struct {
	shape *place.Shape
	lane  int32
}

// partOf is a shape in the pools of one lane, the same for all who ask for it.
func (s *sharing) partOf(e *Engine, shape *place.Shape, partition string, lane int32) *place.Shape {
	k := partKey{shape, lane}
	p := s.parted[k]
	if p == nil {
		p = e.placer.ShapeIn(shape.Need, partition, func(pool int32) bool { return s.laneOf[pool] == lane })
		s.parted[k] = p
	}
	return p
}

// enterLane looks at a lane within a decision: classes of several are seen as they sit there.
func (s *sharing) enterLane(e *Engine, i int) {
	s.lane = &s.lanes[i]
	for _, ci := range s.straddlers {
		c := &e.classes[ci]
		c.lane = none
		for k := range c.seats {
			if c.seats[k].lane == int32(i) {
				c.sitAt(s, k)
			}
		}
	}
}

// leaveLanes ends that: classes ask for all their pools again.
func (s *sharing) leaveLanes(e *Engine) {
	s.lane = &s.lanes[0]
	for _, ci := range s.straddlers {
		c := &e.classes[ci]
		c.lane, c.shape, c.known = c.seats[0].lane, c.whole, c.seats[0].known
	}
}

// wherever is the shape of a class in all lanes that it may run in.
func (c *class) wherever() *place.Shape {
	if c.seats != nil {
		return c.whole
	}
	return c.shape
}

// sits tells whether a class may run in the lane that is looked at.
func (s *sharing) sits(c *class) bool { return c.lane == s.no }

// lastSeat tells whether no other lane comes after this one in which a class may run.
func (s *sharing) lastSeat(c *class) bool {
	return c.seats == nil || c.seats[len(c.seats)-1].lane == s.no
}

// clearLanes makes room in one of the lanes that a class may run in: what was free in
// each has refused it. Unallocated work goes first, in whichever lane it is.
func (e *Engine) clearLanes(d *decision, c *class, n int32, swaps bool) bool {
	s := e.sharing
	last := len(c.seats) - 1
	defer c.sitAt(s, last)
	try := func(allocated, beside bool) bool {
		for i := range c.seats {
			c.sitAt(s, i)
			span, ok := e.paysSomewhere(d, c, n)
			shape := smallest(c.shape)
			if !ok || beside && !e.smaller(shape) {
				continue
			}
			if e.makeRoom(d, c, shape, n, span, allocated, beside) {
				return true
			}
		}
		return false
	}
	if s.nDebug > 0 && s.isDebug(c) && (try(false, true) || swaps && try(true, true)) {
		return true
	}
	return try(false, false) || swaps && try(true, false)
}

// sitAt looks at one of the lanes of a class, as the class sits there.
func (c *class) sitAt(s *sharing, i int) {
	x := &c.seats[i]
	s.lane = &s.lanes[x.lane]
	c.lane, c.shape, c.known, c.group = x.lane, x.shape, x.known, x.group
}

// usable is the capacity that shares are shares of, in milli-GPU: what is up and
// takes work, or still carries it (SEMANTICS 33), of the lane that is looked at.
func (e *Engine) usable() int64 {
	s := e.sharing
	if len(s.lanes) == 1 {
		return e.Gauge().Available
	}
	var milli int64
	for p := range e.layout.Pools {
		if s.laneOf[p] != s.no {
			continue
		}
		f := e.frees[p]
		for at, n := range e.layout.Pools[p].Nodes {
			if e.down[n] {
				continue
			}
			gpus := e.layout.Spec.Nodes[n].GPUs
			milli += int64(gpus) * 1000
			for g := 0; g < int(gpus) && e.resting(n); g++ {
				milli -= int64(f.Left(int32(at), g)) // up, but what is idle takes no work
			}
		}
	}
	return milli
}

// offered tells the ledgers what is usable from now on.
func (s *sharing) offered(e *Engine, at workload.Time) {
	for i := range s.lanes {
		s.lane = &s.lanes[i]
		s.ledger.SetUsable(at, e.usable())
	}
}
