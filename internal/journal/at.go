package journal

import (
	"errors"
	"io"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Watcher is told what a journal holds while it is folded, with the engine as it
// stands: it may look at the engine, and change nothing. What it is handed is good
// until it returns; a submitted job and a plan may be kept.
type Watcher interface {
	// Fact was applied.
	Fact(e *engine.Engine, f *fact.Fact)
	// Before an action is committed. Time has come to the action's: shares are those
	// that it was decided by.
	Before(e *engine.Engine, a *fact.Action)
	// After it was committed.
	After(e *engine.Engine, a *fact.Action)
}

// Folded is a journal folded up to a time.
type Folded struct {
	Replayed
	// Next is the first line after the time, nil where the journal ends before. It is
	// good until the reader is asked for another.
	Next *Entry
}

// At folds a journal up to a time, the lines of that time included; [workload.Never]
// folds all of it. Then everything is looked at once more, as if it were to be
// decided, so that [engine.Engine.Explain] has its reasons: what it would do is not
// done. The reader stands behind the first line after the time, which is Next.
//
// No decision must be asked of the engine afterwards. Now is the time asked for, or
// that of the last line where the journal ends before.
func At(r *Reader, at workload.Time, w Watcher) (*Folded, error) {
	p, err := newReplay(r)
	if err != nil {
		return nil, err
	}
	f := &fold{p: p, w: w}
	for {
		e, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return f.end(p.out.Now, nil)
		case err != nil:
			return nil, err
		case e.At > at:
			return f.end(at, e)
		}
		if err := f.entry(e); err != nil {
			return nil, err
		}
	}
}

// fold is one in progress.
type fold struct {
	p *replay
	w Watcher
}

func (f *fold) entry(e *Entry) error {
	p := f.p
	if e.Action == nil {
		if err := p.entry(e); err != nil || e.Fact == nil {
			return err
		}
		f.w.Fact(p.out.Engine, e.Fact)
		return nil
	}
	if e.At > p.out.Now {
		if err := p.instant(e); err != nil {
			return err
		}
	}
	if p.due {
		p.decide()
	}
	f.w.Before(p.out.Engine, e.Action)
	if err := p.entry(e); err != nil {
		return err
	}
	f.w.After(p.out.Engine, e.Action)
	return nil
}

// end brings the state up to the time and has all of it looked at.
func (f *fold) end(at workload.Time, next *Entry) (*Folded, error) {
	p := f.p
	if err := p.end(p.r.number+1, nil); err != nil {
		return nil, err
	}
	if p.out.Now == workload.Unknown { // nothing happened yet
		return &Folded{Replayed: p.out, Next: next}, nil
	}
	p.out.Engine.Reconsider()
	p.out.Engine.Decide(at)
	p.out.Now = at
	return &Folded{Replayed: p.out, Next: next}, nil
}
