package cli

import (
	"cmp"
	"fmt"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// rule says by what one waiting job goes before another.
type rule struct{ code, text string }

// ahead says why job a goes before job b, both waiting.
func (x *explainer) ahead(a, b int32) rule {
	if x.header.Policy.Sharing == nil {
		return x.byOrder(a, b)
	}
	xa, _ := x.folded.Engine.Explain(a)
	xb, _ := x.folded.Engine.Explain(b)
	pool := x.found.Account.Pool // the ranks are those of this pool
	return x.byShares(a, b, accountIn(&xa, pool), accountIn(&xb, pool))
}

// accountIn returns what the budgets say of a job in a pool, or, of a job that does not
// go there, in its own.
func accountIn(e *engine.Explanation, pool string) *engine.Account {
	for _, a := range e.Elsewhere {
		if a.Pool == pool {
			return a
		}
	}
	return e.Account
}

// byShares follows the walk of the tree (SEMANTICS 19): allocated work first, by
// standing, down the tree by usage / share, then the leaf's own order.
func (x *explainer) byShares(a, b int32, of, than *engine.Account) rule {
	fill := x.fills(b, than)
	switch {
	case fill && !x.fills(a, of):
		return rule{"allocated", "allocated work goes before unallocated work"}
	case than.Leaf < 0 && of.Leaf >= 0:
		return rule{"account", "work without an account comes last"}
	case of.Leaf == than.Leaf:
		return x.byOrder(a, b)
	case !fill && of.Standing != than.Standing:
		return rule{"standing", fmt.Sprintf("%s is %s, %s is %s", x.leafName(of), of.Standing, x.leafName(than), than.Standing)}
	}
	la, lb := fork(of, than)
	name, other := of.Tree.Nodes[la.Node].Name, than.Tree.Nodes[lb.Node].Name
	served := budget.CompareRatio(usageOf(la), shareIn(of, la), usageOf(lb), shareIn(than, lb))
	switch {
	case fill:
		return rule{"share", fmt.Sprintf("%s had no more unallocated time for its share than %s", name, other)}
	case served == 0:
		return rule{"submit", fmt.Sprintf("%s and %s are served alike; what is next of it was submitted earlier", name, other)}
	}
	if served > 0 {
		return rule{"unknown", "its turn comes before"}
	}
	return rule{"share", fmt.Sprintf("%s is served less for its share than %s: %s of it, not %s", name, other, partOf(la), partOf(lb))}
}

// fills tells whether the next start of a job would run unallocated by its declaration.
func (x *explainer) fills(n int32, a *engine.Account) bool {
	return a.Leaf < 0 || x.declares(n) == 0
}

// declares is the protection that a job asks for, the policy's default where it asks for none.
func (x *explainer) declares(n int32) workload.Span {
	if c := &x.history.jobs[n].spec.Contract; c.HasMinRuntime {
		return c.MinRuntime
	}
	return x.header.Policy.Sharing.MinRuntimeDefault
}

func (x *explainer) leafName(a *engine.Account) string {
	if a.Leaf < 0 {
		return "no account"
	}
	return a.Tree.Nodes[a.Leaf].Name
}

// fork are the siblings at which the ways to two different leaves part.
func fork(a, b *engine.Account) (*engine.Level, *engine.Level) {
	for i := range a.Levels {
		if a.Levels[i].Node != b.Levels[i].Node {
			return &a.Levels[i], &b.Levels[i]
		}
	}
	return &a.Levels[0], &b.Levels[0] // no leaf is above another
}

func usageOf(l *engine.Level) int64 { return l.Charged + l.Outstanding }

func shareIn(a *engine.Account, l *engine.Level) int64 { return a.Tree.Nodes[l.Node].Share }

// partOf writes the usage as a part of the fair share.
func partOf(l *engine.Level) string {
	if l.Fair == 0 {
		return hours(gpuHours(usageOf(l))) + " GPU-h"
	}
	return trimNumber(float64(usageOf(l))/float64(l.Fair)*100, 1) + " %"
}

// byOrder finds the first term of the policy's order that tells two jobs apart.
func (x *explainer) byOrder(a, b int32) rule {
	for i := range x.header.Policy.Order {
		t := &x.header.Policy.Order[i]
		c, words, plain := x.term(t, a, b)
		if t.Descending {
			c = -c
		}
		switch {
		case !plain || c > 0: // what it turns on is not in the declaration, or not any more
			return rule{t.Kind.String(), "the policy's order puts it first by " + t.Kind.String()}
		case c < 0:
			return rule{t.Kind.String(), words}
		}
	}
	if x.history.jobs[a].spec.Submit < x.history.jobs[b].spec.Submit {
		return rule{"submit", "submitted earlier"}
	}
	return rule{"submit", "submitted at the same time, and listed before it"}
}

// term compares two jobs by a term that a declaration settles; plain is false for others.
func (x *explainer) term(t *policy.Term, a, b int32) (c int, words string, plain bool) {
	ja, jb := &x.history.jobs[a], &x.history.jobs[b]
	switch t.Kind {
	case policy.BySubmit:
		return cmp.Compare(ja.spec.Submit, jb.spec.Submit), pick(t.Descending, "submitted later", "submitted earlier"), true
	case policy.ByPriority:
		words = fmt.Sprintf("priority %d, not %d", ja.spec.Priority, jb.spec.Priority)
		return cmp.Compare(jb.spec.Priority, ja.spec.Priority), words, true
	case policy.ByEstimate:
		ea, eb := x.estimate(ja), x.estimate(jb)
		return cmp.Compare(ea, eb), fmt.Sprintf("estimated to run %s, not %s", lasting(ea), lasting(eb)), true
	case policy.ByGPUs:
		ma, mb := ja.spec.Need.TotalMilli(), jb.spec.Need.TotalMilli()
		return cmp.Compare(ma, mb), fmt.Sprintf("asks for %s, not %s", milliText(ma), milliText(mb)), true
	case policy.ByArea:
		ha := float64(ja.spec.Need.TotalMilli()) * float64(x.estimate(ja)) / 3.6e9
		hb := float64(jb.spec.Need.TotalMilli()) * float64(x.estimate(jb)) / 3.6e9
		return cmp.Compare(ha, hb), fmt.Sprintf("estimated to take %s GPU-h, not %s", hours(ha), hours(hb)), true
	case policy.ByDeadline:
		return cmp.Compare(deadline(ja), deadline(jb)), "its deadline is earlier", true
	}
	return 0, "", false
}

// estimate is the run time that is predicted for a job that has not run.
func (x *explainer) estimate(j *asked) workload.Span {
	for _, d := range [...]workload.Span{j.est, j.spec.Estimate, j.spec.Limit, x.header.Policy.DefaultEstimate} {
		if d > 0 {
			return d
		}
	}
	return 0
}

func deadline(j *asked) workload.Time {
	if j.spec.Deadline == 0 {
		return workload.Never
	}
	return j.spec.Deadline
}

func milliText(m int64) string {
	if m == 1000 {
		return "1 GPU"
	}
	return trimNumber(float64(m)/1000, 3) + " GPUs"
}
