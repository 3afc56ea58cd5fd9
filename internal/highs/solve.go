//go:build highs && (amd64 || arm64) && (linux || darwin || freebsd || netbsd || windows)

package highs

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// mixed tells whether a column is integer.
func (m *Model) mixed() bool {
	for _, is := range m.integer {
		if is {
			return true
		}
	}
	return false
}

// solve is one solve from beginning to end.
func (i *instance) solve(m *Model, o *Options) (Result, error) {
	mixed := m.mixed() && !o.Relax
	i.call(fnConstructors)
	i.highs = i.call(fnCreate)
	i.options(o)
	i.pass(m, mixed)
	i.hints(m, o, mixed)
	i.free()
	i.do("solving", fnRun, i.highs)
	r := i.result(m, mixed)
	return r, i.err
}

func (i *instance) options(o *Options) {
	i.set("threads", 1)
	i.setText("parallel", "off")
	i.set("random_seed", int(o.Seed))
	i.setDouble("time_limit", timeLimit.Seconds())
	i.setDouble("mip_rel_gap", o.Gap)
	switch {
	case o.NodeLimit == NoNodes:
		i.set("mip_max_nodes", 0)
	case o.NodeLimit > 0:
		i.set("mip_max_nodes", int(o.NodeLimit))
	}
	if o.NoPresolve {
		i.setText("presolve", "off")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Extra)) {
		i.setText(name, o.Extra[name])
	}
}

func (i *instance) set(name string, value int) {
	i.do("option "+name, fnSetInt, i.highs, i.text(name), api.EncodeI32(int32(value)))
}

func (i *instance) setDouble(name string, value float64) {
	i.do("option "+name, fnSetDouble, i.highs, i.text(name), api.EncodeF64(value))
}

func (i *instance) setText(name, value string) {
	i.do(fmt.Sprintf("option %s = %s", name, value), fnSetText, i.highs, i.text(name), i.text(value))
}

// pass copies a model into HiGHS.
func (i *instance) pass(m *Model, mixed bool) {
	const rowwise, minimise, maximise = 2, 1, -1
	sense := int32(minimise)
	if m.Maximise {
		sense = maximise
	}
	function, args := fnPassLP, []uint64{
		i.highs, uint64(m.Columns()), uint64(m.Rows()), uint64(len(m.value)), rowwise, api.EncodeI32(sense), api.EncodeF64(m.Offset),
		i.floats(m.cost), i.floats(m.lower), i.floats(m.upper), i.floats(m.rowLower), i.floats(m.rowUpper),
		i.ints(m.begin), i.ints(m.column), i.floats(m.value),
	}
	if mixed {
		kinds := make([]int32, m.Columns())
		for c, integer := range m.integer {
			if integer {
				kinds[c] = 1
			}
		}
		function, args = fnPassMIP, append(args, i.ints(kinds))
	}
	i.do("the model is refused", function, args...)
	i.free()
}

// hints passes on where to start.
func (i *instance) hints(m *Model, o *Options, mixed bool) {
	if o.Start != nil && mixed {
		i.do("the start is refused", fnSetSolution, i.highs, i.floats(o.Start), 0, 0, 0)
	}
	if o.Basis != nil && !mixed {
		b := o.Basis.grown(m.Columns(), m.Rows())
		i.do("the basis is refused", fnSetBasis, i.highs, i.ints(b.column), i.ints(b.row))
	}
}

// HiGHS's names for the place of a variable.
const (
	basic    = 1
	nonbasic = 4 // at the bound that HiGHS likes best
)

// grown returns the basis for more columns and rows: new rows are slack, so that it
// stays a basis.
func (b *Basis) grown(columns, rows int) Basis {
	return Basis{grow(b.column, columns, nonbasic), grow(b.row, rows, basic)}
}

func grow(s []int32, n int, with int32) []int32 {
	out := make([]int32, n)
	for i := copy(out, s); i < n; i++ {
		out[i] = with
	}
	return out
}

// result reads what HiGHS ended with.
func (i *instance) result(m *Model, mixed bool) Result {
	const feasiblePoint = 2 // a SolutionStatus
	worst := m.worst()
	r := Result{Objective: worst, Bound: -worst, Work: i.clock.reads}
	r.Status = i.status()
	r.Iterations = int64(i.intInfo("simplex_iteration_count"))
	r.Feasible = i.intInfo("primal_solution_status") == feasiblePoint
	if r.Feasible {
		r.Objective = i.doubleInfo("objective_function_value", worst)
	}
	switch {
	case r.Status == Infeasible:
		r.Bound = worst
	case mixed:
		r.Bound = i.doubleInfo("mip_dual_bound", -worst)
		r.Nodes = i.int64Info("mip_node_count")
	case r.Status == Optimal:
		r.Bound = r.Objective
	}
	r.Gap = gap(r.Objective, r.Bound)
	i.vectors(&r, m, !mixed && r.Status == Optimal && i.intInfo("dual_solution_status") == feasiblePoint)
	return r
}

func (i *instance) vectors(r *Result, m *Model, duals bool) {
	columns, rows := m.Columns(), m.Rows()
	x, _ := i.alloc(columns, 8)
	columnDual, _ := i.alloc(columns, 8)
	activity, _ := i.alloc(rows, 8)
	rowDual, _ := i.alloc(rows, 8)
	i.do("reading the solution", fnSolution, i.highs, x, columnDual, activity, rowDual)
	if r.Feasible {
		r.X = i.readFloats(x, columns)
	}
	if duals {
		r.ColumnDual, r.RowDual = i.readFloats(columnDual, columns), i.readFloats(rowDual, rows)
	}
	i.free()
	if duals && i.intInfo("basis_validity") != 0 {
		column, _ := i.alloc(columns, 4)
		row, _ := i.alloc(rows, 4)
		i.do("reading the basis", fnBasis, i.highs, column, row)
		r.Basis = &Basis{i.readInts(column, columns), i.readInts(row, rows)}
		i.free()
	}
}

// status translates a HighsModelStatus.
func (i *instance) status() Status {
	switch s := api.DecodeI32(i.call(fnModelStatus, i.highs)); s {
	case 1, 2, 3, 4, 5:
		i.fail(fmt.Errorf("HiGHS failed (model status %d) %s", s, i.log.complaint()))
	case 7:
		return Optimal
	case 8:
		return Infeasible
	case 9:
		return InfeasibleOrUnbounded
	case 10:
		return Unbounded
	case 16:
		return NodeLimit
	case 13:
		if i.clock.ended == Unknown {
			return TimeLimit // of a day, or set by Extra
		}
	}
	return i.clock.ended
}

func (i *instance) intInfo(name string) int {
	return int(int32(i.info(fnIntInfo, name, 0)))
}

func (i *instance) int64Info(name string) int64 {
	return int64(i.info(fnInt64Info, name, 0))
}

func (i *instance) doubleInfo(name string, none float64) float64 {
	return math.Float64frombits(i.info(fnDoubleInfo, name, math.Float64bits(none)))
}

// info reads one of HiGHS's figures, or none if HiGHS has none to tell.
func (i *instance) info(function, name string, none uint64) uint64 {
	at, view := i.alloc(1, 8)
	if i.err != nil {
		return none
	}
	binary.LittleEndian.PutUint64(view, none)
	i.do("reading "+name, function, i.highs, i.text(name), at)
	if view = i.view(at, 1, 8); view == nil {
		return none
	}
	return binary.LittleEndian.Uint64(view)
}

// empty solves a model without columns, of which HiGHS says no more than that.
func (m *Model) empty() Result {
	for row, lower := range m.rowLower {
		if lower > 0 || m.rowUpper[row] < 0 {
			return Result{Status: Infeasible, Objective: m.worst(), Bound: m.worst()}
		}
	}
	return Result{Status: Optimal, Feasible: true, X: []float64{}, Objective: m.Offset, Bound: m.Offset}
}
