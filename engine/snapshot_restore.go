package engine

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
)

// Restore returns an engine in the state of another. Under the policy of that one it decides
// what that one would have, bit for bit, and asks to be woken at the same times; its own
// Snapshot is equal.
//
// Under another policy the state is a legal one of it: what runs stays where it is, what
// waits does so in the new order. Claims and dates are dropped, those who had them wait.
// Where both policies share by budgets, what accounts were charged and have left goes on;
// else that begins now, with what runs protected as if it had started under the contract.
//
// The cluster has to be that of the state; an error says what does not fit. What the engine
// has to do for a state of n jobs is O(n log n). It reads the state only.
func Restore(spec *cluster.Spec, pol *policy.Policy, d Defaults, s *State) (*Engine, error) {
	e, err := New(spec, pol, d)
	if err != nil {
		return nil, err
	}
	r := &restoring{e: e, s: s, other: fingerprint(pol) != s.policy}
	if err := r.all(); err != nil {
		return nil, fmt.Errorf("this state does not fit cluster %s: %w", spec.Name, err)
	}
	return e, nil
}

// restoring is one in progress. Places of jobs in the state are those in the engine.
type restoring struct {
	e *Engine
	s *State
	// other: the policy is another one than that of the state.
	other bool
}

func (r *restoring) all() error {
	e, s := r.e, r.s
	if err := r.nodes(); err != nil {
		return err
	}
	if err := r.number(); err != nil {
		return err
	}
	if err := r.windows(); err != nil {
		return err
	}
	if err := r.budgets(); err != nil {
		return err
	}
	e.placer.Recall(s.learned)
	for n := range s.jobs {
		if err := r.job(int32(n)); err != nil {
			return fmt.Errorf("job %d: %w", s.jobs[n].number, err)
		}
	}
	if err := r.runs(); err != nil {
		return err
	}
	for i := range s.claims {
		if err := r.claim(&s.claims[i]); err != nil {
			return fmt.Errorf("job %d: %w", s.jobs[s.claims[i].job].number, err)
		}
	}
	for n := range e.down {
		e.shut(int32(n), e.down[n] || e.drained[n])
	}
	for _, x := range s.refuse {
		e.toRefuse = append(e.toRefuse, refuse(x.job, x.reason))
	}
	e.toStop = slices.Clone(s.stop)
	r.waits()
	r.services()
	r.usage()
	if err := r.sharing(); err != nil {
		return err
	}
	if err := r.ahead(); err != nil {
		return err
	}
	for n := range s.jobs {
		r.queue(int32(n))
	}
	if err := r.dates(); err != nil {
		return err
	}
	if err := r.fresh(); err != nil {
		return err
	}
	r.ready()
	return nil
}

// nodes takes over which nodes are out.
func (r *restoring) nodes() error {
	e := r.e
	take := func(list []int32, out []bool) error {
		for _, n := range list {
			if n < 0 || int(n) >= len(out) {
				return fmt.Errorf("node %d is out, but there are %d nodes", n, len(out))
			}
			out[n] = true
		}
		return nil
	}
	if err := take(r.s.down, e.down); err != nil {
		return err
	}
	if err := take(r.s.drained, e.drained); err != nil {
		return err
	}
	for n := range e.down {
		if e.down[n] {
			e.nDown++
			e.gauge.available -= int64(e.layout.Spec.Nodes[n].GPUs) * 1000
		}
		if e.drained[n] {
			e.nDrained++
		}
	}
	return nil
}

// number ties the places of jobs to their numbers, and makes room.
func (r *restoring) number() error {
	e, s := r.e, r.s
	n := len(s.jobs)
	for i := range s.jobs {
		if x := &s.jobs[i]; x.number >= s.next || i > 0 && x.number <= s.jobs[i-1].number {
			return fmt.Errorf("job %d is out of number", x.number)
		}
	}
	if int(s.next) > n {
		names := make([]int32, n)
		for i := range s.jobs {
			names[i] = s.jobs[i].number
		}
		e.numbering = numbering{names: names, gone: int32(n), next: s.next, shift: s.next - int32(n) - 1}
		n++
	}
	e.Expect(n + n/4 + 64)
	e.jobs = e.jobs[:n]
	e.q.grow(n)
	if e.numbering.moved() {
		e.jobs[e.numbering.gone] = job{spec: gone, state: ended, class: none}
	}
	e.now, e.forgot, e.past = s.now, s.forgot, slices.Clone(s.past)
	return nil
}

// job takes over what is known of a job, but not where it stands in a queue.
func (r *restoring) job(n int32) error {
	e := r.e
	x, j := &r.s.jobs[n], &e.jobs[n]
	if j.class = none; x.state == absent {
		return nil
	}
	const most = 1 << 60 // what is longer would not add up
	if x.spec == nil || x.state > ended || x.est <= 0 || x.est > 2*most || x.kept < 0 || x.kept > most || x.attained < 0 || x.attempt < 0 || (x.run != nil) != (occupies(x.state) || x.state == claiming) {
		return fmt.Errorf("it is in a state that there is not")
	}
	if err := x.spec.Need.Check(); err != nil {
		return err
	}
	if v := x.spec.Service; v != nil {
		if err := v.Check(); err != nil {
			return err
		}
	}
	j.spec, j.state, j.outcome, j.cancel, j.holds = x.spec, x.state, x.outcome, x.cancel, x.holds
	j.attempt, j.runs, j.since, j.est, j.kept, j.attained = x.attempt, x.runs, x.since, x.est, x.kept, x.attained
	if r.other && j.state == claiming { // its victims go on leaving, and it waits
		j.state, j.since = waiting, e.now
	}
	if x.dated && !r.other {
		j.dated, j.promised = true, x.promised
	}
	if e.order.shares != nil {
		e.order.shares.index(x.spec)
	}
	if x.run == nil || j.state == waiting {
		return nil
	}
	for _, g := range x.run.grants {
		if g.Node < 0 || int(g.Node) >= len(e.layout.Spec.Nodes) {
			return fmt.Errorf("it lies on node %d, but there are %d nodes", g.Node, len(e.layout.Spec.Nodes))
		}
	}
	if int(x.run.pool) >= len(e.pools) || x.run.pool < 0 || x.run.milli < 0 {
		return fmt.Errorf("it is in a part of the cluster that there is not")
	}
	j.up, j.pool, j.tasks, j.milli, j.work, j.end = x.run.up, x.run.pool, x.run.tasks, x.run.milli, x.run.work, x.run.end
	if occupies(j.state) {
		return r.occupy(j, x.run)
	}
	return nil
}

// occupy takes what a run holds.
func (r *restoring) occupy(j *job, x *savedRun) error {
	e := r.e
	f := e.frees[j.pool]
	if e.layout.Counted() {
		if len(x.grants) > 0 || f.Milli() < j.milli {
			return fmt.Errorf("it runs on more GPUs than there are")
		}
		f.TakeCount(j.milli)
		return nil
	}
	if err := e.checkPlace(j.pool, x.grants); err != nil {
		return err
	}
	if !gpusAvailable(f, e.layout, x.grants) {
		return fmt.Errorf("it runs where others do")
	}
	var milli int64
	for i := range x.grants {
		milli += int64(x.grants[i].Count) * int64(x.grants[i].Milli)
	}
	if milli != j.milli {
		return fmt.Errorf("it has %d milli-GPU, and its place %d", j.milli, milli)
	}
	j.grants = e.keep(x.grants)
	f.Take(j.grants)
	return nil
}

// checkPlace holds that the grants are of nodes of a pool.
func (e *Engine) checkPlace(pool int32, gs []cluster.Grant) error {
	for i := range gs {
		g := &gs[i]
		switch {
		case g.Node < 0 || int(g.Node) >= len(e.layout.Spec.Nodes):
			return fmt.Errorf("it lies on node %d, but there are %d nodes", g.Node, len(e.layout.Spec.Nodes))
		case e.layout.PoolOf[g.Node] != pool:
			return fmt.Errorf("it lies on node %s, which is not of its part of the cluster", e.layout.Spec.Nodes[g.Node].Name)
		case bits.Len64(g.GPUs) > int(e.layout.Spec.Nodes[g.Node].GPUs):
			return fmt.Errorf("it lies on GPUs that node %s has not", e.layout.Spec.Nodes[g.Node].Name)
		case g.Milli < 1 || g.Milli > 1000 || g.CPU < 0 || g.Memory < 0 || int(g.Count) != bits.OnesCount64(g.GPUs) || g.Milli < 1000 && g.Count > 1:
			return fmt.Errorf("its place on node %s is none", e.layout.Spec.Nodes[g.Node].Name)
		}
	}
	return nil
}

// runs files what runs, in the order of the state where it has one.
func (r *restoring) runs() error {
	e, s := r.e, r.s
	order := make([][]int32, len(e.pools))
	for n := range s.jobs {
		j := &e.jobs[n]
		if occupies(j.state) {
			order[j.pool] = append(order[j.pool], int32(n))
		}
	}
	if len(s.running) > 0 && !r.other {
		if !sameSets(order, s.running) {
			return fmt.Errorf("the lists of what runs do not name what runs")
		}
		order = s.running
	}
	if err := r.contracts(); err != nil {
		return err
	}
	for p := range order {
		for _, n := range order[p] {
			j := &e.jobs[n]
			e.learn(n)
			e.gauge.assigned += j.milli
			e.gauge.runningJobs++
			e.limit.hold(&e.classes[j.class], j.milli)
			if !e.tracks {
				continue
			}
			e.jobs[n].at = int32(len(e.pools[p].running))
			e.pools[p].running = append(e.pools[p].running, n)
			switch {
			case !e.predicts:
			case r.other:
				e.predict(n)
			default:
				e.trackEnd(j.pool, ending{j.end, n})
			}
		}
	}
	return nil
}

// sameSets tells whether two lists of lists hold the same, in any order.
func sameSets(a, b [][]int32) bool {
	return slices.EqualFunc(a, b, func(x, y []int32) bool {
		x, y = slices.Clone(x), slices.Clone(y)
		slices.Sort(x)
		slices.Sort(y)
		return slices.Equal(x, y)
	})
}

// learn finds the class of a job; its shape was asked for before.
func (e *Engine) learn(n int32) {
	j := &e.jobs[n]
	j.class = e.classFor(n)
	e.placer.Known(e.classes[j.class].shape)
}

// claim keeps what a claim has gathered.
func (r *restoring) claim(x *claim) error {
	if r.other {
		return nil
	}
	e := r.e
	j := &e.jobs[x.job]
	if j.state != claiming || slices.ContainsFunc(e.claims, func(c claim) bool { return c.job == x.job }) {
		return fmt.Errorf("it has a claim, or two, and does not claim")
	}
	if x.pool < 0 || int(x.pool) >= len(e.pools) || len(x.missing) != len(x.grants) || x.milli < 0 || x.lack < 0 || x.lack > x.milli {
		return fmt.Errorf("its claim is of a part of the cluster that there is not")
	}
	c := *x
	c.grants, c.missing, c.parts = clonePlace(x.grants), slices.Clone(x.missing), clonePlace(x.parts)
	j.pool = c.pool
	f := e.frees[c.pool]
	if e.layout.Counted() {
		if len(c.grants)+len(c.parts) > 0 || f.Milli() < c.milli-c.lack {
			return fmt.Errorf("it has claimed more GPUs than there are")
		}
		f.TakeCount(c.milli - c.lack)
	} else {
		if err := e.checkPlace(c.pool, c.grants); err != nil {
			return err
		}
		if err := e.checkPlace(c.pool, c.parts); err != nil {
			return err
		}
		for i := range c.grants {
			g := c.grants[i]
			g.GPUs &^= c.missing[i]
			g.Count = int32(bits.OnesCount64(g.GPUs))
			if c.missing[i]&^c.grants[i].GPUs != 0 || g.Count > 0 && !gpusAvailable(f, e.layout, []cluster.Grant{g}) {
				return fmt.Errorf("it has claimed what others have")
			}
			f.Take([]cluster.Grant{g})
		}
		for i := range c.parts {
			if c.parts[i].Milli == 1000 || !available(f, e.layout, c.parts[i:i+1]) {
				return fmt.Errorf("it has claimed what others have")
			}
			f.Take(c.parts[i : i+1])
		}
	}
	e.learn(x.job)
	e.limit.hold(&e.classes[j.class], c.milli)
	e.gauge.held += c.got
	e.claims = append(e.claims, c)
	return nil
}

// waits takes over who waits for whose end.
func (r *restoring) waits() {
	e, d := r.e, &r.e.deps
	asks := len(r.s.waits) > 0
	for n := range e.jobs {
		asks = asks || e.jobs[n].state == stuck
	}
	if !asks {
		return
	}
	e.indexIDs()
	d.dependents, d.early = map[int32][]dependent{}, map[string][]dependent{}
	for _, x := range r.s.waits {
		for _, w := range x.who {
			if e.jobs[w.job].state == blocked {
				e.jobs[w.job].deps++
			}
		}
		if x.on == none {
			d.early[x.id] = slices.Clone(x.who)
		} else {
			d.dependents[x.on] = slices.Clone(x.who)
		}
	}
}

// services takes over what is known of applications.
func (r *restoring) services() {
	e := r.e
	for n := range r.s.jobs {
		if j := &e.jobs[n]; j.spec != nil && j.spec.Service != nil && j.state != ended {
			e.addService(int32(n))
		}
	}
	for i := range r.s.services {
		x := &r.s.services[i]
		if s := e.service(x.job); s != nil {
			s.demand, s.told, s.swaps, s.victims = x.demand, x.told, slices.Clone(x.swaps), slices.Clone(x.victims)
		}
	}
}

// queue puts a job that waits into the queue, and finds classes of others.
func (r *restoring) queue(n int32) {
	e := r.e
	j := &e.jobs[n]
	switch {
	case j.state == waiting:
		e.learn(n)
		if r.other && r.s.learned == nil {
			e.placer.Asked(e.classes[j.class].shape)
		}
		c := &e.classes[j.class]
		if r.other && c.never {
			j.state = refused
			e.toRefuse = append(e.toRefuse, refuse(n, c.reason))
			e.resolve(n)
			return
		}
		e.order.key(e, n, e.q.keys[int(n)*e.q.terms:])
		e.q.submit[n], e.q.est[n] = j.spec.Submit, e.duration(j)
		e.insert(n)
		e.gauge.waitingJobs++
		e.gauge.waitingMilli += c.shape.Milli
		if e.sharing != nil && !c.fill {
			e.sharing.waitingWork++
		}
		if e.sharing == nil {
			e.awaitPromotion(n)
		}
	case j.state == refused, j.attempt > 0 && (j.state == parked || j.state == onHold):
		e.learn(n)
		if e.q.submit[n] = j.spec.Submit; j.state != refused {
			j.class = none
		}
	case j.spec != nil:
		e.q.submit[n] = j.spec.Submit
	}
}

// dates takes over promises, and the profile they stand in.
func (r *restoring) dates() error {
	e, s := r.e, r.s
	if r.other {
		e.plan.broken = true
		if e.plans {
			for n := range s.jobs {
				if e.jobs[n].state == waiting {
					e.plan.fresh = append(e.plan.fresh, int32(n))
				}
			}
		}
		return nil
	}
	e.promised = slices.Clone(s.promised)
	if s.plan == nil || !e.plans {
		return nil
	}
	p := &e.plan
	p.fresh, p.early, p.broken, p.freed = slices.Clone(s.plan.fresh), s.plan.early, s.plan.broken, s.plan.freed
	p.slots = make(map[int32]*slot, len(s.plan.slots))
	for i := range s.plan.slots {
		x := s.plan.slots[i]
		j := &e.jobs[x.job]
		if j.state != waiting || x.pool < 0 || int(x.pool) >= len(e.pools) || x.until <= x.at || p.slots[x.job] != nil {
			return fmt.Errorf("job %d has a date that it cannot have", s.jobs[x.job].number)
		}
		shape := e.classes[j.class].shape
		if sizes := shape.Rigid(); (sizes != nil) != (x.tasks != 0) || sizes != nil && (x.tasks > sizes[0].Need.Tasks || x.tasks < sizes[len(sizes)-1].Need.Tasks) {
			return fmt.Errorf("job %d has a date of another size", s.jobs[x.job].number)
		}
		if err := e.checkPlace(x.pool, x.grants); err != nil && !e.layout.Counted() {
			return fmt.Errorf("job %d: %w", s.jobs[x.job].number, err)
		}
		sl := x.slot
		sl.grants = clonePlace(x.grants)
		p.slots[x.job] = &sl
		p.queue = append(p.queue, x.job)
	}
	for _, n := range p.fresh {
		if e.jobs[n].state != waiting {
			return fmt.Errorf("job %d waits for a date, and does not wait", s.jobs[n].number)
		}
	}
	return nil
}

// ready ends it: when to decide next.
func (r *restoring) ready() {
	e, s := r.e, r.s
	if r.other {
		e.dirty, e.uncommitted, e.wake = true, 0, 0
		return
	}
	e.dirty, e.uncommitted, e.wake = s.dirty, int(s.uncommitted), s.wake
}

// usage takes over decayed usage, or begins to count what runs from now on.
func (r *restoring) usage() {
	e := r.e
	s := e.order.shares
	if s == nil {
		return
	}
	u := r.s.usage
	s.counted = make([]int64, len(e.jobs))
	if u == nil || u.byUser != s.m.ByUser {
		for n := range r.s.jobs {
			if j := &e.jobs[n]; j.spec != nil {
				if s.counted[n] = j.attained; occupies(j.state) && e.now > j.since {
					s.counted[n] += j.milli * (e.now - j.since)
				}
			}
		}
		return
	}
	clear(s.number)
	for i, name := range u.names {
		s.number[name] = i
	}
	s.usage, s.accounts, s.at, s.ended = slices.Clone(u.usage), int(u.accounts), u.at, slices.Clone(u.ended)
	s.total = sum(u.usage)
	for n := range r.s.jobs {
		s.counted[n] = r.s.jobs[n].counted
		if spec := r.s.jobs[n].spec; spec != nil {
			s.index(spec)
		}
	}
}
