package whatif

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/workload"
)

// events gathers what people and nodes did in the stretch.
func (c *scene) events() error {
	rest, err := c.s.segment()
	if err != nil {
		return err
	}
	r, err := journal.NewReader(c.s.j.Name, bytes.NewReader(rest))
	if err != nil {
		return err
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			c.complete()
			return nil
		}
		if err != nil {
			return err
		}
		if e.Fact != nil {
			c.event(e.Fact)
		}
	}
}

func (c *scene) event(f *fact.Fact) {
	out := *f
	if f.Job >= 0 {
		out.Job = c.numbers[f.Job]
	}
	switch f.Kind {
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed, fact.BudgetsChanged, fact.WindowSet, fact.WindowLifted:
	case fact.JobCancelled:
		if j := c.s.book.jobs[f.Job]; j.fate != cancelled && !j.asked || j.taken != f.At || j.spec.Service != nil {
			return // it is withdrawn where it has not started, or its life ends
		}
	case fact.JobHeld, fact.JobReleased:
		if !c.holds(f) {
			return
		}
	case fact.JobEdited:
	default:
		return
	}
	c.from.Events = append(c.from.Events, out)
}

// holds tells whether a hold, or the end of one, comes again as it was recorded.
func (c *scene) holds(f *fact.Fact) bool {
	held := f.Kind == fact.JobHeld
	switch f.Hold {
	case fact.HoldThrottle:
		if _, ok := arrayOf(c.s.book.jobs[f.Job].spec); ok {
			return false // the throttle is there, and decides anew
		}
		if held {
			c.counts.userCap++
		}
	case fact.HoldBackOff:
		if held {
			c.s.book.left.backOffs++
		}
		return !held
	case fact.HoldOperator:
		if held && f.By == system {
			c.s.book.left.backOffs++
			return false
		}
	}
	return true
}

// system is who holds jobs whose starts failed too often.
const system = "escala"

// complete adds demand as it was told, and ends back-offs that the journal does not see end.
func (c *scene) complete() {
	var first []fact.Fact
	for _, a := range c.state.Alive() {
		if a.Holds>>fact.HoldBackOff&1 == 1 && !c.released(a.Number) {
			first = append(first, fact.Fact{Kind: fact.JobReleased, At: c.s.now, Job: a.Number, Node: -1, Hold: fact.HoldBackOff})
		}
	}
	for i := range c.w.Jobs {
		if c.w.Jobs[i].Service != nil {
			first = append(first, c.demand(int32(i))...)
		}
	}
	c.from.Events = append(c.from.Events, first...)
	sortByTime(c.from.Events)
}

func (c *scene) released(n int32) bool {
	for i := range c.from.Events {
		if f := &c.from.Events[i]; f.Kind == fact.JobReleased && f.Job == n && f.Hold == fact.HoldBackOff {
			return true
		}
	}
	return false
}

// demand is what an application was told to need, from the beginning of the stretch on.
func (c *scene) demand(n int32) []fact.Fact {
	j := c.book(n)
	if j == nil {
		return nil
	}
	var out []fact.Fact
	for _, f := range j.demand {
		f.Job = n
		if len(out) > 0 && f.At <= c.s.now {
			out = out[:0]
		}
		out = append(out, f)
	}
	return out
}

// book is what the journal tells of a job of the scene, nil for a number that stands for none.
func (c *scene) book(n int32) *job {
	if int(n) < len(c.was) {
		return c.s.book.jobs[c.was[n]]
	}
	return c.s.book.jobs[c.s.first+n-int32(len(c.was))]
}

// life is how long an application lives, as far as is known: what it declares stands for an
// end that was not seen.
func (j *job) life(to workload.Time) workload.Span {
	if j.fate != open && j.fate != never {
		return max(j.end-j.submit, 0)
	}
	return max(j.spec.Estimate, to+1-j.submit)
}

func sortByTime(list []fact.Fact) {
	slices.SortStableFunc(list, func(a, b fact.Fact) int { return cmp.Compare(a.At, b.At) })
}
