package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// victim is a running job that may give way, with what that costs.
type victim struct {
	job   int32
	key   int64 // its order value, under preemption by order; under shares, what allocated work loses
	last  int32 // under shares: 1 if it cannot be resumed
	lost  int64
	since workload.Time
	// allocated: charged work, under shares; gpus are those of the node at hand that it touches.
	allocated bool
	gpus      uint64
}

// preempt looks for running jobs that have to give way to job n and together
// make room for it. It refuses by counting first: no set of victims is looked at
// unless everything that may give way would be enough.
func (e *Engine) preempt(d *decision, ci, n int32) bool {
	c := &e.classes[ci]
	s := smallest(c.shape)
	for k := range s.Pools {
		if e.preemptIn(d, c, s, k, n) {
			return true
		}
	}
	return false
}

func (e *Engine) preemptIn(d *decision, c *class, s *place.Shape, k int, n int32) bool {
	pool := s.Pools[k]
	p, f := &e.pools[pool], e.frees[pool]
	if e.bySize && f.Milli()+e.evictable(p, d.now, e.room(n)) < s.Milli {
		return false
	}
	victims, free, foreign := e.mayGiveWay(d, p, n)
	if len(victims) == 0 {
		if foreign {
			c.reason = fact.Reason{Code: fact.CrossTeamOff, For: none}
		}
		return false
	}
	if free += f.Milli(); free < s.Milli {
		c.reason = fact.Reason{Code: fact.NotFreeable, For: none, Have: int32(free / 1000), Want: devices(s.Milli)}
		return false
	}
	e.victimSets++
	var chosen []victim
	if e.layout.Counted() {
		e.price(victims, d.now)
		chosen = e.enough(victims, s.Milli-f.Milli())
	} else {
		// With all of them gone, does it fit at all?
		t := e.scratchOf(pool)
		t.CopyFrom(f)
		for i := range victims {
			t.Give(e.jobs[victims[i].job].grants)
		}
		if !e.placer.FitsIn(t, s, k) {
			have, want := e.placer.MostIn(t, s, k)
			c.reason = fact.Reason{Code: fact.NoVictims, For: none, Have: have, Want: want}
			return false
		}
		e.price(victims, d.now)
		if s.OnOneNode() && e.pol.Preemption.By == policy.PreemptPriority {
			chosen = e.cheapestNode(f, s.Cut(k).GPUs, victims)
		}
		if chosen == nil { // other shapes, and nodes that only jobs of several nodes or parts of GPUs fill
			chosen = e.untilItFits(f, s, k, victims)
		}
	}
	return e.evict(d, s, k, n, chosen)
}

// price finds out what stopping each of them costs.
func (e *Engine) price(v []victim, now workload.Time) {
	if e.pol.Preemption.By == policy.PreemptOrder {
		return // the worst in order goes first, whatever it costs
	}
	for i := range v {
		v[i].lost = e.lost(&e.jobs[v[i].job], now)
	}
}

// room is the remaining time beyond which a running job of some size has more
// left than job n, under the first order term.
func (e *Engine) room(n int32) func(milli int64) workload.Span {
	key := e.order.value(e, &e.order.terms[0], n, e.decision.now)
	if e.order.terms[0].Kind == policy.ByRemaining {
		return func(int64) workload.Span { return min(key, forever) }
	}
	return func(milli int64) workload.Span { return min(key/max(milli, 1), forever) }
}

// mayGiveWay lists the running jobs of a pool that the policy lets job n displace,
// and what they occupy. foreign tells that others' work was left out only since
// preemption across teams is off.
func (e *Engine) mayGiveWay(d *decision, p *poolState, n int32) (out []victim, milli int64, foreign bool) {
	w := e.jobs[n].spec
	out = e.victims[:0]
	var key int64
	if e.pol.Preemption.By == policy.PreemptOrder {
		key = e.order.value(e, &e.order.terms[0], n, d.now)
	}
	look := func(v int32) {
		j := &e.jobs[v]
		if j.leaving || j.state != running && j.state != starting {
			return
		}
		if e.classes[j.class].spare {
			return
		}
		vic := victim{job: v, since: j.since}
		if e.pol.Preemption.By == policy.PreemptPriority {
			if j.spec.Priority >= w.Priority {
				return
			}
		} else if vic.key = e.order.runningValue(e, &e.order.terms[0], v, d.now); !e.worse(key, vic.key, j) {
			return
		}
		if !e.pol.Preemption.CrossTeam && j.spec.Team != w.Team {
			foreign = true
			return
		}
		milli += j.milli
		out = append(out, vic)
	}
	if e.bySize { // only those with more time left than the newcomer are looked at
		room := e.room(n)
		for i := range p.sizes {
			g := &p.sizes[i]
			for _, x := range g.ends[g.beyond(d.now+room(g.milli)):] {
				look(x.job)
			}
		}
		for _, v := range p.odd {
			look(v)
		}
	} else {
		for _, v := range p.running {
			look(v)
		}
	}
	e.victims = out
	return out, milli, foreign
}

// worse tells whether a running job of value v is worse than a newcomer's key by
// more than its restart costs (SEMANTICS 17).
func (e *Engine) worse(key, v int64, j *job) bool {
	if key >= v {
		return false
	}
	restart := j.spec.Contract.RestartCost
	if restart == 0 {
		restart = e.defaults.RestartCost
	}
	switch {
	case restart == 0:
		return true
	case e.order.terms[0].Kind == policy.ByRemaining:
		return key+restart < v
	case e.order.terms[0].Kind == policy.ByRemainingArea:
		return v-key > area(j.milli, restart)
	}
	return true
}

// sortVictims puts those that go first in front: under preemption by order the
// worst in order, under priorities the cheapest; then the latest start, the last submitted.
func (e *Engine) sortVictims(v []victim) {
	byOrder := e.pol.Preemption.By == policy.PreemptOrder
	slices.SortFunc(v, func(a, b victim) int {
		c := cmp.Compare(a.lost, b.lost)
		if byOrder {
			c = cmp.Compare(b.key, a.key)
		}
		return cmp.Or(c, cmp.Compare(b.since, a.since), cmp.Compare(b.job, a.job))
	})
}

// enough picks victims on a cluster without nodes, and spares those that turn
// out not to be needed.
func (e *Engine) enough(v []victim, need int64) []victim {
	e.sortVictims(v)
	var got int64
	n := 0
	for n < len(v) && got < need {
		got += e.jobs[v[n].job].milli
		n++
	}
	v = v[:n]
	for i := len(v) - 1; i >= 0; i-- {
		if m := e.jobs[v[i].job].milli; got-m >= need {
			got -= m
			v = slices.Delete(v, i, i+1)
		}
	}
	return v
}

// untilItFits lets victims go one by one until the shape fits, then spares those
// that are not needed, the best of them first. It fits when all have gone.
func (e *Engine) untilItFits(f *cluster.Free, s *place.Shape, k int, v []victim) []victim {
	t := e.scratchOf(s.Pools[k])
	t.CopyFrom(f)
	e.sortVictims(v)
	n := 0
	for !e.placer.FitsIn(t, s, k) {
		t.Give(e.jobs[v[n].job].grants)
		n++
	}
	v = v[:n]
	for i := len(v) - 1; i >= 0; i-- {
		g := e.jobs[v[i].job].grants
		t.Take(g)
		if e.placer.FitsIn(t, s, k) {
			v = slices.Delete(v, i, i+1)
		} else {
			t.Give(g)
		}
	}
	return v
}

func (e *Engine) scratchOf(pool int32) *cluster.Free {
	if e.scratch == nil {
		e.scratch = make([]*cluster.Free, len(e.pools))
	}
	if e.scratch[pool] == nil {
		e.scratch[pool] = cluster.NewFree(e.layout, pool)
	}
	return e.scratch[pool]
}

// cost of a set of victims (SEMANTICS 26), compared field by field.
type cost struct {
	lost   int64
	count  int32
	excess int32
	since  workload.Time // latest start, larger is better
	last   int32         // last submitted, larger is better
}

func (a cost) less(b cost) bool {
	switch {
	case a.lost != b.lost:
		return a.lost < b.lost
	case a.count != b.count:
		return a.count < b.count
	case a.excess != b.excess:
		return a.excess < b.excess
	case a.since != b.since:
		return a.since > b.since
	}
	return a.last > b.last
}

// cheapestNode clears g GPUs of one node at the least cost. On each node the best
// set is exact: a knapsack over the GPUs that come free, O(victims x GPUs).
func (e *Engine) cheapestNode(f *cluster.Free, g int32, v []victim) []victim {
	e.sortVictims(v)
	byNode := make(map[int32][]int32)
	var nodes []int32
	for i := range v {
		for _, gr := range e.jobs[v[i].job].grants {
			if gr.Milli != 1000 {
				continue // a part of a GPU frees none
			}
			if byNode[gr.Node] == nil {
				nodes = append(nodes, gr.Node)
			}
			byNode[gr.Node] = append(byNode[gr.Node], int32(i))
		}
	}
	slices.Sort(nodes)
	var best cost
	var bestSet uint64
	bestNode := none
	for _, node := range nodes {
		at := e.layout.Local[node]
		if f.Shut(at) {
			continue
		}
		need := g - int32(bits.OnesCount64(f.Mask(at)))
		if set, c, ok := e.knapsack(v, byNode[node], node, need); ok && (bestNode == none || c.less(best)) {
			best, bestSet, bestNode = c, set, node
		}
	}
	if bestNode == none {
		return nil
	}
	var out []victim
	for b, i := range byNode[bestNode] {
		if bestSet>>b&1 == 1 {
			out = append(out, v[i])
		}
	}
	return out
}

// knapsack finds the cheapest set of victims on a node that frees at least need GPUs.
func (e *Engine) knapsack(v []victim, on []int32, node, need int32) (set uint64, best cost, ok bool) {
	if len(on) > 64 || need <= 0 {
		return 0, cost{}, false
	}
	type cell struct {
		cost cost
		set  uint64
		ok   bool
	}
	var table [cluster.MaxGPUsPerNode + 1]cell
	table[0].ok = true
	table[0].cost.since = unset
	for b, i := range on {
		var frees int32
		for _, g := range e.jobs[v[i].job].grants {
			if g.Node == node {
				frees += g.Count
			}
		}
		for n := cluster.MaxGPUsPerNode - int(frees); n >= 0; n-- {
			from := &table[n]
			if !from.ok {
				continue
			}
			c := from.cost
			c.lost += v[i].lost
			c.count++
			c.since = max(c.since, v[i].since)
			c.last = max(c.last, v[i].job)
			if to := &table[n+int(frees)]; !to.ok || c.less(to.cost) {
				*to = cell{c, from.set | 1<<b, true}
			}
		}
	}
	for n := int(need); n < len(table); n++ {
		if t := &table[n]; t.ok {
			c := t.cost
			c.excess = int32(n) - need
			if !ok || c.less(best) {
				best, set, ok = c, t.set, true
			}
		}
	}
	return set, best, ok
}

// evict decides to stop the victims and to hold their place for job n.
func (e *Engine) evict(d *decision, s *place.Shape, k int, n int32, v []victim) bool {
	pool, from := s.Pools[k], len(d.arena)
	f := e.frees[pool]
	hold := fact.Action{Do: fact.Hold, Job: n, Attempt: e.jobs[n].attempt + 1, For: none, Count: devices(s.Milli), Milli: s.Milli, At: d.now,
		Reason: fact.Reason{Code: fact.Leaving, For: v[0].job, Want: int32(len(v))}}
	if s.Need.Tasks > 0 && e.jobs[n].spec.Need.MaxTasks > 0 {
		hold.Tasks = s.Need.Tasks
	}
	if e.layout.Counted() {
		now := min(f.Milli(), s.Milli)
		f.TakeCount(now)
		d.undo = append(d.undo, undo{pool: pool, milli: now})
	} else {
		t := e.scratchOf(pool)
		t.CopyFrom(f)
		for i := range v {
			t.Give(e.jobs[v[i].job].grants)
		}
		var ok bool
		if d.arena, ok = e.placer.PlaceIn(t, s, k, d.arena); !ok {
			d.arena = d.arena[:from]
			return false
		}
		hold.Place = d.arena[from:len(d.arena):len(d.arena)]
		// What is free of it now is out of reach for those behind.
		to := len(d.arena)
		for _, g := range hold.Place {
			now := g
			now.GPUs = obtainable(f, e.layout.Local[g.Node], &g)
			now.Count = int32(bits.OnesCount64(now.GPUs))
			d.arena = append(d.arena, now)
			d.arena = partsLeft(f, e.layout.Local[g.Node], &g, g.GPUs&^now.GPUs, d.arena)
		}
		f.Take(d.arena[to:])
		d.undo = append(d.undo, undo{pool: pool, from: to, to: len(d.arena)})
	}
	d.actions = append(d.actions, hold)
	e.limit.take(&e.classes[e.jobs[n].class], s.Milli)
	for i := range v {
		j := &e.jobs[v[i].job]
		j.leaving = true
		d.leaving = append(d.leaving, v[i].job)
		d.actions = append(d.actions, fact.Action{Do: fact.Stop, Job: v[i].job, Attempt: j.attempt, For: n, Count: devices(j.milli), Milli: j.milli,
			At: d.now, Reason: fact.Reason{Code: fact.GaveWay, For: n}})
	}
	return true
}
