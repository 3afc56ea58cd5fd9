package policy

import "github.com/escala-sched/escala/workload"

var termNames = [...]string{"submit", "priority", "estimate", "gpus", "area", "remaining", "remaining-area", "attained",
	"deadline", "wfp3", "unicep", "f1", "multifactor", "cel"}

// String returns the name files use.
func (k TermKind) String() string { return termNames[k] }

var preemptNames = [...]string{"none", "priority", "order"}

// String returns the name files use.
func (p PreemptBy) String() string { return preemptNames[p] }

var decideNames = [...]string{"instant", "event"}

// onGrid tells whether the term is computed on the grid of the policy's
// interval, since its value changes while a job waits.
func (t *Term) onGrid() bool {
	switch t.Kind {
	case ByWFP3, ByUNICEP, ByMultifactor:
		return true
	case ByExpr:
		return t.Expr.TimeDependent()
	}
	return false
}

// MaxTerms is the largest number of order terms, a closing "submit" not counted:
// the engine keeps the keys of a job in an array of that length.
const MaxTerms = 4

// Defaults for keys that a file leaves out; docs/policies.md lists them all.
const (
	// DefaultEstimate is what is predicted for a job that declares neither estimate nor limit.
	DefaultEstimate = workload.Hour
	// Slurm's own defaults: PriorityCalcPeriod, PriorityMaxAge, PriorityDecayHalfLife.
	defaultInterval = 5 * workload.Minute
	defaultMaxAge   = 7 * workload.Day
	defaultHalfLife = 7 * workload.Day
	// defaultSeed of random placement and of estimates drawn at random.
	defaultSeed = 1
)
