package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// retire stops what runs on drained nodes once nothing there is protected any more
// (SEMANTICS 31).
func (e *Engine) retire(d *decision) {
	if e.nDrained == 0 {
		return
	}
	s := e.sharing
	for n := range e.drained {
		if !e.drained[n] || len(s.onNode[n]) == 0 {
			continue
		}
		last := d.now
		for _, v := range s.onNode[n] {
			switch c := &s.jobs[v]; {
			case c.unallocated || c.open || e.jobs[v].state == stopping:
			case e.jobs[v].state == starting:
				last = max(last, c.until, d.now+1) // its protection counts from its confirmation
			default:
				last = max(last, c.until)
			}
		}
		if last > d.now {
			d.wake = min(d.wake, last)
			continue
		}
		for _, v := range s.onNode[n] {
			if j := &e.jobs[v]; (j.state == running || j.state == starting) && !j.leaving {
				e.stopFor(d, v, none, fact.Reason{Code: fact.Drained, For: none}, 0)
			}
		}
	}
}

// stopFor decides to stop a run for another job, or for none; wait lets it reach a
// checkpoint first where that is soon.
func (e *Engine) stopFor(d *decision, v, winner int32, reason fact.Reason, wait workload.Span) {
	s := e.sharing
	j := &e.jobs[v]
	if e.parks(v) && reason.Code != fact.Drained && reason.Code != fact.InWindow {
		reason.Code = fact.Idle
	}
	until := d.now + e.graceOf(v, s.jobs[v].unallocated)
	if c := e.contract(j); wait > 0 && !c.CheckpointOnStop && c.CheckpointInterval > 0 {
		done := j.kept + e.progress(j, d.now)
		if left := scale(c.CheckpointInterval-done%c.CheckpointInterval, e.speed(j, j.pool)); left <= wait {
			until = max(until, d.now+left)
		}
	}
	j.leaving = true
	d.leaving = append(d.leaving, v)
	d.actions = append(d.actions, fact.Action{Do: fact.Stop, Job: v, Attempt: j.attempt, For: winner, Count: devices(j.milli), Milli: j.milli,
		At: d.now, Until: until, Reason: reason})
	d.again = true
}

// graceOf is how long the run of a job may take to stop.
func (e *Engine) graceOf(n int32, unallocated bool) workload.Span {
	s := e.sharing
	c := e.contract(&e.jobs[n])
	most := s.pol.GraceAllocated
	if unallocated {
		most = s.pol.GraceUnallocated
	}
	switch {
	case c.Grace > 0:
		return min(c.Grace, most)
	case c.CheckpointOnStop:
		return most
	}
	return 0
}

func (s *sharing) longestGrace() workload.Span {
	return max(s.pol.GraceAllocated, s.pol.GraceUnallocated)
}

// resumable tells whether a stopped job goes on where it was.
func resumable(j *job) bool { return !j.spec.Contract.NotResumable }
