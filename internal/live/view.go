package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// View is the queue as it stood at a time, with what was seen ahead. It does not change.
type View struct {
	At workload.Time
	// Queue in order, the next one first.
	Queue []Queued
	index map[int32]int
	// engine is a copy of the one that decides, for questions that take time.
	mu     sync.Mutex
	engine *engine.Engine
	// state is what the copies are made of.
	state *state
	// facts is how many had come.
	facts int64
	took  time.Duration
	made  time.Time
}

// Queued is a waiting job's place.
type Queued struct {
	Job int32
	// Rank is 1 for the next.
	Rank int
	Why  fact.Reason
	// P50 and P90 are when it has started in half and in nine of ten of the futures; Never where it
	// starts in too few. Futures is how many there are, 0 = none yet.
	P50, P90 workload.Time
	Futures  int
	// Few: too few jobs have ended here for their run times to tell much of those that run.
	Few bool
	// raw is P90 as the futures have it, before past errors were learned from.
	raw workload.Time
}

// Of is a job's place, nil where it has none.
func (v *View) Of(job int32) *Queued {
	if v == nil {
		return nil
	}
	if i, ok := v.index[job]; ok {
		return &v.Queue[i]
	}
	return nil
}

// viewer makes views one at a time, no more often than their cost allows.
type viewer struct {
	mu   sync.Mutex
	last atomic.Pointer[View]
	// least is how many facts and actions a view has to know of: those up to the last change of what
	// all go by. Whoever made that is answered after, and finds it in what they read next.
	least atomic.Int64
}

// share of the time that views may take, and the least age at which a new one is made.
const (
	viewShare = 10
	viewAge   = 500 * time.Millisecond
)

// LastView is the last view, nil before the first.
func (d *Daemon) LastView() *View { return d.views.last.Load() }

// Current is the last view, or a new one where budgets, policy, windows or nodes out of use have
// changed since.
func (d *Daemon) Current(ctx context.Context) *View {
	if v := d.LastView(); d.ruled(v) {
		return v
	}
	if v, err := d.View(ctx); err == nil {
		return v
	}
	return d.LastView()
}

// ruled tells whether a view is of the rules in force.
func (d *Daemon) ruled(v *View) bool {
	return v != nil && v.facts >= d.views.least.Load() && v.state.policy == d.Header().Policy
}

// rules tells whether a fact changes what all jobs go by.
func rules(k fact.Kind) bool {
	switch k {
	case fact.BudgetsChanged, fact.WindowSet, fact.WindowLifted, fact.NodeDrained, fact.NodeResumed:
		return true
	}
	return false
}

// View is a view that is fresh enough: nothing happened since, or it is so new that another
// would cost more than it is worth. A change of the rules is always in it.
func (d *Daemon) View(ctx context.Context) (*View, error) {
	if v := d.LastView(); d.fresh(v) {
		return v, nil
	}
	d.views.mu.Lock()
	defer d.views.mu.Unlock()
	if v := d.LastView(); d.fresh(v) {
		return v, nil
	}
	began := d.cfg.Now()
	st, err := d.state(ctx)
	if v := d.LastView(); v != nil && errors.Is(err, ErrUnavailable) { // reading goes on
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := engine.Restore(d.Header().Cluster, st.policy, d.defaults(), st.engine)
	if err != nil {
		return nil, err
	}
	v := &View{At: st.now, engine: e, state: st, facts: st.facts, index: map[int32]int{}}
	e.Reconsider()
	_ = e.Decide(st.now) // for reasons to be at hand; nothing of it is done
	for i, n := range e.Queue() {
		q := Queued{Job: n, Rank: i + 1, P50: workload.Never, P90: workload.Never}
		q.Why, _ = e.Why(n)
		v.index[n] = len(v.Queue)
		v.Queue = append(v.Queue, q)
	}
	if old := d.LastView(); d.ruled(old) { // until the futures of this one are known
		for i := range v.Queue {
			if q := old.Of(v.Queue[i].Job); q != nil {
				v.Queue[i].P50, v.Queue[i].P90, v.Queue[i].Futures, v.Queue[i].Few, v.Queue[i].raw = q.P50, q.P90, q.Futures, q.Few, q.raw
			}
		}
	}
	v.made = d.cfg.Now()
	v.took = v.made.Sub(began)
	d.views.last.Store(v)
	return v, nil
}

func (d *Daemon) fresh(v *View) bool {
	if !d.ruled(v) {
		return false
	}
	age := d.cfg.Now().Sub(v.made)
	return v.facts == d.stats.Facts.Load()+d.stats.Actions.Load() && age < 30*time.Second || age < max(viewAge, viewShare*v.took)
}

// state is the engine's state between two instants.
type state struct {
	now    workload.Time
	engine *engine.State
	policy *policy.Policy
	facts  int64
	// next is the number of the next submission.
	next int32
}

func (d *Daemon) state(ctx context.Context) (*state, error) {
	return read(ctx, d, func() *state {
		return &state{now: d.clock.last, engine: d.engine.Snapshot(), policy: d.header.Policy, next: d.book.next, facts: d.stats.Facts.Load() + d.stats.Actions.Load()}
	})
}

// Explain tells where a job stands, by a view that is fresh enough. ok is false for a job that
// the engine does not know.
func (d *Daemon) Explain(ctx context.Context, job int32) (x engine.Explanation, ok bool, err error) {
	v, err := d.View(ctx)
	if err != nil {
		return x, false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	x, ok = v.engine.Explain(job)
	return x, ok, nil
}

// Accounts are the accounts of the budgets with what they had, by a view that is fresh enough;
// nil under a policy that shares by none.
func (d *Daemon) Accounts(ctx context.Context) ([]*engine.Account, error) {
	v, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.engine.Accounts(), nil
}

// Trial is what another policy would do with the present state.
type Trial struct {
	Starts, Stops []fact.Action
	// Before and After are the first in line now, and then.
	Before, After []int32
	Waiting       int
}

// Try asks another policy what it would do now. Nothing is changed.
func (d *Daemon) Try(ctx context.Context, p *policy.Policy) (*Trial, error) {
	st, err := d.state(ctx)
	if err != nil {
		return nil, err
	}
	const first = 10
	out := &Trial{}
	now, err := engine.Restore(d.Header().Cluster, st.policy, d.defaults(), st.engine)
	if err != nil {
		return nil, err
	}
	then, err := engine.Restore(d.Header().Cluster, p, d.defaults(), st.engine)
	if err != nil {
		return nil, &Invalid{"policy", err.Error()}
	}
	before, after := now.Queue(), then.Queue()
	out.Waiting = len(after)
	out.Before, out.After = before[:min(first, len(before))], after[:min(first, len(after))]
	x := then.Decide(st.now + 1)
	for i := range x.Actions {
		switch a := x.Actions[i]; a.Do {
		case fact.Start:
			out.Starts = append(out.Starts, a)
		case fact.Stop:
			out.Stops = append(out.Stops, a)
		}
	}
	return out, nil
}
