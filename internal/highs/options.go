package highs

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Options are limits and hints; the zero value solves to the end.
type Options struct {
	// TimeLimit is how long Solve may take by the wall clock, and the deadline of its
	// context limits it as well; 0 is a day. What is found in time is kept. Which
	// solution that is depends on the machine.
	TimeLimit time.Duration
	// WorkLimit is TimeLimit for results that must not depend on the machine: how
	// often HiGHS may look at its clock ([Result.Work]). 0 is no limit.
	WorkLimit int64
	// NodeLimit is how many nodes of the search tree of a MIP may be explored; 0 is no
	// limit, NoNodes stops after presolve and Start. The root node alone may take
	// most of the time.
	NodeLimit int64
	// Gap is how far Objective may lie from Bound, as a share of Objective, to count
	// as optimal. 0 asks for a proof; HiGHS takes less than 1e-6 apart for equal.
	Gap float64
	// Seed varies the search.
	Seed int32
	// NoPresolve solves the model as it is.
	NoPresolve bool
	// Relax takes integer columns for continuous ones: the LP relaxation.
	Relax bool
	// Start is a value for each column to begin with, for MIPs. HiGHS tries to mend
	// the continuous columns of one that breaks a row; what it cannot use it ignores.
	Start []float64
	// Basis, for LPs, is the [Result.Basis] of a model to which rows and columns have
	// been added since, or in which costs or bounds have changed. MIPs ignore it.
	Basis *Basis
	// Log is told what HiGHS reports, if set; its errors are ignored. The times in it
	// are wrong from where a limit is reached.
	Log io.Writer
	// Extra sets options of HiGHS by their own names, such as "mip_heuristic_effort".
	// They come last and overrule the ones above.
	Extra map[string]string
}

// NoNodes is the [Options.NodeLimit] of nothing but presolve and Start.
const NoNodes = -1

func (o *Options) check(m *Model) error {
	switch {
	case o.TimeLimit < 0:
		return fmt.Errorf("time limit %v; want a positive one, or 0 for none", o.TimeLimit)
	case o.WorkLimit < 0:
		return fmt.Errorf("work limit %d; want a positive one, or 0 for none", o.WorkLimit)
	case o.NodeLimit < NoNodes || o.NodeLimit > math.MaxInt32:
		return fmt.Errorf("node limit %d; want 1 to %d, 0 for none or %d for no nodes", o.NodeLimit, math.MaxInt32, NoNodes)
	case !(o.Gap >= 0):
		return fmt.Errorf("gap %v; want a share, 0 for none", o.Gap)
	case o.Seed < 0:
		return fmt.Errorf("seed %d; want 0 or more", o.Seed)
	case o.Start != nil && len(o.Start) != m.Columns():
		return fmt.Errorf("start of %d values; want one for each of the %d columns", len(o.Start), m.Columns())
	case o.Basis != nil && (len(o.Basis.column) > m.Columns() || len(o.Basis.row) > m.Rows()):
		return fmt.Errorf("basis of %d columns and %d rows for a model of %d and %d; want one that has grown",
			len(o.Basis.column), len(o.Basis.row), m.Columns(), m.Rows())
	}
	for i, x := range o.Start {
		if !finite(x) {
			return fmt.Errorf("start of column %d is %v; want a finite number", i, x)
		}
	}
	return nil
}

// Basis is where the simplex method ended.
type Basis struct{ column, row []int32 }
