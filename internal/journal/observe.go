package journal

import (
	"errors"
	"io"

	"github.com/escala-sched/escala/sim"
)

// Observe folds a journal as [Replay] does and shows it to observers as the run that
// wrote it did: facts and actions in order, and the state after each instant. A metric
// collected from a journal is that of the run.
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
		begun = true
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
