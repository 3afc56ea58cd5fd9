package journal

import (
	"errors"
	"io"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
)

// Folder is told what a journal holds while it is folded.
type Folder interface {
	// Snapshot began the segment: the engine was restored from it. raw is the line, which may
	// hold more than the engine's state; it is good until Snapshot returns.
	Snapshot(e *engine.Engine, raw []byte)
	Fact(f *fact.Fact)
	Action(a *fact.Action)
}

// Fold folds a journal as [Replay] does without verifying, and tells what it holds. A submitted
// job and a plan may be kept, everything else is good until the call returns.
func Fold(r *Reader, w Folder) (*Replayed, error) {
	p, err := newReplay(r)
	if err != nil {
		return nil, err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return &p.out, p.end(r.number+1, nil)
		}
		if err == nil {
			err = p.entry(e)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case e.State != nil:
			w.Snapshot(p.out.Engine, e.Raw)
		case e.Fact != nil:
			w.Fact(e.Fact)
		case e.Action != nil:
			w.Action(e.Action)
		}
	}
}
