package engine

import "github.com/escala-sched/escala/workload"

// protection is a run whose safety ends at a time.
type protection struct {
	at      workload.Time
	job     int32
	attempt int32
}

// protections are a min-heap by time, then job.
type protections []protection

func (a protection) less(b protection) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.job < b.job
}

func (h *protections) push(p protection) {
	*h = append(*h, p)
	q := *h
	i := len(q) - 1
	for ; i > 0 && p.less(q[(i-1)/2]); i = (i - 1) / 2 {
		q[i] = q[(i-1)/2]
	}
	q[i] = p
}

func (h *protections) pop() protection {
	q := *h
	top, last := q[0], len(q)-1
	x := q[last]
	q = q[:last]
	*h = q
	i := 0
	for {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && q[k+1].less(q[k]) {
			k++
		}
		if !q[k].less(x) {
			break
		}
		q[i] = q[k]
		i = k
	}
	if last > 0 {
		q[i] = x
	}
	return top
}

// current tells whether a protection is that of the job's present run.
func (s *sharing) current(e *Engine, p *protection) bool {
	j, c := &e.jobs[p.job], &s.jobs[p.job]
	// A start that is not confirmed is safe: its protection counts from then.
	return j.state == running && j.attempt == p.attempt && !c.unallocated && !c.open && c.until <= p.at
}

// expire ends the protections that are over: what they covered may give way.
func (s *sharing) expire(e *Engine, now workload.Time) {
	for i := range s.lanes {
		s.lanes[i].ledger.Advance(now)
		s.lanes[i].fill.Advance(now)
	}
	for len(s.ends) > 0 && s.ends[0].at <= now {
		p := s.ends.pop()
		if !s.current(e, &p) {
			continue
		}
		j, c := &e.jobs[p.job], &s.jobs[p.job]
		s.in(j.pool)
		if session(j.spec) && !c.idles && s.renew(e, p.job, p.at) {
			continue
		}
		s.openUp(e, p.job)
		if s.accounts != nil {
			s.accounts.Draw(c.leaf, p.at, c.rate)
			c.draws = true
		}
		s.pending.all, s.pending.swaps, e.dirty = true, true, true
	}
}

// openUp files a run whose protection is over among those that may give way; close
// takes it off again.
func (s *sharing) openUp(e *Engine, n int32) {
	j, c := &e.jobs[n], &s.jobs[n]
	l := &s.leaves[c.leaf]
	c.open, c.inOpens = true, int32(len(l.opens))
	l.open += j.milli
	l.opens = append(l.opens, n)
	if c.inSoft {
		s.soft.give(e, j.pool, j.grants, j.milli)
		c.inSoft = false
	}
}

func (s *sharing) close(e *Engine, n int32) {
	c := &s.jobs[n]
	l := &s.leaves[c.leaf]
	last := l.opens[len(l.opens)-1]
	l.opens[c.inOpens] = last
	s.jobs[last].inOpens = c.inOpens
	l.opens = l.opens[:len(l.opens)-1]
	l.open -= e.jobs[n].milli
	c.open = false
}

// nextEnd is when the next protection ends, [workload.Never] if none does.
func (s *sharing) nextEnd(e *Engine) workload.Time {
	for len(s.ends) > 0 {
		if s.current(e, &s.ends[0]) {
			return s.ends[0].at
		}
		s.ends.pop()
	}
	return workload.Never
}
