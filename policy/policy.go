package policy

import "github.com/escala-sched/escala/workload"

// Policy is one policy, checked and with all defaults filled in.
type Policy struct {
	Name string
	// Description is one sentence for `escala policy list`; Source names the paper or system.
	Description, Source string
	// Order is the chain of terms, first decides. Submission, then the job's
	// number, always end it and need not be named.
	Order []Term
	// Blocking says what a job that does not fit does to those behind it.
	Blocking Blocking
	// PerEvent decides after each single fact instead of once per time stamp.
	PerEvent bool
	// Depth is how many blocked jobs get a reservation: 1 a pool in EASY, all (0) in
	// conservative; N > 1 jobs in all pools together under either.
	Depth int
	// Placement chooses GPUs.
	Placement Placement
	// Preemption says who may be stopped for whom.
	Preemption Preemption
	// Sharing is budgets, fair share and the scheduling contract; nil = Order alone
	// decides. With it Order sorts the jobs of one account, and Blocking and Preemption
	// are as Sharing has them (skip, none).
	Sharing *Sharing
	// Horizon plans ahead; nil = decisions look at now. With it Order says which waiting
	// jobs a plan looks at, and Blocking and Preemption are skip and none.
	Horizon *Horizon
	// Limit caps what one team may hold at once.
	Limit Limit
	// Interval is the grid on which time-dependent order terms are computed
	// (multifactor); 0 = at each decision.
	Interval workload.Span
	// Estimates is the error model a simulation gives the estimates under this
	// policy; the live system takes estimates as they come.
	Estimates Estimates
	// DefaultEstimate is taken for jobs that declare neither estimate nor limit.
	DefaultEstimate workload.Span
	// Hash is the SHA-256 (hex) of the file it came from.
	Hash string
}

// Blocking is what a job that does not fit does to those behind it.
type Blocking uint8

// Ways to block.
const (
	// Strict: it blocks every later job of its class of need (SEMANTICS 12).
	Strict Blocking = iota
	// Skip: it blocks nobody.
	Skip
	// EASY: it gets a reservation; later jobs start if they do not delay it (Lifka, JSSPP'95).
	EASY
	// Conservative: every waiting job has a reservation that later jobs may not
	// delay (Mu'alem & Feitelson, TPDS 2001).
	Conservative
)

var blockingNames = [...]string{"strict", "skip", "easy", "conservative"}

// String returns the name files use.
func (b Blocking) String() string { return blockingNames[b] }

// TermKind is a quantity jobs can be sorted by.
type TermKind uint8

// Order terms. Small goes first unless said otherwise; the docs' policy
// reference has formulas and sources.
const (
	// BySubmit: submission time.
	BySubmit TermKind = iota
	// ByPriority: declared priority, large first.
	ByPriority
	// ByEstimate: estimated run time (SJF).
	ByEstimate
	// ByGPUs: GPUs asked for.
	ByGPUs
	// ByArea: GPUs x estimate (smallest service first, QSSF with predictions).
	ByArea
	// ByRemaining: estimate less the work already kept (SRTF).
	ByRemaining
	// ByRemainingArea: GPUs x remaining (SRSF).
	ByRemainingArea
	// ByAttained: queue index of discretised 2D-LAS (Tiresias, NSDI'19).
	ByAttained
	// ByDeadline: earliest deadline; jobs without one last.
	ByDeadline
	// ByWFP3: (wait/estimate)^3 x GPUs, large first (Tang et al., CLUSTER'09).
	ByWFP3
	// ByUNICEP: wait / (log2(GPUs) x estimate), large first (Tang et al., CLUSTER'09).
	ByUNICEP
	// ByF1: log10(estimate) x GPUs + 870 x log10(submit) (Carastan-Santos & de Camargo, SC'17).
	ByF1
	// ByMultifactor: weighted sum of age, size, priority and fair-share factors,
	// large first (Slurm's priority/multifactor).
	ByMultifactor
	// ByExpr: a CEL expression over the job.
	ByExpr
)

// Term is one link of the order chain.
type Term struct {
	Kind TermKind
	// Descending turns the term's own direction round.
	Descending bool
	// Expr is the compiled expression of ByExpr; Text its source.
	Expr Expr
	Text string
	// Multifactor holds the weights of ByMultifactor.
	Multifactor Multifactor
	// Thresholds of ByAttained in GPU-milliseconds, ascending: a job is in queue
	// i while its attained service is below Thresholds[i].
	Thresholds []int64
	// Promote of ByAttained: a job that has waited longer than Promote x its own
	// executed time goes back to the first queue; 0 = never. In thousandths.
	Promote int64
}

// Multifactor are Slurm's weights, each times a factor in 0..1.
type Multifactor struct {
	Age, JobSize, Priority, FairShare float64
	// MaxAge is the wait at which the age factor reaches 1.
	MaxAge workload.Span
	// MaxPriority is the declared priority at which the priority factor reaches 1.
	MaxPriority int64
	// FavorSmall turns the size factor round.
	FavorSmall bool
	// HalfLife is the decay of past usage in the fair-share factor 2^(-usage/share),
	// shares equal among accounts.
	HalfLife workload.Span
	// ByUser counts usage by user instead of by team.
	ByUser bool
}

// Vars is what an expression may read of a job. Times are seconds.
type Vars struct {
	Job      *workload.Job
	Now      float64
	Wait     float64
	Estimate float64
	// Remaining is the estimate less the work kept; Attained the GPU-seconds had.
	Remaining, Attained float64
	Preemptions         int64
}

// Expr is a compiled order expression: smaller goes first.
type Expr interface {
	// Eval returns the value. An error counts as the largest value and is reported once.
	Eval(v *Vars) (float64, error)
	// TimeDependent tells whether the value may change while a job waits.
	TimeDependent() bool
}

// Placer names a placement rule.
type Placer uint8

// Placement rules; the docs' policy reference says each in full.
const (
	// BestFit: least free GPUs that fit, lowest index on ties; whole nodes by lowest index.
	BestFit Placer = iota
	// FirstFit: lowest index that fits.
	FirstFit
	// Spread: most free GPUs first.
	Spread
	// Consolidate: Helios's placer: floor(N/node) empty nodes, the rest best-fit on one node.
	Consolidate
	// Topology: fewest blocks; leave big holes whole.
	Topology
	// Contiguous: aligned power-of-two runs of GPUs.
	Contiguous
	// Random .. FGD: the scoring placements of FGD's study (Weng et al., ATC'23).
	Random
	DotProduct
	Clustering
	Packing
	BestFitScore
	FGD
)

var placerNames = [...]string{"best-fit", "first-fit", "spread", "consolidate", "topology", "contiguous",
	"random", "dot-product", "gpu-clustering", "gpu-packing", "best-fit-score", "fgd"}

// String returns the name files use.
func (p Placer) String() string { return placerNames[p] }

// NeedsNodes tells whether the rule means nothing on a cluster without nodes.
func (p Placer) NeedsNodes() bool { return p >= Consolidate }

// Placement chooses GPUs for a job that may start.
type Placement struct {
	By Placer
	// Level is the topology level of Topology ("" = the outermost the cluster has).
	Level string
	// Seed of Random: the same seed gives the same choices.
	Seed uint64
}

// PreemptBy names a preemption rule.
type PreemptBy uint8

// Preemption rules.
const (
	// PreemptNone: started work is never stopped.
	PreemptNone PreemptBy = iota
	// PreemptPriority: strictly lower declared priority gives way.
	PreemptPriority
	// PreemptOrder: a running job whose first order term is strictly worse gives
	// way; for remaining-time terms, iff newcomer's remaining + restart < victim's
	// remaining (SEMANTICS 17).
	PreemptOrder
)

// Preemption says who may be stopped for whom.
type Preemption struct {
	By PreemptBy
	// CrossTeam false confines victims to the winner's own team.
	CrossTeam bool
	// Spare: jobs with this label are never stopped; nil = none.
	Spare *Label
}

// Label is a key with its value, as jobs carry them.
type Label struct{ Key, Value string }

// Limit caps the GPUs that the unpreemptible jobs of one team ([Preemption.Spare])
// may hold at once, in thousandths of the cluster's; 0 = no cap.
type Limit struct{ TeamUnpreemptible int64 }

// EstimateModel names an error model for estimates.
type EstimateModel uint8

// Error models.
const (
	// EstimateGiven: as the workload says; where it says nothing, the true duration.
	EstimateGiven EstimateModel = iota
	// EstimatePerfect: the true duration.
	EstimatePerfect
	// EstimateLimit: the user's limit, or the estimate where there is none.
	EstimateLimit
	// EstimateHelios: the published error profile of Helios's predictor (SEMANTICS 16).
	EstimateHelios
)

var estimateNames = [...]string{"given", "perfect", "limit", "helios"}

// String returns the name files use.
func (m EstimateModel) String() string { return estimateNames[m] }

// Estimates is an error model with its seed.
type Estimates struct {
	Model EstimateModel
	Seed  uint64
}
