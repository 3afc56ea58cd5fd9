package engine

import (
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// reservations are the dates that blocked heads get under EASY: one a pool, made
// anew in each decision (Lifka, JSSPP'95). A reservation is a time and what will
// be free then, not a set of nodes: a later job is let past if the head still
// fits at its date with that job in place.
type reservations struct {
	list  []reservation
	spare []*cluster.Free
}

type reservation struct {
	job, pool int32
	// lane is where it queues: a pool has one reservation for work with GPUs and one for work without.
	lane  int32
	k     int // the pool among the shape's pools
	shape *place.Shape
	at    workload.Time
	// then is what will be free at that time, the head not yet placed.
	then *cluster.Free
}

func (r *reservations) begin() { r.list = r.list[:0] }

// reserve gives the blocked job the earliest date at which it fits by predicted
// ends, in the pool where that is soonest; none if none of its pools has a
// reservation left, or it would not fit even with all work gone.
func (r *reservations) reserve(e *Engine, ci, n int32) {
	c := &e.classes[ci]
	s := smallest(c.shape)
	best := reservation{at: workload.Never}
	for k, p := range s.Pools {
		if r.of(e.lane(p, c)) != nil {
			continue
		}
		if at, ok := r.shadow(e, c, n, s, k, e.lane(p, c)); ok && at < best.at {
			best = reservation{job: n, pool: p, lane: e.lane(p, c), k: k, shape: s, at: at}
		}
	}
	if best.at < workload.Never {
		best.then = r.spare[best.lane]
		r.list = append(r.list, best)
	}
}

func smallest(s *place.Shape) *place.Shape {
	if sizes := s.Rigid(); sizes != nil {
		return sizes[len(sizes)-1]
	}
	return s
}

// of returns the reservation of a lane.
func (r *reservations) of(lane int32) *reservation {
	for i := range r.list {
		if r.list[i].lane == lane {
			return &r.list[i]
		}
	}
	return nil
}

// shadow walks the predicted ends of a pool until the shape fits, and leaves
// what is free then in spare. All releases of one instant count together. Nodes of windows
// that the job cannot be gone by count no longer, nor do they after these.
func (r *reservations) shadow(e *Engine, c *class, n int32, s *place.Shape, k int, lane int32) (workload.Time, bool) {
	p := s.Pools[k]
	for len(r.spare) < 2*len(e.pools) {
		r.spare = append(r.spare, nil)
	}
	if r.spare[lane] == nil {
		r.spare[lane] = cluster.NewFree(e.layout, p)
	}
	then := r.spare[lane]
	e.unveil()
	then.CopyFrom(e.frees[p])
	ends := e.pools[p].ends
	for i := 0; i < len(ends); {
		at := ends[i].at
		for ; i < len(ends) && ends[i].at == at; i++ {
			j := &e.jobs[ends[i].job]
			if e.layout.Counted() {
				then.GiveCount(j.milli)
			} else {
				then.Give(j.grants)
			}
		}
		e.shutWindows(then, c, n, p, at)
		if e.placer.FitsIn(then, s, k) {
			return at, true
		}
	}
	return 0, false
}

// shutWindows shuts the nodes of a pool that windows keep a start at a time off.
func (e *Engine) shutWindows(f *cluster.Free, c *class, n, pool int32, at workload.Time) {
	for i := range e.windows.list {
		if !e.bars(i, c, n, 0, at) {
			continue
		}
		for _, node := range e.windows.list[i].Nodes {
			if e.layout.PoolOf[node] == pool {
				f.SetShut(node, true)
			}
		}
	}
}

// admit lets a job that fits now past the reservations of its pool: each if it is
// predicted to be gone by then, or if the head still fits with it there. For the
// latter the place that was found is tried first, then, if it is one reservation
// that objects, a place that spares the GPUs its head would take; that replaces
// the grants behind from.
func (r *reservations) admit(e *Engine, d *decision, c *class, n, tasks, pool int32, from int, reason *fact.Reason) bool {
	end := d.now + e.durationIn(&e.jobs[n], pool, tasks)
	passed := 0
	for i := range r.list {
		rs := &r.list[i]
		switch {
		case rs.pool != pool:
		case end <= rs.at:
			*reason = fact.Reason{Code: fact.BackfillEnds, For: rs.job, Until: rs.at}
		case r.harmless(e, rs, c.shape.Milli, d.arena[from:]), passed == 0 && r.only(i) && r.aside(e, d, c, rs, from):
			*reason = fact.Reason{Code: fact.BackfillSpare, For: rs.job, Until: rs.at}
			passed++
		default:
			r.takeBack(e, pool, end, i, c.shape.Milli, d.arena[from:])
			if slack := rs.at - d.now; !c.short || slack > c.slack {
				c.short, c.slack = true, slack
			}
			c.reason = fact.Reason{Code: fact.WouldDelay, For: rs.job, Until: rs.at}
			return false
		}
	}
	return true
}

// only tells whether the pool of a reservation has no other.
func (r *reservations) only(i int) bool {
	for k := range r.list {
		if k != i && r.list[k].pool == r.list[i].pool {
			return false
		}
	}
	return true
}

// takeBack undoes what harmless took for the reservations before the i-th.
func (r *reservations) takeBack(e *Engine, pool int32, end workload.Time, i int, milli int64, grants []cluster.Grant) {
	for k := range r.list[:i] {
		if rs := &r.list[k]; rs.pool == pool && end > rs.at {
			e.giveTo(rs.then, grants, milli)
		}
	}
}

// harmless takes what a job gets out of what will be free at the date, if the head still fits.
func (r *reservations) harmless(e *Engine, rs *reservation, milli int64, grants []cluster.Grant) bool {
	e.takeFrom(rs.then, grants, milli)
	if e.placer.FitsIn(rs.then, rs.shape, rs.k) {
		return true
	}
	e.giveTo(rs.then, grants, milli)
	return false
}

// aside looks for a place that leaves the head the GPUs it would take at its date.
func (r *reservations) aside(e *Engine, d *decision, c *class, rs *reservation, from int) bool {
	if e.layout.Counted() {
		return false
	}
	k := c.shape.PoolIndex(rs.pool)
	d.arena = d.arena[:from]
	var ok bool
	if d.arena, ok = e.placer.PlaceIn(rs.then, rs.shape, rs.k, d.arena); !ok {
		return false
	}
	f := e.frees[rs.pool]
	// Hide from the job what the head needs and is free already; what comes free
	// until then serves the head first.
	veil := slices.Clone(d.arena[from:])
	d.arena = d.arena[:from]
	for i := range veil {
		g := &veil[i]
		at := e.layout.Local[g.Node]
		now, later := f.Mask(at), rs.then.Mask(at)&^f.Mask(at)
		hide := max(g.Count-cluster.WholeGrant(0, later).Count, 0)
		*g = cluster.WholeGrant(g.Node, place.Lowest(now, min(hide, cluster.WholeGrant(0, now).Count)))
	}
	f.Take(veil)
	d.arena, ok = e.placer.PlaceIn(f, c.shape, k, d.arena)
	f.Give(veil)
	return ok && r.harmless(e, rs, c.shape.Milli, d.arena[from:])
}

// announce turns what changed about dates into actions.
func (r *reservations) announce(e *Engine, d *decision) {
	for i := range r.list {
		rs := &r.list[i]
		d.wake = min(d.wake, rs.at)
		if ends := e.pools[rs.pool].ends; len(ends) > 0 {
			d.wake = min(d.wake, ends[0].at) // should it not end then, what may pass changes
		}
		if j := &e.jobs[rs.job]; j.dated && j.promised == rs.at {
			continue
		}
		d.actions = append(d.actions, fact.Action{Do: fact.Reserve, Job: rs.job, For: none, Count: devices(rs.shape.Milli), Milli: rs.shape.Milli, At: d.now, Until: rs.at,
			Reason: fact.Reason{Code: fact.EarliestFit, For: none, Until: rs.at}})
	}
	for _, n := range e.promised {
		has := func(rs reservation) bool { return rs.job == n }
		starts := func(a fact.Action) bool { return a.Do == fact.Start && a.Job == n }
		if !slices.ContainsFunc(r.list, has) && !slices.ContainsFunc(d.actions, starts) {
			d.actions = append(d.actions, fact.Action{Do: fact.Release, Job: n, For: none, At: d.now,
				Reason: fact.Reason{Code: fact.BlockedByHead, For: none}})
		}
	}
}
