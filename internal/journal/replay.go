package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Replayed is a journal folded into the state it leads to.
type Replayed struct {
	Engine *engine.Engine
	// Now is the time of the last line, [workload.Unknown] where there is none.
	Now            workload.Time
	Facts, Actions int64
	// Decisions is how often it was decided again, 0 without verify.
	Decisions int64
}

// Difference is where deciding again comes to something else than the journal.
type Difference struct {
	File string
	// Line of the journal, 1-based; one behind the last where an action is missing at the end.
	Line int
	// Recorded is the line found, Decided the line that deciding again calls for; "" = none.
	Recorded, Decided string
	// Engine is the version that wrote the journal: only the same one must come to the same.
	Engine string
	// Snapshot: it is the state of a segment, of which Recorded and Decided are the SHA-256.
	Snapshot bool
}

// Error shows both lines.
func (d *Difference) Error() string {
	show := func(s string) string {
		if s == "" {
			return "no action here"
		}
		return strings.TrimSuffix(s, "\n")
	}
	s := fmt.Sprintf("%s:%d: decided otherwise\n  recorded: %s\n  decided:  %s", d.File, d.Line, show(d.Recorded), show(d.Decided))
	if d.Snapshot {
		s = fmt.Sprintf("%s:%d: the segment above comes to another state than this snapshot has\n  recorded: %s\n  folded:   %s", d.File, d.Line, d.Recorded, d.Decided)
	}
	if d.Engine != "" {
		s += "\n  written by escala " + d.Engine
	}
	return s
}

// Replay folds a journal: facts and recorded decisions make the state. With
// verify it also decides again at each point at which the run did, and compares
// the actions field by field; the first that differs is a [Difference]. So is a snapshot
// that the segment above it does not come to. At each snapshot the engine is restored anew.
func Replay(r *Reader, verify bool) (*Replayed, error) {
	p, err := newReplay(r)
	if err != nil {
		return nil, err
	}
	p.verify = verify
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
	}
}

// replay is one in progress.
type replay struct {
	r      *Reader
	verify bool
	// perEvent: it was decided after each event, and once more at the end of an
	// instant that had one, which events tells.
	perEvent, events bool
	out              Replayed
	// decided are the actions of the last decision that the journal has not shown yet.
	decided []fact.Action
	// due: something happened since the last decision that calls for one.
	// again: so does the decision itself, once its actions are committed.
	due, again bool
	// stops are the jobs that were told to stop at this instant.
	stops []int32
	// above: there is a segment above the present header.
	above bool
	// arrived is the job whose submission was the last fact, -1 if it was none.
	arrived int32
}

func newReplay(r *Reader) (*replay, error) {
	h := r.header
	eng, err := engine.New(h.Cluster, h.Policy, h.defaults())
	if err != nil {
		return nil, r.fail("the header: "+err.Error(), "")
	}
	return &replay{r: r, perEvent: h.Policy.PerEvent, arrived: -1, out: Replayed{Engine: eng, Now: workload.Unknown}}, nil
}

func (p *replay) entry(e *Entry) error {
	switch {
	case e.Action != nil:
		return p.action(e)
	case e.Header != nil:
		p.above = true
		return p.end(e.Line, nil)
	case e.State != nil:
		return p.restore(e)
	}
	effect := e.Fact != nil && p.effect(e.Fact)
	switch {
	case e.At > p.out.Now:
		if err := p.instant(e); err != nil {
			return err
		}
	case len(p.decided) > 0, p.perEvent && !effect:
		if err := p.settle(e.Line, e.Raw); err != nil {
			return err
		}
	}
	p.due = p.due || !effect || e.Fact.Kind == fact.JobStopped
	if e.Fact == nil {
		return nil
	}
	p.events = p.events || !effect
	p.out.Facts++
	p.arrived = -1
	if e.Fact.Kind == fact.JobSubmitted {
		p.arrived = e.Fact.Job
	}
	if err := p.out.Engine.Apply(e.Fact); err != nil {
		return p.refused(err)
	}
	return nil
}

// effect tells whether a fact follows from an action or a fact of the same
// instant; any other one is an event that was decided on by itself.
func (p *replay) effect(f *fact.Fact) bool {
	switch f.Kind {
	case fact.JobStarted:
		return p.r.header.Assume.StartLatency == 0
	case fact.JobStopped:
		return f.Cause == fact.CauseNodeFailure || f.At == p.out.Now && slices.Contains(p.stops, f.Job)
	case fact.DemandChanged: // an application is submitted with what it needs at first
		return f.At == p.out.Now && f.Job == p.arrived
	}
	return false
}

// instant ends one and begins the next.
func (p *replay) instant(e *Entry) error {
	if err := p.end(e.Line, e.Raw); err != nil {
		return err
	}
	p.out.Now, p.stops, p.events = e.At, p.stops[:0], false
	return nil
}

func (p *replay) end(line int, raw []byte) error {
	p.due = p.due || p.perEvent && p.events
	return p.settle(line, raw)
}

func (p *replay) action(e *Entry) error {
	if e.At > p.out.Now {
		if err := p.instant(e); err != nil {
			return err
		}
	}
	if e.Action.Do == fact.Stop {
		p.stops = append(p.stops, e.Action.Job)
	}
	if !p.verify && p.due {
		p.decide()
	}
	if p.verify {
		if len(p.decided) == 0 {
			p.decide()
		}
		if len(p.decided) == 0 || !same(e.Action, &p.decided[0]) {
			return p.differs(e.Line, e.Raw)
		}
		p.decided = p.decided[1:]
		p.due = p.due || p.again && len(p.decided) == 0
	}
	p.out.Actions++
	if err := p.out.Engine.Commit(e.Action); err != nil {
		return p.refused(err)
	}
	return nil
}

// settle holds that nothing more was to be decided before the line.
func (p *replay) settle(line int, raw []byte) error {
	if p.due && len(p.decided) == 0 {
		p.decide()
	}
	if len(p.decided) > 0 {
		return p.differs(line, raw)
	}
	return nil
}

// decide takes a decision again, or tells the engine that one was taken.
func (p *replay) decide() {
	if !p.verify {
		p.out.Engine.Decided(p.out.Now)
		p.due = false
		return
	}
	d := p.out.Engine.Decide(p.out.Now)
	p.decided, p.again, p.due = d.Actions, d.Again, false
	p.out.Decisions++
}

func (p *replay) differs(line int, raw []byte) error {
	d := &Difference{File: p.r.name, Line: line, Recorded: string(raw), Engine: p.r.header.Engine}
	if len(p.decided) > 0 {
		d.Decided = string(AppendAction(nil, &p.decided[0]))
	}
	return d
}

func (p *replay) refused(err error) error {
	return p.r.fail("the engine does not take this line: "+err.Error(), "a journal as it was written")
}

// same compares two actions in every field.
func same(a, b *fact.Action) bool {
	if len(a.Place) != len(b.Place) {
		return false
	}
	for i := range a.Place {
		if a.Place[i] != b.Place[i] {
			return false
		}
	}
	return a.Do == b.Do && a.Job == b.Job && a.Attempt == b.Attempt && a.For == b.For && a.Tasks == b.Tasks &&
		a.Count == b.Count && a.Milli == b.Milli && a.At == b.At && a.Until == b.Until && a.Unallocated == b.Unallocated && a.Reason == b.Reason
}
