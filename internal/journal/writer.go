package journal

import (
	"crypto/sha256"
	encodehex "encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// chunk is how much is gathered before it is hashed and written.
const chunk = 1 << 20

// Writer writes a journal. It observes a run; the first failure stops it and is
// told by Close.
type Writer struct {
	out   io.Writer
	buf   []byte
	sum   hash.Hash
	lines int64
	// told: this instant has a line already.
	told bool
	err  error
	done bool
}

var _ sim.Observer = (*Writer)(nil)

// NewWriter begins a journal on out.
func NewWriter(out io.Writer, h *Header) (*Writer, error) {
	w := &Writer{out: out, sum: sha256.New(), buf: make([]byte, 0, chunk+4096)}
	var err error
	w.buf, err = AppendHeader(w.buf, h)
	w.lines++
	return w, err
}

// Segment begins another segment: from here on the journal can be read by itself. s is
// the state of the engine at a time not before that of the last line.
func (w *Writer) Segment(h *Header, at workload.Time, s *engine.State) {
	if !w.ready() {
		return
	}
	var b []byte
	if b, w.err = AppendHeader(w.buf, h); w.err != nil {
		return
	}
	w.buf = AppendSnapshot(b, at, s)
	w.lines += 2
}

// Fact writes a fact down.
func (w *Writer) Fact(f *fact.Fact) {
	if w.told = true; w.ready() {
		if f.Kind == fact.JobSubmitted && f.Submitted == nil || f.Kind == fact.BudgetsChanged && f.Budgets == nil ||
			f.Kind == fact.PlanProposed && f.Plan == nil || (f.Kind == fact.WindowSet || f.Kind == fact.WindowLifted) && f.Window == nil || f.Kind.String() == "" {
			w.err = fmt.Errorf("journal: line %d would be a fact that says nothing", w.lines+1)
			return
		}
		w.buf = AppendFact(w.buf, f)
		w.lines++
	}
}

// Action writes an action down, below a timer line where no fact led to it.
func (w *Writer) Action(a *fact.Action) {
	if !w.ready() {
		return
	}
	if !w.told {
		w.timer(a.At)
	}
	w.buf = AppendAction(w.buf, a)
	w.lines++
}

// Instant ends an instant. One without a fact was a decision that time alone led to.
func (w *Writer) Instant(g *sim.Gauge) {
	if !w.told && w.ready() {
		w.timer(g.At)
	}
	w.told = false
}

func (w *Writer) timer(at int64) {
	w.buf = AppendTimer(w.buf, at)
	w.lines++
	w.told = true
}

// ready tells whether to go on, and makes room.
func (w *Writer) ready() bool {
	if len(w.buf) >= chunk {
		w.flush()
	}
	return w.err == nil
}

func (w *Writer) flush() {
	if w.err != nil {
		return
	}
	w.sum.Write(w.buf)
	if _, err := w.out.Write(w.buf); err != nil {
		w.err = fmt.Errorf("journal: %w", err)
	}
	w.buf = w.buf[:0]
}

// Close writes what is left and tells the first failure. The file is the caller's.
func (w *Writer) Close() error {
	if w.done {
		return errors.New("journal: closed before")
	}
	w.flush()
	w.done = true
	return w.err
}

// Lines is the number of lines so far, the header included.
func (w *Writer) Lines() int64 { return w.lines }

// Hash is the SHA-256 of all bytes, in hex. It is final after Close.
func (w *Writer) Hash() string { return encodehex.EncodeToString(w.sum.Sum(nil)) }
