package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// savedJob is a job that is alive, or a number that was left out (absent).
type savedJob struct {
	number  int32
	state   state
	outcome workload.Outcome
	holds   uint8
	// cancel and dated as in job; marked: nothing happened since it was evicted.
	cancel, dated, marked bool
	attempt, runs, stops  int32
	since, promised       workload.Time
	est, kept             workload.Span
	// counted is what the decayed shares have of attained.
	attained, counted int64
	spec              *workload.Job
	// run is what it holds, or will hold, nil for a job that waits.
	run *savedRun
}

// savedRun is the present run of a job, or the claim for the next.
type savedRun struct {
	up          bool
	pool, tasks int32
	milli       int64
	grants      []cluster.Grant
	work, end   workload.Time
	// As in contracted; 0 under policies without contracts.
	leaf                                     int32
	rate                                     int64
	began, until, deadline, paidAt           workload.Time
	unallocated, charged, open, draws, idles bool
}

// occupies tells whether a job in that state holds GPUs.
func occupies(s state) bool { return s == starting || s == running || s == stopping }

// owing tells whether the decayed shares have still to count what a job had.
func (e *Engine) owing(n int32) bool {
	return e.order.shares != nil && slices.Contains(e.order.shares.ended, n)
}

// remembered tells whether a dependency may still ask for the outcome of an ended job.
func (e *Engine) remembered(n int32) bool {
	j := &e.jobs[n]
	return j.spec != nil && j.spec != gone && j.since >= e.forgot
}

// jobs saves all that are alive, and the outcomes of those that have ended.
func (t *taking) jobs() {
	e, s := t.e, t.s
	t.at = make([]int32, len(e.jobs))
	alive, runs := 0, 0
	for n := range e.jobs {
		t.at[n] = none
		if j := &e.jobs[n]; int32(n) != e.numbering.gone && (j.state != ended || e.owing(int32(n))) {
			t.at[n] = int32(alive)
			alive++
			if occupies(j.state) || j.state == claiming {
				runs++
			}
		}
	}
	s.jobs = make([]savedJob, 0, alive)
	room := make([]savedRun, runs)
	for _, p := range e.past {
		if p.at >= e.forgot {
			s.past = append(s.past, p)
		}
	}
	for n := range e.jobs {
		j := &e.jobs[n]
		if t.at[n] == none {
			if int32(n) != e.numbering.gone && e.remembered(int32(n)) {
				s.past = append(s.past, past{e.numbering.number(int32(n)), j.spec.ID, j.since, j.outcome})
			}
			continue
		}
		x := savedJob{number: e.numbering.number(int32(n)), state: j.state}
		if j.state != absent {
			t.job(&x, int32(n))
		}
		if occupies(j.state) || j.state == claiming {
			x.run = &room[0]
			room = room[1:]
			t.run(x.run, int32(n))
		}
		s.jobs = append(s.jobs, x)
	}
	slices.SortFunc(s.past, func(a, b past) int { return cmp.Compare(a.job, b.job) })
}

func (t *taking) job(x *savedJob, n int32) {
	e := t.e
	j := &e.jobs[n]
	x.holds, x.cancel, x.attempt, x.runs, x.est, x.kept, x.attained, x.spec = j.holds, j.cancel, j.attempt, j.runs, j.est, j.kept, j.attained, j.spec
	if j.state == waiting || j.state == ended || occupies(j.state) {
		x.since = j.since
	}
	if j.state == ended {
		x.outcome = j.outcome
	}
	if x.dated = j.dated; j.dated {
		x.promised = j.promised
	}
	if s := e.sharing; s != nil {
		c := &s.jobs[n]
		x.stops, x.marked = c.stops, c.mark == s.events
	}
	if s := e.order.shares; s != nil && int(n) < len(s.counted) {
		x.counted = s.counted[n]
	}
}

func (t *taking) run(x *savedRun, n int32) {
	e := t.e
	j := &e.jobs[n]
	if occupies(j.state) {
		x.up, x.pool, x.tasks, x.milli, x.grants, x.work = j.up, j.pool, j.tasks, j.milli, clonePlace(j.grants), j.work
		if e.predicts {
			x.end = j.end
		}
	}
	s := e.sharing
	if s == nil {
		return
	}
	c := &s.jobs[n]
	x.rate, x.began, x.until, x.paidAt = c.rate, c.began, c.until, c.paidAt
	x.unallocated = c.unallocated
	if x.deadline, x.leaf = c.deadline, c.leaf; j.state == stopping {
		x.leaf = s.leafOf(j.spec) // it is charged no longer
	} else {
		x.charged, x.open, x.draws = c.charged, c.open, c.draws
	}
	switch {
	case occupies(j.state):
		x.idles = c.idles
	case c.until == unset:
		x.began, x.paidAt, x.deadline = 0, 0, 0
	default:
		x.deadline = 0
	}
	if x.unallocated {
		x.paidAt = 0
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
