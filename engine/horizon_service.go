package engine

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// service is what is known of a real-time application beside its declaration.
type service struct {
	job int32
	// demand is what it needs now, as it was last told; told says whether it ever was.
	demand int32
	told   bool
	// swaps are the GPUs gained and lost of late, with their times.
	swaps []swap
	// victims were told to stop for it; those that still leave keep its GPUs for it.
	victims []victimRun
}

// victimRun is a run that was told to stop.
type victimRun struct{ job, attempt int32 }

type swap struct {
	at workload.Time
	n  int32
}

// service finds what is known of an application, nil if the job is none.
func (e *Engine) service(n int32) *service {
	i, ok := slices.BinarySearchFunc(e.services, n, func(s *service, n int32) int { return cmp.Compare(s.job, n) })
	if !ok {
		return nil
	}
	return e.services[i]
}

// addService begins to know an application.
func (e *Engine) addService(n int32) {
	i, ok := slices.BinarySearchFunc(e.services, n, func(s *service, n int32) int { return cmp.Compare(s.job, n) })
	if !ok {
		e.services = slices.Insert(e.services, i, &service{job: n})
	}
}

// demandChanged takes in what an application needs now.
func (e *Engine) demandChanged(f *fact.Fact) error {
	s := e.service(f.Job)
	if s == nil || f.Demand < 0 {
		return ErrUnknown
	}
	if s.told && s.demand == f.Demand {
		return nil
	}
	s.demand, s.told = f.Demand, true
	e.dirty = e.dirty || e.ahead != nil
	return nil
}

// commitResize gives a running application other GPUs.
func (e *Engine) commitResize(a *fact.Action, j *job) error {
	s := e.service(a.Job)
	if s == nil {
		return errors.New("it is no real-time application")
	}
	if j.state != running && j.state != starting {
		return errors.New("it does not run")
	}
	f := e.frees[j.pool]
	f.Give(j.grants)
	if slices.ContainsFunc(a.Place, func(g fact.Grant) bool { return !e.mayKeep(j, &g) && !e.mayTake(j.pool, f, &g) }) {
		f.Take(j.grants)
		return errors.New("its GPUs are not free")
	}
	s.note(a.At, changes(j.grants, a.Place), j.spec.Service.SwapEvery)
	e.gauge.assigned += a.Milli - j.milli
	old := j.grants
	j.grants, j.milli, j.tasks = e.keep(a.Place), a.Milli, a.Tasks
	e.recycle(old)
	f.Take(j.grants)
	return nil
}

// mayKeep tells whether a grant is part of what the job has on the node: it stays even if
// the node takes no work any more. mayTake tells whether it is free.
func (e *Engine) mayKeep(j *job, g *fact.Grant) bool {
	for i := range j.grants {
		if j.grants[i].Node == g.Node {
			return g.GPUs&^j.grants[i].GPUs == 0
		}
	}
	return false
}

func (e *Engine) mayTake(pool int32, f *cluster.Free, g *fact.Grant) bool {
	return e.layout.PoolOf[g.Node] == pool && available(f, e.layout, []fact.Grant{*g})
}

// note remembers swaps, and forgets those that no longer count.
func (s *service) note(at workload.Time, n int32, every workload.Span) {
	s.swaps = slices.DeleteFunc(s.swaps, func(x swap) bool { return x.at+every <= at })
	if n > 0 && every > 0 {
		s.swaps = append(s.swaps, swap{at, n})
	}
}

// recent is the number of swaps in the span before now.
func (s *service) recent(now workload.Time, every workload.Span) int32 {
	n := int32(0)
	for _, x := range s.swaps {
		if x.at+every > now {
			n += x.n
		}
	}
	return n
}

// expiry is when the next of the recent swaps no longer counts, [workload.Never] where none does.
func (s *service) expiry(now workload.Time, every workload.Span) workload.Time {
	next := workload.Never
	for _, x := range s.swaps {
		if t := x.at + every; t > now {
			next = min(next, t)
		}
	}
	return next
}

// stopFor remembers that a run was told to stop for an application.
func (s *service) stopFor(e *Engine, a *fact.Action) {
	s.victims = slices.DeleteFunc(s.victims, func(v victimRun) bool { return !e.leaves(v) })
	s.victims = append(s.victims, victimRun{a.Job, a.Attempt})
}

// leaves tells whether a run that was told to stop is still on its way out.
func (e *Engine) leaves(v victimRun) bool {
	j := &e.jobs[v.job]
	return j.state == stopping && j.attempt == v.attempt
}

// changes counts the GPUs that are in one of two lists of whole-GPU grants only.
func changes(a, b []fact.Grant) int32 {
	n := int32(0)
	for i := range a {
		n += a[i].Count
	}
	for i := range b {
		n += b[i].Count
		for k := range a {
			if a[k].Node == b[i].Node {
				n -= 2 * int32(bits.OnesCount64(a[k].GPUs&b[i].GPUs))
			}
		}
	}
	return n
}

// addServices adds the applications that are there, with what they hold.
func (h *ahead) addServices(e *Engine, o *outlook, taken horizon.Set, now workload.Time) {
	pol := e.pol.Horizon
	for _, s := range e.services {
		n := s.job
		j := &e.jobs[n]
		if j.state != waiting && j.state != starting && j.state != running || j.leaving {
			continue
		}
		c := &e.classes[j.class]
		if c.never || len(c.shape.Pools) == 0 {
			continue
		}
		spec := j.spec.Service
		a := horizon.App{ID: j.spec.ID, Penalty: h.worth(e, j.spec, now) * int64(pol.Penalty)}
		if spec.Penalty > 0 {
			a.Penalty = min(spec.Penalty, 1<<40) * h.unit()
		}
		// It lies in one pool.
		pool := h.poolOf(e, s, now)
		a.Types = 1 << pool
		if j.state != waiting {
			for _, g := range h.row.slotsOf(j.grants) {
				a.Current = append(a.Current, g)
				taken.Add(g)
			}
		}
		coming := h.coming(e, s, pool, h.needs(e, spec, s, now, 0)-len(a.Current), taken)
		a.Current = append(a.Current, coming...)
		h.curves(e, &a, spec, s, now)
		a.SwapCap = o.p.GPUs
		if spec.Swaps > 0 && j.state != waiting { // a start is no swap
			a.SwapCap = int(min(h.swapCap(e, spec), int64(o.p.GPUs)*2))
			a.Used = max(0, a.SwapCap-max(0, int(spec.Swaps)-int(s.recent(now, spec.SwapEvery))-len(coming)))
		}
		o.p.Apps, o.services = append(o.p.Apps, a), append(o.services, n)
	}
}

// swapCap is how many GPUs an application may change in a step to come.
func (h *ahead) swapCap(e *Engine, spec *workload.Service) int64 {
	return int64(spec.Swaps) * max(e.pol.Horizon.Step/spec.SwapEvery, 1)
}

// poolOf is the pool of an application: the one it is in; else the first with enough free for
// what it needs now, the first that takes enough work, the first.
func (h *ahead) poolOf(e *Engine, s *service, now workload.Time) int32 {
	j := &e.jobs[s.job]
	if j.state != waiting {
		return j.pool
	}
	pools := e.classes[j.class].shape.Pools
	if len(pools) == 1 {
		return pools[0]
	}
	need := int64(h.needs(e, j.spec.Service, s, now, 0))
	for _, p := range pools {
		if e.frees[p].Whole() >= need {
			return p
		}
	}
	for _, p := range pools {
		up := int64(0)
		for i, n := range e.layout.Pools[p].Nodes {
			if !e.frees[p].Shut(int32(i)) {
				up += int64(e.layout.Spec.Nodes[n].GPUs)
			}
		}
		if up >= need {
			return p
		}
	}
	return pools[0]
}

// coming are slots that jobs told to stop for an application still hold, as many as it
// lacks: they are its own already, so that nobody else is stopped in the meantime.
func (h *ahead) coming(e *Engine, s *service, pool int32, lack int, taken horizon.Set) []int {
	var list []int
	for _, v := range s.victims {
		if !e.leaves(v) || e.jobs[v.job].pool != pool {
			continue
		}
		for _, g := range h.row.slotsOf(e.jobs[v.job].grants) {
			if len(list) < lack && !taken.Has(g) {
				list = append(list, g)
				taken.Add(g)
			}
		}
	}
	return list
}

// needs is what an application will need in step t of a plan made now: the most that is
// forecast for the step, and now what it was told to need.
func (h *ahead) needs(e *Engine, spec *workload.Service, s *service, now workload.Time, t int) int {
	step := e.pol.Horizon.Step
	from := now + int64(t)*step
	if t == 0 && s.told {
		return max(int(s.demand), int(spec.Demand.Max(from+1, from+step)))
	}
	return int(spec.Demand.Max(from, from+step))
}

// curves fills in what the application will need, step by step: now what it was told to need,
// later the most that is forecast for the step.
func (h *ahead) curves(e *Engine, a *horizon.App, spec *workload.Service, s *service, now workload.Time) {
	pol := e.pol.Horizon
	for t := range int(pol.Steps) {
		from := now + int64(t)*pol.Step
		want := h.needs(e, spec, s, now, t)
		least := 0
		if len(spec.Min.Values) > 0 {
			least = min(int(spec.Min.Max(from, from+pol.Step)), want)
		}
		most := h.row.slots // more than it needs is a waste, and no wrong
		if len(spec.Max.Values) > 0 {
			most = max(int(spec.Max.Max(from, from+pol.Step)), want)
		}
		a.Min, a.Demand, a.Max = append(a.Min, least), append(a.Demand, want), append(a.Max, most)
	}
	peak := len(a.Current)
	for _, n := range a.Demand {
		peak = max(peak, n)
	}
	for t := range a.Max {
		a.Max[t] = min(a.Max[t], peak, h.row.slots) // nobody needs more than will be needed at some time
		a.Demand[t] = min(a.Demand[t], a.Max[t])
		a.Min[t] = min(a.Min[t], a.Demand[t])
	}
}
