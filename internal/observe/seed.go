package observe

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/workload"
)

// seed tells metrics of a state that others before them have seen come to be, as facts of now.
type seed struct {
	m  *Metrics
	at workload.Time
}

func (s *seed) fact(f fact.Fact) {
	f.At = s.at
	s.m.c.Fact(&f)
}

func (s *seed) nodes() {
	for i, n := range s.m.d.Nodes() {
		if n.Down {
			s.fact(fact.Fact{Kind: fact.NodeDown, Node: int32(i), Job: -1})
		}
		if n.Drained {
			s.fact(fact.Fact{Kind: fact.NodeDrained, Node: int32(i), Job: -1})
		}
	}
}

func (s *seed) jobs() {
	for after, more := int32(-1), true; more; {
		var list []live.Job
		list, more = s.m.d.Alive(live.Filter{}, after, 1000)
		for i := range list {
			s.job(&list[i])
			after = list[i].Number
		}
	}
}

// job tells of one: what it had before counts in its waits, and not in what was charged.
func (s *seed) job(j *live.Job) {
	spec := j.Spec
	if len(j.Runs) > 0 && len(spec.After) > 0 { // it waits for nobody any more
		own := *spec
		own.After = nil
		spec = &own
	}
	n := j.Number
	s.fact(fact.Fact{Kind: fact.JobSubmitted, Job: n, Node: -1, Submitted: spec})
	x := s.m.jobs.submitted(n, spec, spec.Submit)
	for h := fact.HoldOwner; h <= fact.HoldElsewhere; h++ {
		if j.Holds>>h&1 == 1 {
			s.fact(fact.Fact{Kind: fact.JobHeld, Job: n, Node: -1, Hold: h})
			s.m.jobs.fact(&fact.Fact{Kind: fact.JobHeld, Job: n, Hold: h, At: s.at})
		}
	}
	x.assigned, x.checked, x.ran = len(j.Runs) > 0, len(j.Runs) > 0, j.FirstStart() != workload.Unknown
	x.gone = j.EndedBy != ""
	s.runs(j, x)
	switch r := j.Run(); j.Phase {
	case live.Starting, live.Running, live.Stopping:
		s.run(j, r, x)
	case live.Parked:
		s.fact(fact.Fact{Kind: fact.JobStopped, Job: n, Node: -1, Cause: fact.CauseParked})
		x.isParked = true
	}
	s.m.jobs.settle(x, s.at)
}

// runs recalls how long a job was in the queue before its runs.
func (s *seed) runs(j *live.Job, x *job) {
	for i := range j.Runs {
		r := &j.Runs[i]
		if r.Up == workload.Unknown {
			continue
		}
		x.queued += r.Up - x.queuedAt
		if r.Left != workload.Unknown {
			x.queuedAt = r.Left
		}
	}
	if r := j.Run(); r != nil && r.Left != workload.Unknown && r.End == fact.JobStopped {
		x.stopped = true
	}
}

// run has a job have its present run.
func (s *seed) run(j *live.Job, r *live.JobRun, x *job) {
	s.m.c.Action(&fact.Action{Do: fact.Start, Job: j.Number, Attempt: r.Attempt, At: s.at, Count: r.Count, Milli: r.Milli, Unallocated: r.Unallocated, Place: r.Place})
	s.m.jobs.take(x)
	x.placed, x.has, x.class = true, r.Milli, allocated
	if r.Unallocated || x.free {
		x.class = unallocated
	}
	if r.Up != workload.Unknown {
		x.up = true
		s.fact(fact.Fact{Kind: fact.JobStarted, Job: j.Number, Attempt: r.Attempt, Node: -1})
	}
	if j.Phase == live.Stopping {
		s.m.c.Action(&fact.Action{Do: fact.Stop, Job: j.Number, Attempt: r.Attempt, At: s.at, For: -1})
	}
}
