package engine

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Commit makes an action part of the state: the caller has written it down and
// is about to send it. Actions of one decision are committed in their order. An
// error means that the action does not belong to this state (a journal of
// another cluster, say); the state is then unchanged.
func (e *Engine) Commit(a *fact.Action) error {
	if err := e.commit(e.actionIn(a)); err != nil {
		return fmt.Errorf("%s of job %d: %w", a.Do, a.Job, err)
	}
	return nil
}

func (e *Engine) commit(a *fact.Action) error {
	if a.Job < 0 || int(a.Job) >= len(e.jobs) || e.jobs[a.Job].spec == nil {
		return errors.New("there is no such job")
	}
	e.now = max(e.now, a.At)
	e.uncommitted = max(e.uncommitted-1, 0)
	j := &e.jobs[a.Job]
	if e.ahead != nil { // a decision that was folded has not said so
		e.wake = min(e.wake, e.ahead.wakeOf(e, a))
	}
	switch a.Do {
	case fact.Start:
		return e.commitStart(a, j)
	case fact.Stop:
		if j.state != running && j.state != starting {
			return errors.New("it does not run")
		}
		if e.sharing != nil {
			e.sharing.told(e, a)
		}
		j.state = stopping
		if s := e.service(a.For); s != nil {
			s.stopFor(e, a)
		}
		if j.cancel {
			e.toStop = slices.DeleteFunc(e.toStop, func(n int32) bool { return n == a.Job })
		}
		return nil
	case fact.Hold:
		if j.state != waiting {
			return errors.New("it does not wait")
		}
		e.dequeue(a.Job)
		e.commitHold(a, j)
		return nil
	case fact.Reserve:
		if j.state != waiting {
			return errors.New("it does not wait")
		}
		if e.plans {
			e.commitSlot(a, j)
		}
		if e.sharing != nil {
			e.sharing.commitDate(e, a)
		}
		if !j.dated {
			e.promised = append(e.promised, a.Job)
		}
		j.promised, j.dated = a.Until, true
		return nil
	case fact.Release:
		if j.state == claiming {
			e.dropClaim(a.Job)
			e.enqueue(a.Job)
			return nil
		}
		e.unpromise(a.Job)
		if e.plans && j.state == waiting {
			e.plan.commitRelease(a.Job)
		}
		if e.sharing != nil {
			e.sharing.undate(e, a.Job)
		}
		return nil
	case fact.Resize:
		return e.commitResize(a, j)
	case fact.Uncharge:
		if e.sharing == nil {
			return errors.New("the policy charges nobody")
		}
		e.sharing.uncharged(e, a)
		return nil
	case fact.Refuse:
		if i := slices.IndexFunc(e.toRefuse, func(r fact.Action) bool { return r.Job == a.Job }); i >= 0 {
			if i == 0 { // the usual case: committed in the order in which they were returned
				e.toRefuse = e.toRefuse[1:]
			} else {
				e.toRefuse = slices.Delete(e.toRefuse, i, i+1)
			}
		}
		return nil
	}
	return errors.New("there is no such action")
}

func (e *Engine) commitStart(a *fact.Action, j *job) error {
	pool := int32(0)
	if len(a.Place) > 0 {
		pool = e.layout.PoolOf[a.Place[0].Node]
	}
	var milli int64
	claimed := false
	switch j.state {
	case waiting:
		milli = e.milliOf(j, a.Tasks)
		f := e.frees[pool]
		switch {
		case e.layout.Counted() && f.Milli() < milli, !e.layout.Counted() && !available(f, e.layout, a.Place):
			return errors.New("its GPUs are not free")
		}
		e.dequeue(a.Job)
		j.grants = e.keep(a.Place)
		if e.layout.Counted() {
			f.TakeCount(milli)
		} else {
			f.Take(j.grants)
		}
		j.milli, j.pool = milli, pool
		e.limit.hold(&e.classes[j.class], milli)
		e.unpromise(a.Job)
		e.dirty = e.plan.started(a.Job, a.At) || e.dirty
		if e.sharing != nil {
			e.sharing.undate(e, a.Job)
		}
	case claiming:
		i := slices.IndexFunc(e.claims, func(c claim) bool { return c.job == a.Job })
		if i < 0 || !e.claims[i].ready {
			return errors.New("its place is not clear yet")
		}
		cl := &e.claims[i]
		j.grants, j.milli, j.pool = cl.grants, cl.milli, cl.pool
		e.gauge.held -= cl.got
		if claimed = !a.Unallocated; e.sharing != nil {
			e.sharing.unclaimed(e, cl, claimed)
		}
		if cl.adopted {
			e.plan.broken = true
		}
		e.claims = slices.Delete(e.claims, i, i+1)
		e.dirty = true // what runs now may have to give way itself
	default:
		return errors.New("it does not wait")
	}
	j.state, j.tasks, j.since, j.work, j.up = starting, a.Tasks, a.At, a.At, false
	j.attempt++
	e.dirty = e.dirty || a.Reason.Code == fact.Proposed // what it leaves is still to be planned
	e.gauge.assigned += j.milli
	e.gauge.runningJobs++
	if e.tracks {
		e.track(a.Job)
	}
	if e.sharing != nil {
		e.sharing.began(e, a, claimed)
	}
	return nil
}

// milliOf is the capacity of a job that runs with so many tasks, 0 = as its need says.
func (e *Engine) milliOf(j *job, tasks int32) int64 {
	if tasks > 0 {
		return int64(tasks) * int64(j.spec.Need.GPUs) * int64(j.spec.Need.MilliPerGPU())
	}
	return e.classes[j.class].shape.Milli
}

// unpromise forgets the date of a job.
func (e *Engine) unpromise(n int32) {
	if e.jobs[n].dated {
		e.jobs[n].promised, e.jobs[n].dated = 0, false
		e.promised = slices.DeleteFunc(e.promised, func(p int32) bool { return p == n })
	}
}

// available tells whether all grants are free in f.
func available(f *cluster.Free, l *cluster.Layout, gs []cluster.Grant) bool {
	for i := range gs {
		if !enoughCores(f, l.Local[gs[i].Node], gs[:i+1]) {
			return false
		}
	}
	return gpusAvailable(f, l, gs)
}

// gpusAvailable is that without cores and memory, of which adopted jobs may take more than there is.
func gpusAvailable(f *cluster.Free, l *cluster.Layout, gs []cluster.Grant) bool {
	for i := range gs {
		g := &gs[i]
		at := l.Local[g.Node]
		if f.Shut(at) {
			return false
		}
		if g.Milli == 1000 {
			if f.Mask(at)&g.GPUs != g.GPUs {
				return false
			}
			continue
		}
		left := f.Left(at, bits.TrailingZeros64(g.GPUs))
		for k := range gs[:i+1] { // parts of one GPU add up
			if gs[k].Node == g.Node && gs[k].GPUs == g.GPUs {
				left -= gs[k].Milli
			}
		}
		if left < 0 {
			return false
		}
	}
	return true
}

// enoughCores tells whether the node has cores and memory for the last of the
// grants beside those before it.
func enoughCores(f *cluster.Free, at int32, gs []cluster.Grant) bool {
	g := &gs[len(gs)-1]
	if g.CPU == 0 && g.Memory == 0 {
		return true
	}
	var cpu, memory int64
	for k := range gs {
		if gs[k].Node == g.Node {
			cpu, memory = cpu+gs[k].CPU, memory+gs[k].Memory
		}
	}
	return (g.CPU == 0 || f.CPU(at) >= cpu) && (g.Memory == 0 || f.Memory(at) >= memory)
}

// commitHold keeps what is free of the place now; the rest comes as victims leave.
func (e *Engine) commitHold(a *fact.Action, j *job) {
	c := claim{job: a.Job, tasks: a.Tasks, milli: e.milliOf(j, a.Tasks)}
	if len(a.Place) > 0 {
		c.pool = e.layout.PoolOf[a.Place[0].Node]
		c.grants = e.keep(a.Place)
		c.missing = make([]uint64, len(c.grants))
		for i := range c.grants {
			g := c.grants[i]
			c.missing[i] = g.GPUs
			g.GPUs, g.Count = 0, 0
			// Cores and memory are taken at once, below zero if need be: nothing else may count on them.
			e.frees[c.pool].Take([]cluster.Grant{g})
		}
	} else {
		c.lack = c.milli
	}
	j.state, j.pool = claiming, c.pool
	e.limit.hold(&e.classes[j.class], c.milli)
	if e.sharing != nil {
		e.sharing.undate(e, a.Job)
		e.unpromise(a.Job)
		e.sharing.claimed(e, a, &c)
	}
	e.claims = append(e.claims, c)
	e.settleClaims(c.pool)
}

// settleClaims gives claims, oldest first, what has become free of their places.
func (e *Engine) settleClaims(pool int32) {
	if len(e.claims) == 0 {
		return
	}
	f := e.frees[pool]
	for i := range e.claims {
		c := &e.claims[i]
		if c.pool != pool || c.ready {
			continue
		}
		e.giveParts(c)
		left := c.lack
		if c.lack > 0 {
			got := min(c.lack, f.Milli())
			f.TakeCount(got)
			c.lack -= got
			c.got += got
			e.gauge.held += got
			left = c.lack
		}
		for k := range c.missing {
			node := c.grants[k].Node
			if got := obtainable(f, e.layout.Local[node], &c.grants[k]) & c.missing[k]; got != 0 {
				g := cluster.WholeGrant(node, got)
				g.Milli = c.grants[k].Milli
				f.Take([]cluster.Grant{g})
				c.missing[k] &^= got
				c.got += int64(g.Count) * int64(g.Milli)
				e.gauge.held += int64(g.Count) * int64(g.Milli)
			}
			// Cores and memory were taken at once: below zero, someone who leaves still has them.
			at := e.layout.Local[node]
			if c.missing[k] != 0 || f.CPU(at) < 0 || f.Memory(at) < 0 {
				left++
			}
		}
		if left == 0 {
			c.ready = true
			e.dirty = true
		} else {
			e.takeParts(c)
		}
	}
}

// takeParts keeps what is free of GPUs that a claim waits for from those who want a
// part of one; giveParts gives it back, to see whether they are whole by now.
func (e *Engine) takeParts(c *claim) {
	f := e.frees[c.pool]
	for k, m := range c.missing {
		from := len(c.parts)
		c.parts = partsLeft(f, e.layout.Local[c.grants[k].Node], &c.grants[k], m, c.parts)
		f.Take(c.parts[from:])
		for i := range c.parts[from:] {
			c.got += int64(c.parts[from+i].Milli)
			e.gauge.held += int64(c.parts[from+i].Milli)
		}
	}
}

// partsLeft appends what is left of those GPUs of a grant that are in part use, where it
// is less than the grant needs of each.
func partsLeft(f *cluster.Free, at int32, g *cluster.Grant, gpus uint64, to []cluster.Grant) []cluster.Grant {
	for m := gpus; m != 0; m &= m - 1 {
		if left := f.Left(at, bits.TrailingZeros64(m)); left > 0 && left < g.Milli {
			to = append(to, cluster.Grant{Node: g.Node, GPUs: m & -m, Milli: left, Count: 1})
		}
	}
	return to
}

func (e *Engine) giveParts(c *claim) {
	if len(c.parts) == 0 {
		return
	}
	for i := range c.parts {
		c.got -= int64(c.parts[i].Milli)
		e.gauge.held -= int64(c.parts[i].Milli)
	}
	e.frees[c.pool].Give(c.parts)
	c.parts = c.parts[:0]
}

// obtainable is the part of a grant's GPUs that can be taken now.
func obtainable(f *cluster.Free, at int32, g *cluster.Grant) uint64 {
	if g.Milli == 1000 {
		return g.GPUs & f.Mask(at)
	}
	if f.Left(at, bits.TrailingZeros64(g.GPUs)) >= g.Milli {
		return g.GPUs
	}
	return 0
}

// dropClaim gives back what a claim has gathered.
func (e *Engine) dropClaim(n int32) {
	i := slices.IndexFunc(e.claims, func(c claim) bool { return c.job == n })
	if i < 0 {
		return
	}
	c := &e.claims[i]
	f := e.frees[c.pool]
	e.giveParts(c)
	if len(c.grants) == 0 {
		f.GiveCount(c.milli - c.lack)
	}
	for k := range c.grants {
		g := c.grants[k]
		g.GPUs &^= c.missing[k]
		g.Count = int32(bits.OnesCount64(g.GPUs))
		f.Give([]cluster.Grant{g})
	}
	e.gauge.held -= c.got
	if e.sharing != nil {
		e.sharing.unclaimed(e, c, false)
	}
	e.limit.drop(&e.classes[e.jobs[n].class], c.milli)
	pool := c.pool
	e.claims = slices.Delete(e.claims, i, i+1)
	e.settleClaims(pool)
	e.dirty = true
	e.offer(e.now)
}

// unclaimable tells whether a claim can no longer come true: one of its nodes takes no work,
// or a window has come between.
func (e *Engine) unclaimable(c *claim) bool {
	if c.adopted {
		return false
	}
	if c.lost {
		return true
	}
	for i := range c.grants {
		if n := c.grants[i].Node; e.down[n] || e.drained[n] {
			return true
		}
	}
	span := workload.Span(0)
	if e.sharing != nil {
		span = e.sharing.heldSpan(c.job)
	}
	return e.barredPlace(c.grants, c.job, span, e.now)
}
