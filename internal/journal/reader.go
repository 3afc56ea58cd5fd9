package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	encodehex "encoding/hex"
	"errors"
	"hash"
	"io"
	"math/bits"
	"unicode/utf8"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Entry is one line below the header: a fact, an action, a snapshot, the header of another
// segment, or a timer (all of these nil).
// It is good until the next one is read; a submitted job and a plan may be kept.
type Entry struct {
	// Line in the file, 1-based.
	Line int
	// Raw is the line as it stands, with its newline.
	Raw    []byte
	At     workload.Time
	Fact   *fact.Fact
	Action *fact.Action
	// State is that of a snapshot, Header that of a segment that begins here, at the time
	// of the line above; its snapshot follows.
	State  *engine.State
	Header *Header
}

// Reader reads a journal strictly, line by line. Every error is an [Error]
// unless the underlying reader failed.
type Reader struct {
	name   string
	in     *bufio.Reader
	sum    hash.Hash
	header *Header
	// first is the header line as it stands.
	first []byte
	long  []byte
	// raw is the line read last.
	raw    []byte
	number int
	jobs   int32
	names  names
	l      line
	entry  Entry
	fact   fact.Fact
	action fact.Action
	place  []fact.Grant
	// below: the line above was a header; known: jobs are numbered from jobs on, since all
	// before were seen, or stand in a snapshot.
	below, known bool
}

// NewReader reads the header. name is the file's, for messages.
func NewReader(name string, in io.Reader) (*Reader, error) {
	r := &Reader{name: name, in: bufio.NewReaderSize(in, 1<<20), sum: sha256.New(), names: names{}}
	if err := r.read(); errors.Is(err, io.EOF) {
		return nil, &Error{File: name, Line: 1, Msg: "the file is empty", Want: "a journal"}
	} else if err != nil {
		return nil, err
	}
	h, msg, want := parseHeader(r.raw)
	if msg != "" {
		return nil, r.fail(msg, want)
	}
	r.header, r.first, r.below = h, bytes.Clone(r.raw), true
	return r, nil
}

// Header is the first line, or that of the segment that the last entry is of.
func (r *Reader) Header() *Header { return r.header }

// Hash is the SHA-256, in hex, of all bytes read so far.
func (r *Reader) Hash() string { return encodehex.EncodeToString(r.sum.Sum(nil)) }

// Next returns the next entry, io.EOF behind the last.
func (r *Reader) Next() (*Entry, error) {
	if err := r.read(); errors.Is(err, io.EOF) && r.begun() {
		return nil, r.fail("the file stops behind a header", "the snapshot of the segment")
	} else if err != nil {
		return nil, err
	}
	var msg, want string
	if Is(r.raw) {
		msg, want = r.segment()
	} else if msg, want = r.l.parse(r.raw); msg == "" {
		msg, want = r.decode()
	}
	if msg != "" {
		return nil, r.fail(msg, want)
	}
	return &r.entry, nil
}

func (r *Reader) fail(msg, want string) *Error {
	return &Error{File: r.name, Line: r.number, Msg: msg, Want: want}
}

// read takes the next line.
func (r *Reader) read() error {
	const longest = 256 << 20
	r.number++
	part, err := r.in.ReadSlice('\n')
	r.raw = part
	for r.long = r.long[:0]; errors.Is(err, bufio.ErrBufferFull); part, err = r.in.ReadSlice('\n') {
		if r.long = append(r.long, part...); len(r.long) > longest {
			return r.fail("the line is longer than 256 MiB", "a journal")
		}
	}
	if len(r.long) > 0 {
		r.long = append(r.long, part...)
		r.raw = r.long
	}
	r.sum.Write(r.raw)
	switch {
	case errors.Is(err, io.EOF) && len(r.raw) == 0:
		r.number--
		return io.EOF
	case errors.Is(err, io.EOF):
		return r.fail("the file stops in the middle of a line", "a newline at the end of every line")
	case err != nil:
		return err
	case !utf8.Valid(r.raw):
		return r.fail("bytes that are no UTF-8", "UTF-8 text")
	case len(bytes.TrimSpace(r.raw)) == 0:
		return r.fail("an empty line", "one JSON object a line")
	}
	return nil
}

func (r *Reader) decode() (msg, want string) {
	l := &r.l
	if msg, want = l.need(fT); msg != "" {
		return msg, want
	}
	if l.given(fFact) == l.given(fDo) {
		return `a line needs either "fact" or "do"`, "one of the two"
	}
	at := l.num[fT]
	if r.entry.Line > 0 && at < r.entry.At {
		return "time goes back", "a time not before that of the line above"
	}
	begun := r.begun()
	below := r.below
	r.entry = Entry{Line: r.number, Raw: r.raw, At: at}
	r.below = false
	switch isState := l.given(fFact) && l.word[0] == len(kindWords); {
	case isState && below:
		r.entry.State, msg, want = r.state()
		return msg, want
	case isState:
		return "a snapshot in the middle of a segment", "one directly below a header"
	case begun:
		return "a segment without a snapshot", "one directly below a header that is not the first line"
	}
	r.known = true
	switch {
	case l.given(fDo):
		r.entry.Action = &r.action
		if msg, want = l.toAction(&r.action, r.place[:0]); msg == "" {
			r.place = r.action.Place[:0:cap(r.action.Place)]
			msg, want = r.checkAction(&r.action)
		}
	case l.word[0] != 0:
		r.entry.Fact = &r.fact
		if msg, want = l.toFact(&r.fact); msg == "" {
			msg, want = r.checkFact(&r.fact)
		}
	}
	return msg, want
}

// checkFact checks what a fact names, and reads budgets, windows, plans and submitted jobs.
func (r *Reader) checkFact(f *fact.Fact) (msg, want string) {
	aboutNode := f.Kind >= fact.NodeDown && f.Kind <= fact.NodeResumed
	if f.Node != -1 || aboutNode {
		if f.Node < 0 || int(f.Node) >= len(r.header.Cluster.Nodes) {
			return "no node has this number", "the number of a node of the header's cluster, from 0"
		}
	}
	switch {
	case aboutNode, f.Kind == fact.ClockStepped:
		return "", ""
	case f.Kind == fact.BudgetsChanged:
		f.Budgets, msg, want = r.l.budgets()
		return msg, want
	case f.Kind == fact.PlanProposed:
		if f.Plan, msg, want = r.l.plan(); msg == "" {
			msg, want = r.checkPlan(f.Plan)
		}
		return msg, want
	case f.Kind == fact.WindowSet, f.Kind == fact.WindowLifted:
		if f.Window, msg, want = r.l.window(f.Kind); msg == "" && f.Kind == fact.WindowSet {
			if err := f.Window.Check(len(r.header.Cluster.Nodes)); err != nil {
				return err.Error(), "a window, see docs/facts.md"
			}
		}
		return msg, want
	case f.Kind != fact.JobSubmitted:
		return r.checkJob(f.Job)
	case f.Job != r.jobs:
		return "a submission out of number", "the next number, jobs being numbered from 0"
	}
	r.jobs++
	f.Submitted, msg, want = r.names.spec(r.l.text[fSpec-fPlace])
	return msg, want
}

func (r *Reader) checkJob(n int32) (msg, want string) {
	if n < 0 || n >= r.jobs {
		return "no job of this number was submitted above", "the number of a submission"
	}
	return "", ""
}

func (r *Reader) checkAction(a *fact.Action) (msg, want string) {
	for _, n := range [...]int32{a.For, a.Reason.For} {
		if n < -1 || n >= r.jobs {
			return r.checkJob(n)
		}
	}
	if msg, want = r.checkPlace(a.Place); msg != "" {
		return msg, want
	}
	return r.checkJob(a.Job)
}

// checkPlan checks what the starts of a plan name.
func (r *Reader) checkPlan(p *fact.Plan) (msg, want string) {
	for i := range p.Starts {
		if msg, want = r.checkJob(p.Starts[i].Job); msg != "" {
			return msg, want
		}
		if msg, want = r.checkPlace(p.Starts[i].Place); msg != "" {
			return msg, want
		}
	}
	return "", ""
}

func (r *Reader) checkPlace(place []fact.Grant) (msg, want string) {
	spec := r.header.Cluster
	for i := range place {
		g := &place[i]
		if int(g.Node) >= len(spec.Nodes) || g.Milli > 1000 || bits.Len64(g.GPUs) > int(spec.Nodes[g.Node].GPUs) || g.CPU > maxTime || g.Memory > maxTime {
			return "the place names GPUs that the cluster does not have", "nodes and GPUs of the header's cluster"
		}
	}
	return "", ""
}

// Is tells whether a file begins as a journal does.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"escala":"journal"`)) }
