package engine

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
)

// ErrTaken says that a job cannot be where it is said to run: as far as the facts go, others run
// there. Tell of their ends, or of the starts that came to nothing, and then again of this one.
var ErrTaken = errors.New("others run there")

// adopt takes in that a job which waits here runs already: the cluster's own scheduler has
// started it, on a place that nobody asked for. Its place becomes a claim that nothing can come
// between, and the next decision starts it. Claims of others on it are given back, as Release
// would.
func (e *Engine) adopt(f *fact.Fact) error {
	if f.Job < 0 || int(f.Job) >= len(e.jobs) {
		return ErrUnknown
	}
	j := &e.jobs[f.Job]
	if j.state != waiting && j.state != claiming || e.adopted(f.Job) {
		return ErrUnknown
	}
	if e.layout.Counted() || len(f.Place) == 0 || f.Tasks < 0 || j.spec.Service != nil {
		return errors.New("a job that runs already does so on nodes, and is no service")
	}
	if n := f.Place[0].Node; n < 0 || int(n) >= len(e.layout.PoolOf) {
		return errors.New("it runs on a node that there is not")
	}
	pool := e.layout.PoolOf[f.Place[0].Node]
	if err := e.checkPlace(pool, f.Place); err != nil {
		return err
	}
	if !e.vacant(pool, f.Place) {
		return ErrTaken
	}
	for i := 0; i < len(e.claims); {
		if c := &e.claims[i]; c.job != f.Job && !overlap(c.grants, f.Place) {
			i++
			continue
		}
		n := e.claims[i].job
		e.dropClaim(n)
		e.enqueue(n)
	}
	if j.state != waiting { // its account is gone, say, so that it will never start
		return ErrUnknown
	}
	e.withdraw(f.Job)
	e.holdAdopted(f, pool)
	e.dirty = true
	return nil
}

// adopted tells whether a job has been adopted, and not yet started.
func (e *Engine) adopted(n int32) bool {
	return slices.ContainsFunc(e.claims, func(c claim) bool { return c.job == n && c.adopted })
}

// ClaimsOn are the jobs for which GPUs of a place are being cleared, in the order of their claims.
func (e *Engine) ClaimsOn(place []cluster.Grant) (jobs []int32) {
	for i := range e.claims {
		if c := &e.claims[i]; !c.adopted && overlap(c.grants, place) {
			jobs = append(jobs, e.numbering.number(c.job))
		}
	}
	return jobs
}

// vacant tells whether nobody has started on a place; who merely claims it gives way. Its
// nodes may be closed: what runs on them stays.
func (e *Engine) vacant(pool int32, place []cluster.Grant) bool {
	f := e.frees[pool]
	for i := range place {
		g := &place[i]
		at := e.layout.Local[g.Node]
		free := f.Mask(at)
		for k := range e.claims {
			if c := &e.claims[k]; c.pool == pool && !c.adopted {
				for m := range c.grants {
					if c.grants[m].Node == g.Node {
						free |= c.grants[m].GPUs &^ c.missing[m]
					}
				}
			}
		}
		if g.Milli != 1000 || g.GPUs&^free != 0 || slices.ContainsFunc(place[:i], func(o cluster.Grant) bool { return o.Node == g.Node }) {
			return false
		}
	}
	return true
}

// holdAdopted claims the place of an adopted job, all of which is free. Cores and memory may go
// below zero: others count on them no more.
func (e *Engine) holdAdopted(f *fact.Fact, pool int32) {
	j := &e.jobs[f.Job]
	c := claim{job: f.Job, pool: pool, tasks: f.Tasks, grants: e.keep(f.Place), missing: make([]uint64, len(f.Place)), ready: true, adopted: true}
	for i := range c.grants {
		c.milli += int64(c.grants[i].Count) * int64(c.grants[i].Milli)
	}
	c.got = c.milli
	e.frees[pool].Take(c.grants)
	e.gauge.held += c.got
	j.state, j.pool = claiming, pool
	e.limit.hold(&e.classes[j.class], c.milli)
	if s := e.sharing; s != nil { // paid and protected like any other, whether or not its account would have
		a := fact.Action{Job: f.Job, At: e.now, Until: e.now}
		if k := &e.classes[j.class]; !k.fill && s.jobs[f.Job].leaf != s.outside {
			a.Until += k.span
		}
		s.claimed(e, &a, &c)
	}
	e.claims = append(e.claims, c)
	e.plan.broken = true // what was planned there is void
}

// adoptedStart completes the start of an adopted job.
func (e *Engine) adoptedStart(a *fact.Action, c *claim) {
	a.Reason, a.Count = fact.Reason{Code: fact.Adopted, For: none}, 0
	for i := range c.grants {
		a.Count += int32(bits.OnesCount64(c.grants[i].GPUs))
	}
	if s := e.sharing; s != nil {
		if a.Unallocated = e.classes[e.jobs[a.Job].class].fill || s.jobs[a.Job].leaf == s.outside; !a.Unallocated {
			a.Until = a.At + s.heldSpan(a.Job)
		}
	}
}

// overlap tells whether two places have a GPU in common.
func overlap(a, b []cluster.Grant) bool {
	for i := range a {
		if a[i].GPUs&touched(b, a[i].Node) != 0 {
			return true
		}
	}
	return false
}
