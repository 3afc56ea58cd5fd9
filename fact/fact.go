package fact

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/workload"
)

// Kind of a fact.
type Kind uint8

// Facts, in the order in which they take effect within one instant (SEMANTICS 3).
const (
	_ Kind = iota
	// BudgetsChanged: from now on Budgets hold. What was charged before stays
	// charged to the accounts of the same path.
	BudgetsChanged
	// WindowSet: nodes are kept from From until Until, for maintenance or for some; Window says
	// it. WindowLifted takes the window of that ID back.
	WindowSet
	WindowLifted
	// NodeDown: the node failed; what ran there comes as JobStopped facts.
	NodeDown
	// NodeUp: the node is healthy and empty again.
	NodeUp
	// NodeDrained: the node takes no new work. NodeResumed takes that back.
	NodeDrained
	NodeResumed
	// JobFinished: a run ended by itself; Outcome says how.
	JobFinished
	// StartFailed: the start did not come true; the world has undone all of it.
	StartFailed
	// JobStopped: a run ended since it was told to, or since its node failed.
	// Kept is the work that survives, Lost the work that does not, Restart the
	// restart overhead that was paid in vain.
	JobStopped
	// JobStarted: the world confirms a start action.
	JobStarted
	// JobCheckpointed: Kept is the work that is now safe.
	JobCheckpointed
	// SessionIdle: the run has had nothing to do since Since; SessionActive: its owner
	// is back, to a running session or to a parked one.
	SessionIdle
	SessionActive
	// DemandChanged: a real-time application needs Demand GPUs from now on.
	DemandChanged
	// JobCancelled: the owner withdraws a job that waits or runs.
	JobCancelled
	// JobSubmitted: a job arrived.
	JobSubmitted
	// JobHeld keeps a waiting job out of the queue for the reason Hold, until JobReleased
	// takes the last of its holds back. A job that runs is held when it waits again.
	JobHeld
	JobReleased
	// PlanProposed: Plan was made of the state as it was, for decisions to follow.
	PlanProposed
	// LostSight: the world cannot tell whether the run goes on; its GPUs are not free until it
	// can. Found: it goes on.
	LostSight
	Found
	// ClockStepped: the wall clock was set by Kept (which may be negative). Nothing shifts.
	ClockStepped
	// JobObserved: another scheduler really ran the job from Since to Until, with Outcome and
	// Exit, at the place that Text names. The last one of a job holds; it changes nothing here.
	JobObserved
	// JobAdopted: the cluster's own scheduler runs a waiting job on Place (Tasks tasks, 0 where
	// the need says it). The next decision starts it there: its reason is [Adopted].
	JobAdopted
	// JobEdited: a job that waits has another Priority.
	JobEdited
	kinds
)

var kindNames = [kinds]string{"", "budgets", "window-set", "window-lifted", "node-down", "node-up", "node-drained", "node-resumed", "finished", "start-failed",
	"stopped", "started", "checkpointed", "session-idle", "session-active", "demand", "cancelled", "submitted",
	"held", "released", "plan", "lost-sight", "found", "clock-step", "observed", "adopted", "edited"}

// String returns the name the journal uses.
func (k Kind) String() string { return kindNames[k] }

// Fact is one thing that happened. It is one flat record for all kinds: only
// the fields its kind names are meaningful.
type Fact struct {
	Kind    Kind
	Outcome workload.Outcome
	// Cause of JobStopped.
	Cause Cause
	// Job number and attempt (1 = first start), for facts about jobs.
	Job, Attempt int32
	// Node index, for facts about nodes and for StartFailed (-1 = not one node's fault).
	Node int32
	// At is when it happened.
	At workload.Time
	// Kept is the job's total work that is safe, at reference speed.
	Kept workload.Span
	// Lost is run time that has to be done again; Restart is run time spent on restarting.
	Lost, Restart workload.Span
	// Submitted is the job of JobSubmitted. The engine keeps the pointer and never writes through it.
	Submitted *workload.Job
	// Estimate is the run time predicted for the job of JobSubmitted (by a forecast,
	// or by a simulation's error model); 0 = as the job declares.
	Estimate workload.Span
	// Place of JobAdopted, of whole nodes' GPUs or parts of one; Tasks where the job left the
	// size of its gang open. The engine copies them.
	Place []Grant
	Tasks int32
	// Priority of JobEdited.
	Priority int64
	// Demand of DemandChanged, in GPUs.
	Demand int32
	// Plan of PlanProposed. The engine keeps the pointer and never writes through it.
	Plan *Plan
	// Since is when a session became idle, or when an observed run began: [workload.Unknown]
	// where the job ended without one.
	Since workload.Time
	// Until is when an observed run ended, [workload.Unknown] as long as it goes on.
	Until workload.Time
	// Budgets of BudgetsChanged; Epoch ties their calendar to the clock of the
	// input, [workload.Unknown] where it has none. The engine keeps the pointer.
	Budgets *budget.Tree
	Epoch   workload.Time
	// Window of WindowSet; of WindowLifted it has an ID only. The engine keeps the pointer's
	// lists and never writes through them.
	Window *Window
	// Hold of JobHeld and JobReleased.
	Hold HoldBy
	// Exit is how the process of a run ended: its exit code, or 128 + the signal that killed it.
	Exit int32
	// By is who asked for it, empty where nobody did. Text is what a person should read beside
	// it. No decision turns on either.
	By, Text string
}

// HoldBy is a reason to keep a waiting job out of the queue. A job may have several.
type HoldBy uint8

// Holds.
const (
	// HoldOwner and HoldOperator were asked for by them.
	HoldOwner HoldBy = iota
	HoldOperator
	// HoldThrottle: as many jobs of its array run as may at once.
	HoldThrottle
	// HoldBackOff: its last start failed; it is tried again later.
	HoldBackOff
	// HoldBegin: its owner does not want it to start before a time.
	HoldBegin
	// HoldElsewhere: the cluster's own scheduler would not start it: it depends on another job,
	// its account is at a limit, a licence is taken. Text says which.
	HoldElsewhere
	holds
)

var holdNames = [holds]string{"owner", "operator", "throttle", "back-off", "begin", "elsewhere"}

// String returns the name the journal uses.
func (h HoldBy) String() string { return holdNames[h] }

// Cause says why a run was stopped.
type Cause uint8

// Causes.
const (
	CauseNone Cause = iota
	// CausePreempted: for another job.
	CausePreempted
	// CauseReservation: for a reservation's date.
	CauseReservation
	// CauseNodeFailure: its node failed.
	CauseNodeFailure
	// CauseCancelled: by its owner.
	CauseCancelled
	// CauseDrain: its node is wanted for repair.
	CauseDrain
	// CauseParked: an idle session that keeps its state without GPUs; it waits again
	// when its owner is back.
	CauseParked
	// CauseYielded: the run ended by itself and asked to be resumed.
	CauseYielded
	// CauseOperator: an operator had it queued again.
	CauseOperator
	// CauseMaintenance: a window on its node, for maintenance or for others, has come.
	CauseMaintenance
	causes
)

var causeNames = [causes]string{"", "preempted", "reservation", "node-failure", "cancelled", "drain", "parked", "yielded", "operator", "maintenance"}

// String returns the name the journal uses.
func (c Cause) String() string { return causeNames[c] }
