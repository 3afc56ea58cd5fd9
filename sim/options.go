package sim

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Options say what to simulate. Workload, Cluster and Policy are required.
type Options struct {
	Workload *workload.Workload
	Cluster  *cluster.Spec
	Policy   *policy.Policy
	// Budgets for policies that share by them, told to the engine before the first
	// job; nil = equal shares among the workload's teams.
	Budgets *budget.Tree
	// Assume fills in what jobs do not declare about interruption.
	Assume Assumptions
	// From is a state that the run goes on from; nil = an empty cluster before the first job.
	From *From
	// Estimates, if set, are the run times that the engine is told of jobs, instead of what
	// the policy's error model makes of them; 0 = as the job declares.
	Estimates []workload.Span
	// Follow, if set, is told of each job that was submitted or has ended, however, and
	// returns the holds and releases of jobs that follow from it at once.
	Follow func(job int32, ended bool) []fact.Fact
	// Until cuts the run; 0 = go on until every job is done.
	Until workload.Time
	// Faults draws node failures.
	Faults Faults
	// Forecast says how wrong the declared demand of real-time applications is.
	Forecast Forecast
	// Planner, if set, plans what a policy that plans the horizon sees ahead, on the grid of
	// its replan time; what it returns becomes a fact that decisions follow. nil = no plan.
	Planner func(o *engine.Outlook) (*fact.Plan, error)
	// Observers see every fact, action and instant, in order.
	Observers []Observer
	// Probe, if set, may look at the engine after each instant; it must not change it.
	Probe func(now workload.Time, e *engine.Engine)
	// Progress, if set, is called now and then with the number of jobs that have ended.
	Progress func(done, total int)
}

// Assumptions fill in what an input does not tell. The zero value is the ideal
// of the literature: stopped work loses nothing and restarts at no cost.
type Assumptions struct {
	// Checkpoint says what a job that declares neither CheckpointInterval nor
	// CheckpointOnStop does: 0 = saves its state when stopped, < 0 = never
	// saves, > 0 = a checkpoint after each such span of work.
	Checkpoint workload.Span
	// RestartCost and Grace of jobs that declare none.
	RestartCost, Grace workload.Span
	// StartLatency passes between a start action and the start.
	StartLatency workload.Span
}

// Faults draws node failures from exponential distributions; MTBF 0 = none.
type Faults struct {
	// MTBF is the mean time between failures of one node, MTTR its mean time to repair.
	MTBF, MTTR workload.Span
	Seed       uint64
}

// Observer sees a run as it happens: metrics, journal, time series. Pointers are
// only valid during the call.
type Observer interface {
	Fact(f *fact.Fact)
	Action(a *fact.Action)
	// Instant is called once per time stamp, after its facts and decisions.
	Instant(g *Gauge)
}

// Gauge is the state of the cluster after an instant. It holds until the next one.
type Gauge struct {
	At workload.Time
	// Installed GPUs; Available of them are up and schedulable or carrying work
	// (SEMANTICS 33); in milli-GPU.
	Installed, Available int64
	// Assigned to starting, running and stopping jobs; Held for winners whose
	// victims still leave; in milli-GPU.
	Assigned, Held int64
	// WaitingJobs and WaitingMilli count jobs that could start but for capacity
	// and order, and the milli-GPUs they ask for.
	WaitingJobs  int
	WaitingMilli int64
	RunningJobs  int
	// Fragmented: some waiting job fits by count and none fits in shape (SEMANTICS 35).
	Fragmented bool
}

// Result is a finished run.
type Result struct {
	// Jobs[i] is what happened to Workload.Jobs[i] in this run.
	Jobs []JobResult
	// Estimates given to the engine, in the order of the jobs, with the policy's error model applied.
	Estimates []workload.Span
	// Counters of the run.
	Facts, Actions, Decisions int64
	// Refusals are the jobs that can never run on the cluster, with the reason.
	Refusals []Refusal
	// Cut is true when Until or an interrupt ended the run before its jobs were done.
	Cut bool
	// End is the time of the last fact.
	End workload.Time
	// Notes are assumptions taken, in sentences for the report's head.
	Notes []string
}

// Refusal is a job that can never run, and why.
type Refusal struct {
	Job    int32
	Reason fact.Reason
}

// JobResult is what happened to one job.
type JobResult struct {
	// FirstStart and Finish (of the last run), [workload.Unknown] where it did not come.
	FirstStart, Finish workload.Time
	// Queued is the time spent waiting in all, preempted stretches included. Held is what
	// it was kept out of the queue before its first start, which is no part of that.
	Queued, Held workload.Span
	// Ran is the service it got without lost work and without restart overhead.
	Ran workload.Span
	// Assigned is milli-GPU x ms from each start action to each release.
	Assigned int64
	// Lost and Restart are milli-GPU x ms of work done again and of restart overhead.
	Lost, Restart int64
	// Starts, and how many of them ended by preemption or node failure.
	Starts, Preemptions, NodeFailures int32
	// Tasks is the number of tasks of the last start (elastic jobs), 0 = as declared.
	Tasks   int32
	Outcome workload.Outcome
	State   EndState
}

// EndState says where a job stood when the run ended.
type EndState uint8

// End states.
const (
	Ended      EndState = iota // finished by itself, whatever the outcome
	Unstarted                  // still waiting, never started
	Requeued                   // waiting again after having run
	Running                    // running when the run was cut
	Refused                    // never fits the cluster
	NeverReady                 // waits for a dependency that can never be satisfied
	Withdrawn                  // cancelled by its owner before it started
)
