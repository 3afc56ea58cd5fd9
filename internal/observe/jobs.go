package observe

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// place is where a job is counted.
type place uint8

const (
	nowhere place = iota
	waits
	runs
	held
	blocked
	parked
	places
)

// job is what has to be known of one that is alive.
type job struct {
	id   string
	team *team
	size uint8
	// milli is what it asks for, in milli-GPU, has what its run has; class is that of the run.
	milli, has int64
	class      uint8
	in         place
	holds      uint8
	// placed: it has a run, which is up once it was confirmed. parked: an idle session without GPUs.
	placed, up, isParked bool
	// once: a run of it that is stopped is lost. free: it declares itself unallocated. gone: its
	// owner took it back.
	once, free, gone bool
	// before is how many jobs it waits for, after those that wait for it.
	before int32
	after  []*job
	submit workload.Time
	// assigned, checked and ran: it was, at some time.
	assigned, checked, ran bool
	// heldFor is how long it was held in all, heldSince since when it is.
	heldFor   workload.Span
	heldSince workload.Time
	// queuedAt is when it came into the queue, with heldFor as it was then; queued the time there
	// before. stopped: a run of it was stopped at that time.
	queuedAt     workload.Time
	heldAtQueued workload.Span
	queued       workload.Span
	stopped      bool
}

// jobs folds facts and actions into what jobs do, and how long they waited.
type jobs struct {
	teams *teams
	alive map[int32]*job
	byID  map[string]*job
	kept  [places]int64
	// counts that no team has.
	preempted    [fact.CauseMaintenance + 1]int64
	nodeFailures int64
	failedStarts int64
	refused      int64

	quota, admission, ready, requeue, queue, completion *prometheus.HistogramVec
}

func newJobs(limit int) *jobs {
	return &jobs{teams: newTeams(limit), alive: map[int32]*job{}, byID: map[string]*job{},
		quota: quotaWait.vec(), admission: admissionWait.vec(), ready: readyWait.vec(), requeue: requeueWait.vec(), queue: queueTime.vec(), completion: completion.vec()}
}

// fact takes in what happened.
func (s *jobs) fact(f *fact.Fact) {
	if f.Kind == fact.JobSubmitted {
		s.submitted(f.Job, f.Submitted, f.At).team.submitted[sizeOf(f.Submitted.Need.TotalGPUs())]++
		return
	}
	j := s.alive[f.Job]
	if j == nil || f.Kind < fact.JobFinished {
		return
	}
	switch f.Kind {
	case fact.JobStarted:
		s.confirmed(j, f.At)
	case fact.StartFailed:
		s.failedStarts++
		j.placed, j.up = false, false
	case fact.JobFinished:
		s.end(f.Job, j, f.At, f.Outcome)
		return
	case fact.JobStopped:
		if s.stopped(f, j) {
			return
		}
	case fact.JobHeld:
		j.holds |= 1 << f.Hold
	case fact.JobReleased:
		j.holds &^= 1 << f.Hold
	case fact.SessionActive:
		if j.isParked {
			j.isParked = false
			j.enqueue(f.At)
		}
	case fact.JobCancelled:
		if j.gone = true; !j.placed {
			s.end(f.Job, j, f.At, workload.OutcomeCancelled)
			return
		}
	default:
		return
	}
	s.settle(j, f.At)
}

// action takes in what was decided.
func (s *jobs) action(a *fact.Action) {
	j := s.alive[a.Job]
	if j == nil {
		return
	}
	switch a.Do {
	case fact.Start:
		s.take(j) // class and size of its run may be others
		j.placed, j.up, j.has, j.class = true, false, a.Milli, allocated
		if a.Unallocated || j.free {
			j.class = unallocated
		}
		j.team.starts[j.class]++
		s.assign(j, a.At)
	case fact.Uncharge:
		s.take(j)
		j.class = unallocated
	case fact.Resize:
		s.take(j)
		j.has = a.Milli
	case fact.Refuse:
		s.refused++
		s.forget(a.Job, j, a.At)
		return
	default:
		return
	}
	s.settle(j, a.At)
}

func (s *jobs) submitted(n int32, w *workload.Job, at workload.Time) *job {
	j := &job{id: w.ID, team: s.teams.of(w.Team), size: sizeOf(w.Need.TotalGPUs()), milli: w.Need.TotalMilli(), submit: at, queuedAt: at,
		once: w.Contract.NotResumable, free: w.Contract.HasMinRuntime && w.Contract.MinRuntime == 0}
	for i := range w.After {
		if on := s.byID[w.After[i].Job]; on != nil {
			on.after = append(on.after, j)
			j.before++
		}
	}
	s.alive[n], s.byID[w.ID] = j, j
	s.settle(j, at)
	return j
}

// assign ends the wait for GPUs.
func (s *jobs) assign(j *job, at workload.Time) {
	switch {
	case !j.assigned:
		j.assigned = true
		sample(s.quota, j, at-j.submit-j.heldUntil(at))
	case j.stopped:
		sample(s.requeue, j, at-j.queuedAt-(j.heldUntil(at)-j.heldAtQueued))
	}
	j.stopped = false
}

// checks ends the wait for what is checked before the first start, where a world tells of it.
func (s *jobs) checks(n int32, at workload.Time) {
	if j := s.alive[n]; j != nil && !j.checked {
		j.checked = true
		sample(s.admission, j, at-j.submit-j.heldUntil(at))
	}
}

func (s *jobs) confirmed(j *job, at workload.Time) {
	if j.up {
		return
	}
	if !j.ran {
		j.ran = true
		sample(s.ready, j, at-j.submit-j.heldUntil(at))
	}
	j.up = true
	j.queued += at - j.queuedAt - (j.heldUntil(at) - j.heldAtQueued)
}

// stopped takes in that a run was stopped, and tells whether the job ended with it.
func (s *jobs) stopped(f *fact.Fact, j *job) (ended bool) {
	switch f.Cause {
	case fact.CauseNodeFailure:
		s.nodeFailures++
	case fact.CauseCancelled, fact.CauseNone:
	default:
		if int(f.Cause) < len(s.preempted) {
			s.preempted[f.Cause]++
		}
	}
	lost := j.once && j.up && f.Cause != fact.CauseNodeFailure && f.Cause != fact.CauseParked
	switch {
	case f.Cause == fact.CauseCancelled || j.gone:
		s.end(f.Job, j, f.At, workload.OutcomeCancelled)
		return true
	case lost:
		s.end(f.Job, j, f.At, workload.OutcomePreempted)
		return true
	}
	up := j.up
	if j.placed, j.up = false, false; f.Cause == fact.CauseParked {
		j.isParked = true
		return false
	}
	j.stopped = true
	if up { // a start that did not come true is part of the wait
		j.enqueue(f.At)
	}
	return false
}

func (j *job) enqueue(at workload.Time) {
	j.queuedAt, j.heldAtQueued = at, j.heldUntil(at)
}

// heldUntil is how long it was held in all.
func (j *job) heldUntil(at workload.Time) workload.Span {
	if j.in == held {
		return j.heldFor + at - j.heldSince
	}
	return j.heldFor
}

// end counts a job that ended.
func (s *jobs) end(n int32, j *job, at workload.Time, o workload.Outcome) {
	if o < outcomes {
		j.team.finished[o]++
	}
	if j.ran {
		sample(s.queue, j, j.queued)
		sample(s.completion, j, at-j.submit)
	}
	s.forget(n, j, at)
}

// forget takes a job out, and lets go those that waited for it.
func (s *jobs) forget(n int32, j *job, at workload.Time) {
	s.take(j)
	delete(s.alive, n)
	if s.byID[j.id] == j {
		delete(s.byID, j.id)
	}
	for _, other := range j.after {
		if other.before--; other.in == blocked {
			s.settle(other, at)
		}
	}
}

// settle counts a job where it is now.
func (s *jobs) settle(j *job, at workload.Time) {
	to := waits
	switch {
	case j.placed:
		to = runs
	case j.isParked:
		to = parked
	case j.before > 0:
		to = blocked
	case j.holds != 0:
		to = held
	}
	if to == j.in {
		return
	}
	if j.in == held {
		j.heldFor += at - j.heldSince
	}
	if to == held {
		j.heldSince = at
	}
	s.take(j)
	switch j.in = to; to {
	case waits:
		j.team.waiting[j.size].add(1, j.milli)
	case runs:
		j.team.running[j.class].add(1, j.has)
	default:
		s.kept[to]++
	}
}

// take takes a job out of where it is counted. The time that it was held is not lost.
func (s *jobs) take(j *job) {
	switch j.in {
	case nowhere:
	case waits:
		j.team.waiting[j.size].add(-1, -j.milli)
	case runs:
		j.team.running[j.class].add(-1, -j.has)
	default:
		s.kept[j.in]--
	}
	j.in = nowhere
}

func sample(h *prometheus.HistogramVec, j *job, d workload.Span) {
	h.WithLabelValues(sizeNames[j.size]).Observe(float64(max(d, 0)) / 1000)
}
