package sim_test

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// isDebug: short and small enough for the nodes kept for such work.
func (a *audit) isDebug(n int32, span workload.Span) bool {
	need := &a.work.Jobs[n].Need
	milli := need.TotalMilli()
	if need.MaxTasks > 0 { // at its largest, as far as a pool could hold it
		tasks := need.MaxTasks
		if most := a.mostTasks(need); tasks > most {
			tasks = max(most, need.MinTasks)
		}
		milli = int64(tasks) * int64(need.GPUs) * int64(need.MilliPerGPU())
	}
	return span <= a.pol.Debug.MinRuntime && milli <= a.pol.Debug.GPUs*1000
}

// mostTasks is more tasks than any pool holds, or one more.
func (a *audit) mostTasks(need *workload.Need) int32 {
	pools := map[string]int64{}
	var most int64
	for i := range a.spec.Nodes {
		n := &a.spec.Nodes[i]
		key := n.GPUType + "|" + strings.Join(n.Partitions, ",")
		pools[key] += int64(n.GPUs)
		most = max(most, pools[key])
	}
	most = max(most, int64(a.spec.Count))
	if need.GPUs == 0 {
		return 1 << 20
	}
	return int32(most*1000/(int64(need.GPUs)*int64(need.MilliPerGPU()))) + 1
}

// fitsBeside: the nodes that are not kept for debug work, all empty, certainly hold it.
func (a *audit) fitsBeside(n int32) bool {
	need := &a.work.Jobs[n].Need
	if need.CPU > 0 || need.Memory > 0 || need.Within != "" || need.Nodes != "" || need.Fractional() || need.GPUs == 0 {
		return false
	}
	tasks, each := int64(max(need.Tasks, 1)), need.GPUs
	if need.MaxTasks > 0 {
		tasks = int64(need.MinTasks)
	}
	if need.Span {
		tasks, each = int64(need.GPUs), 1
	}
	pools := map[string]int64{}
	for i := range a.spec.Nodes {
		x := &a.spec.Nodes[i]
		if a.debug[i] || need.GPUTypes != "" && !slices.Contains(strings.Split(need.GPUTypes, "|"), x.GPUType) {
			continue
		}
		key := x.GPUType + "|" + strings.Join(x.Partitions, ",")
		if pools[key] += int64(atMost(x.GPUs/each, need.PerNode)); pools[key] >= tasks {
			return true
		}
	}
	return false
}

// atMost bounds the tasks of one node; 0 = no bound.
func atMost(tasks, perNode int32) int32 {
	if perNode == 0 {
		return tasks
	}
	return min(tasks, perNode)
}

// tooLarge: with some nodes kept for debug work, the rest may not be enough for a job.
func (a *audit) tooLarge(n int32) bool {
	return slices.Contains(a.debug, true) && a.span(n) > 0 && !a.isDebug(n, a.span(n))
}

// limited: some hard budget lies above a leaf.
func (a *audit) limited(leaf int32) bool {
	for n := leaf; n >= 0; n = a.tree.Nodes[n].Parent {
		if a.tree.Nodes[n].Budget != nil {
			return true
		}
	}
	return false
}

// poor: some hard budget above the job's leaf cannot pay its next start, on any GPU type
// or in any size. (All runs lie in one period, and there are no credits.)
func (a *audit) poor(n int32) bool {
	j := &a.jobs[n]
	need := &a.work.Jobs[n].Need
	milli := need.TotalMilli()
	if need.MaxTasks > 0 {
		milli = max(milli, int64(need.MaxTasks)*int64(need.GPUs)*1000)
	}
	rate := a.rateOf(n, milli, max(need.Tasks, need.MaxTasks), "")
	for _, w := range a.pol.GPUWeights {
		rate = max(rate, a.rateOf(n, milli, max(need.Tasks, need.MaxTasks), w.GPUType))
	}
	for node := j.leaf; node >= 0; node = a.tree.Nodes[node].Parent {
		if b := a.tree.Nodes[node].Budget; b != nil && b.GPUTime-a.spent(node) < rate*a.span(n) {
			return true
		}
	}
	return false
}

// spent is what a hard budget has paid: all that was charged below, and the rest of the
// protection of what runs.
func (a *audit) spent(node int32) (sum int64) {
	for i := range a.charges {
		if c := &a.charges[i]; a.tree.Below(c.leaf, node) {
			sum += c.rate * (min(c.to, a.now) - c.from)
		}
	}
	for n := range a.jobs {
		if j := &a.jobs[n]; j.leaf >= 0 && a.tree.Below(j.leaf, node) && j.on && !j.leaving && !j.unallocated && j.until > a.now {
			if j.up {
				sum += j.rate * (j.until - a.now)
			} else {
				sum += j.rate * j.span
			}
		}
		// A place that is held is paid for.
		if j := &a.jobs[n]; j.hold != nil && j.leaf >= 0 && a.tree.Below(j.leaf, node) {
			h := j.hold
			sum += a.rateOf(int32(n), h.Milli, h.Tasks, a.typeOf(h.Place)) * (h.Until - h.At)
		}
	}
	return sum
}

// committing is what the starts of the present decision commit.
func (a *audit) committing(node int32) (sum int64) {
	for i := range a.pending {
		if x := &a.pending[i]; x.Do == fact.Start && !x.Unallocated && a.jobs[x.Job].hold == nil && a.jobs[x.Job].leaf >= 0 && a.tree.Below(a.jobs[x.Job].leaf, node) {
			sum += a.rateOf(x.Job, x.Milli, x.Tasks, a.typeOf(x.Place)) * (x.Until - x.At)
		}
	}
	return sum
}

// probe looks at the engine after an instant.
func (a *audit) probe(now workload.Time, e *engine.Engine) {
	a.flush()
	a.advance(now)
	seen := map[int32]bool{}
	for n := range a.jobs {
		j := &a.jobs[n]
		if j.leaf >= 0 && !seen[j.leaf] {
			x, ok := e.Explain(int32(n))
			if !ok {
				continue
			}
			seen[j.leaf] = len(a.tree.Pools) == 0
			for _, account := range append(x.Elsewhere, x.Account) {
				a.checkAccount(now, account)
			}
		}
		if j.waits && e.Fits(int32(n)) {
			why, _ := e.Why(int32(n))
			a.checkIdle(now, int32(n), why)
		}
		if j.waits && now > j.promised && !j.excused && !a.poor(int32(n)) {
			a.fail("at %d: job %d waits, but was promised %d", now, n, j.promised)
		}
	}
	a.checkDrains(now)
}

// checkAccount compares what the engine explains of an account with the sums of all intervals.
func (a *audit) checkAccount(now workload.Time, x *engine.Account) {
	a.lane = max(a.tree.PoolOf(x.Pool), 0)
	shares := a.tree.In(a.lane)
	for _, l := range x.Levels {
		if want := a.charge(l.Node, x.At); l.Charged != want {
			a.fail("at %d: node %d was charged %d until %d in pool %q, want %d", now, l.Node, l.Charged, x.At, x.Pool, want)
		}
		if want := a.outstanding(l.Node, x.At); l.Outstanding != want {
			a.fail("at %d: node %d has %d outstanding at %d in pool %q, want %d", now, l.Node, l.Outstanding, x.At, x.Pool, want)
		}
		if want := shares.FairShare(l.Node, a.offered(x.At)); l.Fair != want {
			a.fail("at %d: node %d has a fair share of %d at %d in pool %q, want %d", now, l.Node, l.Fair, x.At, x.Pool, want)
		}
	}
}

// checkIdle: a waiting job that would fit, were it alone, must be kept from the GPUs by
// something that has a name.
func (a *audit) checkIdle(now workload.Time, n int32, why fact.Reason) {
	j := &a.jobs[n]
	need := &a.work.Jobs[n].Need
	span := a.span(n)
	if a.limited(j.leaf) && span > 0 && a.poor(n) {
		return
	}
	barred := make([]uint64, len(a.spec.Nodes))
	some := false
	for o := range a.jobs {
		if d := a.jobs[o].date; d != nil && int32(o) != n && !a.overBy(now, d.Until, span) {
			some = some || need.GPUs > 0
			for _, g := range d.Place {
				barred[g.Node] |= g.GPUs
			}
		}
	}
	if span > 0 && !a.isDebug(n, span) {
		for node, debug := range a.debug {
			if debug {
				barred[node] = ^uint64(0)
				some = some || need.GPUs > 0
			}
		}
	}
	if some && (len(a.spec.Nodes) == 0 || need.CPU > 0 || need.Memory > 0 || need.Within != "") {
		return // not worth a naive placement of its own
	}
	if !some || a.fits(need, barred) {
		a.fail("at %d: job %d (%s, team %s, protected for %d) waits though it fits: %+v", now, n, need, a.work.Jobs[n].Team, span, why)
	}
}

// fits places a need of GPUs alone on what is free and not barred.
func (a *audit) fits(need *workload.Need, barred []uint64) bool {
	left := make([][]int32, len(a.spec.Nodes))
	for i := range left {
		left[i] = make([]int32, a.spec.Nodes[i].GPUs)
		for g := range left[i] {
			if !a.down[i] && !a.drained[i] && barred[i]>>g&1 == 0 {
				left[i][g] = 1000
			}
		}
	}
	take := func(place []cluster.Grant) {
		for _, g := range place {
			for i := range left[g.Node] {
				if g.GPUs>>i&1 == 1 {
					left[g.Node][i] = max(left[g.Node][i]-g.Milli, 0)
				}
			}
		}
	}
	for n := range a.jobs {
		if a.jobs[n].on {
			take(a.jobs[n].place)
		}
		if h := a.jobs[n].hold; h != nil {
			take(h.Place)
		}
	}
	for _, nodes := range a.pools() {
		if !need.AllowsType(a.spec.Nodes[nodes[0]].GPUType) {
			continue
		}
		var most int32
		for _, n := range nodes {
			most = max(most, a.spec.Nodes[n].GPUs)
		}
		tasks, size := need.Tasks, need.GPUs
		switch {
		case need.MaxTasks > 0:
			tasks = need.MinTasks
		case tasks > 0:
		case need.Span:
			tasks, size = size, 1
		case size <= most:
			tasks = 1
		default:
			for size = most; need.GPUs%size != 0; size-- {
			}
			tasks = need.GPUs / size
		}
		for _, n := range nodes {
			var whole, parts int32
			for _, l := range left[n] {
				if l == 1000 {
					whole++
				}
				if need.Fractional() {
					parts += l / need.Milli
				}
			}
			if need.Fractional() {
				tasks -= atMost(parts, need.PerNode)
			} else {
				tasks -= atMost(whole/size, need.PerNode)
			}
		}
		if tasks <= 0 {
			return true
		}
	}
	return false
}

// checkDrains: what is left on a drained node is there because something on it is
// protected.
func (a *audit) checkDrains(now workload.Time) {
	for node := range a.drained {
		if !a.drained[node] {
			continue
		}
		idle, safe := int32(-1), false
		for n := range a.jobs {
			j := &a.jobs[n]
			if !j.on || j.leaving || !onNode(j.place, int32(node)) {
				continue
			}
			idle = int32(n)
			safe = safe || !j.unallocated && (j.until > now || !j.up)
		}
		if idle >= 0 && !safe {
			a.fail("at %d: job %d is still on drained node %d, where nothing is protected", now, idle, node)
		}
	}
}

func onNode(place []cluster.Grant, node int32) bool {
	for i := range place {
		if place[i].Node == node {
			return true
		}
	}
	return false
}
