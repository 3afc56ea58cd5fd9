package sim_test

import (
	"math/bits"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// audit is an observer that holds a run under budgets and contracts against what
// must be true of it. It knows the policy, the tree, and the facts and actions it
// sees; all sums are made anew from lists of intervals, and places are tried node
// by node. It shares no code with the engine but the tree's comparison of fractions.
type audit struct {
	fail    func(format string, args ...any)
	spec    *cluster.Spec
	work    *workload.Workload
	pol     *policy.Sharing
	tree    *budget.Tree
	latency workload.Span

	now  workload.Time
	jobs []audited
	// charges are what runs were charged, offers what could be used, each until the next.
	charges []charged
	offers  [][]offer // by pool of the budgets
	// lane is the pool of the budgets that usage is asked of.
	lane int
	// pending are the actions of the decision that is being told: a decision does not
	// see its own actions.
	pending       []fact.Action
	down, drained []bool
	everDrained   bool
	debug         []bool
	// ends counts submissions and ends of jobs; nodesAt is the time of the last fact about a
	// node, openedAt of the last end of a protection, freshAt when a job last joined the queue.
	ends              int64
	nodesAt, openedAt workload.Time
	undatedAt         workload.Time
	// evictions counts stops of allocated work for others, dates the promises made.
	evictions, dates int
}

type audited struct {
	leaf int32
	// waits: in the queue, or for a dependency; joined: since when.
	waits  bool
	joined workload.Time
	// on: from the start action to the release; up: confirmed; leaving: told to stop.
	on, up, leaving, unallocated bool
	at, until                    workload.Time
	span                         workload.Span
	milli, rate                  int64
	place                        []cluster.Grant
	charge                       int // index in charges, -1 = none
	// hold is the place kept for it while victims leave.
	hold *fact.Action
	// date is its reservation now, promised the first date it was told; excused: a
	// node of the reserved place failed.
	date     *fact.Action
	promised workload.Time
	excused  bool
	// stops of allocated runs for others; mark is the count of ends at the last.
	stops int
	mark  int64
}

type charged struct {
	leaf     int32
	from, to workload.Time
	rate     int64
	lane     int
}

type offer struct {
	at    workload.Time
	milli int64
}

func newAudit(fail func(string, ...any), spec *cluster.Spec, w *workload.Workload, p *policy.Sharing, tree *budget.Tree, latency workload.Span) *audit {
	a := &audit{fail: fail, spec: spec, work: w, pol: p, tree: tree, latency: latency, nodesAt: -1 << 60, openedAt: -1 << 60,
		jobs: make([]audited, len(w.Jobs)), down: make([]bool, len(spec.Nodes)), drained: make([]bool, len(spec.Nodes)), debug: make([]bool, len(spec.Nodes))}
	for i := range a.jobs {
		j := &a.jobs[i]
		j.leaf, j.charge, j.promised, j.mark = -1, -1, workload.Never, -1
		if l, ok := tree.Leaf(w.Jobs[i].Team, w.Jobs[i].User); ok {
			j.leaf = l
		}
	}
	for _, nodes := range a.pools() {
		n := (int64(len(nodes))*p.Debug.Nodes + 500) / 1000
		for _, node := range nodes[len(nodes)-int(n):] {
			a.debug[node] = true
		}
	}
	return a
}

// pools lists the nodes by GPU type. (The clusters drawn have no partitions.)
func (a *audit) pools() (out [][]int32) {
	index := map[string]int{}
	for i := range a.spec.Nodes {
		k, ok := index[a.spec.Nodes[i].GPUType]
		if !ok {
			k, index[a.spec.Nodes[i].GPUType] = len(out), len(out)
			out = append(out, nil)
		}
		out[k] = append(out[k], int32(i))
	}
	return out
}

// span is the protection that the next start of a job has.
func (a *audit) span(n int32) workload.Span {
	j := &a.jobs[n]
	if j.leaf < 0 {
		return 0
	}
	d := a.pol.MinRuntimeDefault
	if c := a.work.Jobs[n].Contract; c.HasMinRuntime {
		d = c.MinRuntime
	}
	d = min(d, a.pol.MinRuntimeCap)
	for range j.stops {
		if a.pol.BackOff {
			d = min(2*d, a.pol.MinRuntimeCap)
		}
	}
	return d
}

// rateOf is what a run is charged by the millisecond.
func (a *audit) rateOf(n int32, milli int64, tasks int32, gpuType string) int64 {
	r := milli
	for _, w := range a.pol.GPUWeights {
		if w.GPUType == gpuType {
			r = milli * w.Weight / 1000
		}
	}
	need := &a.work.Jobs[n].Need
	if tasks == 0 {
		tasks = max(tasks, need.Tasks, 1)
	}
	return r + need.CPU*int64(tasks)*a.pol.CPUWeight/1000
}

func (a *audit) typeOf(place []cluster.Grant) string {
	if len(place) == 0 {
		return ""
	}
	return a.spec.Nodes[place[0].Node].GPUType
}

// Action notes an action; what it does is done when its decision is over.
func (a *audit) Action(x *fact.Action) {
	if x.At < a.now {
		a.fail("at %d: an action dated %d", a.now, x.At)
	}
	a.advance(x.At)
	own := *x
	own.Place = append([]cluster.Grant(nil), x.Place...)
	a.pending = append(a.pending, own)
	switch x.Do {
	case fact.Stop:
		a.checkStop(x)
		if x.Reason.Code == fact.Drained || x.Reason.Code == fact.Withdrawn {
			a.flush() // nobody decided this for the sake of what follows
		}
	case fact.Start:
		a.checkStart(&own)
	case fact.Hold:
		a.checkHold(&own)
		a.flush()
	case fact.Uncharge, fact.Release:
		a.flush()
	case fact.Reserve:
		if x.Reason.Code != fact.CertainFit || x.Until < x.At {
			a.fail("at %d: a date at %d for %d since %s", x.At, x.Until, x.Job, x.Reason.Code)
		}
	}
}

// advance notes the ends of protections.
func (a *audit) advance(now workload.Time) {
	for n := range a.jobs {
		if j := &a.jobs[n]; j.on && !j.leaving && !j.unallocated && j.until > a.now && j.until <= now {
			a.openedAt = max(a.openedAt, j.until)
		}
	}
	a.now = now
}

// checkStop: allocated work is stopped for others only past its protection, at
// moments at which shares are looked at, and not over and over.
func (a *audit) checkStop(x *fact.Action) {
	j := &a.jobs[x.Job]
	if !j.on || j.leaving {
		a.fail("at %d: job %d is stopped, but does not run", x.At, x.Job)
	}
	if x.Reason.Code == fact.Withdrawn || j.unallocated {
		return
	}
	end := j.until
	if !j.up && j.span > 0 {
		end = workload.Never // it counts from the start, which is still to come
	}
	if x.At < end {
		a.fail("at %d: job %d is stopped (%s), protected until %d (started %d, up %t)", x.At, x.Job, x.Reason.Code, end, j.at, j.up)
	}
	if x.Reason.Code == fact.Drained {
		return
	}
	if j.mark == a.ends {
		a.fail("at %d: job %d is stopped again (%s) though nothing was submitted and nothing ended", x.At, x.Job, x.Reason.Code)
	}
	if x.Reason.Code != fact.GaveWay {
		return
	}
	a.evictions++
	if a.pol.EvictEvery == workload.Never {
		a.fail("at %d: job %d gives way, but nobody may be evicted", x.At, x.Job)
	}
	w := &a.jobs[x.For]
	if x.At%a.pol.Interval != 0 && a.openedAt != x.At && w.joined != x.At && a.nodesAt != x.At && a.pol.EvictEvery == 0 {
		a.fail("at %d: job %d gives way to %d, which waits since %d, off the grid", x.At, x.Job, x.For, w.joined)
	}
}

// checkStart: what starts keeps off debug nodes, held places, and reserved ones if it
// is not sure to be gone in time; dates are kept.
func (a *audit) checkStart(x *fact.Action) {
	j := &a.jobs[x.Job]
	if x.At > j.promised && !j.excused && !a.poor(x.Job) {
		a.fail("at %d: job %d starts, but was promised %d", x.At, x.Job, j.promised)
	}
	if want := a.span(x.Job); !x.Unallocated && x.Until != x.At+want && !a.limited(j.leaf) {
		a.fail("at %d: job %d is protected for %d, want %d", x.At, x.Job, x.Until-x.At, want)
	}
	if !x.Unallocated {
		for node := j.leaf; node >= 0; node = a.tree.Nodes[node].Parent {
			if b := a.tree.Nodes[node].Budget; b != nil && a.spent(node)+a.committing(node) > b.GPUTime {
				a.fail("at %d: with job %d, node %d spends %d + %d of %d", x.At, x.Job, node, a.spent(node), a.committing(node), b.GPUTime)
			}
		}
	}
	if j.leaf < 0 && !x.Unallocated {
		a.fail("at %d: job %d is charged, but no account takes it", x.At, x.Job)
	}
	if j.hold != nil {
		return
	}
	span := x.Until - x.At
	if x.Unallocated {
		span = 0
	}
	for _, g := range x.Place {
		if g.GPUs == 0 {
			continue
		}
		if a.debug[g.Node] && !x.Unallocated && !a.isDebug(x.Job, span) && a.fitsBeside(x.Job) {
			a.fail("at %d: job %d starts on node %d, kept for debug work", x.At, x.Job, g.Node)
		}
		for o := range a.jobs {
			if int32(o) == x.Job {
				continue
			}
			if d := a.jobs[o].date; d != nil && touches(d.Place, g) && !a.overBy(x.At, d.Until, span) {
				a.fail("at %d: job %d starts for %d on node %d, reserved for %d at %d", x.At, x.Job, span, g.Node, o, d.Until)
			}
			if h := a.jobs[o].hold; h != nil && touches(h.Place, g) {
				a.fail("at %d: job %d starts on node %d, held for %d", x.At, x.Job, g.Node, o)
			}
		}
	}
}

func touches(place []cluster.Grant, g cluster.Grant) bool {
	for i := range place {
		if place[i].Node == g.Node && place[i].GPUs&g.GPUs != 0 && place[i].Milli+g.Milli > 1000 {
			return true
		}
	}
	return false
}

func (a *audit) overBy(now, date workload.Time, span workload.Span) bool {
	grace := a.pol.GraceAllocated
	if span == 0 {
		grace = a.pol.GraceUnallocated
	}
	return now+a.latency+span+grace <= date
}

// checkHold: the work that was stopped for it may have been, by the guard.
func (a *audit) checkHold(x *fact.Action) {
	if x.Reason.Code != fact.Leaving {
		return
	}
	var stopped int64
	for i := range a.pending {
		if p := &a.pending[i]; p.Do == fact.Stop && p.For == x.Job && p.Reason.Code == fact.GaveWay {
			stopped += a.jobs[p.Job].milli
			if !a.jobs[p.Job].unallocated {
				a.checkGuard(x, p.Job)
			}
		}
	}
	if a.pol.OverKill > 0 && x.Milli <= a.pol.OverKillGPUs*1000 && stopped > a.pol.OverKill*x.Milli {
		a.fail("at %d: %d milli-GPU are stopped for job %d of %d", x.At, stopped, x.Job, x.Milli)
	}
}

// laneOf is the pool of the budgets that a place lies in.
func (a *audit) laneOf(place []cluster.Grant) int { return max(a.tree.PoolOf(a.typeOf(place)), 0) }

func (a *audit) checkGuard(x *fact.Action, victim int32) {
	a.lane = a.laneOf(x.Place)
	shares := a.tree.In(a.lane)
	if v := a.laneOf(a.jobs[victim].place); v != a.lane {
		a.fail("at %d: job %d gives way to %d, which asks for another pool", x.At, victim, x.Job)
	}
	w, v := &a.jobs[x.Job], &a.jobs[victim]
	if w.leaf < 0 || v.leaf < 0 {
		a.fail("at %d: job %d gives way to %d, one of which has no account", x.At, victim, x.Job)
	}
	if w.leaf == v.leaf {
		if !a.pol.InTeam || a.work.Jobs[victim].Priority >= a.work.Jobs[x.Job].Priority {
			a.fail("at %d: job %d gives way to %d of its own account", x.At, victim, x.Job)
		}
		return
	}
	p, q := w.leaf, v.leaf
	for n := a.tree.Nodes; n[p].Parent != n[q].Parent; {
		if n[p].Depth >= n[q].Depth {
			p = n[p].Parent
		} else {
			q = n[q].Parent
		}
	}
	if a.pol.Guard == policy.GuardEntitlement {
		usable := a.usable()
		if shares.CompareShare(p, a.held(p)+x.Milli, usable) > 0 || shares.CompareShare(q, a.held(q), usable) <= 0 {
			a.fail("at %d: job %d gives way to %d: account %d holds %d + %d, account %d holds %d, of %d", x.At, victim, x.Job, p, a.held(p), x.Milli, q, a.held(q), usable)
		}
		return
	}
	grid := x.At - x.At%a.pol.Interval
	if a.pol.CreditCap < 0 && shares.CompareShare(v.leaf, a.usage(v.leaf, grid), a.offered(grid)) < 0 {
		a.fail("at %d: job %d gives way to %d, but its account is below its share", x.At, victim, x.Job)
	}
	more := a.rateOf(x.Job, x.Milli, x.Tasks, a.typeOf(x.Place)) * (x.Until - x.At)
	if len(a.spec.Nodes) == 0 {
		more = a.rateOf(x.Job, x.Milli, x.Tasks, "") * (x.Until - x.At)
	}
	mine := (a.usage(p, grid) + more) / 1000 * a.pol.Hysteresis
	// Starts of this instant count once they are committed, which nothing here tells from
	// those of the same decision: either is right.
	most := (a.usage(p, grid) + a.starting(p, grid) + more) / 1000 * a.pol.Hysteresis
	if budget.CompareRatio(mine, shares.Nodes[p].Share, a.usage(q, grid)+a.starting(q, grid), shares.Nodes[q].Share) > 0 &&
		budget.CompareRatio(most, shares.Nodes[p].Share, a.usage(q, grid)+a.starting(q, grid), shares.Nodes[q].Share) > 0 &&
		budget.CompareRatio(mine, shares.Nodes[p].Share, a.usage(q, grid), shares.Nodes[q].Share) > 0 {
		a.fail("at %d: job %d gives way to %d, whose account %d would have %d of share %d, %d has %d of share %d", x.At, victim, x.Job,
			p, mine, shares.Nodes[p].Share, q, a.usage(q, grid), shares.Nodes[q].Share)
	}
}

// charge is what a node was charged in (at-window, at].
func (a *audit) charge(node int32, at workload.Time) (sum int64) {
	for i := range a.charges {
		c := &a.charges[i]
		if !a.tree.Below(c.leaf, node) || c.lane != a.lane {
			continue
		}
		if from, to := max(c.from, at-a.pol.Window), min(c.to, at); from < to {
			sum += c.rate * (to - from)
		}
	}
	return sum
}

// outstanding is what protections still to come will charge, of runs and of holds.
func (a *audit) outstanding(node int32, at workload.Time) (sum int64) {
	for n := range a.jobs {
		j := &a.jobs[n]
		if j.leaf < 0 || !a.tree.Below(j.leaf, node) {
			continue
		}
		if j.on && !j.leaving && !j.unallocated && j.until > a.now && a.laneOf(j.place) == a.lane {
			sum += j.rate * (j.until - at)
		}
		if h := j.hold; h != nil && h.Until > a.now && a.laneOf(h.Place) == a.lane {
			sum += j.rate * (h.Until - at)
		}
	}
	return sum
}

func (a *audit) usage(node int32, at workload.Time) int64 {
	return a.charge(node, at) + a.outstanding(node, at)
}

func (a *audit) held(node int32) (sum int64) {
	for n := range a.jobs {
		j := &a.jobs[n]
		if j.leaf < 0 || !a.tree.Below(j.leaf, node) {
			continue
		}
		if j.on && !j.leaving && !j.unallocated && a.laneOf(j.place) == a.lane {
			sum += j.milli
		}
		if j.hold != nil && a.laneOf(j.hold.Place) == a.lane {
			sum += j.hold.Milli
		}
	}
	return sum
}

// usable is what is up and takes work, or still carries it.
func (a *audit) usable() int64 {
	if len(a.spec.Nodes) == 0 {
		return int64(a.spec.Count) * 1000
	}
	var sum int64
	for n := range a.spec.Nodes {
		if !a.down[n] && !a.drained[n] && max(a.tree.PoolOf(a.spec.Nodes[n].GPUType), 0) == a.lane {
			sum += int64(a.spec.Nodes[n].GPUs) * 1000
		}
	}
	for n := range a.jobs {
		if !a.jobs[n].on || a.laneOf(a.jobs[n].place) != a.lane {
			continue
		}
		for _, g := range a.jobs[n].place {
			if a.drained[g.Node] && !a.down[g.Node] {
				sum += int64(bits.OnesCount64(g.GPUs)) * int64(g.Milli)
			}
		}
	}
	return sum
}

func (a *audit) offered(at workload.Time) (sum int64) {
	offers := a.offers[a.lane]
	for i, o := range offers {
		from, to := max(o.at, at-a.pol.Window), at
		if i+1 < len(offers) {
			to = min(to, offers[i+1].at)
		}
		if from < to {
			sum += o.milli * (to - from)
		}
	}
	return sum
}

// starting is what the starts that are not true yet will add to the usage of a node.
func (a *audit) starting(node int32, grid workload.Time) (sum int64) {
	for i := range a.pending {
		if x := &a.pending[i]; x.Do == fact.Start && !x.Unallocated && a.jobs[x.Job].leaf >= 0 && a.tree.Below(a.jobs[x.Job].leaf, node) && a.laneOf(x.Place) == a.lane {
			sum += a.rateOf(x.Job, x.Milli, x.Tasks, a.typeOf(x.Place)) * (x.Until - grid)
		}
	}
	return sum
}

// flush makes the actions of a decision true.
func (a *audit) flush() {
	for i := range a.pending {
		a.apply(&a.pending[i])
	}
	a.pending = a.pending[:0]
}

func (a *audit) apply(x *fact.Action) {
	j := &a.jobs[x.Job]
	switch x.Do {
	case fact.Start:
		span := x.Until - x.At
		if x.Unallocated {
			span = 0
		}
		j.on, j.up, j.leaving, j.unallocated = true, false, false, x.Unallocated
		j.at, j.span, j.until, j.milli, j.place = x.At, span, x.At+span, x.Milli, x.Place
		j.rate = a.rateOf(x.Job, x.Milli, x.Tasks, a.typeOf(x.Place))
		if j.date != nil {
			a.undatedAt = x.At
		}
		j.waits, j.hold, j.date, j.charge = false, nil, nil, -1
		j.promised, j.excused = workload.Never, false
	case fact.Stop:
		j.leaving = true
		a.discharge(j)
		if !j.unallocated && (x.Reason.Code == fact.GaveWay || x.Reason.Code == fact.DateCame) {
			j.stops++
			j.mark = a.ends
		}
	case fact.Hold:
		own := *x
		j.hold, j.date = &own, nil
		j.rate = a.rateOf(x.Job, x.Milli, x.Tasks, a.typeOf(x.Place))
		if x.At <= j.promised { // from now on the place is its own
			j.promised = workload.Never
		}
	case fact.Release:
		j.hold, j.date = nil, nil
	case fact.Reserve:
		own := *x
		j.date = &own
		a.dates++
		j.promised = min(j.promised, x.Until)
	case fact.Uncharge:
		a.discharge(j)
		j.unallocated = true
	case fact.Refuse:
		j.waits = false
	}
}

func (a *audit) discharge(j *audited) {
	if j.charge >= 0 {
		a.charges[j.charge].to = a.now
		j.charge = -1
	}
}

// Fact takes in a fact.
func (a *audit) Fact(f *fact.Fact) {
	a.flush()
	a.advance(f.At)
	if len(a.offers) == 0 {
		a.offer()
	}
	switch f.Kind {
	case fact.JobSubmitted:
		a.jobs[f.Job].waits, a.jobs[f.Job].joined = true, f.At
		a.ends++
	case fact.JobStarted:
		j := &a.jobs[f.Job]
		j.up, j.until = true, f.At+j.span
		if !j.leaving && !j.unallocated {
			j.charge = len(a.charges)
			a.charges = append(a.charges, charged{j.leaf, f.At, workload.Never, j.rate, a.laneOf(j.place)})
		}
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		j := &a.jobs[f.Job]
		a.discharge(j)
		up := j.up
		j.on, j.up = false, false
		lost := a.work.Jobs[f.Job].Contract.NotResumable && up && f.Cause != fact.CauseNodeFailure
		if f.Kind == fact.JobFinished || f.Cause == fact.CauseCancelled || lost {
			a.ended(f.Job)
		} else {
			j.waits, j.joined = true, f.At
		}
	case fact.JobCancelled:
		j := &a.jobs[f.Job]
		if !j.on {
			j.waits, j.hold, j.date, j.promised = false, nil, nil, workload.Never
			a.ended(f.Job)
		}
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		a.nodesAt = f.At
		switch f.Kind {
		case fact.NodeDown:
			a.down[f.Node] = true
		case fact.NodeUp:
			a.down[f.Node] = false
		case fact.NodeDrained:
			a.drained[f.Node], a.everDrained = true, true
		case fact.NodeResumed:
			a.drained[f.Node] = false
		}
		for n := range a.jobs {
			j := &a.jobs[n]
			if f.Kind != fact.NodeUp && f.Kind != fact.NodeResumed && j.date != nil && touches(j.date.Place, cluster.WholeGrant(f.Node, 1<<62-1)) {
				j.excused = true
			}
		}
		a.offer()
	}
	if a.everDrained { // what leaves a drained node leaves less to use
		a.offer()
	}
}

// ended: what waited for the job joins the queue now.
func (a *audit) ended(job int32) {
	a.ends++
	for n := range a.jobs {
		for _, d := range a.work.Jobs[n].After {
			if d.Job == a.work.Jobs[job].ID {
				a.jobs[n].joined = a.now
			}
		}
	}
}

func (a *audit) offer() {
	for i := range max(len(a.tree.Pools), 1) {
		if a.lane = i; len(a.offers) <= i {
			a.offers = append(a.offers, nil)
		}
		a.offers[i] = append(a.offers[i], offer{a.now, a.usable()})
	}
}

func (a *audit) Instant(*sim.Gauge) {}
