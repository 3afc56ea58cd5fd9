package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Conflict is a change that came too late, or that means nothing as things stand.
type Conflict struct{ Msg string }

func (e *Conflict) Error() string { return e.Msg }

// NotFound is a thing that does not exist.
type NotFound struct{ What string }

func (e *NotFound) Error() string { return "there is no " + e.What }

// Cancel withdraws jobs; those that run are stopped with their grace. It returns how many
// were alive.
func (d *Daemon) Cancel(ctx context.Context, jobs []int32, by, text string) (int, error) {
	return change(ctx, d, func(t *tx) (int, error) {
		n := 0
		for _, i := range jobs {
			j := d.book.jobs[i]
			if j == nil || !j.Phase.Alive() || j.EndedBy != "" {
				continue
			}
			if err := t.fact(fact.Fact{Kind: fact.JobCancelled, Job: i, Node: -1, By: by, Text: text}); err == nil {
				n++
			}
		}
		if n == 0 && len(jobs) == 1 {
			if j := d.book.jobs[jobs[0]]; j != nil {
				return 0, &Conflict{fmt.Sprintf("job %s is %s already", j.Spec.ID, cancelled(j))}
			}
		}
		return n, nil
	})
}

func cancelled(j *Job) string {
	if j.Phase.Alive() {
		return "being cancelled"
	}
	return j.Fate()
}

// Hold keeps jobs out of the queue, Release lets them back in. An operator's hold is not
// the owner's to take back.
func (d *Daemon) Hold(ctx context.Context, jobs []int32, operator bool, by, text string) (int, error) {
	return d.holds(ctx, jobs, fact.JobHeld, operator, by, text)
}

// Release takes holds back.
func (d *Daemon) Release(ctx context.Context, jobs []int32, operator bool, by string) (int, error) {
	return d.holds(ctx, jobs, fact.JobReleased, operator, by, "")
}

func (d *Daemon) holds(ctx context.Context, jobs []int32, kind fact.Kind, operator bool, by, text string) (int, error) {
	return change(ctx, d, func(t *tx) (int, error) {
		n := 0
		for _, i := range jobs {
			j := d.book.jobs[i]
			if j == nil || !j.Phase.Alive() {
				continue
			}
			changed := 0
			for _, h := range holdsOf(j, kind, operator) {
				if t.fact(fact.Fact{Kind: kind, Job: i, Node: -1, Hold: h, By: by, Text: text}) == nil {
					changed = 1
				}
			}
			n += changed
		}
		if n == 0 && len(jobs) == 1 {
			return 0, holdRefused(d.book.jobs[jobs[0]], kind)
		}
		return n, nil
	})
}

// holdsOf are the holds that a request concerns: an operator releases the owner's too.
func holdsOf(j *Job, kind fact.Kind, operator bool) []fact.HoldBy {
	if kind == fact.JobHeld {
		if operator {
			return []fact.HoldBy{fact.HoldOperator}
		}
		return []fact.HoldBy{fact.HoldOwner}
	}
	all := []fact.HoldBy{fact.HoldOwner}
	if operator {
		all = append(all, fact.HoldOperator, fact.HoldBackOff)
	}
	var have []fact.HoldBy
	for _, h := range all {
		if j.Holds>>h&1 == 1 {
			have = append(have, h)
		}
	}
	return have
}

func holdRefused(j *Job, kind fact.Kind) error {
	switch {
	case j == nil:
		return &NotFound{"such job"}
	case !j.Phase.Alive():
		return &Conflict{fmt.Sprintf("job %s is %s already", j.Spec.ID, j.Fate())}
	case kind == fact.JobHeld:
		return &Conflict{fmt.Sprintf("job %s is held already", j.Spec.ID)}
	case j.Holds>>fact.HoldOperator&1 == 1:
		return &Conflict{fmt.Sprintf("job %s is held by an operator, who alone can release it", j.Spec.ID)}
	}
	return &Conflict{fmt.Sprintf("job %s is not held", j.Spec.ID)}
}

// Requeue stops the run of a job and has it wait again. Nothing is decided: the world is
// asked, and its answer is what the journal tells.
func (d *Daemon) Requeue(ctx context.Context, job int32, by string) error {
	_, err := d.RequeueAll(ctx, []int32{job}, by)
	return err
}

// RequeueAll does so to those of several jobs that run, and returns how many these are.
func (d *Daemon) RequeueAll(ctx context.Context, jobs []int32, by string) (int, error) {
	return change(ctx, d, func(t *tx) (int, error) {
		n := 0
		for _, i := range jobs {
			j := d.book.jobs[i]
			if j == nil || j.Phase != Running {
				continue
			}
			o := d.stopOrder(i)
			o.Cause, o.Why = fact.CauseOperator, by+" had it queued again."
			t.orders = append(t.orders, o)
			n++
		}
		switch {
		case n > 0:
		case len(jobs) > 1:
			return 0, &Conflict{fmt.Sprintf("none of these %d jobs runs", len(jobs))}
		case d.book.jobs[jobs[0]] == nil:
			return 0, &NotFound{"such job"}
		default:
			j := d.book.jobs[jobs[0]]
			return 0, &Conflict{fmt.Sprintf("job %s does not run, it is %s", j.Spec.ID, j.Fate())}
		}
		return n, nil
	})
}

// Drain takes nodes out of use, Resume back into it. What runs there goes on until the
// policy's protection of it is over.
func (d *Daemon) Drain(ctx context.Context, nodes []int32, by, text string) error {
	return d.drains(ctx, nodes, fact.NodeDrained, by, text)
}

// Resume takes a drain back.
func (d *Daemon) Resume(ctx context.Context, nodes []int32, by string) error {
	return d.drains(ctx, nodes, fact.NodeResumed, by, "")
}

func (d *Daemon) drains(ctx context.Context, nodes []int32, kind fact.Kind, by, text string) error {
	_, err := change(ctx, d, func(t *tx) (bool, error) {
		for _, n := range nodes {
			if n < 0 || int(n) >= len(d.cfg.World.Cluster().Nodes) {
				return false, &NotFound{"such node"}
			}
			if d.book.nodes[n].Drained == (kind == fact.NodeDrained) {
				continue
			}
			if err := t.fact(fact.Fact{Kind: kind, Job: -1, Node: n, By: by, Text: text}); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return err
}

// Checkpointed takes in that a run has saved its state.
func (d *Daemon) Checkpointed(ctx context.Context, job, attempt int32) error {
	_, err := change(ctx, d, func(t *tx) (bool, error) {
		j := d.book.jobs[job]
		if j == nil || j.Run() == nil || j.Run().Attempt != attempt || j.Run().Left != workload.Unknown {
			return false, &Conflict{"this run is over"}
		}
		kept, _, _ := d.engine.Settle(job, t.now, t.now, fact.CauseNone)
		return true, t.fact(fact.Fact{Kind: fact.JobCheckpointed, Job: job, Attempt: attempt, Node: -1, Kept: kept})
	})
	return err
}

// Tag names a version of a text: what changes it must name the one that it changes.
func Tag(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:8])
}

// Budgets are those in force, who set them, and their tag; nil where there are none.
func (d *Daemon) Budgets() (t *budget.Tree, by, tag string) {
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	if d.book.budgets == nil {
		return nil, "", ""
	}
	return d.book.budgets, d.book.budgetsBy, Tag(d.book.budgets.YAML())
}

// SetBudgets has other budgets hold from now on. tag is that of the budgets which they
// replace; "" = whatever they are.
func (d *Daemon) SetBudgets(ctx context.Context, tree *budget.Tree, by, tag string) error {
	_, err := change(ctx, d, func(t *tx) (bool, error) {
		if old := d.book.budgets; old != nil && tag != "" && Tag(old.YAML()) != tag {
			return false, &Conflict{"the budgets were changed in the meantime by " + d.book.budgetsBy}
		}
		if d.header.Policy.Sharing == nil {
			return false, &Conflict{fmt.Sprintf("policy %s shares by no budgets", d.header.Policy.Name)}
		}
		if err := t.fact(fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: tree, Epoch: d.clock.epoch, By: by}); err != nil {
			return false, &Invalid{"budgets", err.Error()}
		}
		return true, nil
	})
	return err
}

// Policy is the one in force, who set it, and its tag.
func (d *Daemon) Policy() (p *policy.Policy, by, tag string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.header.Policy, d.policyBy, Tag(d.header.Policy.YAML())
}

// SetPolicy has another policy decide from now on. What runs keeps its place.
func (d *Daemon) SetPolicy(ctx context.Context, p *policy.Policy, by, tag string) error {
	r := &request{alone: true, done: make(chan answer, 1), do: func(t *tx) (any, error) {
		if _, _, now := d.Policy(); tag != "" && tag != now {
			return false, &Conflict{"the policy was changed in the meantime by " + d.policyBy}
		}
		if err := d.tryPolicy(p); err != nil {
			return false, &Invalid{"policy", err.Error()}
		}
		t.policy = &newPolicy{p, by}
		return true, nil
	}}
	_, err := ask(ctx, d, r, false)
	return err
}
