package journal

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/workload"
)

// AppendSnapshot appends the line that holds a whole state, as of a time. It stands directly
// below a header: together they begin a segment, which can be read without what is above.
func AppendSnapshot(b []byte, at workload.Time, s *engine.State) []byte {
	data := s.AppendTo(nil)
	b = number(b, `{"t":`, at)
	b = word(b, `,"fact":"`, snapshotWord)
	b = append(b, `,"state":"`...)
	b = base64.StdEncoding.AppendEncode(b, data)
	return append(word(b, `","sha256":"`, s.Hash()), '}', '\n')
}

// begun tells whether a segment that is not the first has begun, and its snapshot is to come.
func (r *Reader) begun() bool { return r.below && r.entry.Header != nil }

// segment reads the header of another segment.
func (r *Reader) segment() (msg, want string) {
	if r.begun() {
		return "a header below a header", "the snapshot of the segment"
	}
	h, msg, want := parseHeader(r.raw)
	if msg != "" {
		return msg, want
	}
	r.header, r.below = h, true
	r.entry = Entry{Line: r.number, Raw: r.raw, At: r.entry.At, Header: h}
	return "", ""
}

// state reads a snapshot.
func (r *Reader) state() (s *engine.State, msg, want string) {
	l := &r.l
	if msg, want = l.need(fState, fSHA); msg != "" {
		return nil, msg, want
	}
	text, ok := plain(l.text[fState-fPlace])
	if !ok {
		return nil, "state is no text", "the bytes of a state in base64"
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(data, text)
	if err != nil {
		return nil, "state is no base64: " + err.Error(), "the bytes of a state in base64"
	}
	if s, err = engine.ParseState(data[:n]); err != nil {
		return nil, err.Error(), "a state as it was written"
	}
	if sum, ok := plain(l.text[fSHA-fPlace]); !ok || !bytes.Equal(sum, []byte(s.Hash())) {
		return nil, "the state has another SHA-256 than its line says", s.Hash()
	}
	switch {
	case s.Now() > l.num[fT]:
		return nil, fmt.Sprintf("the state is of %d ms", s.Now()), "a time that is not after the line's"
	case r.known && s.Next() != r.jobs:
		return nil, fmt.Sprintf("the state goes on with job %d", s.Next()), fmt.Sprintf("job %d, as the segment above does", r.jobs)
	}
	r.jobs, r.known = s.Next(), true
	return s, "", ""
}

// restore goes on from a snapshot. With verify a segment above has to come to the same.
func (p *replay) restore(e *Entry) error {
	h := p.r.header
	if p.verify && p.above {
		if err := p.compare(e); err != nil {
			return err
		}
	}
	eng, err := engine.Restore(h.Cluster, h.Policy, h.defaults(), e.State)
	if err != nil {
		return p.refused(err)
	}
	*p = replay{r: p.r, verify: p.verify, perEvent: h.Policy.PerEvent, arrived: -1, stops: p.stops[:0], out: p.out}
	p.out.Engine, p.out.Now = eng, e.At
	return nil
}

// compare holds that the segment above comes to the state of a snapshot, under the policy
// that decides from here on.
func (p *replay) compare(e *Entry) error {
	h, eng := p.r.header, p.out.Engine
	if now := e.State.Now(); p.out.Now == workload.Unknown || now > p.out.Now {
		if p.decided = eng.Decide(now).Actions; len(p.decided) > 0 {
			return p.differs(e.Line, nil)
		}
	}
	eng.Forget(e.State.Forgotten())
	again, err := engine.Restore(h.Cluster, h.Policy, h.defaults(), eng.Snapshot())
	if err != nil {
		return p.refused(err)
	}
	is, was := again.Snapshot().Settled().Hash(), e.State.Settled().Hash()
	if is != was {
		return &Difference{File: p.r.name, Line: e.Line, Recorded: was, Decided: is, Engine: h.Engine, Snapshot: true}
	}
	return nil
}
