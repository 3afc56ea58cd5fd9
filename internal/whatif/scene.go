package whatif

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// scene is a stretch as simulations go through it. Its jobs have numbers of their own: those
// that were alive at its beginning first.
type scene struct {
	s *stretch
	// state is that at the beginning, shared the same with budgets for a policy that shares
	// where the recorded one did not, was the numbers in the journal of the state's jobs, and
	// numbers the other way round.
	state, shared *engine.State
	was           []int32
	numbers       map[int32]int32
	// equal: the budgets in shared are equal shares, for want of others.
	equal bool
	w     *workload.Workload
	// told is what was predicted of jobs, by number.
	told   []workload.Span
	from   sim.From
	counts counts
}

// counts are what the head of a report tells of the jobs.
type counts struct {
	waiting, running, arrived  int
	drawnRunning, drawnWaiting int
	drawnTaken, drawnEvicted   int
	services, userCap          int
}

// scene makes one. seed is that of the draws.
func (s *stretch) scene(seed uint64, truth truth) (*scene, error) {
	c := &scene{s: s, numbers: map[int32]int32{}}
	h := s.header
	c.w = &workload.Workload{Name: h.Workload.Name, Epoch: h.Workload.Epoch, Licence: h.Workload.Licence, Source: s.j.Name, Format: "journal", Hash: s.j.hash()}
	raw := s.engine.Snapshot()
	var specs []*workload.Job
	c.state, specs, c.was = raw.Renumbered()
	if err := c.cast(specs); err != nil {
		return nil, err
	}
	if err := c.events(); err != nil {
		return nil, err
	}
	c.durations(seed, truth)
	c.from.Now = s.now
	c.from.StartLatency = median(s.book.latencies, h.Assume.StartLatency)
	return c, c.shares()
}

// cast lists the jobs: those of the state, and those that were submitted in the stretch.
func (c *scene) cast(specs []*workload.Job) error {
	add := func(j *workload.Job, was int32, told workload.Span) {
		c.numbers[was] = int32(len(c.w.Jobs))
		c.w.Jobs = append(c.w.Jobs, *j)
		c.w.Actual = append(c.w.Actual, workload.Actual{Start: workload.Unknown, End: workload.Unknown})
		c.told = append(c.told, told)
	}
	for i, spec := range specs {
		if spec == nil { // a number that was left out
			spec = &workload.Job{}
		}
		add(spec, c.was[i], 0)
	}
	for _, n := range c.s.book.order {
		j := c.s.book.jobs[n]
		if _, ok := c.numbers[n]; ok || n < c.s.first {
			continue
		}
		if j.submit != j.spec.Submit {
			return fmt.Errorf("%s:%d: job %s was submitted at %d ms and says %d", c.s.j.Name, j.line, j.spec.ID, j.submit, j.spec.Submit)
		}
		add(j.spec, n, j.est)
		c.counts.arrived++
	}
	c.w.Rows = len(c.w.Jobs)
	c.from.Before = map[int32]sim.Before{}
	for _, a := range c.state.Alive() {
		switch {
		case a.Job.Service != nil:
		case a.Runs:
			c.counts.running++
		case a.State != "refused" && a.State != "stuck":
			c.counts.waiting++
		}
		c.told[a.Number] = a.Estimate
		if j := c.s.book.jobs[c.was[a.Number]]; j != nil {
			c.from.Before[a.Number] = j.before
		}
	}
	return nil
}

// shares gives the state budgets, for policies that share by them.
func (c *scene) shares() error {
	if t, _ := c.state.Budgets(); t != nil {
		c.shared = c.state
		return nil
	}
	tree, epoch := c.firstBudgets(), c.w.Epoch
	if tree == nil {
		c.equal = true
		tree = sim.EqualBudgets(c.w)
	}
	at := max(c.s.now, c.state.Now())
	if err := c.s.engine.Apply(&fact.Fact{Kind: fact.BudgetsChanged, At: at, Job: -1, Node: -1, Budgets: tree, Epoch: epoch}); err != nil {
		return err
	}
	c.shared, _, _ = c.s.engine.Snapshot().Renumbered()
	return nil
}

// firstBudgets are the first that were told in the stretch, nil for none.
func (c *scene) firstBudgets() *budget.Tree {
	for i := range c.from.Events {
		if c.from.Events[i].Kind == fact.BudgetsChanged {
			return c.from.Events[i].Budgets
		}
	}
	return nil
}

// estimates are the run times that a policy is told of jobs. Those that were predicted are
// told again where its error model is the recorded one. A job that nothing was said of has
// no prediction under another model either, unless that is one that knows the truth.
func (c *scene) estimates(p *policy.Policy) []workload.Span {
	out := slices.Clone(c.told)
	m := p.Estimates
	if m == c.s.header.Policy.Estimates {
		return out
	}
	knows := m.Model == policy.EstimatePerfect || m.Model == policy.EstimateHelios
	for i := int(c.state.Next()); i < len(out); i++ {
		if knows || out[i] > 0 || said(&c.w.Jobs[i]) > 0 {
			out[i] = sim.Estimate(m, int32(i), &c.w.Jobs[i], &c.w.Actual[i])
		}
	}
	return out
}

// options are those of a simulation under a policy.
func (c *scene) options(p *policy.Policy) sim.Options {
	from := c.from
	if from.State = c.state; p.Sharing != nil {
		from.State = c.shared
	}
	t := newThrottle(c)
	return sim.Options{Workload: c.w, Cluster: c.s.header.Cluster, Policy: p, Assume: c.s.header.Assume, From: &from,
		Estimates: c.estimates(p), Follow: t.follow}
}

// median of some lengths of time, or what stands for it where there are none.
func median(list []workload.Span, otherwise workload.Span) workload.Span {
	if len(list) == 0 {
		return otherwise
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list[(len(list)-1)/2]
}
