package whatif

import (
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/forecast"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// fate is what became of a job by the end of the stretch.
type fate uint8

const (
	open      fate = iota // it waits, or runs
	finished              // by itself, so that its work is known
	withdrawn             // by its owner, before it ever started
	cancelled             // by its owner, after that
	evicted               // stopped, and not to be resumed
	never                 // refused
)

// job is what the journal tells of one.
type job struct {
	number int32
	line   int
	spec   *workload.Job
	// submit is the time of the submission, est what was predicted then.
	submit workload.Time
	est    workload.Span

	// before is what had happened by the beginning of the stretch, and how what was under
	// way then came out. starting, stopping: so its run stood then, which was the attempt.
	before             sim.Before
	starting, stopping bool
	attempt            int32
	idleSince          workload.Time

	// on: a run of it is alive; up: that came true; asked: its owner took it back, at taken.
	on, up, asked bool
	taken         workload.Time
	// tried: it was decided to start it, whatever came of that.
	tried   bool
	fate    fate
	outcome workload.Outcome
	end     workload.Time
	// done is the work that it had done in all, as far as is known.
	done   workload.Span
	demand []fact.Fact
	// idleAt is when it had nothing to do for the first time in the stretch, for idleFor.
	idleAt  workload.Time
	idleFor workload.Span
}

// book is what all of a journal tells of its jobs, and of the times that things take.
type book struct {
	jobs map[int32]*job
	// order lists them by number.
	order []int32
	// history is what the jobs that ended by themselves tell, ended how many they are.
	history forecast.History
	ended   int
	// latencies are the times from start actions to starts, begun the last start of each job.
	latencies []workload.Span
	begun     map[int32]workload.Time
	// late: the stretch has begun.
	late bool
	left leftOut
}

// leftOut counts what is not gone through again.
type leftOut struct{ backOffs, startFailures, retries, requeues, plans, checkpoints int }

func newBook() *book {
	return &book{jobs: map[int32]*job{}, begun: map[int32]workload.Time{}}
}

func (b *book) add(j *job) {
	b.jobs[j.number] = j
	b.order = append(b.order, j.number)
}

// state takes in what is alive in the snapshot that a file begins with.
func (b *book) state(s *engine.State, line int) {
	for _, a := range s.Alive() {
		j := &job{number: a.Number, line: line, spec: a.Job, submit: a.Job.Submit, est: a.Estimate, on: a.Runs, up: a.Up, asked: a.Cancelled,
			done: a.Kept, tried: a.Attempt > 0, attempt: a.Attempt, starting: a.Runs && !a.Up, stopping: a.State == "stopping", idleSince: workload.Unknown}
		j.before.Starts, j.before.FirstStart = a.Starts, workload.Unknown
		if a.Up && a.Attempt == 1 {
			j.before.FirstStart = a.Since
		}
		if a.State == "refused" || a.State == "stuck" {
			j.fate = never
		}
		b.add(j)
	}
}

// entry takes in a line.
func (b *book) entry(e *journal.Entry) {
	switch {
	case e.Fact != nil && e.Fact.Kind == fact.JobSubmitted:
		f := e.Fact
		b.add(&job{number: f.Job, line: e.Line, spec: f.Submitted, submit: f.At, est: f.Estimate, idleSince: workload.Unknown})
	case e.Fact != nil && e.Fact.Kind == fact.PlanProposed && b.late:
		b.left.plans++
	case e.Fact != nil && e.Fact.Job >= 0:
		if j := b.jobs[e.Fact.Job]; j != nil {
			b.fact(j, e.Fact)
		}
	case e.Action != nil:
		if j := b.jobs[e.Action.Job]; j != nil {
			b.action(j, e.Action)
		}
	}
}

func (b *book) action(j *job, a *fact.Action) {
	switch a.Do {
	case fact.Start:
		b.begun[j.number], j.on, j.tried = a.At, true, true
		if !b.late {
			j.attempt, j.starting, j.stopping = a.Attempt, true, false
			j.before.Told, j.before.Cause = 0, fact.CauseNone
		}
	case fact.Stop:
		if !b.late {
			j.stopping, j.before.Told, j.before.Cause = true, a.At, a.Cause()
		}
	case fact.Refuse:
		j.fate, j.end = never, a.At
	}
}

func (b *book) fact(j *job, f *fact.Fact) {
	switch f.Kind {
	case fact.JobStarted:
		b.started(j, f)
	case fact.JobFinished:
		j.left(f, finished, f.Kept)
		j.outcome = f.Outcome
		if o := f.Outcome; o == workload.OutcomeCompleted || o == workload.OutcomeFailed || o == workload.OutcomeTimeout {
			b.ended++
			b.history.Add(j.spec.User, j.spec.Need.TotalGPUs(), said(j.spec), f.Kept)
		}
	case fact.JobStopped:
		if b.late && f.Attempt == j.attempt && j.stopping && j.before.Leave == 0 {
			j.before.Leave = f.At
		}
		b.stopped(j, f)
	case fact.StartFailed:
		j.on, j.up, j.starting = false, false, j.starting && b.late
		if b.late {
			b.left.startFailures++
		}
	case fact.JobCancelled:
		j.cancel(f)
		if b.late && j.before.Leave == 0 && j.fate != open {
			j.before.Leave = f.At // of a session that was parked
		}
	case fact.JobCheckpointed:
		if j.done = max(j.done, f.Kept); b.late {
			b.left.checkpoints++
		}
	case fact.DemandChanged:
		j.demand = append(j.demand, *f)
	case fact.SessionIdle:
		if !b.late {
			j.before.Idle, j.idleSince = true, f.Since
		} else if j.idleAt == 0 && !j.before.Idle {
			j.idleAt = f.Since
		}
	case fact.SessionActive:
		j.active(f, b.late)
	}
}

func (b *book) started(j *job, f *fact.Fact) {
	j.up = true
	if at, ok := b.begun[j.number]; ok {
		b.latencies = append(b.latencies, f.At-at)
	}
	switch {
	case !b.late:
		j.starting = false
		if j.before.Starts++; j.before.Starts == 1 {
			j.before.FirstStart = f.At
		}
	case f.Attempt == j.attempt && j.starting:
		j.before.Confirm = f.At
	}
}

// left notes that the present run has ended, and what is known of the work of the job.
func (j *job) left(f *fact.Fact, what fate, work workload.Span) {
	j.on, j.up = false, false
	j.fate, j.end, j.done = what, f.At, work
}

func (b *book) stopped(j *job, f *fact.Fact) {
	up := j.up
	j.left(f, open, max(j.done, f.Kept+j.reference(f.Lost)))
	switch f.Cause {
	case fact.CauseNodeFailure, fact.CauseParked:
	default:
		if f.Cause == fact.CauseYielded && b.late {
			b.left.retries++
		}
		if f.Cause == fact.CauseOperator && b.late {
			b.left.requeues++
		}
		if up && j.spec.Contract.NotResumable {
			j.fate = evicted
		}
	}
	if j.asked || f.Cause == fact.CauseCancelled {
		j.fate = cancelled
	}
	if !b.late {
		j.starting, j.stopping, j.idleSince, j.before.Idle = false, false, workload.Unknown, false
	}
}

// reference is the most work that can have been done in so much run time.
func (j *job) reference(d workload.Span) workload.Span {
	most := int32(1000)
	for _, s := range j.spec.Speed {
		most = max(most, s.Milli)
	}
	return d * int64(most) / 1000
}

// cancel notes that the owner took the job back. A run ends by the stop that follows.
func (j *job) cancel(f *fact.Fact) {
	switch {
	case j.fate != open || j.asked:
		return
	case j.on:
		j.asked = true
	case j.tried:
		j.fate, j.end = cancelled, f.At
	default:
		j.fate, j.end = withdrawn, f.At
	}
	j.taken = f.At
}

func (j *job) active(f *fact.Fact, late bool) {
	switch {
	case !late:
		j.before.Idle, j.idleSince = false, workload.Unknown
	case j.idleAt > 0 && j.idleFor == 0:
		j.idleFor = f.At - j.idleAt
	case j.before.Active == 0:
		j.before.Active = f.At
	}
}

// said is the run time that a job declares, 0 = none.
func said(j *workload.Job) workload.Span {
	if j.Estimate > 0 {
		return j.Estimate
	}
	return j.Limit
}
