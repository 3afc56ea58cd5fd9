package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/pack"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// stateVersion is the first byte of a state; others are refused.
const stateVersion = 1

// ErrState marks bytes that are no state of this version.
var ErrState = errors.New("no state of an engine")

// AppendTo appends the state as bytes: equal states give equal ones. It is compact, some
// dozens of bytes a waiting job.
func (s *State) AppendTo(b []byte) []byte {
	c := pack.Writer(append(b, stateVersion))
	s.code(c)
	return c.Bytes()
}

// ParseState reads what [State.AppendTo] wrote, and nothing else: bytes that it would not
// have written are an error, [ErrState]. Whether the state fits a cluster is for [Restore] to say.
func ParseState(b []byte) (*State, error) {
	if len(b) == 0 || b[0] != stateVersion {
		return nil, fmt.Errorf("%w: the first byte says its version, which is %d here", ErrState, stateVersion)
	}
	c := pack.Reader(b[1:])
	s := &State{}
	if s.code(c); !c.Done() {
		return nil, fmt.Errorf("%w: %d bytes that do not hold together", ErrState, len(b))
	}
	if !slices.Equal(s.AppendTo(make([]byte, 0, len(b))), b) {
		return nil, fmt.Errorf("%w: it is not written as states are", ErrState)
	}
	return s, nil
}

func (s *State) code(c *pack.Coder) {
	c.Int(&s.now)
	c.From(&s.wake, s.now)
	c.Bool(&s.dirty)
	c.Int(&s.uncommitted)
	c.Raw(s.policy[:])
	c.Int32(&s.next)
	c.From(&s.forgot, s.now)
	s.codeJobs(c)
	pack.List(c, &s.down, c.Int32)
	pack.List(c, &s.drained, c.Int32)
	pack.List(c, &s.windows, func(w *fact.Window) { s.codeWindow(c, w) })
	pack.List(c, &s.running, func(l *[]int32) { pack.List(c, l, s.ref(c)) })
	pack.List(c, &s.claims, func(x *claim) { s.codeClaim(c, x) })
	pack.List(c, &s.refuse, func(x *refusal) {
		s.ref(c)(&x.job)
		s.codeReason(c, &x.reason)
	})
	pack.List(c, &s.stop, s.ref(c))
	pack.List(c, &s.promised, s.ref(c))
	pack.List(c, &s.waits, func(x *awaited) {
		c.Int32(&x.on)
		if x.on == none {
			c.Plain(&x.id)
		} else if c.Reading() {
			s.in(c, x.on)
		}
		pack.List(c, &x.who, func(d *dependent) {
			s.ref(c)(&d.job)
			c.Byte((*uint8)(&d.when), uint8(workload.AfterNotOK)+1)
		})
	})
	pack.List(c, &s.services, func(x *service) { s.codeService(c, x) })
	if optional(c, &s.learned, func() *place.Learned { return &place.Learned{} }) {
		s.learned.Code(c)
	}
	s.codeBudgets(c)
	if optional(c, &s.usage, func() *savedUsage { return &savedUsage{} }) {
		s.codeUsage(c)
	}
	if optional(c, &s.plan, func() *savedPlan { return &savedPlan{} }) {
		s.codePlan(c)
	}
	if optional(c, &s.sharing, func() *savedSharing { return &savedSharing{} }) {
		s.codeSharing(c)
	}
	if optional(c, &s.ahead, func() *savedAhead { return &savedAhead{} }) {
		s.codeAhead(c)
	}
}

// optional codes whether there is something, and makes it where it is read.
func optional[T any](c *pack.Coder, p **T, empty func() *T) bool {
	has := *p != nil
	if c.Bool(&has); has && c.Reading() {
		*p = empty()
	}
	return has
}

// ref codes a job by its place in the state.
func (s *State) ref(c *pack.Coder) func(*int32) {
	return func(n *int32) {
		c.Int32(n)
		if c.Reading() {
			s.in(c, *n)
		}
	}
}

// in holds that a job is one of the state.
func (s *State) in(c *pack.Coder, n int32) {
	if n < 0 || int(n) >= len(s.jobs) || s.jobs[n].state == absent {
		c.Fail()
	}
}

func (s *State) codeJobs(c *pack.Coder) {
	last := int64(-1)
	number := func(v *int32) {
		n := int64(*v)
		if c.From(&n, last+1); n <= last || n >= int64(s.next) {
			c.Fail()
			n = 0
		}
		if last = n; c.Reading() {
			*v = int32(n)
		}
	}
	var specs []workload.Job
	pack.List(c, &s.jobs, func(x *savedJob) {
		if number(&x.number); c.Reading() {
			if len(specs) == 0 {
				specs = make([]workload.Job, 64) // together, but not so many that one keeps all others
			}
			x.spec, specs = &specs[0], specs[1:]
		}
		s.codeJob(c, x)
	})
	last = -1
	pack.List(c, &s.past, func(p *past) {
		number(&p.job)
		c.Plain(&p.id)
		c.From(&p.at, s.now)
		c.Byte((*uint8)(&p.outcome), uint8(workload.OutcomeUnknown)+1)
	})
}

func (s *State) codeJob(c *pack.Coder, x *savedJob) {
	c.Byte((*uint8)(&x.state), uint8(ended)+1)
	if x.state == absent {
		x.spec = nil
		return
	}
	more := x.attempt != 0 || x.kept != 0 || x.attained != 0 || x.counted != 0 || x.holds != 0 || x.stops != 0 || x.outcome != 0 || x.runs != 0
	c.Flags(&more, &x.cancel, &x.dated, &x.marked)
	codeSpec(c, x.spec, s.now)
	c.From(&x.since, s.now)
	c.From(&x.est, x.spec.Estimate)
	if x.dated {
		c.From(&x.promised, s.now)
	}
	if more {
		c.Byte((*uint8)(&x.outcome), uint8(workload.OutcomeUnknown)+1)
		c.Byte(&x.holds, 1<<(fact.HoldElsewhere+1))
		c.Int32(&x.attempt)
		c.Int32(&x.runs)
		c.Int32(&x.stops)
		c.Int(&x.kept)
		c.Int(&x.attained)
		c.From(&x.counted, x.attained)
	}
	if !occupies(x.state) && x.state != claiming {
		return
	}
	if c.Reading() {
		x.run = &savedRun{}
	}
	r := x.run
	c.Flags(&r.up, &r.unallocated, &r.charged, &r.open, &r.draws, &r.idles)
	c.Int32(&r.pool)
	c.Int32(&r.tasks)
	c.Int(&r.milli)
	codePlace(c, &r.grants)
	c.From(&r.work, s.now)
	c.From(&r.end, s.now)
	c.Int32(&r.leaf)
	c.From(&r.rate, r.milli)
	c.From(&r.began, s.now)
	c.From(&r.until, s.now)
	c.From(&r.deadline, s.now)
	c.From(&r.paidAt, s.now)
}

func (s *State) codeClaim(c *pack.Coder, x *claim) {
	s.ref(c)(&x.job)
	c.Flags(&x.ready, &x.lost, &x.adopted)
	c.Int32(&x.pool)
	c.Int32(&x.tasks)
	c.Int(&x.milli)
	c.Int(&x.lack)
	c.Int(&x.got)
	codePlace(c, &x.grants)
	pack.List(c, &x.missing, c.Uint)
	codePlace(c, &x.parts)
}

func (s *State) codeReason(c *pack.Coder, r *fact.Reason) {
	c.Byte((*uint8)(&r.Code), uint8(fact.Adopted)+1)
	for _, v := range []*int32{&r.For, &r.Have, &r.Want, &r.Block} {
		c.Int32(v)
	}
	c.Int(&r.Until)
}

func (s *State) codeService(c *pack.Coder, x *service) {
	s.ref(c)(&x.job)
	c.Bool(&x.told)
	c.Int32(&x.demand)
	pack.List(c, &x.swaps, func(w *swap) {
		c.From(&w.at, s.now)
		c.Int32(&w.n)
	})
	pack.List(c, &x.victims, func(v *victimRun) {
		s.ref(c)(&v.job)
		c.Int32(&v.attempt)
	})
}

// codeBudgets codes the file that was told last.
func (s *State) codeBudgets(c *pack.Coder) {
	has := s.budgets != nil
	if c.Bool(&has); !has {
		return
	}
	var name, text string
	if !c.Reading() {
		name, text = s.budgets.Name, string(s.budgets.YAML())
	}
	c.Plain(&name)
	c.Plain(&text)
	c.Int(&s.epoch)
	if c.Reading() && !c.Bad() {
		var err error
		if s.budgets, err = budget.Parse(name+".yaml", []byte(text)); err != nil {
			c.Fail()
		}
	}
}
