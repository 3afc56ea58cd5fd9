package whatif

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/workload"
)

// PolicyChanged says that another policy came to decide within the stretch.
type PolicyChanged struct {
	At       workload.Time
	From, To string
	// Assumptions: it is what was assumed of jobs that changed.
	Assumptions bool
}

func (e *PolicyChanged) Error() string {
	if e.Assumptions {
		return "what is assumed of jobs that say nothing about interruption changed within the stretch"
	}
	return fmt.Sprintf("the policy changed within the stretch, from %s to %s: there is no one policy to compare with", e.From, e.To)
}

// stretch is a part of a journal: the state that it begins with, and the lines after that.
type stretch struct {
	j *Journal
	// from and to are its bounds, both in it, now the time of the state, which is that of the
	// last line before. whole: it begins where the journal does.
	from, to, now workload.Time
	whole         bool
	header        *journal.Header
	book          *book
	// engine is in the state that it begins with, last in that at its end; idleAfter is the
	// work that sessions had done when they became idle in it.
	engine, last *engine.Engine
	idleAfter    map[int32]workload.Span
	// first is the number of the first job that is submitted in it.
	first int32
	rest  []byte
}

// cut reads the stretch [from, to] of a journal. One that begins before the journal does
// begins with it.
func (j *Journal) cut(from, to workload.Time) (*stretch, error) {
	s := &stretch{j: j, from: max(from, j.First), to: min(to, j.End), whole: from <= j.First, book: newBook(), idleAfter: map[int32]workload.Span{}}
	x, err := j.mark(s)
	if err != nil {
		return nil, err
	}
	r, err := journal.NewReader(j.Name, bytes.NewReader(j.data[x.segment:x.begin]))
	if err != nil {
		return nil, err
	}
	got, err := journal.Fold(r, nobody{})
	if err != nil {
		return nil, err
	}
	s.engine, s.now, s.rest = got.Engine, got.Now, j.data[x.begin:x.end]
	if s.now == workload.Unknown {
		s.now = j.First
	}
	s.first = s.engine.Snapshot().Next()
	return s, s.play(&ender{s: s})
}

// play folds the stretch from its state on.
func (s *stretch) play(w journal.Folder) error {
	data, err := s.segment()
	if err != nil {
		return err
	}
	r, err := journal.NewReader(s.j.Name, bytes.NewReader(data))
	if err != nil {
		return err
	}
	got, err := journal.Fold(r, w)
	if err != nil {
		return fmt.Errorf("going on from the state at %d ms: %w", s.now, err)
	}
	s.last = got.Engine
	return nil
}

// ender sees how far sessions were when they became idle.
type ender struct {
	s *stretch
	e *engine.Engine
}

func (w *ender) Snapshot(e *engine.Engine, _ []byte) { w.e = e }
func (w *ender) Action(*fact.Action)                 {}
func (w *ender) Fact(f *fact.Fact) {
	if f.Kind != fact.SessionIdle {
		return
	}
	if _, ok := w.s.idleAfter[f.Job]; !ok {
		w.s.idleAfter[f.Job], _, _ = w.e.Settle(f.Job, f.Since, f.Since, fact.CauseNone)
	}
}

// marks are where in the bytes the segment of the stretch's beginning, the stretch, and what
// is behind it begin.
type marks struct{ segment, begin, end int }

// mark reads the journal into the book and finds where the stretch lies.
func (j *Journal) mark(s *stretch) (x marks, err error) {
	r, err := journal.NewReader(j.Name, bytes.NewReader(j.data))
	if err != nil {
		return x, err
	}
	s.header = r.Header()
	x.begin, x.end = -1, len(j.data)
	header := 0
	for at, first := bytes.IndexByte(j.data, '\n')+1, true; ; first = false {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return x.done(s), nil
		}
		if err != nil {
			return x, err
		}
		begins := at
		switch {
		case e.Header != nil:
			header = at
		case e.State != nil: // its header stands above it
			begins = header
		}
		switch {
		case e.State != nil && first: // the file begins with it
			s.book.state(e.State, e.Line)
			s.whole = false
		case e.Header != nil:
		case e.At > s.to:
			x.end = begins
			return x.done(s), nil
		case !s.book.late && s.begins(e):
			x.begin, s.book.late = begins, true
		}
		if e.State != nil && s.book.late {
			if err := s.sameRules(e.At, r.Header()); err != nil {
				return x, err
			}
		} else if e.State != nil {
			x.segment, s.header = header, r.Header()
		}
		s.book.entry(e)
		at += len(e.Raw)
	}
}

// done ends the reading.
func (x marks) done(s *stretch) marks {
	if x.begin < 0 {
		x.begin = x.end
	}
	slices.Sort(s.book.order)
	return x
}

// begins tells whether a line is behind the state that the stretch begins with. At the
// beginning of a journal the budgets are a part of that.
func (s *stretch) begins(e *journal.Entry) bool {
	if s.whole {
		return e.Fact == nil || e.Fact.Kind != fact.BudgetsChanged
	}
	return e.At >= s.from
}

// sameRules holds that the next segment goes by the same policy.
func (s *stretch) sameRules(at workload.Time, h *journal.Header) error {
	switch {
	case !bytes.Equal(h.Policy.YAML(), s.header.Policy.YAML()):
		return &PolicyChanged{At: at, From: s.header.Policy.Name, To: h.Policy.Name}
	case h.Assume != s.header.Assume:
		return &PolicyChanged{At: at, Assumptions: true}
	}
	return nil
}

// segment is the stretch as a journal of its own.
func (s *stretch) segment() ([]byte, error) {
	b, err := journal.AppendHeader(nil, s.header)
	if err != nil {
		return nil, err
	}
	state := s.engine.Snapshot()
	b = journal.AppendSnapshot(b, max(state.Now(), 0), state)
	return append(b, s.rest...), nil
}

// nobody looks at a journal while it is folded.
type nobody struct{}

func (nobody) Snapshot(*engine.Engine, []byte) {}
func (nobody) Fact(*fact.Fact)                 {}
func (nobody) Action(*fact.Action)             {}
