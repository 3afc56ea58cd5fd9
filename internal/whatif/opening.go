package whatif

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// open tells an observer what was so before the stretch begins: jobs that wait since they were
// submitted, and runs since they began. No instant is shown.
func (c *scene) open(o sim.Observer) {
	type told struct {
		at  workload.Time
		act func()
	}
	var list []told
	tell := func(f fact.Fact) {
		f.Node = -1
		list = append(list, told{f.At, func() { o.Fact(&f) }})
	}
	for _, a := range c.state.Alive() {
		if a.State == "refused" || a.State == "stuck" || a.State == "parked" {
			continue
		}
		tell(fact.Fact{Kind: fact.JobSubmitted, At: a.Job.Submit, Job: a.Number, Submitted: a.Job, Estimate: a.Estimate})
		for h := fact.HoldOwner; h <= fact.HoldElsewhere; h++ {
			if a.Holds>>h&1 == 1 {
				tell(fact.Fact{Kind: fact.JobHeld, At: a.Job.Submit, Job: a.Number, Hold: h})
			}
		}
		if a.Job.Service != nil {
			for _, f := range c.demand(a.Number) {
				if f.At <= c.s.now {
					tell(f)
				}
			}
		}
		if a.Runs {
			run(&a, func(at workload.Time, x fact.Action) { list = append(list, told{at, func() { o.Action(&x) }}) }, tell)
		}
	}
	slices.SortStableFunc(list, func(a, b told) int { return cmp.Compare(a.at, b.at) })
	for _, x := range list {
		x.act()
	}
	for _, n := range c.state.Down() {
		o.Fact(&fact.Fact{Kind: fact.NodeDown, At: c.s.now, Job: -1, Node: n})
	}
	for _, n := range c.state.Drained() {
		o.Fact(&fact.Fact{Kind: fact.NodeDrained, At: c.s.now, Job: -1, Node: n})
	}
}

// run tells of a run that is alive.
func run(a *engine.Alive, act func(workload.Time, fact.Action), tell func(fact.Fact)) {
	act(a.Since, fact.Action{Do: fact.Start, Job: a.Number, Attempt: a.Attempt, For: -1, Tasks: a.Tasks, Count: int32((a.Milli + 999) / 1000), Milli: a.Milli,
		At: a.Since, Until: a.Until, Unallocated: a.Unallocated, Place: a.Place, Reason: fact.Reason{For: -1}})
	if a.Up {
		tell(fact.Fact{Kind: fact.JobStarted, At: a.Since, Job: a.Number, Attempt: a.Attempt})
	}
}
