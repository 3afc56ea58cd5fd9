package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// promotions is a heap of the times at which waiting jobs go back to the first
// queue of discretised 2D-LAS (Tiresias's promote knob). Entries of jobs that
// have started since are skipped.
type promotions []promotion

type promotion struct {
	at  workload.Time
	job int32
	// since tells a stale entry.
	since workload.Time
}

func (h promotions) less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].job < h[j].job
}

func (h *promotions) push(p promotion) {
	*h = append(*h, p)
	for i := len(*h) - 1; i > 0 && h.less(i, (i-1)/2); i = (i - 1) / 2 {
		(*h)[i], (*h)[(i-1)/2] = (*h)[(i-1)/2], (*h)[i]
	}
}

func (h *promotions) pop() promotion {
	top, last := (*h)[0], len(*h)-1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return top
		}
		if c+1 < last && h.less(c+1, c) {
			c++
		}
		if !h.less(c, i) {
			return top
		}
		(*h)[i], (*h)[c] = (*h)[c], (*h)[i]
		i = c
	}
}

// awaitPromotion files a job that enters the queue below the first level: it is
// promoted once it has waited Promote times what it has run.
func (e *Engine) awaitPromotion(n int32) {
	t := e.order.attained
	if t == nil || t.Promote == 0 {
		return
	}
	j := &e.jobs[n]
	if queueOf(t, j.attained) == 0 {
		return
	}
	milli := max(e.classes[j.class].shape.Milli, 1)
	at := j.since + j.attained/milli*t.Promote/1000
	e.order.promotions.push(promotion{at, n, j.since})
}

// promotes tells whether an entry is that of a job that has waited since.
func (e *Engine) promotes(p *promotion) bool {
	j := &e.jobs[p.job]
	return j.state == waiting && j.since == p.since
}

// promote moves jobs that have waited long enough to the first queue; their
// service so far is forgotten, as Tiresias does.
func (e *Engine) promote(now workload.Time) {
	h := &e.order.promotions
	for len(*h) > 0 && (*h)[0].at <= now {
		p := h.pop()
		if !e.promotes(&p) {
			continue
		}
		j := &e.jobs[p.job]
		e.extract(p.job)
		j.attained = 0
		e.order.key(e, p.job, e.q.keys[int(p.job)*e.q.terms:])
		e.insert(p.job)
		e.dirty = true
	}
}

// nextDemotion is the next time at which a running job falls into a lower queue
// or a waiting one is promoted; only then can time alone change a decision.
// Jobs that are to start now count as running.
func (e *Engine) nextDemotion(now workload.Time, actions []fact.Action) workload.Time {
	if len(e.active) == 0 {
		return workload.Never
	}
	t := e.order.attained
	next := workload.Never
	h := &e.order.promotions
	for len(*h) > 0 && !e.promotes(&(*h)[0]) {
		h.pop()
	}
	if len(*h) > 0 {
		next = (*h)[0].at
	}
	falls := func(had, milli int64) {
		if q := queueOf(t, had); int(q) < len(t.Thresholds) && milli > 0 { // work without GPUs attains nothing
			left := t.Thresholds[q]*1000 - had
			next = min(next, now+(left+milli-1)/milli)
		}
	}
	for i := range actions {
		if a := &actions[i]; a.Do == fact.Start {
			falls(e.jobs[a.Job].attained, a.Milli)
		}
	}
	for p := range e.pools {
		for _, n := range e.pools[p].running {
			j := &e.jobs[n]
			if j.state != stopping {
				falls(j.attained+j.milli*max(now-j.since, 0), j.milli)
			}
		}
	}
	if next <= now {
		return now + 1
	}
	return next
}
