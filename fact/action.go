package fact

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// Do is the kind of an action.
type Do uint8

// Actions.
const (
	_ Do = iota
	// Start the job on Place (or on any Count GPUs of a cluster without nodes).
	Start
	// Stop the run of a job, for the job For (-1 = for none).
	Stop
	// Hold keeps Place for a job whose victims are still leaving; a Start follows
	// when the last of them has gone, a Release if it comes to nothing.
	Hold
	// Release gives a hold or a reservation back.
	Release
	// Reserve promises the job a start at Until, at the latest, where estimates hold.
	Reserve
	// Refuse marks a job that can never run on this cluster as it stands.
	Refuse
	// Uncharge makes the run of a job unallocated from now on: its hard budget is used up.
	Uncharge
	// Resize gives a running real-time application Place (or Count GPUs of a cluster without
	// nodes) instead of what it has; what is in both it keeps.
	Resize
	dos
)

var doNames = [dos]string{"", "start", "stop", "hold", "release", "reserve", "refuse", "uncharge", "resize"}

// String returns the name the journal uses.
func (d Do) String() string { return doNames[d] }

// Grant is what a job gets of one node.
type Grant = cluster.Grant

// Action is one decision with its reason.
type Action struct {
	Do Do
	// Job number, and the attempt this start is (1 = first).
	Job, Attempt int32
	// For is the job on whose behalf another is stopped, -1 for none.
	For int32
	// Tasks is the number of tasks of the gang that start (elastic jobs), 0 where the need says it.
	Tasks int32
	// Count is the number of GPUs, in all, and Milli the capacity in milli-GPU: less
	// than Count x 1000 where parts are given.
	Count int32
	Milli int64
	// At is when it was decided. Until is the promised start of Reserve, the end of
	// the protection of Start (0 = none), and the time by which the run of Stop must have
	// given its GPUs back (0 = the job's own grace).
	At, Until workload.Time
	// Unallocated: Start runs uncharged and unprotected.
	Unallocated bool
	// Place lists the grants by node; nil on clusters without nodes. It is the
	// engine's own memory: read it before the next Decide, copy what you keep.
	Place  []Grant
	Reason Reason
}

// Cause is why a Stop ends a run, as the fact that answers it says.
func (a *Action) Cause() Cause {
	switch a.Reason.Code {
	case DateCame:
		return CauseReservation
	case Drained:
		return CauseDrain
	case Idle:
		return CauseParked
	case Withdrawn:
		return CauseCancelled
	case InWindow:
		return CauseMaintenance
	}
	return CausePreempted
}

// Code is the kind of a reason.
type Code uint8

// Reasons for actions, and for waiting.
const (
	_ Code = iota
	// InOrder: it was the first in order and fitted.
	InOrder
	// Skipped: jobs before it in order do not fit; the policy lets it pass.
	Skipped
	// BackfillEnds: backfilled; it is predicted to end by Until, when For starts.
	BackfillEnds
	// BackfillSpare: backfilled on capacity that the reserved job does not need.
	BackfillSpare
	// Promised: its reservation has come.
	Promised
	// Freed: the jobs that were stopped for it have gone.
	Freed
	// GaveWay: stopped for For, which goes before it under the policy's preemption rule.
	GaveWay
	// EarliestFit: the reservation is the earliest time at which it fits by predictions.
	EarliestFit
	// NeverFits: the cluster, empty, could not hold it. Have is the most it could get, Want what it needs.
	NeverFits
	// NoSuchType: no node has a GPU type that it allows. NoSuchPartition: no node is in
	// its partition. NoSuchLevel: the cluster names no such topology level.
	NoSuchType
	NoSuchPartition
	NoSuchLevel
	// BlockedByHead: For is before it in the same class of need and does not fit.
	BlockedByHead
	// TooFewFree: Have GPUs are free, Want are needed.
	TooFewFree
	// NoShape: enough GPUs are free (Have), but the largest block in its shape is Block of Want.
	NoShape
	// WouldDelay: it fits now, but would delay the reservation of For at Until.
	WouldDelay
	// NotFreeable: counting bound: Have GPUs of Want could be freed by preemption.
	NotFreeable
	// NoVictims: enough work could give way in all, but no place can be cleared; Have is the
	// most one place could be cleared to, Want what it needs.
	NoVictims
	// CrossTeamOff: only its own team's work may give way, and that is not enough.
	CrossTeamOff
	// Leaving: For's hold waits for victims that are still leaving.
	Leaving
	// Dependency: For has not ended yet.
	Dependency
	// Withdrawn: its owner cancelled it.
	Withdrawn
	// PlaceLost: a node of the place that was held for it takes no work any more.
	PlaceLost
	// DependencyFailed: For ended in a way that never satisfies the dependency.
	DependencyFailed
	// ProtectionEnds: it uses GPUs that are reserved for For at Until; its protection
	// is over before.
	ProtectionEnds
	// Fill: it runs unallocated on what nobody else can use.
	Fill
	// CertainFit: the reservation is the earliest time at which its place is certainly
	// clear: protections have ended by then.
	CertainFit
	// DateCame: stopped for the reservation of For, whose date is Until.
	DateCame
	// Protected: Have GPUs of Want could be made free in its shape at most, the rest is
	// protected; the next protection ends at Until.
	Protected
	// GuardOff: others could be stopped, but the shares do not allow it: Have GPUs
	// would be held of a share of Want (guard entitlement), or what its
	// account had, its start included, would be more for its share than what theirs had
	// (guard window: both 0).
	GuardOff
	// RateLimited: allocated work may be stopped again at Until.
	RateLimited
	// OverKill: making room would stop Have GPUs of work, and it may stop Want.
	OverKill
	// ReservedFor: it fits, but only on nodes that are reserved for For at Until,
	// before its protection would be over.
	ReservedFor
	// DebugNodes: it fits, but only on nodes kept for short debug jobs.
	DebugNodes
	// BudgetShort: a hard budget has Have GPU-hours left of the Want that it needs.
	BudgetShort
	// NoAccount: no account of the budgets takes its team and user.
	NoAccount
	// TeamLimit: its team may hold Want GPUs of such work at once, and would hold Have.
	TeamLimit
	// Drained: stopped since its node is wanted for repair.
	Drained
	// Idle: a session without activity gives way.
	Idle
	// BelowShare: its account is below its share and was next in line. AboveShare: it has
	// had its share, and nobody below theirs can use the place.
	BelowShare
	AboveShare
	// Planned: the plan of the horizon has it now. PlannedLater: it has it at Until. Unplanned: the
	// plan has no place for it inside the horizon, which ends at Until.
	Planned
	PlannedLater
	Unplanned
	// FollowsDemand: a real-time application that needs Want GPUs gets Have.
	FollowsDemand
	// Proposed: a plan that was proposed has it now. OffPlan: one had it at Until, where GPUs are
	// not free.
	Proposed
	OffPlan
	// Held: it is kept out of the queue; Want has bit h set for each [HoldBy] h.
	Held
	// InWindow: node Block is kept for others until Until ([WindowSet]). It waits for that, or
	// is stopped for it.
	InWindow
	// Adopted: the cluster's own scheduler started it there ([JobAdopted]).
	Adopted
	codes
)

var codeNames = [codes]string{"", "in-order", "skipped", "backfill-ends", "backfill-spare", "promised", "freed", "gave-way",
	"earliest-fit", "never-fits", "no-such-type", "no-such-partition", "no-such-level", "blocked-by-head", "too-few-free", "no-shape", "would-delay", "not-freeable",
	"no-victims", "cross-team-off", "leaving", "dependency", "withdrawn", "place-lost", "dependency-failed",
	"protection-ends", "fill", "certain-fit", "date-came", "protected", "guard", "rate-limited", "over-kill", "reserved", "debug-nodes",
	"budget-short", "no-account", "team-limit", "drained", "idle", "below-share", "above-share",
	"planned", "planned-later", "unplanned", "follows-demand", "proposed", "off-plan", "held", "window", "adopted"}

// String returns the name the journal uses.
func (c Code) String() string { return codeNames[c] }

// Reason is why something was decided, or is not: a code and its numbers. The
// sentence is made at the edge, see package report.
type Reason struct {
	Code Code
	// For is the other job concerned, -1 for none.
	For int32
	// Have, Want and Block are GPUs (or tasks, where the need has tasks).
	Have, Want, Block int32
	// Until is a time that the reason turns on.
	Until workload.Time
}
