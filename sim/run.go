package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// run is one simulation in progress.
type run struct {
	o      *Options
	jobs   []workload.Job
	actual []workload.Actual
	eng    *engine.Engine
	res    *Result
	state  []jobState
	events heap
	next   int // the next job to submit
	wake   workload.Time
	now    workload.Time
	ended  int
	fill   engine.Defaults
	faults *faults
	// places of running jobs; kept only where nodes can fail.
	places map[int32][]cluster.Grant
	// planned and drawn say which nodes are down by plan and by chance; nDrawn counts the latter.
	planned, drawn []bool
	nDrawn         int
	// fruitless counts instants in a row at which nothing was alive and nothing came of it.
	fruitless int
	// acted is the time of the last action.
	acted workload.Time
	// vain counts stops in a row between which no job ended and none kept any work.
	vain  int
	fact  fact.Fact
	again bool
	// begun: the budgets were told.
	begun bool
	// planAt is when the planner is asked next.
	planAt workload.Time
	// latency passes between a start action and the start.
	latency workload.Span
	// from is what a run that goes on from a state knows beside it, else nil.
	from *resumed
	// lateAt is when the next event is due that comes behind the submissions of its instant.
	lateAt workload.Time
	// over are the jobs that have ended and whose end was not followed yet.
	over []int32
}

// jobState is what the world knows of a job.
type jobState struct {
	// kept is the work that is safe, at reference speed and declared tasks.
	kept workload.Span
	// assigned is the time of the present start action, began of its confirmation,
	// queued of the last entry into the queue.
	assigned, began, queued workload.Time
	// signal is when it was told to stop, for cause.
	signal workload.Time
	cause  fact.Cause
	// holds has bit h set for each [fact.HoldBy] h. gone: it was withdrawn while it ran.
	holds          uint8
	gone           bool
	milli          int64
	attempt, tasks int32
	speed          int32
	on, up, waits  bool
	// parked: a session without GPUs, until its owner is back at idleUntil.
	parked    bool
	idleUntil workload.Time
}

// Run simulates until every job is done, the options' cut, or the context's end
// (then Result.Cut is true and the error is the context's).
func Run(ctx context.Context, o Options) (*Result, error) {
	r, err := newRun(&o)
	if err != nil {
		return nil, err
	}
	err = r.loop(ctx)
	r.close()
	return r.res, err
}

// engine is the one that decides.
func (o *Options) engine(fill engine.Defaults) (*engine.Engine, error) {
	if o.From != nil {
		return engine.Restore(o.Cluster, o.Policy, fill, o.From.State)
	}
	return engine.New(o.Cluster, o.Policy, fill)
}

func newRun(o *Options) (*run, error) {
	fill := engine.Defaults{Checkpoint: o.Assume.Checkpoint, RestartCost: o.Assume.RestartCost, Grace: o.Assume.Grace, StartLatency: o.Assume.StartLatency}
	eng, err := o.engine(fill)
	if err != nil {
		return nil, err
	}
	n := len(o.Workload.Jobs)
	eng.Expect(n)
	r := &run{o: o, jobs: o.Workload.Jobs, actual: o.Workload.Actual, eng: eng, fill: fill, wake: workload.Never, lateAt: workload.Never, latency: o.Assume.StartLatency,
		state: make([]jobState, n), res: &Result{Jobs: make([]JobResult, n), Estimates: make([]workload.Span, n)}}
	r.misforecast()
	if r.planAt = workload.Never; o.Planner != nil && o.Policy.Horizon != nil && n > 0 {
		r.planAt = o.Workload.Jobs[0].Submit
	}
	for i := range r.res.Jobs {
		r.res.Jobs[i].FirstStart, r.res.Jobs[i].Finish = workload.Unknown, workload.Unknown
		r.res.Jobs[i].State = Unstarted
	}
	if o.From != nil {
		return r, r.resume()
	}
	if len(o.Cluster.Outages) > 0 || o.Faults.MTBF > 0 {
		r.places = map[int32][]cluster.Grant{}
		r.planned, r.drawn = make([]bool, len(o.Cluster.Nodes)), make([]bool, len(o.Cluster.Nodes))
	}
	kinds := map[string]eventKind{"down": nodeDown, "up": nodeUp, "drain": nodeDrain, "resume": nodeResume}
	for _, x := range o.Cluster.Outages {
		r.events.push(event{at: x.At, kind: kinds[x.Change], subject: eng.Layout().Node(x.Node)})
	}
	if o.Faults.MTBF > 0 {
		if len(o.Cluster.Nodes) == 0 {
			return nil, errors.New("node failures need nodes, but the cluster is a mere count of GPUs")
		}
		r.faults = newFaults(o.Faults, len(o.Cluster.Nodes))
		t0, _ := o.Workload.Window()
		for i := range o.Cluster.Nodes {
			r.events.push(event{at: t0 + r.faults.draw(int32(i), o.Faults.MTBF), kind: drawnDown, subject: int32(i)})
		}
	}
	return r, nil
}

// loop serves one instant after the other.
func (r *run) loop(ctx context.Context) error {
	for turn := 0; ; turn++ {
		if turn&15 == 0 && ctx.Err() != nil {
			r.res.Cut = true
			return ctx.Err()
		}
		if turn&1023 == 0 && r.o.Progress != nil {
			r.o.Progress(r.ended, len(r.jobs))
		}
		now := r.nextTime()
		if now == workload.Never || r.ended == len(r.jobs) {
			return nil
		}
		if r.o.Until > 0 && now > r.o.Until {
			r.res.Cut = true
			r.now = r.o.Until
			return nil
		}
		r.now = now
		if err := r.begin(); err != nil {
			return err
		}
		if err := r.instant(); err != nil {
			return err
		}
	}
}

// begin tells the budgets before anything else happens.
func (r *run) begin() error {
	if r.begun || r.o.Policy.Sharing == nil {
		return nil
	}
	r.begun = true
	t := r.o.Budgets
	if t == nil {
		t = EqualBudgets(r.o.Workload)
		r.res.Notes = append(r.res.Notes, "no budgets were given: the teams of the workload have equal shares")
	}
	r.fact = fact.Fact{Kind: fact.BudgetsChanged, At: r.now, Job: -1, Node: -1, Budgets: t, Epoch: r.o.Workload.Epoch}
	return r.tell(&r.fact)
}

// EqualBudgets gives the teams of a workload equal shares, in the order in which
// they first appear: what holds where no budgets are given.
func EqualBudgets(w *workload.Workload) *budget.Tree {
	var teams []string
	seen := map[string]bool{}
	for i := range w.Jobs {
		if t := w.Jobs[i].Team; !seen[t] {
			seen[t] = true
			teams = append(teams, t)
		}
	}
	return budget.Equal("equal", teams)
}

func (r *run) nextTime() workload.Time {
	t := r.wake
	if len(r.events) > 0 {
		t = min(t, r.events[0].at)
	}
	if r.next < len(r.jobs) {
		t = min(t, r.jobs[r.next].Submit)
	}
	t = min(t, r.lateAt)
	switch {
	case t == workload.Never:
	case r.alive():
		t = min(t, r.planAt)
		r.fruitless = 0
	case r.fruitless > 1 && !r.awaitsMoney() && len(r.eng.Windows()) == 0: // not even a date that had come changed anything
		return workload.Never
	case r.wake == workload.Never: // failures of idle nodes are no reason to go on
		return r.wake
	}
	return t
}

// awaitsMoney tells whether a hard budget may still begin anew or have a credit that lets
// a job start: for two years after the last thing that was done.
func (r *run) awaitsMoney() bool {
	t := r.o.Budgets
	if t == nil || r.o.Policy.Sharing == nil || r.now > r.acted+2*366*workload.Day {
		return false
	}
	return slices.ContainsFunc(t.Nodes, func(n budget.Node) bool { return n.Budget != nil })
}

// alive tells whether anything is still to come but chance and the clock: work
// that runs, submissions, planned events, or nodes that chance took and will give back.
func (r *run) alive() bool {
	if r.next < len(r.jobs) || r.lateAt != workload.Never || r.eng.Gauge().RunningJobs > 0 || r.nDrawn > 0 && r.eng.Gauge().WaitingJobs > 0 {
		return true
	}
	for i := range r.events {
		switch x := &r.events[i]; x.kind {
		case drawnDown, drawnUp:
		case finish, stopped, confirm:
			if s := &r.state[x.subject]; s.on && s.attempt == x.attempt {
				return true
			}
		case cancel:
			if r.state[x.subject].waits {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// instant serves everything due now, then decides until nothing new follows.
func (r *run) instant() error {
	due := r.now >= r.wake
	happened, before := due, r.res.Actions
	defer func() {
		if due || r.alive() {
			r.fruitless++
		}
		if r.res.Actions > before {
			r.fruitless, r.acted = 0, r.now
		}
	}()
	for len(r.events) > 0 && r.events[0].at == r.now {
		before := r.res.Facts
		if err := r.serve(r.events.pop()); err != nil {
			return err
		}
		if r.res.Facts == before {
			continue // it was overtaken
		}
		happened = true
		if len(r.over) > 0 {
			if err := r.follow(); err != nil {
				return err
			}
		}
		if r.o.Policy.PerEvent {
			if err := r.decide(); err != nil {
				return err
			}
		}
	}
	for r.next < len(r.jobs) && r.jobs[r.next].Submit == r.now {
		if err := r.submit(int32(r.next)); err != nil {
			return err
		}
		r.next++
		happened = true
		if r.o.Policy.PerEvent {
			if err := r.decide(); err != nil {
				return err
			}
		}
	}
	for r.lateAt == r.now {
		before := r.res.Facts
		if err := r.recorded(); err != nil {
			return err
		}
		if r.res.Facts == before {
			continue
		}
		happened = true
		if r.o.Policy.PerEvent {
			if err := r.decide(); err != nil {
				return err
			}
		}
	}
	if r.now >= r.planAt {
		happened = true
		if err := r.plan(); err != nil {
			return err
		}
	}
	if !happened {
		return nil
	}
	if err := r.decide(); err != nil {
		return err
	}
	if r.o.Probe != nil {
		r.o.Probe(r.now, r.eng)
	}
	if len(r.o.Observers) > 0 {
		g := r.eng.Gauge()
		out := Gauge{At: r.now, Installed: g.Installed, Available: g.Available, Assigned: g.Assigned, Held: g.Held,
			WaitingJobs: g.WaitingJobs, WaitingMilli: g.WaitingMilli, RunningJobs: g.RunningJobs}
		out.Fragmented = g.WaitingJobs > 0 && r.eng.Fragmented()
		for _, o := range r.o.Observers {
			o.Instant(&out)
		}
	}
	return nil
}

// decide asks the engine, and again while its actions have effects at this very
// instant (a stop without grace frees GPUs at once).
func (r *run) decide() error {
	for turn := 0; turn < 1000+4*len(r.jobs); turn++ {
		d := r.eng.Decide(r.now)
		r.res.Decisions++
		r.wake = d.Wake
		r.again = d.Again
		for i := range d.Actions {
			a := &d.Actions[i]
			r.res.Actions++
			for _, o := range r.o.Observers {
				o.Action(a)
			}
			if err := r.eng.Commit(a); err != nil {
				return fmt.Errorf("at %d ms: %w", r.now, err)
			}
		}
		for i := range d.Actions {
			if err := r.act(&d.Actions[i]); err != nil {
				return err
			}
		}
		if len(r.over) > 0 {
			if err := r.follow(); err != nil {
				return err
			}
		}
		if !r.again {
			return nil
		}
	}
	return fmt.Errorf("policy %s goes on deciding at %d ms without end", r.o.Policy.Name, r.now)
}

// tell gives a fact to the engine and the observers.
func (r *run) tell(f *fact.Fact) error {
	r.res.Facts++
	r.res.End = f.At
	if err := r.eng.Apply(f); err != nil {
		return fmt.Errorf("at %d ms: %s of job %d: %w", f.At, f.Kind, f.Job, err)
	}
	for _, o := range r.o.Observers {
		o.Fact(f)
	}
	return nil
}

func (r *run) submit(n int32) error {
	s := &r.state[n]
	s.queued, s.waits = r.now, true
	est := r.estimate(n)
	r.res.Estimates[n] = est
	if est == 0 {
		if r.res.Estimates[n] = r.jobs[n].Estimate; r.res.Estimates[n] == 0 {
			r.res.Estimates[n] = r.jobs[n].Limit
		}
	}
	if c := r.actual[n].CancelAfter; c > 0 {
		r.events.push(event{at: r.now + c, kind: cancel, subject: n})
	}
	r.fact = fact.Fact{Kind: fact.JobSubmitted, At: r.now, Job: n, Node: -1, Submitted: &r.jobs[n], Estimate: est}
	if err := r.tell(&r.fact); err != nil {
		return err
	}
	if r.jobs[n].Service != nil {
		return r.serviceBegins(n)
	}
	if r.o.Follow == nil {
		return nil
	}
	return r.followed(n, false)
}

func (r *run) estimate(n int32) workload.Span {
	if r.o.Estimates != nil {
		return r.o.Estimates[n]
	}
	return Estimate(r.o.Policy.Estimates, n, &r.jobs[n], &r.actual[n])
}

// end counts a job that has come to its end.
func (r *run) end(n int32) {
	r.ended++
	if r.o.Follow != nil {
		r.over = append(r.over, n)
	}
}

// act carries out an action.
func (r *run) act(a *fact.Action) error {
	switch a.Do {
	case fact.Start:
		s := &r.state[a.Job]
		s.attempt, s.tasks, s.assigned, s.on, s.up = a.Attempt, a.Tasks, r.now, true, false
		s.milli, s.speed = a.Milli, 1000
		if len(a.Place) > 0 {
			s.speed = r.speedOn(a.Job, a.Place[0].Node)
		}
		if r.places != nil {
			r.places[a.Job] = slices.Clone(a.Place)
		}
		if r.latency > 0 {
			r.events.push(event{at: r.now + r.latency, kind: confirm, subject: a.Job, attempt: a.Attempt})
			return nil
		}
		return r.confirm(a.Job)
	case fact.Stop:
		s := &r.state[a.Job]
		s.signal, s.cause = r.now, a.Cause()
		g := r.fill.Fill(r.jobs[a.Job].Contract).Grace
		if r.o.Policy.Sharing != nil {
			g = a.Until - r.now
		}
		if g > 0 {
			r.events.push(event{at: r.now + g, kind: stopped, subject: a.Job, attempt: a.Attempt})
			return nil
		}
		r.again = true
		return r.stop(a.Job, s.cause)
	case fact.Resize:
		r.resize(a)
	case fact.Refuse:
		j := &r.res.Jobs[a.Job]
		if j.State != Unstarted {
			return nil // withdrawn in the meantime
		}
		if j.State = Refused; a.Reason.Code == fact.DependencyFailed {
			j.State = NeverReady
		} else {
			r.res.Refusals = append(r.res.Refusals, Refusal{a.Job, a.Reason})
		}
		r.end(a.Job)
	}
	return nil
}

// serve makes a due event happen, unless it was overtaken.
func (r *run) serve(x event) error {
	n := x.subject
	switch x.kind {
	case finish:
		if s := &r.state[n]; s.on && s.up && s.attempt == x.attempt {
			return r.finish(n)
		}
	case stopped:
		if s := &r.state[n]; s.on && s.attempt == x.attempt {
			return r.stop(n, s.cause)
		}
	case confirm:
		if s := &r.state[n]; s.on && s.attempt == x.attempt {
			return r.confirm(n)
		}
	case idle:
		if s := &r.state[n]; s.on && s.up && s.attempt == x.attempt {
			s.idleUntil = workload.Never
			if d := r.actual[n].IdleFor; d > 0 {
				s.idleUntil = r.now + s.wall(&r.jobs[n], d)
				r.events.push(event{at: s.idleUntil, kind: active, subject: n, attempt: x.attempt})
			}
			r.fact = fact.Fact{Kind: fact.SessionIdle, At: r.now, Job: n, Attempt: x.attempt, Node: -1, Since: r.now}
			return r.tell(&r.fact)
		}
	case active:
		if s := &r.state[n]; s.attempt == x.attempt && (s.parked || s.on && s.up) {
			return r.comeBack(n)
		}
	case closed:
		if s := &r.state[n]; s.parked && s.attempt == x.attempt {
			s.parked = false
			res := &r.res.Jobs[n]
			res.State, res.Outcome, res.Finish = Ended, r.actual[n].Outcome, r.now
			r.end(n)
			r.fact = fact.Fact{Kind: fact.JobCancelled, At: r.now, Job: n, Node: -1}
			return r.tell(&r.fact)
		}
	case demand:
		if s, st := &r.state[n], r.res.Jobs[n].State; s.on || s.waits && (st == Unstarted || st == Requeued) {
			return r.demand(n)
		}
	case retire:
		return r.retire(n)
	case cancel:
		if s := &r.state[n]; s.waits && s.attempt == 0 && r.res.Jobs[n].State == Unstarted {
			return r.withdraw(n)
		}
	case rules:
		f := r.o.From.Events[n]
		return r.tell(&f)
	default:
		return r.nodeChange(x)
	}
	return nil
}

// nodeChange changes a node's health; what runs on a failed node stops with it.
func (r *run) nodeChange(x event) error {
	n := x.subject
	kind := fact.NodeDrained
	switch x.kind {
	case nodeResume:
		kind = fact.NodeResumed
	case nodeDown, drawnDown, nodeUp, drawnUp:
		was := r.planned[n] || r.drawn[n]
		switch x.kind {
		case nodeDown, nodeUp:
			r.planned[n] = x.kind == nodeDown
		case drawnDown:
			r.drawn[n] = true
			r.nDrawn++
			r.events.push(event{at: r.now + r.faults.draw(n, r.o.Faults.MTTR), kind: drawnUp, subject: n})
		case drawnUp:
			r.drawn[n] = false
			r.nDrawn--
			r.events.push(event{at: r.now + r.faults.draw(n, r.o.Faults.MTBF), kind: drawnDown, subject: n})
		}
		is := r.planned[n] || r.drawn[n]
		if was == is {
			return nil // it is down for two reasons, or up all along
		}
		if kind = fact.NodeUp; is {
			kind = fact.NodeDown
		}
	}
	r.fact = fact.Fact{Kind: kind, At: r.now, Job: -1, Node: n}
	if err := r.tell(&r.fact); err != nil || kind != fact.NodeDown {
		return err
	}
	var hit []int32
	for n, place := range r.places {
		if slices.ContainsFunc(place, func(g cluster.Grant) bool { return g.Node == x.subject }) {
			hit = append(hit, n)
		}
	}
	slices.Sort(hit)
	for _, n := range hit {
		if err := r.stop(n, fact.CauseNodeFailure); err != nil {
			return err
		}
	}
	return nil
}

// close fills in what a cut run left open, and writes down what was assumed.
func (r *run) close() {
	for n := range r.state {
		s, res := &r.state[n], &r.res.Jobs[n]
		if s.on {
			res.Assigned = plus(res.Assigned, times(s.milli, r.now-s.assigned))
			if s.up {
				restart := min(r.restart(int32(n)), r.now-s.began)
				res.Restart = plus(res.Restart, times(s.milli, restart))
				res.Ran += r.now - s.began - restart
			} else {
				res.Queued += r.now - s.queued
			}
		} else if s.waits && (res.State == Unstarted || res.State == Requeued) {
			r.waited(int32(n))
		}
	}
	r.res.End = max(r.res.End, r.now)
	if p := r.o.Policy.Sharing; p != nil {
		hopeless := 0
		for i := range r.jobs {
			if c := r.fill.Fill(r.jobs[i].Contract); c.HasMinRuntime && c.MinRuntime > 0 && !c.CheckpointOnStop &&
				min(c.MinRuntime, p.MinRuntimeCap) < c.RestartCost+c.CheckpointInterval {
				hopeless++
			}
		}
		if hopeless > 0 {
			r.res.Notes = append(r.res.Notes, fmt.Sprintf("%d of %d jobs are protected for less time than a restart and a checkpoint take: stopped at the end of it they have got no further", hopeless, len(r.jobs)))
		}
	}
	if m := r.o.Policy.Estimates.Model; r.o.Estimates == nil && m == policy.EstimateGiven || m == policy.EstimateLimit {
		none := 0
		for i := range r.jobs {
			if r.jobs[i].Estimate == 0 && r.jobs[i].Limit == 0 {
				none++
			}
		}
		if none > 0 {
			r.res.Notes = append(r.res.Notes, fmt.Sprintf("%d of %d jobs declare neither estimate nor limit; their true duration was taken as the estimate", none, len(r.jobs)))
		}
	}
}
