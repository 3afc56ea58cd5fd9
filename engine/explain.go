package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Why says why a job does not run: what the last decision found about its class,
// with the numbers of now. ok is false if it runs, has ended or is unknown.
func (e *Engine) Why(n int32) (r fact.Reason, ok bool) {
	if r, ok = e.why(e.numbering.place(n)); ok {
		r.For = e.numbering.number(r.For)
	}
	return r, ok
}

func (e *Engine) why(n int32) (r fact.Reason, ok bool) {
	if n < 0 || int(n) >= len(e.jobs) {
		return r, false
	}
	j := &e.jobs[n]
	switch j.state {
	case refused:
		return e.classes[j.class].reason, true
	case claiming:
		return fact.Reason{Code: fact.Leaving, For: n}, true
	case onHold:
		return fact.Reason{Code: fact.Held, For: none, Want: int32(j.holds)}, true
	case blocked, stuck:
		return fact.Reason{Code: fact.Dependency, For: e.waitsFor(n)}, true
	case waiting:
	default:
		return r, false
	}
	c := &e.classes[j.class]
	if e.pol.Blocking == policy.Strict {
		for _, p := range c.shape.Pools {
			l := e.lane(p, c)
			if by := e.decision.barredBy; by != nil && by[l] != none && by[l] != n {
				return fact.Reason{Code: fact.BlockedByHead, For: by[l]}, true
			}
		}
	}
	if j.dated {
		return fact.Reason{Code: fact.Promised, For: none, Until: j.promised}, true
	}
	if r, ok := e.whyWindow(c, n); ok {
		return r, true
	}
	if e.ahead != nil {
		if r, ok := e.ahead.why(n, e.now); ok {
			return r, true
		}
	}
	switch c.reason.Code {
	case fact.NotFreeable, fact.NoVictims, fact.CrossTeamOff, fact.WouldDelay, fact.Protected, fact.GuardOff, fact.RateLimited, fact.OverKill,
		fact.ReservedFor, fact.DebugNodes, fact.BudgetShort, fact.NoAccount:
		return c.reason, true
	}
	if !e.limit.admits(c) {
		return e.limit.reason(e.limit.with(c)), true
	}
	if e.sharing != nil && !c.fill {
		if r, ok := e.whyProtected(c); ok {
			return r, true
		}
	}
	return e.numbers(c.shape), true
}

// whyProtected tells that even without all that may give way there would be no
// place, and when the next protection ends.
func (e *Engine) whyProtected(c *class) (fact.Reason, bool) {
	s, shape := e.sharing, smallest(c.shape)
	r := fact.Reason{Code: fact.Protected, For: none, Want: devices(shape.Milli), Until: workload.Never}
	for k, p := range shape.Pools {
		s.in(p)
		if e.placer.FitsIn(s.soft.of(p, c.known.debug), shape, k) { // it is the shares that do not let it
			return e.guardReason(&claimant{job: none, leaf: c.leaf, milli: shape.Milli}), !e.placer.FitsIn(s.loose.of(p, c.known.debug), shape, k)
		}
		r.Have = max(r.Have, min(int32(s.soft.of(p, c.known.debug).Milli()/1000), r.Want-1))
		for _, v := range e.pools[p].running {
			if x := &s.jobs[v]; !x.unallocated && !x.open && x.until > e.now && x.until < r.Until {
				r.Until = x.until
			}
		}
	}
	return r, r.Until < workload.Never
}

// waitsFor finds a job whose end n waits for. It looks through the dependencies
// by name: asked for one job at a time, it need not be indexed.
func (e *Engine) waitsFor(n int32) int32 {
	for _, a := range e.jobs[n].spec.After {
		if on, ok := e.deps.ids[a.Job]; ok && on >= 0 && e.jobs[on].state != ended {
			return on
		}
	}
	return none
}

// numbers says what is free and what is missing for a shape.
func (e *Engine) numbers(s *place.Shape) fact.Reason {
	s = smallest(s)
	r := fact.Reason{Code: fact.TooFewFree, For: none, Want: devices(s.Milli)}
	var free int64
	for _, p := range s.Pools {
		free = max(free, e.frees[p].Milli())
	}
	r.Have = int32(free / 1000)
	if free >= s.Milli && !e.layout.Counted() {
		r.Code = fact.NoShape
		r.Block, r.Want = e.placer.Most(e.frees, s)
	}
	return r
}

// VictimSets counts the searches for victims so far, refusals by counting not included.
func (e *Engine) VictimSets() int64 { return e.victimSets }

// Fragmented tells whether some waiting job fits by count and none fits in shape
// (SEMANTICS 35).
func (e *Engine) Fragmented() bool {
	if e.layout.Counted() {
		return false
	}
	byCount := false
	defer e.unveil()
	for _, ci := range e.active {
		c := &e.classes[ci]
		if !e.limit.admits(c) {
			continue
		}
		e.veilNow(c, c.head)
		s := smallest(c.shape)
		for _, p := range s.Pools {
			if e.frees[p].Milli() >= s.Milli && s.Milli > 0 {
				byCount = true
				break
			}
		}
		if s.Milli > 0 && e.placer.Fits(e.frees, s) {
			return false
		}
	}
	return byCount
}

// Gauge is the engine's own count of the cluster.
type Gauge struct {
	// Installed and Available GPUs, Assigned and Held, in milli-GPU.
	Installed, Available, Assigned, Held int64
	WaitingJobs, RunningJobs             int
	WaitingMilli                         int64
}

// Gauge returns the present counts. O(nodes) while some are drained or under maintenance.
func (e *Engine) Gauge() Gauge {
	g := &e.gauge
	out := Gauge{Installed: g.installed, Available: g.available, Assigned: g.assigned, Held: g.held,
		WaitingJobs: g.waitingJobs, RunningJobs: g.runningJobs, WaitingMilli: g.waitingMilli}
	for n := int32(0); int(n) < len(e.drained) && e.nDrained+e.windows.nIdle > 0; n++ {
		if e.resting(n) && !e.down[n] { // up, but what is idle takes no work
			f, at := e.frees[e.layout.PoolOf[n]], e.layout.Local[n]
			for gpu := range e.layout.Spec.Nodes[n].GPUs {
				out.Available -= int64(f.Left(at, int(gpu)))
			}
		}
	}
	return out
}

// Fits tells whether waiting job n fits what is free now, whoever else waits.
func (e *Engine) Fits(n int32) bool {
	if n = e.numbering.place(n); n < 0 || int(n) >= len(e.jobs) || e.jobs[n].state != waiting {
		return false
	}
	c := &e.classes[e.jobs[n].class]
	e.veilNow(c, n)
	defer e.unveil()
	return e.limit.admits(c) && e.placer.Fits(e.frees, smallest(c.shape))
}

// CouldStart returns a waiting job that fits what is free now, if there is one.
// Only the smallest size of an elastic job counts.
func (e *Engine) CouldStart() (job int32, ok bool) {
	defer e.unveil()
	for _, ci := range e.active {
		c := &e.classes[ci]
		if e.veilNow(c, c.head); e.limit.admits(c) && e.placer.Fits(e.frees, smallest(c.shape)) {
			return e.numbering.number(c.head), true
		}
	}
	return none, false
}
