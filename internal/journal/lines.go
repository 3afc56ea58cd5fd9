package journal

import (
	"crypto/sha256"
	"encoding/base64"
	encodehex "encoding/hex"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
)

// A live system writes its journal line by line, as things happen.

// AppendHeader appends the first line of a segment.
func AppendHeader(b []byte, h *Header) ([]byte, error) { return h.appendTo(b) }

// AppendFact appends the line of a fact.
func AppendFact(b []byte, f *fact.Fact) []byte { return appendFact(b, f) }

// AppendAction appends the line of an action.
func AppendAction(b []byte, a *fact.Action) []byte { return appendAction(b, a) }

// AppendTimer appends the line that says that time alone led to a decision.
func AppendTimer(b []byte, at int64) []byte { return appendTimer(b, at) }

// AppendSnapshot appends the line below the header of a segment that goes on from a state.
func AppendSnapshot(b []byte, at int64, s *engine.State) []byte {
	state := s.AppendTo(nil)
	sum := sha256.Sum256(state)
	b = word(number(b, `{"t":`, at), `,"fact":"`, snapshotWord)
	b = base64.StdEncoding.AppendEncode(append(b, `,"state":"`...), state)
	b = encodehex.AppendEncode(append(b, `","sha256":"`...), sum[:])
	return append(b, '"', '}', '\n')
}

// snapshotWord stands for the fact that a segment goes on from a state.
const snapshotWord = "snapshot"
