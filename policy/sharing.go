package policy

import "github.com/escala-sched/escala/workload"

// Sharing is the policy of budgets, hierarchical fair share and the scheduling
// contract: accounts below their share go first, a declared minimum runtime is
// safe, what runs longer may have to give way, what is left is filled with
// unallocated work. Parts are thousandths.
type Sharing struct {
	// Window is how far back usage counts.
	Window workload.Span
	// Interval is the grid on which shares drift for deciding.
	Interval workload.Span
	// CreditCap is the part of a window that may be claimed back after idleness, < 0 = all.
	CreditCap int64
	// Guard says when an account may stop another's work.
	Guard Guard
	// Hysteresis by which the winner must be served less than the victim: 1100 = a tenth.
	Hysteresis int64
	// MinRuntimeCap is the longest protection of a start, MinRuntimeDefault that of a
	// job that declares none.
	MinRuntimeCap, MinRuntimeDefault workload.Span
	// BackOff doubles a job's next protection each time it is stopped, up to the cap.
	BackOff bool
	// GraceAllocated and GraceUnallocated are the longest time between the request to
	// stop and the release, for jobs that save their state when asked.
	GraceAllocated, GraceUnallocated workload.Span
	// CheckpointWait is how long a stop may wait for the job's next checkpoint.
	CheckpointWait workload.Span
	// OverKill: a job of at most OverKillGPUs may stop at most so many times its GPUs;
	// 0 = no limit.
	OverKill, OverKillGPUs int64
	// EvictEvery is the least time between two decisions to stop allocated work, each of
	// one job: 0 = no limit, [workload.Never] = it is never stopped for another.
	EvictEvery workload.Span
	// EvictAfter is how long a job has to have waited before allocated work is stopped
	// for it.
	EvictAfter workload.Span
	// InTeam lets allocated work of an account be stopped for its own work of higher priority.
	InTeam       bool
	Reservations Reservations
	Debug        Debug
	// GPUWeights are what an hour of a GPU type is charged as, others 1; CPUWeight
	// what an hour of a core is, 0 = nothing. In thousandths of a GPU-hour.
	GPUWeights []TypeWeight
	CPUWeight  int64
	// SessionIdle is how long an interactive session may be idle before its protection
	// ends; SessionMax how long activity may renew it, from its start.
	SessionIdle, SessionMax workload.Span
}

// TypeWeight is the charge of a GPU type.
type TypeWeight struct {
	GPUType string
	Weight  int64
}

// Reservations are dates for large jobs.
type Reservations struct {
	// Count of them at a time in a pool; 0 = none.
	Count int
	// Above: jobs of more GPUs than that.
	Above int64
	// Nodes is the part of a pool's nodes that they may take together.
	Nodes int64
	// AnyAccount: also for accounts that have their share already. Whom a date may
	// displace is judged by the shares either way.
	AnyAccount bool
}

// Debug is a rolling reservation for short, small jobs.
type Debug struct {
	// Nodes is the part of each pool's nodes on which only debug and unallocated jobs start.
	Nodes int64
	// GPUs and MinRuntime are the most that a debug job asks for.
	GPUs       int64
	MinRuntime workload.Span
}

// Guard is the condition for stopping another account's work (SEMANTICS 25).
type Guard uint8

// Guards.
const (
	// GuardWindow: the winner's projected usage for its share is below the victim's.
	GuardWindow Guard = iota
	// GuardEntitlement: the winner's account holds no more than its share of usable
	// GPUs afterwards, and the victim's held more than its share before.
	GuardEntitlement
)

var guardNames = [...]string{"window", "entitlement"}

// String returns the name files use.
func (g Guard) String() string { return guardNames[g] }

// DefaultSharing are the values of the shipped policy "contract".
func DefaultSharing() Sharing {
	return Sharing{
		Window: 168 * workload.Hour, Interval: workload.Minute, CreditCap: 250,
		Hysteresis: 1100, MinRuntimeCap: 8 * workload.Hour, MinRuntimeDefault: workload.Hour, BackOff: true,
		GraceAllocated: 2 * workload.Minute, GraceUnallocated: 30 * workload.Second, CheckpointWait: 0,
		OverKill: 4, OverKillGPUs: 8,
		Reservations: Reservations{Count: 3, Above: 64, Nodes: 600, AnyAccount: true},
		Debug:        Debug{Nodes: 40, GPUs: 8, MinRuntime: 15 * workload.Minute},
		SessionIdle:  30 * workload.Minute, SessionMax: 12 * workload.Hour,
	}
}
