package sim

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

func (r *run) speedOn(n, node int32) int32 {
	t := r.o.Cluster.Nodes[node].GPUType
	for _, s := range r.jobs[n].Speed {
		if s.GPUType == t {
			return s.Milli
		}
	}
	return 1000
}

// confirm confirms a start and schedules the end of the run.
func (r *run) confirm(n int32) error {
	s, j := &r.state[n], &r.jobs[n]
	s.began, s.up = r.now, true
	res := &r.res.Jobs[n]
	if res.Starts == 0 {
		res.FirstStart = r.now
	}
	res.Starts++
	res.Tasks = s.tasks
	res.Queued += r.now - s.queued
	res.State = Running
	s.waits = false
	r.events.push(event{at: r.endOf(n), kind: finish, subject: n, attempt: s.attempt})
	if a := &r.actual[n]; a.IdleAfter > s.kept {
		r.events.push(event{at: r.now + r.restart(n) + s.wall(j, a.IdleAfter-s.kept), kind: idle, subject: n, attempt: s.attempt})
	}
	r.fact = fact.Fact{Kind: fact.JobStarted, At: r.now, Job: n, Attempt: s.attempt, Node: -1}
	return r.tell(&r.fact)
}

// endOf is when the present run of a job will end by itself, if nothing stops it.
func (r *run) endOf(n int32) workload.Time {
	s, j := &r.state[n], &r.jobs[n]
	if j.Service != nil { // it runs until it is taken down
		return max(s.began, r.serviceEnd(n))
	}
	wall := r.restart(n) + s.wall(j, r.actual[n].Duration-s.kept)
	if j.Limit > 0 {
		wall = min(wall, j.Limit)
	}
	return s.began + wall
}

// restart is what the present run spends before it works: nothing if it is the
// first that came true.
func (r *run) restart(n int32) workload.Span {
	if r.res.Jobs[n].Starts > 1 {
		return r.fill.Fill(r.jobs[n].Contract).RestartCost
	}
	return 0
}

// wall turns work into time on what the job was given, work the other way round.
func (s *jobState) wall(j *workload.Job, d workload.Span) workload.Span {
	if s.speed != 1000 {
		d = (d*1000 + int64(s.speed) - 1) / int64(s.speed)
	}
	if s.tasks > 0 && s.tasks != j.Need.Tasks && j.Service == nil {
		d = (d*int64(j.Need.Tasks) + int64(s.tasks) - 1) / int64(s.tasks)
	}
	return d
}

func (s *jobState) work(j *workload.Job, d workload.Span) workload.Span {
	if s.speed != 1000 {
		d = d * int64(s.speed) / 1000
	}
	if s.tasks > 0 && s.tasks != j.Need.Tasks && j.Service == nil {
		d = d * int64(s.tasks) / int64(j.Need.Tasks)
	}
	return d
}

// comeBack is the owner of an idle session at work again. What it idled through is
// time that has passed, with GPUs or without.
func (r *run) comeBack(n int32) error {
	s, a := &r.state[n], &r.actual[n]
	if s.parked {
		s.parked, s.waits, s.queued = false, true, r.now
		s.kept = min(a.IdleAfter+a.IdleFor, a.Duration)
	}
	r.fact = fact.Fact{Kind: fact.SessionActive, At: r.now, Job: n, Node: -1}
	return r.tell(&r.fact)
}

// leave settles what a run got when it gives its GPUs back.
func (r *run) leave(n int32) (done, elapsed, restart workload.Span) {
	s, res := &r.state[n], &r.res.Jobs[n]
	s.on = false
	res.Assigned = plus(res.Assigned, times(s.milli, r.now-s.assigned))
	if s.up {
		elapsed = r.now - s.began
		restart = min(r.restart(n), elapsed)
	}
	res.Restart = plus(res.Restart, times(s.milli, restart))
	delete(r.places, n)
	return s.work(&r.jobs[n], elapsed-restart), elapsed, restart
}

func (r *run) finish(n int32) error {
	s, j, res := &r.state[n], &r.jobs[n], &r.res.Jobs[n]
	done, elapsed, restart := r.leave(n)
	res.Ran += elapsed - restart
	res.Finish, res.State = r.now, Ended
	res.Outcome = r.actual[n].Outcome
	if j.Limit > 0 && elapsed == j.Limit && s.kept+done < r.actual[n].Duration {
		res.Outcome = workload.OutcomeTimeout
	}
	r.end(n)
	r.vain = 0
	r.fact = fact.Fact{Kind: fact.JobFinished, At: r.now, Job: n, Attempt: s.attempt, Node: -1, Outcome: res.Outcome, Kept: min(s.kept+done, max(r.actual[n].Duration, s.kept)), Restart: restart}
	return r.tell(&r.fact)
}

// stop ends a run before its time; the job goes back into the queue with what was safe.
func (r *run) stop(n int32, cause fact.Cause) error {
	s, j, res := &r.state[n], &r.jobs[n], &r.res.Jobs[n]
	done, elapsed, restart := r.leave(n)
	c := r.fill.Fill(j.Contract)
	if cause == fact.CauseNodeFailure {
		c.CheckpointOnStop = false // a dead node saves nothing any more
	}
	if c.CheckpointOnStop && s.up && cause != fact.CauseNodeFailure {
		// From the request on it writes its state, which is no progress.
		writing := min(r.now-s.signal, elapsed-restart)
		done = s.work(j, elapsed-restart-writing)
	}
	before := s.kept
	s.kept = min(max(engine.Kept(c, s.kept, s.kept+done), r.from.safe(n)), r.actual[n].Duration)
	if r.vain++; s.kept > before {
		r.vain = 0
	}
	if r.vain > 10_000+100*len(r.jobs) {
		return fmt.Errorf("at %d ms policy %s has stopped work %d times in a row without any job getting further (the last is %q): what is stopped loses its work faster than it is done; checkpoints would end this",
			r.now, r.o.Policy.Name, r.vain, j.ID)
	}
	// What is lost is run time: all of it that is neither restart nor work that stays.
	lost := elapsed - restart - s.wall(j, s.kept-before)
	lost = max(lost, 0)
	res.Lost = plus(res.Lost, times(s.milli, lost))
	res.Ran += elapsed - restart - lost
	res.State = Requeued
	if res.Starts == 0 {
		res.State = Unstarted // it was stopped before it came up
	}
	switch {
	case cause == fact.CauseNodeFailure:
		res.NodeFailures++
	case !s.gone:
		res.Preemptions++
	}
	if s.gone {
		r.takenBack(n)
	} else if cause == fact.CauseParked {
		if s.parked = true; s.idleUntil == workload.Never {
			r.events.push(event{at: r.now + s.wall(j, r.actual[n].Duration-s.kept), kind: closed, subject: n, attempt: s.attempt})
		}
	} else if j.Contract.NotResumable && s.up && cause != fact.CauseNodeFailure {
		res.Finish, res.State, res.Outcome = r.now, Ended, workload.OutcomePreempted
		r.end(n)
	} else if s.waits = true; s.up { // a start that did not come true is part of the wait
		s.queued = r.now
	}
	if j.Service != nil && r.now >= r.serviceEnd(n) { // it was to be taken down while it came up
		r.events.push(event{at: r.now, kind: retire, subject: n})
	}
	r.fact = fact.Fact{Kind: fact.JobStopped, At: r.now, Job: n, Attempt: s.attempt, Node: -1, Cause: cause, Kept: s.kept, Lost: lost, Restart: restart}
	return r.tell(&r.fact)
}

// times and plus are products and sums of milli-GPU x ms that stay at the
// largest number instead of overflowing (a million GPUs for a hundred days).
func times(milli int64, d workload.Span) int64 {
	hi, lo := bits.Mul64(uint64(milli), uint64(max(d, 0)))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
