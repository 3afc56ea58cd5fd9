package engine

import (
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// date is a reservation: the GPUs that a large job will have at a time, at the
// latest (SEMANTICS 28). It was fair when it was made and is not asked again.
type date struct {
	job, pool int32
	at        workload.Time
	grants    []cluster.Grant
	milli     int64
	// due: those on its place were to be told to go by now.
	due bool
	// lost: its job may not have it any more.
	lost bool
}

// dateLeft tells whether a pool has a date left, and nodes for it.
func (e *Engine) dateLeft(shape *place.Shape, k int, pool int32) bool {
	s := e.sharing
	n, nodes := 0, int64(0)
	for i := range s.dates {
		if x := &s.dates[i]; x.pool == pool {
			n++
			nodes += int64(len(x.grants))
		}
	}
	if n >= s.pol.Reservations.Count {
		return false
	}
	if e.layout.Counted() {
		return true
	}
	p := &e.layout.Pools[pool]
	c := shape.Cut(k)
	nodes += int64(c.NodesAtLeast(p.MaxGPUs))
	return nodes <= int64(len(p.Nodes))*s.pol.Reservations.Nodes/1000
}

// mayDate tells whether a class is one that dates are made for, and one is left.
func (s *sharing) mayDate(e *Engine, c *class) bool {
	r := &s.pol.Reservations
	if !s.present.swaps && !c.fresh {
		return false // what is certain changes as protections end
	}
	shape := smallest(c.wherever())
	if r.Count == 0 || c.fill || shape.Milli <= r.Above*1000 || e.jobs[c.cur].dated {
		return false
	}
	for k, p := range shape.Pools {
		if e.dateLeft(shape, k, p) {
			return c.seats != nil || s.mayHaveDate(c)
		}
	}
	return false
}

// mayHaveDate tells whether an account may have dates in the lane that is looked at.
func (s *sharing) mayHaveDate(c *class) bool {
	if num, _ := s.tree.ProductShare(c.leaf); num == 0 {
		return false // its turn comes when nobody with a share waits: that has no date
	}
	return s.pol.Reservations.AnyAccount || s.stands(c.leaf) == budget.Entitled
}

// giveDate reserves for a job that found no place the GPUs that are certainly clear
// soonest: no prediction, only ends of protection and hard limits. All lanes that it may
// run in have refused it.
func (e *Engine) giveDate(d *decision, c *class, n int32) {
	s := e.sharing
	here, part := s.lane, c.shape
	c.shape = c.wherever()
	defer func() { s.lane, c.shape = here, part }()
	if !s.mayDate(e, c) {
		return
	}
	shape := smallest(c.shape)
	w := claimant{job: n, leaf: c.leaf, milli: shape.Milli, dated: true}
	s.mayAt++
	best := date{at: workload.Never}
	for k, pool := range shape.Pools {
		if s.in(pool); !e.dateLeft(shape, k, pool) || !s.mayHaveDate(c) {
			continue
		}
		if _, ok := e.pays(d, c, n, pool); !ok {
			continue
		}
		if x, ok := e.certain(d, shape, k, &w); ok && x.at < best.at {
			best = x
		}
	}
	if best.at == workload.Never {
		return
	}
	from := len(d.arena)
	d.arena = append(d.arena, best.grants...)
	d.actions = append(d.actions, fact.Action{Do: fact.Reserve, Job: n, For: none, Count: devices(shape.Milli), Milli: shape.Milli, At: d.now,
		Until: best.at, Place: d.arena[from:len(d.arena):len(d.arena)], Reason: fact.Reason{Code: fact.CertainFit, For: none, Until: best.at}})
	best.grants = d.actions[len(d.actions)-1].Place
	// The rest of this decision keeps off it already; commit makes it last.
	s.dates = append(s.dates, best)
	d.tentativeDates++
	if e.dueFrom(&best) <= d.now {
		d.again = true // whoever is there can go at once
	}
}

// commitDate makes a Reserve action's date last.
func (s *sharing) commitDate(e *Engine, a *fact.Action) {
	x := date{job: a.Job, at: a.Until, grants: slices.Clone(a.Place), milli: a.Milli}
	if len(a.Place) > 0 {
		x.pool = e.layout.PoolOf[a.Place[0].Node]
	}
	s.undate(e, a.Job)
	s.dates = append(s.dates, x)
	s.dateChanges++
}

// undate forgets the date of a job.
func (s *sharing) undate(e *Engine, n int32) {
	was := len(s.dates)
	s.dates = slices.DeleteFunc(s.dates, func(x date) bool { return x.job == n })
	if len(s.dates) < was {
		s.dateChanges++
		s.pending.all = true
		e.dirty = true
	}
}

// lacking is what claims on a cluster without nodes still wait for.
func (e *Engine) lacking() (milli int64) {
	for i := range e.claims {
		milli += e.claims[i].lack
	}
	return milli
}

// roomBesideDates tells, on a cluster without nodes, whether a start leaves what is
// reserved for others certain. What is sure to be gone by a date does.
func (e *Engine) roomBesideDates(d *decision, pool int32, c *class, n int32, span, wait workload.Span) bool {
	s := e.sharing
	for i := range s.dates {
		x := &s.dates[i]
		if x.pool != pool || x.job == n || e.overBy(d, x.at, s.safeFor(c, span), wait) {
			continue
		}
		w := claimant{job: x.job, leaf: s.jobs[x.job].leaf, milli: x.milli, dated: true}
		s.mayAt++
		then := e.frees[pool].Milli() - c.shape.Milli - e.lacking()
		for _, v := range e.pools[pool].running {
			if t, grace := e.readyAt(d, &w, v); t < workload.Never && t+max(grace, 0) <= x.at {
				then += e.jobs[v].milli
			}
		}
		if s.mayAt++; then < x.milli {
			c.reason = fact.Reason{Code: fact.ReservedFor, For: x.job, Until: x.at}
			return false
		}
	}
	return true
}

// datedOn is what dates have of a node, claimedOn what claims still wait for.
func (e *Engine) datedOn(node int32) (m uint64) {
	for i := range e.sharing.dates {
		m |= touched(e.sharing.dates[i].grants, node)
	}
	return m
}

func (e *Engine) claimedOn(node int32) (m uint64) {
	for i := range e.claims {
		m |= touched(e.claims[i].grants, node)
	}
	return m
}

// datedNodes counts the nodes that dates have in a pool.
func (e *Engine) datedNodes(pool int32) (n int) {
	for i := range e.sharing.dates {
		if x := &e.sharing.dates[i]; x.pool == pool {
			n += len(x.grants)
		}
	}
	return n
}
