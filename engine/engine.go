package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// maxTerms is the largest number of terms of an order chain.
const maxTerms = 4

// Engine is the state machine. Not safe for concurrent use.
type Engine struct {
	layout *cluster.Layout
	pol    *policy.Policy
	// defaults fill in contracts that say nothing.
	defaults Defaults
	placer   *place.Placer
	frees    []*cluster.Free
	pools    []poolState

	jobs      []job
	numbering numbering
	// past are jobs that had ended when the engine was restored, by number; of those that
	// ended before forgot nothing is remembered.
	past    []past
	forgot  workload.Time
	q       queue
	classes []class
	classOf map[classKey]int32
	shapes  map[shapeKey]*place.Shape
	// straddles: some class may go to more than one pool.
	straddles bool
	// coresOnly: some class asks for no GPUs.
	coresOnly bool
	// active lists the classes with waiting jobs.
	active []int32
	order  order
	now    workload.Time
	// dirty: something happened since the last decision that could change it.
	dirty bool
	// uncommitted is the number of actions of the last decision that are still to be committed.
	uncommitted int
	wake        workload.Time

	// predicts and tracks say what the policy needs: predicted ends, lists of running jobs.
	predicts, tracks bool
	// plans: several jobs have dates, on a profile over time.
	plans bool
	// bySize: running jobs are also filed by size and predicted end, for remaining-time preemption.
	bySize bool

	claims    []claim
	deps      dependencies
	toRefuse  []fact.Action
	toStop    []int32
	down      []bool
	drained   []bool
	nDrained  int
	nDown     int
	empty     []*cluster.Free
	grantPool [][]cluster.Grant
	// sharing is nil unless the policy shares by budgets, ahead unless it plans the horizon.
	sharing *sharing
	ahead   *ahead
	// services are the real-time applications, by job.
	services []*service
	windows  windows
	plan     profile
	easy     reservations
	// promised lists the waiting jobs that have a date.
	promised []int32
	scratch  []*cluster.Free
	decision decision
	dynKeys  []int64
	gauge    counters
	limit    teamLimit
	// budgets and epoch are what was told last, kept for a policy that shares by them.
	budgets    *budget.Tree
	epoch      workload.Time
	victimSets int64
	victims    []victim
}

// never is a time before all others that can be calculated with.
const never workload.Time = -1 << 61

type counters struct {
	installed, available int64
	assigned, held       int64
	waitingJobs          int
	waitingMilli         int64
	runningJobs          int
}

// New returns an engine for a checked cluster. An error says why the policy
// means nothing on it.
func New(spec *cluster.Spec, pol *policy.Policy, d Defaults) (*Engine, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	l := cluster.NewLayout(spec)
	p, err := place.New(l, pol.Placement)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", pol.Name, err)
	}
	e := &Engine{layout: l, pol: pol, defaults: d, placer: p, classOf: map[classKey]int32{}, shapes: map[shapeKey]*place.Shape{}, wake: workload.Never, now: never, forgot: never, numbering: numbering{gone: none}}
	if err := e.order.init(pol); err != nil {
		return nil, fmt.Errorf("policy %s: %w", pol.Name, err)
	}
	reserves := pol.Blocking == policy.EASY || pol.Blocking == policy.Conservative
	if reserves && pol.Preemption.By != policy.PreemptNone {
		return nil, fmt.Errorf("policy %s: blocking %s cannot be combined with preemption %q", pol.Name, pol.Blocking, "priority or order")
	}
	e.bySize = pol.Preemption.By == policy.PreemptOrder && len(e.order.terms) > 0 &&
		(e.order.terms[0].Kind == policy.ByRemaining || e.order.terms[0].Kind == policy.ByRemainingArea) && !e.order.terms[0].Descending
	// One date a pool is made anew at each decision; several have to be kept apart over time.
	e.plans = pol.Blocking == policy.Conservative || pol.Blocking == policy.EASY && pol.Depth > 1
	e.predicts = reserves || e.bySize || pol.Horizon != nil
	e.tracks = reserves || pol.Horizon != nil || pol.Preemption.By != policy.PreemptNone || e.order.needsRunning || pol.Sharing != nil
	e.q.terms = e.order.static
	e.frees = make([]*cluster.Free, len(l.Pools))
	e.pools = make([]poolState, len(l.Pools))
	for i := range l.Pools {
		e.frees[i] = cluster.NewFree(l, int32(i))
	}
	e.down, e.drained = make([]bool, len(spec.Nodes)), make([]bool, len(spec.Nodes))
	e.gauge.installed = spec.GPUs() * 1000
	e.gauge.available = e.gauge.installed
	e.limit.init(pol, e.gauge.installed)
	if pol.Sharing != nil {
		e.sharing = newSharing(e, pol.Sharing)
	}
	if pol.Horizon != nil {
		if e.ahead, err = newAhead(l, pol.Horizon); err != nil {
			return nil, fmt.Errorf("policy %s: %w", pol.Name, err)
		}
	}
	return e, nil
}

// Expect makes room for n jobs, so that a caller who knows how many come does
// not pay for growing. It changes no decision.
func (e *Engine) Expect(n int) {
	if cap(e.jobs) < n {
		e.jobs = append(make([]job, 0, n), e.jobs...)
	}
	e.q.expect(n)
}

// Layout is the cluster cut into pools.
func (e *Engine) Layout() *cluster.Layout { return e.layout }

// ErrUnknown marks a fact about a job or a run that the engine does not know:
// doubled, late or foreign. The state is unchanged.
var ErrUnknown = errors.New("unknown job or run")

// Apply makes a fact true. Facts of one instant come in the order of their
// kinds, inside a kind by number (SEMANTICS 3). An error leaves the state unchanged.
func (e *Engine) Apply(f *fact.Fact) error {
	f = e.factIn(f)
	if e.sharing != nil && f.At < e.now {
		return fmt.Errorf("%s at %d ms, but it is %d ms already: facts come in the order of time", f.Kind, f.At, e.now)
	}
	if f.At > e.now {
		e.passWindows(f.At)
		if e.order.attained != nil && e.order.attained.Promote > 0 {
			e.promote(f.At - 1) // what was due before this instant
		}
		if e.order.shares != nil {
			e.decayShares(f.At)
		}
		e.now = f.At
	}
	switch f.Kind {
	case fact.JobSubmitted:
		return e.submit(f)
	case fact.JobStarted:
		return e.started(f)
	case fact.JobFinished:
		return e.finished(f)
	case fact.JobStopped:
		return e.stopped(f)
	case fact.StartFailed:
		return e.startFailed(f)
	case fact.JobCancelled:
		return e.cancelled(f)
	case fact.JobCheckpointed:
		j, err := e.run(f)
		if err == nil {
			j.kept = f.Kept
			j.work = f.At
		}
		return err
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		return e.nodeChanged(f)
	case fact.WindowSet, fact.WindowLifted:
		return e.windowChanged(f)
	case fact.BudgetsChanged:
		return e.budgetsChanged(f)
	case fact.DemandChanged:
		return e.demandChanged(f)
	case fact.PlanProposed:
		return e.planProposed(f)
	case fact.JobHeld, fact.JobReleased:
		return e.holdChanged(f)
	case fact.JobAdopted:
		return e.adopt(f)
	case fact.JobEdited:
		return e.edited(f)
	case fact.LostSight, fact.Found:
		_, err := e.run(f) // its GPUs stay taken: nothing is freed by a guess
		return err
	case fact.ClockStepped, fact.JobObserved:
		return nil
	case fact.SessionIdle, fact.SessionActive:
		return e.sessionChanged(f)
	}
	return fmt.Errorf("fact of unknown kind %d", f.Kind)
}

// run returns the job of a fact about its present run.
func (e *Engine) run(f *fact.Fact) (*job, error) {
	if int(f.Job) >= len(e.jobs) || f.Job < 0 {
		return nil, ErrUnknown
	}
	j := &e.jobs[f.Job]
	if j.attempt != f.Attempt || j.state != starting && j.state != running && j.state != stopping {
		return nil, ErrUnknown
	}
	return j, nil
}

func (e *Engine) submit(f *fact.Fact) error {
	n := f.Job
	if n < 0 || f.Submitted == nil || int(n) < len(e.jobs) && e.jobs[n].state != absent {
		return ErrUnknown
	}
	if int(n) >= len(e.jobs) {
		if int(n) >= cap(e.jobs) {
			e.Expect(max(int(n)+1, 2*cap(e.jobs)))
		}
		e.jobs = e.jobs[:n+1]
	}
	e.q.grow(len(e.jobs))
	j := &e.jobs[n]
	j.spec, j.class, j.est = f.Submitted, none, e.estimate(f)
	e.q.submit[n] = j.spec.Submit
	if e.order.shares != nil {
		e.order.shares.index(j.spec)
	}
	if e.sharing != nil {
		e.sharing.submitted(n, j.spec)
	}
	if j.spec.Service != nil {
		e.addService(n)
	}
	if len(j.spec.After) > 0 || e.deps.ids != nil {
		if e.await(n) {
			return nil
		}
	}
	e.enqueue(n)
	return nil
}

// enqueue puts a job into the queue, or aside if it can never run.
func (e *Engine) enqueue(n int32) {
	j := &e.jobs[n]
	if j.holds != 0 {
		j.state = onHold
		return
	}
	if s := e.sharing; s != nil { // the tree may have changed while it ran
		s.jobs[n].leaf = s.leafOf(j.spec)
	}
	if e.order.perJob || j.class == none || e.order.dynamic || e.sharing != nil || e.windows.filed {
		j.class = e.classFor(n)
	}
	if e.order.perJob {
		e.classes[j.class].keyOf = none // the same job may come back as another within an instant
	}
	if j.attempt == 0 {
		e.placer.Asked(e.classes[j.class].shape)
	}
	c := &e.classes[j.class]
	if c.never {
		if j.state != refused {
			j.state = refused
			e.toRefuse = append(e.toRefuse, refuse(n, c.reason))
			e.dirty = true
			e.resolve(n)
		}
		return
	}
	j.state, j.since = waiting, e.now
	e.order.key(e, n, e.q.keys[int(n)*e.q.terms:])
	e.q.est[n] = e.duration(j)
	e.insert(n)
	e.gauge.waitingJobs++
	e.gauge.waitingMilli += c.shape.Milli
	if e.sharing != nil {
		// Behind others of its class it changes nothing: they were refused.
		e.dirty = e.sharing.queued(e, j.class) || e.dirty
		return
	}
	e.awaitPromotion(n)
	if e.plans {
		e.plan.fresh = append(e.plan.fresh, n)
	}
	e.dirty = true
}

// refuse is the action that sets a job aside for good.
func refuse(n int32, why fact.Reason) fact.Action {
	return fact.Action{Do: fact.Refuse, Job: n, For: none, Reason: why}
}

// insert and extract move a job in and out of its class's treap.
func (e *Engine) insert(n int32) {
	ci := e.jobs[n].class
	c := &e.classes[ci]
	c.root = e.q.insert(c.root, n)
	if c.n++; c.n == 1 {
		c.at = int32(len(e.active))
		e.active = append(e.active, ci)
		if e.sharing != nil {
			e.sharing.enter(e, ci)
		}
	}
	if c.head == none || e.q.less(n, c.head) {
		c.head = n
	}
	c.cur = c.head
}

func (e *Engine) extract(n int32) {
	c := &e.classes[e.jobs[n].class]
	c.root = e.q.remove(c.root, n)
	if c.head == n {
		c.head = e.q.first(c.root)
	}
	c.cur = c.head
	if c.n--; c.n == 0 {
		last := e.active[len(e.active)-1]
		e.active[c.at] = last
		e.classes[last].at = c.at
		e.active = e.active[:len(e.active)-1]
		if e.sharing != nil {
			e.sharing.leave(e, e.jobs[n].class)
		}
	}
}

func (e *Engine) dequeue(n int32) {
	e.extract(n)
	if e.sharing != nil && !e.classes[e.jobs[n].class].fill {
		e.sharing.waitingWork--
	}
	e.gauge.waitingJobs--
	e.gauge.waitingMilli -= e.classes[e.jobs[n].class].shape.Milli
}

// release frees what a run occupies.
func (e *Engine) release(n int32) {
	j := &e.jobs[n]
	f := e.frees[j.pool]
	if e.sharing != nil {
		e.sharing.gone(e, n, e.now)
	}
	if e.layout.Counted() {
		f.GiveCount(j.milli)
	} else {
		f.Give(j.grants)
		e.recycle(j.grants)
		j.grants = nil
	}
	e.gauge.assigned -= j.milli
	e.limit.drop(&e.classes[j.class], j.milli)
	e.gauge.runningJobs--
	if e.tracks {
		e.untrack(n)
	}
	e.settleClaims(j.pool)
	e.dirty = true
	e.offer(e.now)
}

// offer tells the ledger what is usable where it changes without a fact about nodes:
// a node that is drained or under maintenance and carries nothing any more is not.
func (e *Engine) offer(at workload.Time) {
	if e.sharing != nil && e.nDrained+e.windows.nIdle > 0 {
		e.sharing.offered(e, at)
	}
}

func (e *Engine) started(f *fact.Fact) error {
	j, err := e.run(f)
	if err != nil {
		return err
	}
	switch j.state {
	case starting:
		j.state = running
	case stopping: // it was told to stop on its way up; the stop is still to come
		if j.up {
			return ErrUnknown
		}
	default:
		return ErrUnknown
	}
	j.up = true
	j.runs++
	if f.At != j.since && e.predicts {
		e.untrackEnd(f.Job)
		j.since = f.At
		e.predict(f.Job)
		e.plan.broken, e.dirty = true, true // it will end later than was planned
	}
	j.since = f.At
	j.work = f.At + e.restart(j)
	if e.sharing != nil {
		e.sharing.confirmed(e, f)
	}
	return nil
}

// restart is the time that the present or next start spends before work goes
// on: none if no start before it came true.
func (e *Engine) restart(j *job) workload.Span {
	before := j.runs
	if j.state == running || j.state == stopping && j.up {
		before--
	}
	if before > 0 {
		return e.contract(j).RestartCost
	}
	return 0
}

func (e *Engine) finished(f *fact.Fact) error {
	j, err := e.run(f)
	if err != nil {
		return err
	}
	e.accrue(f.Job, f.At)
	until := j.end
	e.release(f.Job)
	e.plan.released(f.At < until, until)
	e.end(f.Job, f.Outcome)
	return nil
}

// accrue adds what a run that ends has had to what the job has had in all.
func (e *Engine) accrue(n int32, now workload.Time) {
	j := &e.jobs[n]
	if now > j.since {
		j.attained += area(j.milli, now-j.since)
	}
	if s := e.order.shares; s != nil {
		s.ended = append(s.ended, n)
	}
}

func (e *Engine) end(n int32, o workload.Outcome) {
	j := &e.jobs[n]
	j.state, j.outcome, j.since = ended, o, e.now
	if j.spec.Service != nil {
		e.services = slices.DeleteFunc(e.services, func(s *service) bool { return s.job == n })
	}
	if e.sharing != nil {
		e.sharing.events++
	}
	e.resolve(n)
}

func (e *Engine) stopped(f *fact.Fact) error {
	j, err := e.run(f)
	if err != nil {
		return err
	}
	e.accrue(f.Job, f.At)
	for done := j.kept + e.progress(j, f.At); j.est <= done; {
		j.est *= 2 // it has shown that it needs more, though the work itself may be lost
	}
	until := j.end
	e.release(f.Job)
	e.plan.released(true, until)
	j.kept = f.Kept
	if f.Cause == fact.CauseCancelled || j.cancel {
		e.end(f.Job, workload.OutcomeCancelled)
		return nil
	}
	if f.Cause == fact.CauseParked {
		j.state = parked
		return nil
	}
	if j.spec.Contract.NotResumable && j.up && f.Cause != fact.CauseNodeFailure {
		e.end(f.Job, workload.OutcomePreempted)
		return nil
	}
	e.enqueue(f.Job)
	return nil
}

func (e *Engine) startFailed(f *fact.Fact) error {
	j, err := e.run(f)
	if err != nil {
		return err
	}
	if j.state != starting {
		return ErrUnknown
	}
	until := j.end
	e.release(f.Job)
	e.plan.released(true, until)
	e.enqueue(f.Job)
	return nil
}

func (e *Engine) cancelled(f *fact.Fact) error {
	if f.Job < 0 || int(f.Job) >= len(e.jobs) {
		return ErrUnknown
	}
	j := &e.jobs[f.Job]
	switch j.state {
	case waiting:
		e.withdraw(f.Job)
	case claiming:
		e.dropClaim(f.Job)
	case blocked, refused, stuck, parked, onHold:
		e.toRefuse = slices.DeleteFunc(e.toRefuse, func(a fact.Action) bool { return a.Job == f.Job })
	case starting, running:
		if j.cancel {
			return nil // told twice
		}
		j.cancel = true
		e.toStop = append(e.toStop, f.Job)
		e.dirty = true
		return nil
	case stopping:
		j.cancel = true
		return nil
	default:
		return ErrUnknown
	}
	e.dirty = true
	e.end(f.Job, workload.OutcomeCancelled)
	return nil
}

// withdraw takes a waiting job out of the queue, and its date with it.
func (e *Engine) withdraw(n int32) {
	e.dequeue(n)
	e.plan.dropped(n)
	e.unpromise(n)
	if e.sharing != nil {
		e.sharing.undate(e, n)
	}
}

func (e *Engine) nodeChanged(f *fact.Fact) error {
	n := f.Node
	if n < 0 || int(n) >= len(e.down) {
		return fmt.Errorf("fact about unknown node %d", n)
	}
	was := e.down[n]
	switch f.Kind {
	case fact.NodeDown:
		e.down[n] = true
	case fact.NodeUp:
		e.down[n] = false
		if e.ahead != nil {
			e.ahead.cameUp(n, f.At)
		}
	case fact.NodeDrained, fact.NodeResumed:
		drain := f.Kind == fact.NodeDrained
		if drain != e.drained[n] {
			if e.drained[n] = drain; drain {
				e.nDrained++
			} else {
				e.nDrained--
			}
		}
	}
	e.shut(n, e.down[n] || e.drained[n])
	if was != e.down[n] {
		if was {
			e.nDown--
		} else {
			e.nDown++
		}
		milli := int64(e.layout.Spec.Nodes[n].GPUs) * 1000
		if was {
			e.gauge.available += milli
		} else {
			e.gauge.available -= milli
		}
	}
	if s := e.sharing; s != nil {
		s.offered(e, f.At)
		s.pending.all, s.pending.swaps = true, true
	}
	e.plan.broken = true
	e.dirty = true
	return nil
}

// shut makes a node take no new work, or take it again.
func (e *Engine) shut(n int32, shut bool) {
	p := e.layout.PoolOf[n]
	e.frees[p].SetShut(n, shut)
	if s := e.sharing; s != nil {
		s.loose.shut(s, p, n, shut)
		s.soft.shut(s, p, n, shut)
	}
}

// recycle keeps the memory of grants for the next job.
func (e *Engine) recycle(g []cluster.Grant) {
	if cap(g) > 0 && len(e.grantPool) < 4096 {
		e.grantPool = append(e.grantPool, g[:0])
	}
}

// keep copies grants into memory of the engine's own.
func (e *Engine) keep(g []cluster.Grant) []cluster.Grant {
	if len(g) == 0 {
		return nil
	}
	if n := len(e.grantPool); n > 0 && cap(e.grantPool[n-1]) >= len(g) {
		own := e.grantPool[n-1]
		e.grantPool = e.grantPool[:n-1]
		return append(own, g...)
	}
	return append(make([]cluster.Grant, 0, len(g)), g...)
}
