package engine

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// profile is availability over time with a slot for every waiting job:
// conservative backfill (Mu'alem & Feitelson, TPDS 2001). A new job gets the
// earliest slot that leaves all others where they are; when work ends early,
// each job in order may move to an earlier slot, never to a later one. Only what
// breaks a prediction (an overrun, a lost node) can move a slot back.
//
// The slots are state, carried by Reserve actions; the steps are a memory of
// what follows from them and from the running work.
type profile struct {
	slots map[int32]*slot
	// queue lists the jobs with slots; fresh those that wait for one.
	queue, fresh []int32
	steps        [][]step // by pool
	spare        []*cluster.Free
	spareOf      []int32
	between      []*cluster.Free // by pool: what is free throughout a window
	// built: steps agree with running work and slots. early: something ended
	// before its time. broken: a prediction failed.
	built, early, broken bool
	// freed is until when capacity has come back that was taken before: an earlier
	// start must make use of it, else it would have been found before.
	freed workload.Time
}

type slot struct {
	at, until workload.Time
	pool      int32
	tasks     int32
	milli     int64
	grants    []cluster.Grant
	// told: the slot is in a Reserve action already.
	told bool
}

// step says what is free from a time on, until the next step.
type step struct {
	at   workload.Time
	free *cluster.Free
}

// settled: a decision was taken elsewhere; the steps have to be made anew from the slots.
func (p *profile) settled() { p.built, p.early, p.broken, p.freed = false, false, false, 0 }

// released: work that was predicted to last until then has gone.
func (p *profile) released(early bool, until workload.Time) {
	if early {
		p.early, p.freed = true, max(p.freed, until)
	}
}

func (p *profile) dropped(n int32) {
	if s, ok := p.slots[n]; ok {
		delete(p.slots, n)
		p.queue = slices.DeleteFunc(p.queue, func(m int32) bool { return m == n })
		p.released(true, s.until)
	}
	p.fresh = slices.DeleteFunc(p.fresh, func(m int32) bool { return m == n })
}

// started turns a slot into running work; the steps stay as they are, unless it was asked
// for too late: then it will end later than was planned.
func (p *profile) started(n int32, at workload.Time) (late bool) {
	same := func(m int32) bool { return m == n }
	if s, ok := p.slots[n]; ok {
		late = at > s.at
		p.broken = p.broken || late
		delete(p.slots, n)
		p.queue = slices.DeleteFunc(p.queue, same)
	}
	p.fresh = slices.DeleteFunc(p.fresh, same)
	return late
}

func slotsOf(m map[int32]*slot) map[int32]*slot {
	if m == nil {
		m = map[int32]*slot{}
	}
	return m
}

// commitSlot makes the slot of a Reserve action the job's own. Where the engine
// has decided it itself, it is so already.
func (e *Engine) commitSlot(a *fact.Action, j *job) {
	p := &e.plan
	if s := p.slots[a.Job]; s != nil && s.at == a.Until && slices.Equal(s.grants, a.Place) {
		s.told = true
		return
	}
	s := &slot{at: a.Until, tasks: a.Tasks, grants: slices.Clone(a.Place), told: true,
		milli: e.sized(e.classes[j.class].shape, a.Tasks).Milli}
	if len(a.Place) > 0 {
		s.pool = e.layout.PoolOf[a.Place[0].Node]
	}
	if s.until = workload.Never; e.durationIn(j, s.pool, a.Tasks) < forever {
		s.until = s.at + e.durationIn(j, s.pool, a.Tasks)
	}
	p.slots = slotsOf(p.slots)
	if p.slots[a.Job] == nil {
		p.queue = append(p.queue, a.Job)
	}
	p.slots[a.Job] = s
	p.fresh = slices.DeleteFunc(p.fresh, func(n int32) bool { return n == a.Job })
	p.built = false
}

// planAhead decides under conservative backfill.
func (e *Engine) planAhead(d *decision) {
	p := &e.plan
	if p.steps == nil {
		p.slots = slotsOf(p.slots)
		p.steps = make([][]step, len(e.pools))
		p.between = make([]*cluster.Free, len(e.pools))
		for i := range p.between {
			p.between[i] = cluster.NewFree(e.layout, int32(i))
		}
		p.built = false
	}
	switch {
	case p.broken:
		e.replan(d)
	case !p.early && (!p.built || e.endsNow(d.now)):
		e.rebuild(d, p.queue)
	case p.early:
		e.rebuild(d, p.queue)
		for _, n := range e.inOrder(p.queue) {
			e.moveUp(d, n, p.freed)
		}
	default:
		e.trim(d.now)
	}
	p.broken, p.early, p.built, p.freed = false, false, true, 0
	waiting := e.inOrder(p.fresh)
	p.fresh = p.fresh[:0]
	for _, n := range waiting {
		if !e.giveSlot(d, n) {
			p.fresh = append(p.fresh, n)
		}
	}
	e.fillNow(d)
	if !e.startSlots(d) { // a slot's GPUs are not free at its date: plan anew from what is
		e.replan(d)
		e.startSlots(d)
	}
	e.announceSlots(d)
}

// endsNow tells whether something that still runs is predicted to end by now: where others
// that end at this very instant are not told yet, its GPUs are not free.
func (e *Engine) endsNow(now workload.Time) bool {
	for i := range e.pools {
		if ends := e.pools[i].ends; len(ends) > 0 && ends[0].at <= now {
			return true
		}
	}
	return false
}

// inOrder returns jobs sorted by the policy's order.
func (e *Engine) inOrder(jobs []int32) []int32 {
	out := slices.Clone(jobs)
	if e.order.dynamic {
		for _, n := range out {
			c := &e.classes[e.jobs[n].class]
			cur := c.cur
			c.cur = n
			e.headKey(c, e.decision.now)
			copy(e.planKeys(n), c.key[:])
			c.cur = cur
		}
	}
	slices.SortFunc(out, func(a, b int32) int {
		if e.order.dynamic {
			if c := slices.Compare(e.planKeys(a), e.planKeys(b)); c != 0 {
				return c
			}
		}
		if e.q.less(a, b) {
			return -1
		}
		return 1
	})
	return out
}

// planKeys is where the dynamic keys of a job are kept while jobs are sorted.
func (e *Engine) planKeys(n int32) []int64 {
	if need := (int(n) + 1) * maxTerms; len(e.dynKeys) < need {
		e.dynKeys = append(e.dynKeys, make([]int64, need-len(e.dynKeys))...)
	}
	return e.dynKeys[int(n)*maxTerms : (int(n)+1)*maxTerms]
}

// replan starts over after a prediction failed: jobs with dates first, by date,
// so that dates slip as little as they must.
func (e *Engine) replan(d *decision) {
	p := &e.plan
	jobs := make([]int32, 0, len(p.queue)+len(p.fresh))
	for _, ci := range e.active {
		c := &e.classes[ci]
		for n := e.q.first(c.root); n != none; n = e.q.after(c.root, n, 1<<63-1) {
			if !e.jobs[n].tentative {
				jobs = append(jobs, n)
			}
		}
	}
	jobs = e.inOrder(jobs)
	slices.SortStableFunc(jobs, func(a, b int32) int {
		return cmp.Compare(e.jobs[a].dateOr(), e.jobs[b].dateOr())
	})
	clear(p.slots)
	p.queue, p.fresh = p.queue[:0], p.fresh[:0]
	e.rebuild(d, nil)
	for _, n := range jobs {
		if !e.giveSlot(d, n) {
			p.fresh = append(p.fresh, n)
		}
	}
}

// dateOr is the date of a job, never where it has none.
func (j *job) dateOr() workload.Time {
	if !j.dated {
		return workload.Never
	}
	return j.promised
}

// rebuild makes the steps anew from what runs and the slots of the given jobs.
func (e *Engine) rebuild(d *decision, jobs []int32) {
	p := &e.plan
	for i := range p.steps {
		for _, s := range p.steps[i] {
			p.spare, p.spareOf = append(p.spare, s.free), append(p.spareOf, int32(i))
		}
		p.steps[i] = append(p.steps[i][:0], step{d.now, e.spareFree(int32(i), e.frees[i])})
		ends := e.pools[i].ends
		for k := 0; k < len(ends) && ends[k].at < forever; {
			at := ends[k].at
			f := e.spareFree(int32(i), p.steps[i][len(p.steps[i])-1].free)
			for ; k < len(ends) && ends[k].at == at; k++ {
				j := &e.jobs[ends[k].job]
				e.giveTo(f, j.grants, j.milli)
			}
			p.steps[i] = append(p.steps[i], step{at, f})
		}
		for k := range e.windows.list { // what must keep off a window may start when it is over
			e.edge(int32(i), e.windows.list[k].Until)
		}
	}
	for _, n := range jobs {
		e.occupy(p.slots[n])
	}
}

func (e *Engine) giveTo(f *cluster.Free, g []cluster.Grant, milli int64) {
	if e.layout.Counted() {
		f.GiveCount(milli)
	} else {
		f.Give(g)
	}
}

func (e *Engine) takeFrom(f *cluster.Free, g []cluster.Grant, milli int64) {
	if e.layout.Counted() {
		f.TakeCount(milli)
	} else {
		f.Take(g)
	}
}

// spareFree returns a copy of o, in used memory where there is some.
func (e *Engine) spareFree(pool int32, o *cluster.Free) *cluster.Free {
	p := &e.plan
	for i := len(p.spare) - 1; i >= 0; i-- {
		if p.spareOf[i] == pool {
			f := p.spare[i]
			p.spare = slices.Delete(p.spare, i, i+1)
			p.spareOf = slices.Delete(p.spareOf, i, i+1)
			f.CopyFrom(o)
			return f
		}
	}
	f := cluster.NewFree(e.layout, pool)
	f.CopyFrom(o)
	return f
}

// trim forgets the past.
func (e *Engine) trim(now workload.Time) {
	p := &e.plan
	for i, steps := range p.steps {
		past := 0
		for past+1 < len(steps) && steps[past+1].at <= now {
			p.spare, p.spareOf = append(p.spare, steps[past].free), append(p.spareOf, int32(i))
			past++
		}
		steps = slices.Delete(steps, 0, past)
		steps[0].at = now
		p.steps[i] = steps
	}
}

// edge makes a step begin at t and returns its index.
func (e *Engine) edge(pool int32, t workload.Time) int {
	steps := e.plan.steps[pool]
	i, found := slices.BinarySearchFunc(steps, t, func(s step, t workload.Time) int { return cmp.Compare(s.at, t) })
	if found {
		return i
	}
	e.plan.steps[pool] = slices.Insert(steps, i, step{t, e.spareFree(pool, steps[i-1].free)})
	return i
}

// occupy takes a slot out of the steps it covers, vacate puts it back.
func (e *Engine) occupy(s *slot) {
	from, to := e.covered(s)
	for _, st := range e.plan.steps[s.pool][from:to] {
		e.takeFrom(st.free, s.grants, s.milli)
	}
}

func (e *Engine) vacate(s *slot) {
	from, to := e.covered(s)
	for _, st := range e.plan.steps[s.pool][from:to] {
		e.giveTo(st.free, s.grants, s.milli)
	}
}

// covered are the steps of a slot. One whose date has passed, since nobody asked in time,
// covers what is left of it.
func (e *Engine) covered(s *slot) (from, to int) {
	now := e.plan.steps[s.pool][0].at
	if s.until <= now {
		return 0, 0
	}
	from = e.edge(s.pool, max(s.at, now))
	if s.until >= forever {
		return from, len(e.plan.steps[s.pool])
	}
	return from, e.edge(s.pool, s.until)
}

// giveSlot gives a job the earliest slot; where no date is left, only one that begins now.
func (e *Engine) giveSlot(d *decision, n int32) bool {
	limit := workload.Never
	if e.pol.Depth > 0 && len(e.plan.queue) >= e.pol.Depth {
		limit = d.now + 1
	}
	s := e.findSlot(n, limit)
	if s == nil {
		c := &e.classes[e.jobs[n].class]
		c.reason = fact.Reason{Code: fact.NoShape, For: none}
		return false
	}
	e.plan.slots[n] = s
	e.plan.queue = append(e.plan.queue, n)
	e.occupy(s)
	return true
}

// findSlot finds the earliest slot that begins before limit, in any pool.
func (e *Engine) findSlot(n int32, limit workload.Time) *slot {
	j := &e.jobs[n]
	shape, tasks := e.classes[j.class].shape, int32(0)
	if shape.Rigid() != nil {
		shape = smallest(shape)
		tasks = shape.Need.Tasks
	}
	var best *slot
	for k, pool := range shape.Pools {
		if s := e.earliest(n, shape, k, e.durationIn(j, pool, tasks), limit); s != nil {
			s.tasks, best, limit = tasks, s, s.at
		}
	}
	return best
}

// earliest finds the first time, before limit, from which the place is free for dur.
// Steps that refuse by counting are jumped over; only where all steps of a window
// pass is what they have in common searched for a place.
func (e *Engine) earliest(n int32, shape *place.Shape, k int, dur workload.Span, limit workload.Time) *slot {
	pool := shape.Pools[k]
	steps := e.plan.steps[pool]
	both := e.plan.between[pool]
next:
	for i := 0; i < len(steps) && steps[i].at < limit; {
		at, until := steps[i].at, workload.Never
		if dur < forever {
			until = at + dur
		}
		last := i
		for m := i; m < len(steps) && steps[m].at < until; m++ {
			if last = m; !e.placer.MayFit(steps[m].free, shape, k) {
				i = m + 1
				continue next
			}
		}
		both.CopyFrom(steps[i].free)
		for m := i + 1; m <= last && !e.layout.Counted(); m++ {
			if both.Intersect(steps[m].free); !e.placer.MayFit(both, shape, k) {
				i++
				continue next
			}
		}
		e.shutBetween(both, n, pool, at, until)
		if g, ok := e.placer.PlaceIn(both, shape, k, nil); ok {
			return &slot{at: at, until: until, pool: pool, milli: shape.Milli, grants: g}
		}
		i++
	}
	return nil
}

// mayMoveUp refuses by counting: before its slot begins the steps are the same
// with and without it, so an earlier start must pass all of those it would cover.
func (e *Engine) mayMoveUp(n int32, s *slot, limit workload.Time) bool {
	limit = min(limit, s.at)
	j := &e.jobs[n]
	shape := smallest(e.classes[j.class].shape)
	for k, pool := range shape.Pools {
		dur := e.durationIn(j, pool, s.tasks)
		steps := e.plan.steps[pool]
	next:
		for i := 0; i < len(steps) && steps[i].at < limit; {
			until := s.at
			if dur < forever {
				until = min(until, steps[i].at+dur)
			}
			for m := i; m < len(steps) && steps[m].at < until; m++ {
				if !e.placer.MayFit(steps[m].free, shape, k) {
					i = m + 1
					continue next
				}
			}
			return true
		}
	}
	return false
}

// moveUp gives a job an earlier slot, before limit, if there is one now.
func (e *Engine) moveUp(d *decision, n int32, limit workload.Time) {
	p := &e.plan
	s := p.slots[n]
	if s.at <= d.now || !e.mayMoveUp(n, s, limit) {
		return
	}
	e.vacate(s)
	if better := e.findSlot(n, min(limit, s.at)); better != nil {
		p.freed = max(p.freed, s.until) // what it leaves behind may serve those after it
		p.slots[n] = better
		s = better
	}
	e.occupy(s)
}

// fillNow lets jobs that fit what is free now start, in order, where that delays
// no date: what a later job left behind may serve an earlier one.
func (e *Engine) fillNow(d *decision) {
	var jobs []int32
	for _, ci := range e.active {
		c := &e.classes[ci]
		if !e.placer.Fits(e.frees, smallest(c.shape)) {
			continue
		}
		for n := c.head; n != none; n = e.q.after(c.root, n, 1<<63-1) {
			if s := e.plan.slots[n]; s != nil && s.at > d.now {
				jobs = append(jobs, n)
			}
		}
	}
	for _, n := range e.inOrder(jobs) {
		e.moveUp(d, n, d.now+1)
	}
}

// startSlots starts the jobs whose time has come; false if one of them cannot.
func (e *Engine) startSlots(d *decision) bool {
	var due []int32
	for _, n := range e.plan.queue {
		if e.plan.slots[n].at <= d.now && !e.jobs[n].tentative {
			due = append(due, n)
		}
	}
	for _, n := range e.inOrder(due) {
		s := e.plan.slots[n]
		f := e.frees[s.pool]
		if e.inWindow(s.grants, n, d.now, d.now+(s.until-s.at)) {
			return false // it is asked for too late
		}
		if e.layout.Counted() && f.Milli() < s.milli || !e.layout.Counted() && !available(f, e.layout, s.grants) {
			return false
		}
		j := &e.jobs[n]
		code := fact.Promised
		if !j.dated {
			code = fact.InOrder
		}
		from := len(d.arena)
		d.arena = append(d.arena, s.grants...)
		c := &e.classes[j.class]
		whole := c.shape
		c.shape = e.sized(whole, s.tasks)
		e.start(d, c, n, s.pool, from, s.tasks, fact.Reason{Code: code, For: none, Until: s.at})
		c.shape = whole
	}
	return true
}

// announceSlots tells new dates, and takes back those that came to nothing.
func (e *Engine) announceSlots(d *decision) {
	p := &e.plan
	var news []int32
	for _, n := range p.queue {
		if s := p.slots[n]; !e.jobs[n].tentative {
			d.wake = min(d.wake, s.at)
			if !s.told {
				news = append(news, n)
			}
		}
	}
	for _, n := range e.inOrder(news) {
		s := p.slots[n]
		s.told = true
		d.actions = append(d.actions, fact.Action{Do: fact.Reserve, Job: n, For: none, Count: devices(s.milli), Milli: s.milli,
			Tasks: s.tasks, At: d.now, Until: s.at, Place: s.grants, Reason: fact.Reason{Code: fact.EarliestFit, For: none, Until: s.at}})
	}
	for _, n := range e.promised {
		if p.slots[n] == nil && !e.jobs[n].tentative {
			d.actions = append(d.actions, fact.Action{Do: fact.Release, Job: n, For: none, At: d.now,
				Reason: fact.Reason{Code: fact.PlaceLost, For: none}})
		}
	}
}

// commitRelease takes a date back: the job waits for a slot again.
func (p *profile) commitRelease(n int32) {
	same := func(m int32) bool { return m == n }
	if p.slots[n] != nil {
		delete(p.slots, n)
		p.queue = slices.DeleteFunc(p.queue, same)
		p.built = false
	}
	if !slices.ContainsFunc(p.fresh, same) {
		p.fresh = append(p.fresh, n)
	}
}

// sized returns the rigid shape of an elastic one with that many tasks.
func (e *Engine) sized(s *place.Shape, tasks int32) *place.Shape {
	if tasks == 0 {
		return s
	}
	return s.Sized(tasks)
}
