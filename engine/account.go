package engine

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Explanation is where a job stands and what its start turns on. It is made on
// demand, in time linear in what waits and runs.
type Explanation struct {
	At    workload.Time
	State string
	// Why it waits; Waits is false for a job that does not.
	Why   fact.Reason
	Waits bool
	// Rank of a waiting job among Waiting, 1 = next; Ahead are the nearest before it,
	// the first in order first.
	Rank, Waiting int
	Ahead         []int32
	// Fill: it waits to run unallocated, charged to nobody.
	Fill bool
	// Need in GPUs, Free the most that are free in one pool that it may use, and the
	// largest block of them in its shape, Block of Want: GPUs, or tasks where the job is
	// laid over several nodes.
	Need, Free, Block, Want int32
	// Promised is the date it was given, 0 = none.
	Promised workload.Time
	// Protections of running jobs in its pools, the next to end first.
	Protections []Protected
	// Account is what the budgets say; nil under policies without. Elsewhere is what they
	// say of the other pools in which a waiting job may run.
	Account   *Account
	Elsewhere []*Account
	// Protected is until when its own run is safe, 0 = not; Unallocated: it is charged
	// to nobody.
	Protected   workload.Time
	Unallocated bool
	// Stops counts how often it was stopped for others.
	Stops int32
}

// Protected is a run that may not be stopped before a time.
type Protected struct {
	Job   int32
	Until workload.Time
	GPUs  int32
}

// Account is the way from the root of the budgets to the leaf of a job.
type Account struct {
	// Tree has the shares of the Pool: a GPU type, empty where budgets have no pools.
	Tree *budget.Tree
	Pool string
	// Leaf is -1 where no account takes the job.
	Leaf     int32
	Standing budget.Standing
	// At is the time of the shares: the last multiple of the policy's interval.
	At     workload.Time
	Levels []Level
}

// Level is an account among its siblings: they are sorted by Usage / Share.
type Level struct {
	Node int32
	// Charged in the window and Outstanding protections, in milli-GPU x ms; their sum
	// is the usage.
	Charged, Outstanding int64
	// Filled is the unallocated time it had in the window, which sorts unallocated work.
	Filled int64
	// Fair is what its share of the window's capacity would be.
	Fair int64
	// Place among Of siblings with waiting work, 1 = first; 0 of 0 for an account without any, which is
	// in no line.
	Place, Of int
}

var stateNames = [...]string{"unknown", "blocked", "waiting", "held", "starting", "running", "stopping", "refused", "stuck", "parked", "on-hold", "ended"}

// Explain tells where a job stands at the time of the last fact or decision. ok is
// false for a job that was never submitted.
func (e *Engine) Explain(n int32) (x Explanation, ok bool) {
	x, ok = e.explain(e.numbering.place(n))
	if x.Waits {
		x.Why.For = e.numbering.number(x.Why.For)
	}
	e.jobsOut(x.Ahead)
	for i := range x.Protections {
		x.Protections[i].Job = e.numbering.number(x.Protections[i].Job)
	}
	return x, ok
}

func (e *Engine) explain(n int32) (x Explanation, ok bool) {
	if n < 0 || int(n) >= len(e.jobs) || e.jobs[n].state == absent {
		return x, false
	}
	e.advance(e.now)
	j := &e.jobs[n]
	x.At, x.State, x.Promised = e.now, stateNames[j.state], j.promised
	x.Why, x.Waits = e.why(n)
	if j.class != none {
		x.Need = devices(e.classes[j.class].shape.Milli)
	}
	if s := e.sharing; s != nil {
		x.Account, x.Elsewhere = e.accounts(n)
		c := &s.jobs[n]
		x.Stops = c.stops
		if j.state == starting || j.state == running {
			if x.Unallocated = c.unallocated; c.until != unset {
				x.Protected = c.until
			}
		}
	}
	if j.state != waiting {
		return x, true
	}
	x.Fill = e.classes[j.class].fill
	order := e.queueOrder(e.classes[j.class].lane)
	x.Waiting = len(order)
	x.Rank = slices.Index(order, n) + 1
	const near = 10
	x.Ahead = order[max(x.Rank-1-near, 0) : x.Rank-1]
	e.explainRoom(&x, &e.classes[j.class])
	return x, true
}

// explainRoom says what is free in the shape of a class, and what is protected.
func (e *Engine) explainRoom(x *Explanation, c *class) {
	shape := smallest(c.shape)
	for _, p := range shape.Pools {
		x.Free = max(x.Free, int32(e.frees[p].Milli()/1000))
		if s := e.sharing; s != nil {
			for _, v := range e.pools[p].running {
				if r := &s.jobs[v]; !r.unallocated && !r.open && r.until > e.now {
					x.Protections = append(x.Protections, Protected{v, r.until, devices(e.jobs[v].milli)})
				}
			}
		}
	}
	if x.Block, x.Want = x.Free, devices(shape.Milli); !e.layout.Counted() && len(shape.Pools) > 0 {
		x.Block, x.Want = e.placer.Most(e.frees, shape)
	}
	slices.SortFunc(x.Protections, func(a, b Protected) int {
		return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Job, b.Job))
	})
}

// queueOrder lists the waiting jobs in the order in which a decision would look at
// them if nothing started: under shares those for a lane.
func (e *Engine) queueOrder(lane int32) []int32 {
	var out []int32
	if e.sharing == nil {
		e.decision.now = e.now // orders that depend on time are as of now
		for _, ci := range e.active {
			c := &e.classes[ci]
			for n := e.q.first(c.root); n != none; n = e.q.after(c.root, n, 1<<63-1) {
				out = append(out, n)
			}
		}
		return e.inOrder(out)
	}
	s := e.sharing
	s.lane = &s.lanes[lane]
	w := &s.walk
	s.stamp++
	drain := func(used ratio) {
		e.build(w, used)
		for l, ci, ok := w.next(); ok; l, ci, ok = w.next() {
			n := e.classes[ci].cur
			out = append(out, n)
			e.step(w, l, e.moveOn(&e.decision, ci, n), 0, used)
		}
		w.begin()
	}
	for _, standing := range [...]budget.Standing{budget.Entitled, budget.Served, budget.Spent} {
		for l := range s.leaves {
			if s.leaves[l].nWork == 0 || s.stands(int32(l)) != standing {
				continue
			}
			for _, g := range s.leaves[l].work {
				for _, ci := range g.classes {
					w.add(int32(l), ci)
				}
			}
		}
		drain(s.used)
	}
	for l := range s.leaves {
		for _, ci := range s.leaves[l].fill {
			w.add(int32(l), ci)
		}
	}
	drain(s.filled)
	for _, ci := range e.active {
		e.classes[ci].cur = e.classes[ci].head
	}
	return out
}

// accounts are the way to a job's leaf in each lane in which it may run, or where it does.
func (e *Engine) accounts(n int32) (first *Account, rest []*Account) {
	s, j := e.sharing, &e.jobs[n]
	s.stamp++
	lanes := []int32{s.laneOf[j.pool]}
	if j.state == waiting {
		c := &e.classes[j.class]
		lanes[0] = c.lane
		for i := 1; i < len(c.seats); i++ {
			lanes = append(lanes, c.seats[i].lane)
		}
	}
	for _, l := range lanes {
		s.lane = &s.lanes[l]
		rest = append(rest, e.account(n))
	}
	return rest[0], rest[1:]
}

// account is the way to a job's leaf in a lane with the numbers that sort it.
func (e *Engine) account(n int32) *Account {
	s := e.sharing
	leaf := s.jobs[n].leaf
	a := &Account{Tree: s.tree, Leaf: leaf, At: s.grid}
	if len(s.tree.Pools) > 0 {
		a.Pool = s.tree.Pools[s.no]
	}
	if leaf == s.outside {
		a.Leaf = none
		return a
	}
	a.Standing = s.stands(leaf)
	for node := leaf; node > 0; node = s.tree.Nodes[node].Parent {
		a.Levels = append(a.Levels, e.level(node))
	}
	slices.Reverse(a.Levels)
	return a
}

func (e *Engine) level(node int32) Level {
	s := e.sharing
	l := Level{Node: node, Charged: s.ledger.Charged(node, s.grid), Outstanding: s.ledger.Outstanding(node, s.grid)}
	l.Filled = s.filled(node)
	l.Fair = s.tree.FairShare(node, s.ledger.Offered(s.grid))
	if !e.waitsBelow(node) {
		return l
	}
	for _, o := range s.tree.Nodes[s.tree.Nodes[node].Parent].Children {
		if !e.waitsBelow(o) {
			continue
		}
		l.Of++
		if budget.CompareRatio(s.used(o), s.tree.Nodes[o].Share, s.used(node), s.tree.Nodes[node].Share) < 0 {
			l.Place++
		}
	}
	l.Place++
	return l
}

// waitsBelow tells whether charged work waits at or below a node.
func (e *Engine) waitsBelow(node int32) bool {
	for i := node; i <= e.sharing.tree.Nodes[node].Last; i++ {
		if e.sharing.leaves[i].nWork > 0 {
			return true
		}
	}
	return false
}
