package engine

import (
	"slices"
	"sort"

	"github.com/escala-sched/escala/workload"
)

// track puts a started job on its pool's list, untrack takes it off.
func (e *Engine) track(n int32) {
	p := &e.pools[e.jobs[n].pool]
	e.jobs[n].at = int32(len(p.running))
	p.running = append(p.running, n)
	if e.predicts {
		e.predict(n)
	}
}

func (e *Engine) untrack(n int32) {
	p := &e.pools[e.jobs[n].pool]
	last := p.running[len(p.running)-1]
	at := e.jobs[n].at
	p.running[at] = last
	e.jobs[last].at = at
	p.running = p.running[:len(p.running)-1]
	if e.predicts {
		e.untrackEnd(n)
	}
}

// predict files a run under its predicted end.
func (e *Engine) predict(n int32) {
	j := &e.jobs[n]
	d := scale(e.remaining(j, j.kept), e.speed(j, j.pool))
	if t := j.tasks; t > 0 && t != j.spec.Need.Tasks && d < forever {
		d = (d*int64(j.spec.Need.Tasks) + int64(t) - 1) / int64(t)
	}
	e.trackEnd(j.pool, ending{j.since + e.restart(j) + d, n})
}

func (e *Engine) trackEnd(pool int32, x ending) {
	j := &e.jobs[x.job]
	j.end = x.at
	p := &e.pools[pool]
	p.ends = insertEnding(p.ends, x)
	switch {
	case e.bySize && odd(j):
		p.odd = append(p.odd, x.job)
	case e.bySize:
		g := p.group(j.milli)
		g.ends = insertEnding(g.ends, x)
	}
}

func (e *Engine) untrackEnd(n int32) {
	j := &e.jobs[n]
	p := &e.pools[j.pool]
	p.ends = removeEnding(p.ends, ending{j.end, n})
	switch {
	case e.bySize && odd(j):
		p.odd = slices.DeleteFunc(p.odd, func(m int32) bool { return m == n })
	case e.bySize:
		g := p.group(j.milli)
		g.ends = removeEnding(g.ends, ending{j.end, n})
	}
}

func (a ending) less(b ending) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.job < b.job
}

// overruns gives runs past their predicted end a new one: start + 2 x elapsed,
// doubling (SEMANTICS 15). It depends on the facts and the time alone, so doing
// it within a decision changes nothing that a replay would not.
func (e *Engine) overruns(now workload.Time) {
	late := now
	if e.pol.PerEvent {
		late-- // others that end at this very instant are not told yet
	}
	for i := range e.pools {
		for p := &e.pools[i]; len(p.ends) > 0 && p.ends[0].at <= late; {
			n := p.ends[0].job
			end := e.overrunEnd(&e.jobs[n], now)
			e.untrackEnd(n)
			e.trackEnd(e.jobs[n].pool, ending{end, n})
			e.plan.broken, e.dirty = true, true
		}
	}
}

// overrunEnd is the predicted end after now of a run that has passed its
// estimate: the whole estimate doubles until work is left. It depends on the run
// and on now alone.
func (e *Engine) overrunEnd(j *job, now workload.Time) workload.Time {
	begin := j.work
	if j.state == starting {
		begin = j.since + e.restart(j)
	}
	for total := j.est; ; total *= 2 {
		if total <= j.kept {
			continue
		}
		d := scale(total-j.kept, e.speed(j, j.pool))
		if t := j.tasks; t > 0 && t != j.spec.Need.Tasks {
			d = (d*int64(j.spec.Need.Tasks) + int64(t) - 1) / int64(t)
		}
		if end := begin + d; end > now {
			return end
		}
	}
}

// group returns the running jobs of one size in a pool.
func (p *poolState) group(milli int64) *sizeGroup {
	for i := range p.sizes {
		if p.sizes[i].milli == milli {
			return &p.sizes[i]
		}
	}
	p.sizes = append(p.sizes, sizeGroup{milli: milli})
	return &p.sizes[len(p.sizes)-1]
}

func insertEnding(ends []ending, x ending) []ending {
	i := sort.Search(len(ends), func(i int) bool { return !ends[i].less(x) })
	ends = append(ends, ending{})
	copy(ends[i+1:], ends[i:])
	ends[i] = x
	return ends
}

func removeEnding(ends []ending, x ending) []ending {
	i := sort.Search(len(ends), func(i int) bool { return !ends[i].less(x) })
	return append(ends[:i], ends[i+1:]...)
}

// odd tells whether a run's time and its work differ, so that its predicted end
// does not say how much work is left.
func odd(j *job) bool { return len(j.spec.Speed) > 0 || j.spec.Need.MaxTasks > 0 }

// evictable is the milli-GPU of running jobs whose predicted end lies beyond
// now + remaining, by size, and of odd ones: an upper bound of what could give way.
func (e *Engine) evictable(p *poolState, now workload.Time, remaining func(milli int64) workload.Span) int64 {
	var sum int64
	for _, n := range p.odd {
		sum += e.jobs[n].milli
	}
	for i := range p.sizes {
		g := &p.sizes[i]
		sum += g.milli * int64(len(g.ends)-g.beyond(now+remaining(g.milli)))
	}
	return sum
}

// beyond is the place of the first run that is predicted to end after t.
func (g *sizeGroup) beyond(t workload.Time) int {
	return sort.Search(len(g.ends), func(i int) bool { return g.ends[i].at > t })
}
