package engine

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// release is GPUs of a node that are certain from a time on.
type release struct {
	at   workload.Time
	node int32
	gpus uint64
	// price of stopping unallocated and allocated work there, stops the number of runs of the latter.
	price int64
	stops int32
	// milli is the capacity on a cluster without nodes.
	milli int64
	grace workload.Span
}

// readyAt is when a run certainly ends or may be told to go for the claimant, and the
// grace that it must be given then, -1 where it ends by itself; [workload.Never] if
// nothing is certain.
func (e *Engine) readyAt(d *decision, w *claimant, v int32) (at workload.Time, grace workload.Span) {
	s := e.sharing
	j, c := &e.jobs[v], &s.jobs[v]
	switch {
	case j.state == stopping || j.leaving:
		return max(c.deadline, d.now), -1
	case c.unallocated:
		return d.now, s.pol.GraceUnallocated
	}
	at = workload.Never
	if l := j.spec.Limit; l > 0 {
		at = max(c.began, j.since) + l
		if j.state == starting {
			at += e.defaults.StartLatency
		}
	}
	if s.pol.EvictEvery == 0 && c.mark != s.events && e.loses(w, v) && e.mayStop(w, c.leaf) {
		latest := c.until
		if session(j.spec) && !c.idles && !c.open {
			latest = max(latest, c.began+s.pol.SessionMax)
		}
		if j.state == starting {
			latest += e.defaults.StartLatency
		}
		if t := max(latest, d.now); t < at {
			return t, s.pol.GraceAllocated
		}
	}
	return at, -1
}

// couldRestOn is the allocated work that a date of the claimant's leaf could rest on,
// where no run has a hard limit, in milli-GPU: a bound by counting.
func (e *Engine) couldRestOn(w *claimant) int64 {
	s := e.sharing
	l := &s.leaves[w.leaf]
	if l.couldAt != s.stamp {
		l.couldAt, l.could = s.stamp, s.held[w.leaf]
		for o := range s.leaves[:s.outside] {
			if int32(o) != w.leaf && s.tree.Nodes[o].Leaf() && s.held[o] > 0 && e.guard(w, int32(o)) {
				l.could += s.held[o]
			}
		}
	}
	return l.could
}

// releasesOn lists when the GPUs of a node are certain: each when all who touch it have
// ended or may be told to go.
func (e *Engine) releasesOn(d *decision, w *claimant, node int32, gpus uint64, rel []release) []release {
	s := e.sharing
	from := len(rel)
	rel = append(rel, release{at: d.now, node: node, gpus: gpus, grace: -1})
	for i, v := range s.onNode[node] {
		if i > 0 && s.onNode[node][i-1] == v {
			continue // it has parts of several GPUs
		}
		m := touched(e.jobs[v].grants, node)
		t, grace := e.readyAt(d, w, v)
		price, stops := int64(0), int32(0)
		if grace >= 0 {
			p := e.priceOf(v, d.now)
			price = p.lost + p.key
			price /= int64(max(len(e.jobs[v].grants), 1))
			if p.allocated {
				stops = 1
			}
		}
		// Cut what it touches out of what was certain, and put it back as certain later.
		for k, n := from, len(rel); k < n; k++ {
			hit := rel[k].gpus & m
			if hit == 0 {
				continue
			}
			rel[k].gpus &^= hit
			if t == workload.Never {
				continue
			}
			rel = append(rel, release{at: max(rel[k].at, t), node: node, gpus: hit, price: rel[k].price + price, stops: rel[k].stops + stops, grace: max(rel[k].grace, grace)})
			price, stops = 0, 0
		}
	}
	kept := from
	for _, x := range rel[from:] {
		if x.gpus != 0 {
			rel[kept] = x
			kept++
		}
	}
	return rel[:kept]
}

// certain finds the earliest certain time for a shape in its k-th pool.
func (e *Engine) certain(d *decision, shape *place.Shape, k int, w *claimant) (date, bool) {
	pool := shape.Pools[k]
	if e.layout.Counted() {
		return e.certainCount(d, shape, pool, w)
	}
	if !shape.Plain() || shape.Cut(k).Rest > 0 {
		return date{}, false
	}
	s := e.sharing
	e.unveil()
	if s.limits == 0 && !s.brute && s.pol.Guard == policy.GuardWindow && s.loose.all[pool].Milli()+e.couldRestOn(w) < shape.Milli {
		return date{}, false
	}
	cut := shape.Cut(k)
	f := e.frees[pool]
	nodes := e.layout.Pools[pool].Nodes
	debug := e.classes[e.jobs[w.job].class].known.debug
	var rel []release
	begun := func(do func(g *cluster.Grant)) { // what starts in this decision is safe from now on
		for i := range d.actions {
			if d.actions[i].Do == fact.Start {
				for k := range d.actions[i].Place {
					do(&d.actions[i].Place[k])
				}
			}
		}
	}
	begun(func(g *cluster.Grant) { s.barOn[g.Node] |= g.GPUs })
	for at, node := range nodes {
		if f.Shut(int32(at)) || s.debug[node] && !debug {
			continue
		}
		rel = e.releasesOn(d, w, node, f.Full(int32(at))&^e.datedOn(node)&^e.claimedOn(node)&^s.barOn[node], rel)
	}
	begun(func(g *cluster.Grant) { s.barOn[g.Node] = 0 })
	i, by, ok := soonest(rel, cut)
	for ok && e.pastWindows(w, rel, i, by) { // some nodes can be had after their windows only
		i, by, ok = soonest(rel, cut)
	}
	if !ok {
		return date{}, false
	}
	grants := e.cheapestBy(rel[:i], cut)
	if most := int64(len(nodes)) * s.pol.Reservations.Nodes / 1000; int64(e.datedNodes(pool)+len(grants)) > most {
		return date{}, false
	}
	return date{job: w.job, pool: pool, at: by, grants: grants, milli: shape.Milli}, true
}

// soonest is when a gang's GPUs are certain: the number of releases by then, which it
// sorts by time.
func soonest(rel []release, cut place.Cut) (i int, by workload.Time, ok bool) {
	slices.SortFunc(rel, func(a, b release) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.node, b.node), cmp.Compare(a.gpus, b.gpus))
	})
	has := map[int32]uint64{}
	tasks := int32(0)
	for ; i < len(rel) && tasks < cut.Tasks; i++ {
		x := &rel[i]
		before := cut.OnNode(count(has[x.node]))
		has[x.node] |= x.gpus
		tasks += cut.OnNode(count(has[x.node])) - before
	}
	if tasks < cut.Tasks {
		return 0, 0, false
	}
	by = rel[i-1].at
	for i < len(rel) && rel[i].at == by {
		i++
	}
	// All are told to go at once, when the last may be.
	grace := workload.Span(0)
	for k := range rel[:i] {
		grace = max(grace, rel[k].grace)
	}
	return i, by + grace, true
}

// cheapestBy takes the cheapest nodes among all that are clear in time; on each the
// GPUs that are certain first.
func (e *Engine) cheapestBy(rel []release, cut place.Cut) []cluster.Grant {
	type offer struct {
		node  int32
		gpus  uint64
		price int64
		stops int32
	}
	byNode := map[int32]int{}
	var offers []offer
	slices.SortStableFunc(rel, func(a, b release) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.stops, b.stops), cmp.Compare(a.price, b.price))
	})
	for i := range rel {
		x := &rel[i]
		k, ok := byNode[x.node]
		if !ok {
			k = len(offers)
			byNode[x.node] = k
			offers = append(offers, offer{node: x.node})
		}
		o := &offers[k]
		if cut.OnNode(count(o.gpus)) < min(cut.Tasks, cut.PerNode, 64) {
			o.gpus |= x.gpus
			o.price += x.price
			o.stops += x.stops
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		ta, tb := cut.OnNode(count(a.gpus)), cut.OnNode(count(b.gpus))
		return cmp.Or(cmp.Compare(b2i(ta == 0), b2i(tb == 0)), cmp.Compare(a.stops, b.stops), cmp.Compare(a.price, b.price), cmp.Compare(a.node, b.node))
	})
	var out []cluster.Grant
	left := cut.Tasks
	for _, o := range offers {
		t := min(cut.OnNode(count(o.gpus)), left)
		if t == 0 {
			continue
		}
		out = append(out, cluster.WholeGrant(o.node, place.Lowest(o.gpus, t*cut.GPUs)))
		if left -= t; left == 0 {
			break
		}
	}
	slices.SortFunc(out, func(a, b cluster.Grant) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

func (e *Engine) certainCount(d *decision, shape *place.Shape, pool int32, w *claimant) (date, bool) {
	var rel []release
	have := e.frees[pool].Milli() - e.lacking()
	for i := range e.sharing.dates {
		have -= e.sharing.dates[i].milli
	}
	for _, v := range e.pools[pool].running {
		if t, grace := e.readyAt(d, w, v); t != workload.Never {
			rel = append(rel, release{at: t, milli: e.jobs[v].milli, grace: grace})
		}
	}
	grace := workload.Span(0)
	slices.SortFunc(rel, func(a, b release) int { return cmp.Compare(a.at, b.at) })
	for i := range rel {
		grace = max(grace, rel[i].grace)
		if have += rel[i].milli; have >= shape.Milli {
			return date{job: w.job, pool: pool, at: rel[i].at + grace, milli: shape.Milli}, true
		}
	}
	return date{}, false
}
