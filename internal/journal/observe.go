package journal

import (
	"errors"
	"io"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
)

// Opener is an observer that wants to see the snapshot with which a file begins. The line may hold
// more than the state; it is good until Open returns.
type Opener interface {
	Open(s *engine.State, line []byte)
}

// Observe folds a journal as [Replay] does and shows it to observers as the run that
// wrote it did: facts and actions in order, and the state after each instant. A metric
// collected from a journal is that of the run. Where the file begins with a snapshot, what
// is alive in it is shown as if it were submitted, and had started, at that time.
func Observe(r *Reader, observers ...sim.Observer) (*Replayed, error) {
	p, err := newReplay(r)
	if err != nil {
		return nil, err
	}
	begun := false
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			if begun {
				p.show(observers)
			}
			return &p.out, p.end(r.number+1, nil)
		}
		if err != nil {
			return nil, err
		}
		if begun && e.At > p.out.Now {
			p.show(observers)
		}
		if e.State != nil && !begun {
			for _, o := range observers {
				if o, ok := o.(Opener); ok {
					o.Open(e.State, e.Raw)
				}
			}
			tellState(e.State, observers)
		}
		begun = begun || e.Header == nil
		if e.Action != nil {
			for _, o := range observers {
				o.Action(e.Action)
			}
		}
		if err := p.entry(e); err != nil {
			return nil, err
		}
		if e.Fact != nil {
			for _, o := range observers {
				o.Fact(e.Fact)
			}
		}
	}
}

// tellState shows observers what is alive in a state.
func tellState(s *engine.State, observers []sim.Observer) {
	tell := func(f fact.Fact) {
		f.At, f.Node = s.Now(), -1
		for _, o := range observers {
			o.Fact(&f)
		}
	}
	if t, epoch := s.Budgets(); t != nil {
		tell(fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Budgets: t, Epoch: epoch})
	}
	for _, x := range s.Alive() {
		tell(fact.Fact{Kind: fact.JobSubmitted, Job: x.Number, Submitted: x.Job, Estimate: x.Estimate})
		if !x.Runs {
			continue
		}
		a := fact.Action{Do: fact.Start, Job: x.Number, Attempt: x.Attempt, For: -1, Tasks: x.Tasks, Count: int32((x.Milli + 999) / 1000), Milli: x.Milli,
			At: s.Now(), Until: x.Until, Unallocated: x.Unallocated, Place: x.Place, Reason: fact.Reason{For: -1}}
		for _, o := range observers {
			o.Action(&a)
		}
		if x.Up {
			tell(fact.Fact{Kind: fact.JobStarted, Job: x.Number, Attempt: x.Attempt})
		}
	}
}

// show tells observers the state after an instant.
func (p *replay) show(observers []sim.Observer) {
	g := p.out.Engine.Gauge()
	out := sim.Gauge{At: p.out.Now, Installed: g.Installed, Available: g.Available, Assigned: g.Assigned, Held: g.Held,
		WaitingJobs: g.WaitingJobs, WaitingMilli: g.WaitingMilli, RunningJobs: g.RunningJobs}
	out.Fragmented = g.WaitingJobs > 0 && p.out.Engine.Fragmented()
	for _, o := range observers {
		o.Instant(&out)
	}
}
