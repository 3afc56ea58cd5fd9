package engine

import "github.com/escala-sched/escala/workload"

// EndsAt is when the present run of a job will have done so much work in all, at the speed
// that it has; [workload.Never] for a job that does not run.
func (e *Engine) EndsAt(n int32, work workload.Span) workload.Time {
	if n = e.numbering.place(n); n < 0 || int(n) >= len(e.jobs) {
		return workload.Never
	}
	j := &e.jobs[n]
	if j.state != starting && j.state != running && j.state != stopping {
		return workload.Never
	}
	left := max(work-j.kept, 0)
	if m := int64(e.speed(j, j.pool)); m != 1000 {
		left = (left*1000 + m - 1) / m
	}
	if t := int64(j.tasks); t > 0 && j.tasks != j.spec.Need.Tasks {
		left = (left*int64(j.spec.Need.Tasks) + t - 1) / t
	}
	return j.work + left
}

// Since is when the present run of a job began, or when the job entered the queue.
func (e *Engine) Since(n int32) workload.Time {
	if n = e.numbering.place(n); n < 0 || int(n) >= len(e.jobs) {
		return workload.Unknown
	}
	return e.jobs[n].since
}

// Run is a run that is alive.
type Run struct {
	Job, Attempt int32
	// Up: it was confirmed. Stopping: it was told to stop, and has until Deadline where the
	// policy shares by budgets.
	Up, Stopping bool
	Deadline     workload.Time
}

// Runs lists what is alive, by number. O(jobs).
func (e *Engine) Runs() []Run {
	var out []Run
	for i := range e.jobs {
		j := &e.jobs[i]
		if j.state != starting && j.state != running && j.state != stopping {
			continue
		}
		r := Run{Job: e.numbering.number(int32(i)), Attempt: j.attempt, Up: j.up, Stopping: j.state == stopping}
		if e.sharing != nil && r.Stopping {
			r.Deadline = e.sharing.jobs[i].deadline
		}
		out = append(out, r)
	}
	return out
}
