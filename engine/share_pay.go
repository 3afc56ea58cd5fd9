package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// pays asks the hard budgets; false if the job has to wait, or may run unallocated
// only. span is the protection that they pay for.
func (e *Engine) pays(d *decision, c *class, n, pool int32) (span workload.Span, ok bool) {
	s := e.sharing
	if s.accounts == nil || c.leaf == s.outside {
		return c.span, true
	}
	shape := smallest(c.shape)
	a := s.accounts.Ask(c.leaf, d.now, e.rateOf(n, shape.Milli, pool, shape.Need.Tasks), c.span)
	if a.OK {
		return c.span, true
	}
	const hour = 1000 * workload.Hour
	c.reason = fact.Reason{Code: fact.BudgetShort, For: none, Have: int32(max(a.Left, 0) / hour), Want: int32((a.Need + hour - 1) / hour)}
	switch a.Rule {
	case budget.Truncate:
		if a.MinRuntime > 0 {
			return a.MinRuntime, true
		}
		fallthrough // nothing is left to be protected by
	case budget.RunUnallocated:
		s.fillers = append(s.fillers, c.self)
	}
	return 0, false
}

// paysSomewhere asks for one pool after the other: GPU types may weigh differently.
func (e *Engine) paysSomewhere(d *decision, c *class, n int32) (span workload.Span, ok bool) {
	fillers := len(e.sharing.fillers)
	for _, pool := range c.shape.Pools {
		if span, ok = e.pays(d, c, n, pool); ok || len(e.sharing.pol.GPUWeights) == 0 {
			break
		}
	}
	if ok {
		e.sharing.fillers = e.sharing.fillers[:fillers]
	}
	return span, ok
}

// priced tells whether what a start costs a hard budget depends on the pool.
func (s *sharing) priced() bool { return s.accounts != nil && len(s.pol.GPUWeights) > 0 }

// paysAll tells whether hard budgets pay for a size of an elastic job in full.
func (e *Engine) paysAll(d *decision, c *class, n, tasks int32) bool {
	s := e.sharing
	if s.accounts == nil || c.leaf == s.outside || len(c.shape.Pools) == 0 {
		return true
	}
	return s.accounts.Ask(c.leaf, d.now, e.rateOf(n, c.shape.Milli, c.shape.Pools[0], tasks), c.span).OK
}

// spend makes runs unallocated whose hard budget is used up.
func (e *Engine) spend(d *decision) {
	s := e.sharing
	if s.accounts == nil {
		return
	}
	for i := range e.pools {
		for _, n := range e.pools[i].running {
			c := &s.jobs[n]
			if !c.draws || e.jobs[n].state != running && e.jobs[n].state != starting {
				continue
			}
			if s.accounts.Exhausted(c.leaf, d.now) {
				d.actions = append(d.actions, fact.Action{Do: fact.Uncharge, Job: n, Attempt: e.jobs[n].attempt, For: none, At: d.now,
					Reason: fact.Reason{Code: fact.BudgetShort, For: none}})
				d.again = true
			} else {
				d.wake = min(d.wake, s.accounts.Next(c.leaf, d.now))
			}
		}
	}
}
