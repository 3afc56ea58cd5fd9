package live

import (
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// send gives the world what is on disk now.
func (d *Daemon) send(t *tx) {
	d.watch(t)
	d.passOn(t)
	if len(t.orders) > 0 {
		began := d.cfg.Now()
		d.cfg.World.Do(t.orders...)
		d.timed(Sent, began, len(t.orders))
	}
	if len(t.settled) > 0 {
		d.cfg.World.Settled(t.settled...)
	}
}

// startOrder is the order to begin the present run of a job.
func (d *Daemon) startOrder(n int32) world.Order {
	j := d.book.jobs[n]
	r := j.Run()
	o := d.order(fact.Start, j, r)
	o.Place, o.Count, o.Tasks, o.Unallocated = r.Place, r.Count, r.Tasks, r.Unallocated
	if r.Protected != 0 {
		o.Protected = d.clock.wall(r.Protected)
	}
	o.Limit = time.Duration(j.Spec.Limit) * time.Millisecond
	o.Why = report.Sentence(r.Why, d.names())
	o.Done, o.Real = time.Duration(j.Kept)*time.Millisecond, d.realOf(j.Real)
	if r.Attempt > 1 {
		o.Restart = time.Duration(d.defaults().Fill(j.Spec.Contract).RestartCost) * time.Millisecond
	}
	return o
}

// stopOrder is the order to end the present run of a job.
func (d *Daemon) stopOrder(n int32) world.Order {
	j := d.book.jobs[n]
	r := j.Run()
	o := d.order(fact.Stop, j, r)
	o.Grace = time.Duration(max(d.grace(j, r), 0)) * time.Millisecond
	a := fact.Action{Reason: r.StopWhy}
	o.Cause = a.Cause()
	if j.EndedBy != "" || r.StopWhy.Code == fact.Withdrawn {
		o.Cause = fact.CauseCancelled
	}
	o.Why = report.StopSentence(r.StopWhy, r.Unallocated && d.header.Policy.Sharing != nil, d.names())
	return o
}

// grace is how long a run that was told to stop still has.
func (d *Daemon) grace(j *Job, r *JobRun) workload.Span {
	if r.Deadline != 0 {
		return r.Deadline - r.Told
	}
	return d.defaults().Fill(j.Spec.Contract).Grace
}

func (d *Daemon) resizeOrder(n int32) world.Order {
	j := d.book.jobs[n]
	r := j.Run()
	o := d.order(fact.Resize, j, r)
	o.Place, o.Count = r.Place, r.Count
	return o
}

func (d *Daemon) order(do fact.Do, j *Job, r *JobRun) world.Order {
	return world.Order{Do: do, Run: world.Run{Job: j.Number, Attempt: r.Attempt}, ID: j.Spec.ID, Spec: j.Spec}
}

// beliefs are the runs that are alive as far as the journal tells.
func (d *Daemon) beliefs() []world.Belief {
	var out []world.Belief
	for _, n := range d.book.alive {
		j := d.book.jobs[n]
		if j == nil {
			continue
		}
		switch j.Phase {
		case Starting, Running, Stopping:
			out = append(out, world.Belief{Order: d.startOrder(n), Up: j.Run().Up != workload.Unknown, Stopping: j.Phase == Stopping, Since: d.clock.wall(j.Run().Up)})
		}
	}
	return out
}

// names names jobs by ID and times on the wall, for reasons in sentences. The caller holds
// the book's lock.
func (d *Daemon) names() report.Namer { return namer{d} }

type namer struct{ d *Daemon }

func (n namer) Job(i int32) string {
	if j := n.d.book.jobs[i]; j != nil {
		return "job " + j.Spec.ID
	}
	return "another job"
}

func (n namer) Time(t workload.Time) string {
	return n.d.clock.wall(t).Local().Format("2006-01-02 15:04:05")
}
