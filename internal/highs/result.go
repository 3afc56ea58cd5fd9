package highs

import "math"

// Status is why a solve ended.
type Status int

// Unknown is what is none of the others: a limit set by [Options.Extra], or that
// HiGHS would not vouch for what it found.
const (
	Unknown Status = iota
	Optimal
	Infeasible
	Unbounded
	InfeasibleOrUnbounded
	// TimeLimit is that of the options or the deadline of the context.
	TimeLimit
	WorkLimit
	NodeLimit
	// Interrupted is a context cancelled, or the solver closed.
	Interrupted
)

func (s Status) String() string {
	names := [...]string{
		"unknown", "optimal", "infeasible", "unbounded", "infeasible or unbounded",
		"time limit", "work limit", "node limit", "interrupted",
	}
	if s < 0 || int(s) >= len(names) {
		return "status?"
	}
	return names[s]
}

// Result is what a solve came to.
type Result struct {
	Status Status
	// Feasible tells whether there is a solution: X then has a value for each column,
	// integer ones within 1e-6 of an integer, and Objective is what it costs. Without,
	// X is nil and Objective the worst there is, an infinity.
	Feasible  bool
	X         []float64
	Objective float64
	// Bound is what no solution is better than, an infinity while nothing is known.
	Bound float64
	// Gap is |Objective - Bound| / |Objective|.
	Gap float64
	// Nodes of the search tree and Iterations of the simplex method.
	Nodes, Iterations int64
	// Work is how often HiGHS looked at its clock: the same on every machine.
	Work int64

	// RowDual and ColumnDual, of LPs solved to optimality, are by how much Objective
	// changes per unit by which the bound that holds a row or a column is raised; 0
	// where none does. Basis is where to start an LP that differs a little.
	RowDual, ColumnDual []float64
	Basis               *Basis
}

func gap(objective, bound float64) float64 {
	switch {
	case objective == bound:
		return 0
	case objective == 0 || math.IsInf(objective, 0):
		return math.Inf(1)
	}
	return math.Abs(objective-bound) / math.Abs(objective)
}
