package engine

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// date is a reservation: the GPUs that a large job will have at a time, at the
// latest (SEMANTICS 28). It was fair when it was made and is not asked again.
type date struct {
	job, pool int32
	at        workload.Time
	grants    []cluster.Grant
	milli     int64
	// due: those on its place were to be told to go by now.
	due bool
	// lost: its job may not have it any more.
	lost bool
}

// dateLeft tells whether a pool has a date left, and nodes for it.
func (e *Engine) dateLeft(shape *place.Shape, k int, pool int32) bool {
	s := e.sharing
	n, nodes := 0, int64(0)
	for i := range s.dates {
		if x := &s.dates[i]; x.pool == pool {
			n++
			nodes += int64(len(x.grants))
		}
	}
	if n >= s.pol.Reservations.Count {
		return false
	}
	if e.layout.Counted() {
		return true
	}
	p := &e.layout.Pools[pool]
	c := shape.Cut(k)
	if perNode := p.MaxGPUs / max(c.GPUs, 1); perNode > 0 {
		nodes += int64((c.Tasks + perNode - 1) / perNode)
	}
	return nodes <= int64(len(p.Nodes))*s.pol.Reservations.Nodes/1000
}

// mayDate tells whether a class is one that dates are made for, and one is left.
func (s *sharing) mayDate(e *Engine, c *class) bool {
	r := &s.pol.Reservations
	if !s.present.swaps && !c.fresh {
		return false // what is certain changes as protections end
	}
	if r.Count == 0 || c.fill || smallest(c.shape).Milli <= r.Above*1000 || e.jobs[c.cur].dated {
		return false
	}
	if num, _ := s.tree.ProductShare(c.leaf); num == 0 {
		return false // its turn comes when nobody with a share waits: that has no date
	}
	if !r.AnyAccount && s.stands(c.leaf) != budget.Entitled {
		return false
	}
	shape := smallest(c.shape)
	for k, p := range shape.Pools {
		if e.dateLeft(shape, k, p) {
			return true
		}
	}
	return false
}

// giveDate reserves for a job that found no place the GPUs that are certainly clear
// soonest: no prediction, only ends of protection and hard limits.
func (e *Engine) giveDate(d *decision, c *class, shape *place.Shape, n int32, span workload.Span) {
	s := e.sharing
	if !s.mayDate(e, c) {
		return
	}
	w := claimant{job: n, leaf: c.leaf, milli: shape.Milli, dated: true}
	s.mayAt++
	best := date{at: workload.Never}
	for k, pool := range shape.Pools {
		if !e.dateLeft(shape, k, pool) {
			continue
		}
		if s.priced() {
			if _, ok := e.pays(d, c, n, pool); !ok {
				continue
			}
		}
		if x, ok := e.certain(d, shape, k, &w); ok && x.at < best.at {
			best = x
		}
	}
	if best.at == workload.Never {
		return
	}
	from := len(d.arena)
	d.arena = append(d.arena, best.grants...)
	d.actions = append(d.actions, fact.Action{Do: fact.Reserve, Job: n, For: none, Count: devices(shape.Milli), Milli: shape.Milli, At: d.now,
		Until: best.at, Place: d.arena[from:len(d.arena):len(d.arena)], Reason: fact.Reason{Code: fact.CertainFit, For: none, Until: best.at}})
	best.grants = d.actions[len(d.actions)-1].Place
	// The rest of this decision keeps off it already; commit makes it last.
	s.dates = append(s.dates, best)
	d.tentativeDates++
	if e.dueFrom(&best) <= d.now {
		d.again = true // whoever is there can go at once
	}
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
	slices.SortFunc(rel, func(a, b release) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.node, b.node), cmp.Compare(a.gpus, b.gpus))
	})
	has := map[int32]uint64{}
	tasks, i := int32(0), 0
	for ; i < len(rel) && tasks < cut.Tasks; i++ {
		x := &rel[i]
		before := count(has[x.node]) / cut.GPUs
		has[x.node] |= x.gpus
		tasks += count(has[x.node])/cut.GPUs - before
	}
	if tasks < cut.Tasks {
		return date{}, false
	}
	by := rel[i-1].at
	for i < len(rel) && rel[i].at == by {
		i++
	}
	// All are told to go at once, when the last may be.
	grace := workload.Span(0)
	for k := range rel[:i] {
		grace = max(grace, rel[k].grace)
	}
	by += grace
	grants := e.cheapestBy(rel[:i], cut)
	if most := int64(len(nodes)) * s.pol.Reservations.Nodes / 1000; int64(e.datedNodes(pool)+len(grants)) > most {
		return date{}, false
	}
	return date{job: w.job, pool: pool, at: by, grants: grants, milli: shape.Milli}, true
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
		if count(o.gpus)/cut.GPUs < min(cut.Tasks, 64) {
			o.gpus |= x.gpus
			o.price += x.price
			o.stops += x.stops
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		ta, tb := count(a.gpus)/cut.GPUs, count(b.gpus)/cut.GPUs
		return cmp.Or(cmp.Compare(b2i(ta == 0), b2i(tb == 0)), cmp.Compare(a.stops, b.stops), cmp.Compare(a.price, b.price), cmp.Compare(a.node, b.node))
	})
	var out []cluster.Grant
	left := cut.Tasks
	for _, o := range offers {
		t := min(count(o.gpus)/cut.GPUs, left)
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

// lacking is what claims on a cluster without nodes still wait for.
func (e *Engine) lacking() (milli int64) {
	for i := range e.claims {
		milli += e.claims[i].lack
	}
	return milli
}

// roomBesideDates tells, on a cluster without nodes, whether a start leaves what is
// reserved for others certain. What is sure to be gone by a date does.
func (e *Engine) roomBesideDates(d *decision, pool int32, c *class, n int32, span, wait workload.Span) bool {
	s := e.sharing
	for i := range s.dates {
		x := &s.dates[i]
		if x.pool != pool || x.job == n || e.overBy(d, x.at, s.safeFor(c, span), wait) {
			continue
		}
		w := claimant{job: x.job, leaf: s.jobs[x.job].leaf, milli: x.milli, dated: true}
		s.mayAt++
		then := e.frees[pool].Milli() - c.shape.Milli - e.lacking()
		for _, v := range e.pools[pool].running {
			if t, grace := e.readyAt(d, &w, v); t < workload.Never && t+max(grace, 0) <= x.at {
				then += e.jobs[v].milli
			}
		}
		if s.mayAt++; then < x.milli {
			c.reason = fact.Reason{Code: fact.ReservedFor, For: x.job, Until: x.at}
			return false
		}
	}
	return true
}

// datedOn is what dates have of a node, claimedOn what claims still wait for.
func (e *Engine) datedOn(node int32) (m uint64) {
	for i := range e.sharing.dates {
		m |= touched(e.sharing.dates[i].grants, node)
	}
	return m
}

func (e *Engine) claimedOn(node int32) (m uint64) {
	for i := range e.claims {
		m |= touched(e.claims[i].grants, node)
	}
	return m
}

// datedNodes counts the nodes that dates have in a pool.
func (e *Engine) datedNodes(pool int32) (n int) {
	for i := range e.sharing.dates {
		if x := &e.sharing.dates[i]; x.pool == pool {
			n += len(x.grants)
		}
	}
	return n
}

// crosses returns the date of another job whose GPUs are among those of a place.
func (e *Engine) crosses(place []cluster.Grant, n int32) *date {
	for i := range e.sharing.dates {
		if x := &e.sharing.dates[i]; x.job != n && overlaps(x.grants, place) {
			return x
		}
	}
	return nil
}

// dueFrom is when whoever is on the place of a date has to be told to go.
func (e *Engine) dueFrom(x *date) workload.Time { return x.at - e.sharing.longestGrace() }

func (s *sharing) longestGrace() workload.Span {
	return max(s.pol.GraceAllocated, s.pol.GraceUnallocated)
}

// serveDates starts or clears what has come due; true if that has to be committed first.
func (e *Engine) serveDates(d *decision) bool {
	s := e.sharing
	for i := range s.dates {
		x := &s.dates[i]
		n := x.job
		if e.jobs[n].state != waiting {
			continue
		}
		if x.lost {
			d.actions = append(d.actions, fact.Action{Do: fact.Release, Job: n, For: none, At: d.now, Reason: fact.Reason{Code: fact.NoAccount, For: none}})
			d.again = true
			return true
		}
		if slices.ContainsFunc(x.grants, func(g cluster.Grant) bool { return e.down[g.Node] || e.drained[g.Node] }) {
			d.actions = append(d.actions, fact.Action{Do: fact.Release, Job: n, For: none, At: d.now, Reason: fact.Reason{Code: fact.PlaceLost, For: none}})
			d.again = true
			return true
		}
		if e.fire(d, x) {
			return true
		}
	}
	return false
}

// fire clears the place of a date once all who are there may go: at the date, less
// the grace of who has to be stopped, or before where protections ended early.
func (e *Engine) fire(d *decision, x *date) bool {
	s := e.sharing
	c := &e.classes[e.jobs[x.job].class]
	shape := smallest(c.shape)
	span, ok := e.pays(d, c, x.job, x.pool)
	if !ok {
		d.actions = append(d.actions, fact.Action{Do: fact.Release, Job: x.job, For: none, At: d.now, Reason: c.reason})
		d.again = true
		return true
	}
	if e.layout.Counted() {
		return e.fireCount(d, x, c, shape, span)
	}
	var set []victim
	for i := range x.grants {
		g := &x.grants[i]
		for _, v := range s.onNode[g.Node] {
			if touched(e.jobs[v].grants, g.Node)&g.GPUs == 0 || slices.ContainsFunc(set, func(o victim) bool { return o.job == v }) {
				continue
			}
			j, r := &e.jobs[v], &s.jobs[v]
			switch {
			case j.state == stopping || j.leaving:
				if e.claimedOn(g.Node)&touched(j.grants, g.Node)&g.GPUs != 0 {
					return false // it is somebody else's who comes first
				}
			case r.open && r.mark == s.events:
				return false // it was stopped just before
			case r.unallocated || r.open:
				set = append(set, e.priceOf(v, d.now))
			default:
				return false
			}
		}
		if e.claimedOn(g.Node)&g.GPUs != 0 {
			return false
		}
	}
	from := len(d.arena)
	d.arena = append(d.arena, x.grants...)
	for i := range set {
		e.stopFor(d, set[i].job, x.job, fact.Reason{Code: fact.DateCame, For: x.job, Until: x.at}, 0)
	}
	e.holdFor(d, shape, x.job, d.arena[from:len(d.arena):len(d.arena)], d.now+span,
		fact.Reason{Code: fact.DateCame, For: firstOf(set), Want: int32(len(set)), Until: x.at})
	return true
}

func (e *Engine) fireCount(d *decision, x *date, c *class, shape *place.Shape, span workload.Span) bool {
	s := e.sharing
	w := claimant{job: x.job, leaf: c.leaf, milli: x.milli, dated: true}
	s.mayAt++
	have := s.loose.all[0].Milli()
	var cand []victim
	for _, v := range e.pools[x.pool].running {
		j, r := &e.jobs[v], &s.jobs[v]
		if j.leaving || j.state != running && j.state != starting {
			continue
		}
		if r.unallocated {
			have -= j.milli
		}
		// Nobody is asked again, whose work it is.
		if r.unallocated || r.open && r.mark != s.events && e.loses(&w, v) {
			cand = append(cand, e.priceOf(v, d.now))
		}
	}
	e.sortPriced(cand)
	n := 0
	for ; n < len(cand) && have < x.milli; n++ {
		have += e.jobs[cand[n].job].milli
	}
	if have < x.milli {
		return false
	}
	for i := range cand[:n] {
		e.stopFor(d, cand[i].job, x.job, fact.Reason{Code: fact.DateCame, For: x.job, Until: x.at}, 0)
	}
	e.holdFor(d, shape, x.job, nil, d.now+span, fact.Reason{Code: fact.DateCame, For: firstOf(cand[:n]), Want: int32(n), Until: x.at})
	return true
}

// commitDate makes a Reserve action's date last.
func (s *sharing) commitDate(e *Engine, a *fact.Action) {
	x := date{job: a.Job, at: a.Until, grants: slices.Clone(a.Place), milli: a.Milli}
	if len(a.Place) > 0 {
		x.pool = e.layout.PoolOf[a.Place[0].Node]
	}
	s.undate(e, a.Job)
	s.dates = append(s.dates, x)
	s.dateChanges++
}

// undate forgets the date of a job.
func (s *sharing) undate(e *Engine, n int32) {
	was := len(s.dates)
	s.dates = slices.DeleteFunc(s.dates, func(x date) bool { return x.job == n })
	if len(s.dates) < was {
		s.dateChanges++
		s.pending.all = true
		e.dirty = true
	}
}
