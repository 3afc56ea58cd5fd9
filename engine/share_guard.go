package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// claimant is a job that wants others to make room, as the guard sees it.
type claimant struct {
	job, leaf int32
	// milli it would hold and usage its start would add.
	milli, more int64
	// dated: for a date to come, which is judged by what the accounts had so far, and
	// for which the account's own smaller work gives way too.
	dated bool
}

// fork returns the children of the lowest common ancestor of two leaves.
func (s *sharing) fork(a, b int32) (int32, int32) {
	nodes := s.tree.Nodes
	for nodes[a].Parent != nodes[b].Parent {
		if nodes[a].Depth >= nodes[b].Depth {
			a = nodes[a].Parent
		} else {
			b = nodes[b].Parent
		}
	}
	return a, b
}

// mayStop is the guard (SEMANTICS 25): whether allocated work of leaf v may be
// stopped for the claimant. Within one decision the answer for a leaf is remembered.
func (e *Engine) mayStop(w *claimant, v int32) bool {
	s := e.sharing
	m := &s.may[v]
	if m.stamp != s.mayAt {
		m.stamp, m.ok = s.mayAt, e.guard(w, v)
	}
	return m.ok
}

func (e *Engine) guard(w *claimant, v int32) bool {
	s := e.sharing
	if v == s.outside || w.leaf == s.outside {
		return false
	}
	if v == w.leaf {
		return w.dated || s.pol.InTeam
	}
	a, b := s.fork(w.leaf, v)
	if s.pol.Guard == policy.GuardEntitlement {
		usable := e.usable()
		return s.tree.CompareShare(a, s.held[a]+w.milli, usable) <= 0 && s.tree.CompareShare(b, s.held[b], usable) > 0
	}
	if s.stands(v) == budget.Entitled {
		return false
	}
	c := budget.CompareRatio(s.mine(a, w), s.tree.Nodes[a].Share, s.used(b), s.tree.Nodes[b].Share)
	return c < 0 || c == 0 && !w.dated
}

// mine is what an account would have had with the claimant's start, hysteresis included.
func (s *sharing) mine(a int32, w *claimant) int64 {
	// Thousandths are taken off first, so that the factor does not overflow.
	return (s.used(a) + w.more) / 1000 * s.pol.Hysteresis
}

// givesWay tells whether a run may be stopped for the claimant now. Allocated work
// of the claimant's own account gives way to higher priority where the policy says
// so, and to the date of a larger job.
func (e *Engine) givesWay(w *claimant, v int32, allocated bool) bool {
	s := e.sharing
	j, c := &e.jobs[v], &s.jobs[v]
	if j.leaving || j.state != running && j.state != starting {
		return false
	}
	if c.unallocated {
		return true
	}
	if !allocated || !c.open || c.mark == s.events {
		return false
	}
	return e.loses(w, v) && e.mayStop(w, c.leaf)
}

// loses settles what the guard leaves to the two jobs: those of one account.
func (e *Engine) loses(w *claimant, v int32) bool {
	s := e.sharing
	if s.jobs[v].leaf != w.leaf {
		return true
	}
	if w.dated && e.jobs[v].milli < w.milli && (!s.pol.InTeam || e.jobs[v].spec.Priority <= e.jobs[w.job].spec.Priority) {
		return true
	}
	return s.pol.InTeam && e.jobs[v].spec.Priority < e.jobs[w.job].spec.Priority
}

// maySwap tells whether allocated work may be stopped at all now.
func (s *sharing) maySwap(now workload.Time) bool {
	return s.pol.EvictEvery < workload.Never && now >= s.nextEvict
}

// fair verifies a set of victims under the entitlement guard: each account that
// loses held more than its share before its last victim went.
func (e *Engine) fair(w *claimant, set []victim) bool {
	s := e.sharing
	if s.pol.Guard != policy.GuardEntitlement {
		return true
	}
	usable := e.usable()
	for i := range set {
		v := set[i].job
		if s.jobs[v].unallocated || s.jobs[v].leaf == w.leaf {
			continue
		}
		_, b := s.fork(w.leaf, s.jobs[v].leaf)
		var sum, least int64
		for k := range set {
			o := set[k].job
			if s.jobs[o].unallocated || !s.tree.Below(s.jobs[o].leaf, b) {
				continue
			}
			m := e.jobs[o].milli
			sum += m
			if least == 0 || m < least {
				least = m
			}
		}
		if s.tree.CompareShare(b, s.held[b]-(sum-least), usable) <= 0 {
			return false
		}
	}
	return true
}

// smallEnough tells whether a set of victims is small enough for who they make room
// for; sum is what they hold, in milli-GPU.
func (e *Engine) smallEnough(w *claimant, set []victim) (sum int64, ok bool) {
	p := e.sharing.pol
	for i := range set {
		sum += e.jobs[set[i].job].milli
	}
	return sum, p.OverKill == 0 || w.milli > p.OverKillGPUs*1000 || sum <= p.OverKill*w.milli
}
