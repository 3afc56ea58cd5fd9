package sim

import (
	"errors"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// present tells whether a job was submitted and has not ended.
func (r *run) present(n int32) bool {
	if n < 0 || int(n) >= len(r.state) {
		return false
	}
	s, st := &r.state[n], r.res.Jobs[n].State
	return s.on || s.parked || s.waits && (st == Unstarted || st == Requeued)
}

// waited books the time in the queue, or out of it by a hold, that ends now.
func (r *run) waited(n int32) {
	s, res := &r.state[n], &r.res.Jobs[n]
	switch {
	case s.holds == 0:
		res.Queued += r.now - s.queued
	case res.Starts == 0:
		res.Held += r.now - s.queued
	}
	s.queued = r.now
}

// hold keeps a job out of the queue or takes that back, unless it means nothing.
func (r *run) hold(f *fact.Fact) error {
	s := &r.state[f.Job]
	bit := uint8(1) << f.Hold
	if on := f.Kind == fact.JobHeld; on == (s.holds&bit != 0) {
		return nil
	}
	if st := r.eng.StateOf(f.Job); st == "refused" || st == "stuck" {
		return nil // it is about to be told so
	}
	if s.waits && !s.on {
		r.waited(f.Job)
	}
	s.holds ^= bit
	out := *f
	out.At, out.Node = r.now, -1
	return r.tell(&out)
}

// edit gives a job another priority, unless it is past waiting here, or has that already.
func (r *run) edit(f *fact.Fact) error {
	if s := &r.state[f.Job]; s.on || s.parked {
		return nil
	}
	out := *f
	out.At, out.Node = r.now, -1
	if err := r.tell(&out); !errors.Is(err, engine.ErrUnknown) {
		return err
	}
	return nil
}

// recorded makes the next late event happen.
func (r *run) recorded() error {
	f := r.from.late[r.from.at]
	r.from.at++
	r.lateAt = r.from.nextLate()
	if !r.present(f.Job) {
		return nil
	}
	switch f.Kind {
	case fact.JobHeld, fact.JobReleased:
		return r.hold(f)
	case fact.JobEdited:
		return r.edit(f)
	}
	if s := &r.state[f.Job]; s.on {
		if s.gone {
			return nil
		}
		s.gone = true // a stop follows
		return r.tell(&fact.Fact{Kind: fact.JobCancelled, At: r.now, Job: f.Job, Node: -1, By: f.By, Text: f.Text})
	}
	if err := r.withdraw(f.Job); err != nil {
		return err
	}
	return r.follow()
}

// withdraw ends a job that waits, or is parked, as its owner asks.
func (r *run) withdraw(n int32) error {
	s, res := &r.state[n], &r.res.Jobs[n]
	if s.waits {
		r.waited(n)
	}
	s.waits, s.parked = false, false
	if res.Starts == 0 {
		res.State, res.Outcome = Withdrawn, workload.OutcomeCancelled
		r.end(n)
	} else {
		r.takenBack(n)
	}
	r.fact = fact.Fact{Kind: fact.JobCancelled, At: r.now, Job: n, Node: -1}
	return r.tell(&r.fact)
}

// takenBack ends a job that has run, as its owner asks.
func (r *run) takenBack(n int32) {
	res := &r.res.Jobs[n]
	r.state[n].waits = false
	res.State, res.Outcome, res.Finish = Ended, workload.OutcomeCancelled, r.now
	r.end(n)
}

// follow does what follows from the ends of jobs.
func (r *run) follow() error {
	for len(r.over) > 0 {
		n := r.over[0]
		r.over = r.over[1:]
		if err := r.followed(n, true); err != nil {
			return err
		}
	}
	return nil
}

// followed does what follows from a submission or an end.
func (r *run) followed(n int32, ended bool) error {
	list := r.o.Follow(n, ended)
	for i := range list {
		if !r.present(list[i].Job) {
			continue
		}
		r.again = true // where a decision led to it, another is due
		if err := r.hold(&list[i]); err != nil {
			return err
		}
	}
	return nil
}
