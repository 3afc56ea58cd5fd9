package engine

import (
	"math/bits"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// Outlook is the state at a time as a problem of the horizon, for others to plan and to look at.
type Outlook struct {
	// At is the time of its step 0.
	At      workload.Time
	Problem *horizon.Problem
	// Exempt names running jobs that lie where no plan would have put them; they are pinned as
	// they are.
	Exempt []string
	o      *outlook
	e      *Engine
}

// Outlook is the state at now: what runs where it is, what waits (as many as the policy's
// plans look at), real-time applications with what they hold and will need. Jobs count what
// they count in the policy's own plans, in fine units and with their wait; asDeclared gives
// them their plain priorities, for people. nil under a policy that does not plan the horizon.
// It changes nothing but what time alone changes by then.
func (e *Engine) Outlook(now workload.Time, asDeclared bool) *Outlook {
	if e.ahead == nil {
		return nil
	}
	d := &e.decision
	e.advance(now)
	d.reset(e.now, len(e.pools))
	e.ahead.plain = asDeclared
	o := e.ahead.look(e, d, d.now)
	e.ahead.plain = false
	e.rollback(d)
	o.p.Nodes = e.ahead.row.names(e)
	return &Outlook{At: d.now, Problem: &o.p, Exempt: o.exempt, o: o, e: e}
}

// Starts are the starts of waiting jobs that a plan of the problem has, by time, as a fact
// tells them.
func (o *Outlook) Starts(plan *horizon.Plan) []fact.PlannedStart {
	var list []fact.PlannedStart
	seen := make([]bool, len(o.o.jobs)) // one that is interrupted in between starts once for now
	for i := range plan.Placed {        // these are by start
		st := &plan.Placed[i]
		if o.o.classes[st.Job] == none || seen[st.Job] {
			continue
		}
		seen[st.Job] = true
		r := o.e.ahead.row
		s := fact.PlannedStart{Job: o.e.numbering.number(o.o.jobs[st.Job]), At: o.At + int64(st.Start)*o.Problem.StepLength}
		nodes, gpus := r.split(o.e.layout, st.Offset, st.Size)
		pool := o.e.layout.PoolOf[r.node[o.e.ahead.firstReal(st.Offset)]]
		for k, at := range nodes {
			s.Place = append(s.Place, fact.Grant{Node: o.e.layout.Pools[pool].Nodes[at], Milli: 1000, GPUs: gpus[k], Count: int32(bits.OnesCount64(gpus[k]))})
		}
		list = append(list, s)
	}
	return list
}

// names says which node each stretch of the row is.
func (r *row) names(e *Engine) []horizon.Node {
	var list []horizon.Node
	for s := 0; s < r.slots; {
		n := r.node[s]
		if n < 0 {
			s++
			continue
		}
		node := &e.layout.Spec.Nodes[n]
		list = append(list, horizon.Node{Name: node.Name, First: s, Count: int(node.GPUs)})
		s += int(node.GPUs)
	}
	return list
}
