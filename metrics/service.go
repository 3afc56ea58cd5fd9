package metrics

import (
	"math/bits"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// realtime watches the real-time applications of a run: what each needs and what it holds.
type realtime struct {
	list []service
	// over is what all of them hold and do not serve with, short what they lack, in
	// milli-GPU: now, and as it has held since the last instant.
	over, short         int64
	heldOver, heldShort int64
	// hours in which any of them lacked something: in all, and in the window.
	hours  [2]hourCount
	series serviceSeries
}

// service is what is known of one application. Its levels change at facts and actions;
// what held in between is summed up when one does.
type service struct {
	job    int32
	spec   *workload.Job
	group  int32
	submit workload.Time
	// end of its life, [workload.Never] while it is to come; refused: it never ran, since it cannot.
	end     workload.Time
	refused bool
	// demand and held in milli-GPU, since the last change; up: its run has come true, so
	// that what it holds serves.
	demand, held int64
	up           bool
	since        workload.Time
	// all time, and the window.
	all, win serviceSums
}

// serviceSums are what came of an application in one stretch of time.
type serviceSums struct {
	asked, served, over area
	short               hourCount
	// swaps are GPUs gained and lost while it ran, stops runs that ended before it did.
	swaps, stops int64
}

// served is the part of the demand that is met.
func (s *service) served() int64 {
	if !s.up {
		return 0
	}
	return min(s.held, s.demand)
}

func (u *serviceSums) add(s *service, from, to workload.Time) {
	if to <= from {
		return
	}
	served := s.served()
	u.asked.add(s.demand, to-from)
	u.served.add(served, to-from)
	u.over.add(s.held-served, to-from)
	if s.demand > served {
		u.short.add(from, to)
	}
}

// shortfall is what was asked for and not served.
func (u *serviceSums) shortfall() area { return u.asked.minus(u.served) }

// book sums up the time since the last change. What the group asked for and got in the
// window follows.
func (s *service) book(at, from, to workload.Time, g *group) {
	if at <= s.since {
		return
	}
	s.all.add(s, s.since, at)
	if ms := overlap(s.since, at, from, to); ms > 0 {
		s.win.add(s, max(s.since, from), min(at, to))
		served := s.served()
		g.over.add(s.held-served, ms)
		g.waited.add(s.demand-served, ms)
	}
	s.since = at
}

// within tells whether the application belongs to the figures of a window: some part of
// its life does, or it was submitted in it.
func (s *service) within(from, to workload.Time, sel *Window) bool {
	return to <= from || sel.Contains(s.submit) || s.submit < to && s.end > from
}

// change makes something of an application another from now on.
func (c *Collector) change(j *jobState, at workload.Time, to func(*service)) {
	if j.service < 0 {
		return
	}
	rt := &c.realtime
	s := &rt.list[j.service]
	if rt.series.limit > 0 && c.began {
		rt.series.add(int(j.service), s, c.begin, at)
	}
	s.book(at, c.from, c.to, &c.groups.rows[s.group])
	served := s.served()
	rt.over, rt.short = rt.over-(s.held-served), rt.short-(s.demand-served)
	to(s)
	served = s.served()
	rt.over, rt.short = rt.over+(s.held-served), rt.short+(s.demand-served)
}

// holds makes what an application holds that of its run.
func (c *Collector) holds(j *jobState, at workload.Time) {
	c.change(j, at, func(s *service) { s.held, s.up = j.milli, j.up })
}

// addService begins to watch an application.
func (c *Collector) addService(n int32, j *jobState, spec *workload.Job) {
	if spec.Service == nil {
		return
	}
	j.service = int32(len(c.realtime.list))
	c.realtime.list = append(c.realtime.list, service{job: n, spec: spec, group: j.group, submit: j.submit, since: j.submit, end: workload.Never})
}

// demandChanged takes in what an application needs now. While it waits that is what it
// asks for, and no longer the most it will ever need.
func (c *Collector) demandChanged(f *fact.Fact) {
	j := c.job(f.Job)
	if j == nil || j.service < 0 || c.realtime.list[j.service].end != workload.Never {
		return
	}
	milli := int64(f.Demand) * 1000
	c.change(j, f.At, func(s *service) { s.demand = milli })
	if j.counts {
		c.accounts.ask(j.queues, milli-j.asks)
	}
	j.asks = milli
}

// retire ends the life of an application: it needs nothing any more.
func (c *Collector) retire(j *jobState, at workload.Time) {
	c.change(j, at, func(s *service) { s.demand, s.end = 0, min(s.end, at) })
}

// refused ends the life of an application that can never run.
func (c *Collector) refused(j *jobState, at workload.Time) {
	c.change(j, at, func(s *service) { s.refused = true })
	c.retire(j, at)
}

// serviceStopped takes in that the run of an application ended. It is the end of the
// application too, unless it will run again.
func (c *Collector) serviceStopped(j *jobState, f *fact.Fact) {
	if j.service < 0 || f.Kind == fact.StartFailed {
		return
	}
	s := &c.realtime.list[j.service]
	lasts := f.Kind == fact.JobStopped && f.Cause != fact.CauseCancelled
	if lasts {
		s.all.stops++
		if f.At >= c.from && f.At < c.to {
			s.win.stops++
		}
	}
	if !lasts || s.spec.Contract.NotResumable && j.up && f.Cause != fact.CauseNodeFailure && f.Cause != fact.CauseParked {
		c.retire(j, f.At)
	}
}

// swapped counts the GPUs that a resize takes and gives.
func (c *Collector) swapped(j *jobState, a *fact.Action) {
	if j.service < 0 {
		return
	}
	s := &c.realtime.list[j.service]
	n := swaps(c.open.of(j.slot), a.Place)
	if len(c.cfg.Cluster.Nodes) == 0 { // GPUs without names
		n = max(a.Milli-j.milli, j.milli-a.Milli) / 1000
	}
	s.all.swaps += n
	if a.At >= c.from && a.At < c.to {
		s.win.swaps += n
	}
}

// swaps counts the GPUs that are in one of two lists of grants only.
func swaps(a, b []fact.Grant) int64 {
	n := 0
	for i := range a {
		n += bits.OnesCount64(a[i].GPUs)
	}
	for i := range b {
		n += bits.OnesCount64(b[i].GPUs)
		for k := range a {
			if a[k].Node == b[i].Node {
				n -= 2 * bits.OnesCount64(a[k].GPUs&b[i].GPUs)
			}
		}
	}
	return int64(n)
}

// advance counts the time since the last instant, in which nothing changed.
func (rt *realtime) advance(last, now, from, to workload.Time) {
	if rt.heldShort > 0 {
		rt.hours[0].add(last, now)
		rt.hours[1].add(max(last, from), min(now, to))
	}
}

// settle makes the levels of now hold from this instant on.
func (rt *realtime) settle() { rt.heldOver, rt.heldShort = rt.over, rt.short }
