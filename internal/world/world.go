// Package world is the border between decisions and machines: what every world has to
// do, be it this machine's processes, Slurm or Kubernetes. The loop (package live) sends
// orders, the world reports what happened; nothing is true until it is reported.
//
// # The contract
//
//   - Do returns at once. It never fails: what goes wrong is reported.
//   - An order carries the identity of a run (job and attempt). A world carries it out once,
//     however often it is told: told again, it reports again how things stand.
//   - A start is answered by JobStarted or StartFailed, a run that started by JobFinished or
//     JobStopped, once it is really gone: its GPUs are given to others right then. A gang
//     starts whole or is undone before StartFailed is reported.
//   - What ended since it was told to stop is JobStopped with the order's cause, even if
//     the process ended with code 0 in the meantime and even if it had to be killed. A
//     run that ends by itself before the order reached it is JobFinished.
//   - Reports of one run come in its order. They may be doubled and late; the loop sorts out.
//   - Nothing is freed by a guess. A world that cannot see a run reports LostSight, not its end.
//   - Runs outlive the daemon. Begin is told what the journal believes, and reports what
//     became of it; the end of a run is remembered until Settled says that it is in the journal.
//
// Where an order and a run cross:
//
//   - Once told to stop, a run that was not up yet ends as JobStopped, with or without
//     JobStarted before, and never as StartFailed. A stop of a run whose start failed, or that the
//     world has never heard of, is answered by JobStopped: there is nothing there.
//   - The first stop gives the cause. A later one may shorten the grace, never lengthen it.
//   - After Begin the loop tells again the start of what is not up and the stop of what is stopping.
//     So a world says nothing of a belief that it knows nothing of, unless the run was up and was not
//     told to stop: that one is gone, and is reported as JobStopped, cause node-failure.
//   - What runs and is not believed has no right to its GPUs: it is stopped, cause operator. An
//     end that is not believed is in the journal already, and is forgotten.
//
// Package worldtest holds every world to that.
package world

import (
	"context"
	"io"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// World carries out orders and reports what happens.
type World interface {
	// Cluster is what there is. It does not change while the world is open; the health of
	// its nodes comes as reports.
	Cluster() *cluster.Spec
	// Begin tells the world which runs the journal believes to be alive, and where to report
	// to. Before it returns it has reported whatever is known to be otherwise by then.
	// report may be called from any goroutine and does not block for long.
	Begin(ctx context.Context, believed []Belief, report func(...Report)) error
	// Do carries out orders, in their order.
	Do(orders ...Order)
	// Settled tells that the ends of these runs are in the journal: the world may forget them.
	Settled(runs ...Run)
	// Close ends the reports. What runs goes on.
	Close() error
}

// Run names a run of a job.
type Run struct {
	// Job number, and its attempt, 1 = first.
	Job, Attempt int32
}

// Order is what a world is to do: begin a run, or end it.
type Order struct {
	// Do is [fact.Start] or [fact.Stop]; [fact.Resize] only for worlds that say they can,
	// [fact.Refuse] only for a [Source].
	Do fact.Do
	Run
	// ID is the job's name for people.
	ID string
	// Spec is what the job declares. It is not to be written to.
	Spec *workload.Job
	// Place lists the grants by node of the cluster; nil on a cluster without nodes, where
	// Count GPUs are any. Tasks is the size of the gang where the job left it open.
	Place []fact.Grant
	Count int32
	Tasks int32
	// Protected is when the protection of the run ends; zero = it has none. Unallocated: it is
	// charged to nobody and may be stopped at any time.
	Protected   time.Time
	Unallocated bool
	// Limit is the longest that the run may last; the world then ends it, and reports
	// JobFinished with the outcome timeout. 0 = no limit.
	Limit time.Duration
	// Grace of Stop: how long the run has between the request to stop and its end.
	Grace time.Duration
	// Cause of Stop.
	Cause fact.Cause
	// Why is the reason in a sentence, for the run's owner.
	Why string
	// Done is the work of earlier runs that is safe, Restart what this run spends on restarting as
	// far as is assumed, and Real what is known of how the job really ran. Only worlds that run
	// nothing go by these.
	Done, Restart time.Duration
	Real          Real
}

// Real is what another scheduler really did with a job. Zero times are not known, or have not come.
type Real struct {
	Started, Ended time.Time
	Outcome        workload.Outcome
	Exit           int32
}

// Belief is a run that is alive as far as the journal tells.
type Belief struct {
	// Order is the start that led to it.
	Order
	// Up: the world had confirmed the start, at Since. Stopping: it was told to stop.
	Up, Stopping bool
	Since        time.Time
}

// Source is a world whose jobs come from elsewhere: from the cluster's own scheduler, with which people
// go on submitting them. It reports, by the name of the job (ID):
//
//   - JobSubmitted with its Spec, before anything else of it; with Text where the cluster's scheduler
//     keeps it back. A name that is in use is not taken again.
//   - JobHeld and JobReleased as that changes; Text says why.
//   - JobAdopted with its Place, where it runs without having been told to, after the ends of those who
//     ran there. It is repeated until the start of the run is ordered, which it answers as ever.
//   - JobEdited with its Priority, as that is changed while it waits.
//   - JobCancelled where it went without having run.
//   - JobObserved with Real, in shadow: what really became of it.
//   - NodeDrained and NodeResumed as others close and open nodes.
//
// Besides Start and Stop it is ordered to Refuse: the job has no business here any more. With the
// cause cancelled somebody withdrew it, and it is to be withdrawn there, too; else it can never
// start under the policy, and is left to the cluster's own scheduler.
type Source interface {
	World
	// Known tells, before Begin, which jobs the journal has alive.
	Known(jobs []Known)
}

// Known is a job of a [Source] that the journal has.
type Known struct {
	ID   string
	Job  int32
	Spec *workload.Job
	// Held: it is kept back there, as far as was told.
	Held bool
}

// Report is what happened. It is a fact that still lacks the time of the journal and what
// follows from it.
type Report struct {
	// Kind is one of JobStarted, StartFailed, JobFinished, JobStopped, JobCheckpointed,
	// LostSight, Found, SessionIdle, SessionActive, NodeDown, NodeUp; of a [Source] also one of
	// those named there.
	Kind fact.Kind
	Run
	// ID names the job in reports of a [Source] about jobs, not about runs; Spec is what it
	// declares, of JobSubmitted; Place and Tasks are those of JobAdopted.
	ID    string
	Spec  *workload.Job
	Place []fact.Grant
	Tasks int32
	// Throttle, of JobSubmitted, is how many of its array may run at once, 0 = all.
	Throttle int32
	// Priority of JobEdited.
	Priority int64
	// Real of JobObserved: what the cluster's own scheduler did with the job of that ID.
	Real Real
	// Node of facts about nodes; of StartFailed the one at fault, -1 for none.
	Node int32
	// Outcome of JobFinished; Cause of JobStopped.
	Outcome workload.Outcome
	Cause   fact.Cause
	// Exit is the exit code of a process that ended, or 128 + the signal that killed it.
	Exit int32
	// Text is what its owner, or an operator, should read.
	Text string
	// When it happened, as far as the world can tell; zero = now.
	When time.Time
	// Own: a start failed by the job's own fault (no such program), so that it would fail again.
	Own bool
}

// Watcher is a world that wants to know what another scheduler really does.
type Watcher interface {
	// Watch tells what is known of a job by now. It returns at once.
	Watch(job int32, r Real)
}

// Logger is a world that keeps what its runs write.
type Logger interface {
	// OpenLog returns what a run has written from a byte on, [io.EOF] at what there is by now,
	// and where that ends. Bytes that were rotated away are skipped. An error wraps
	// fs.ErrNotExist where there is no log.
	OpenLog(run Run, from int64) (in io.ReadCloser, at int64, err error)
}

// Meter is a world that can tell how busy things are.
type Meter interface {
	// Measure returns one sample of each run and GPU that can be seen.
	Measure(ctx context.Context) (Sample, error)
}

// Sample is how busy things were at a time.
type Sample struct {
	At   time.Time
	Runs []RunSample
	GPUs []GPUSample
	// Source names what measured the GPUs ("nvidia-smi", "dcgm-exporter"), "" for nothing.
	Source string
	// Anomalies counts values that could not be and were cut to what can.
	Anomalies int
}

// RunSample is what the processes of a run use.
type RunSample struct {
	Run
	// CPU time so far, and memory in MiB now.
	CPU    time.Duration
	Memory int64
	// Processes alive.
	Processes int
}

// GPUSample is how busy a GPU is.
type GPUSample struct {
	Node, GPU int32
	// Busy is how much of Part works, in thousandths of it; -1 where it was not measured.
	Busy int32
	// Part is how much of a GPU the value is about, in thousandths: less for a slice of a divided
	// one, which may have several samples.
	Part int32
	// MemoryUsed and MemoryTotal in MiB, 0 where not told.
	MemoryUsed, MemoryTotal int64
}
