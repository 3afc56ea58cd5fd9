package engine

import (
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// Outlook is the state at now as a problem of the horizon: what runs where it is, what
// waits (as many as the policy's plans look at), real-time applications with what they
// hold and will need. nil under a policy that does not plan the horizon. It changes
// nothing.
func (e *Engine) Outlook(now workload.Time) *horizon.Problem {
	if e.ahead == nil {
		return nil
	}
	d := &e.decision
	d.reset(max(now, e.now), len(e.pools))
	o := e.ahead.look(e, d, d.now)
	e.rollback(d)
	o.p.Nodes = e.ahead.row.names(e)
	return &o.p
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
