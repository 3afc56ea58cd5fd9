package highs

import (
	"fmt"
	"math"
)

// Model is what to solve: minimise the cost of columns (variables) within their
// bounds so that each row (constraint) is within its own. The zero value is empty.
// A bound that is infinite is none. Models are checked when they are solved.
type Model struct {
	// Maximise turns the costs into gains.
	Maximise bool
	// Offset is added to the objective.
	Offset float64

	cost, lower, upper []float64
	integer            []bool

	rowLower, rowUpper []float64
	begin              []int32 // of each row, in column and value
	column             []int32
	value              []float64
}

// AddColumn adds a variable and returns its index.
func (m *Model) AddColumn(cost, lower, upper float64, integer bool) int {
	m.cost = append(m.cost, cost)
	m.lower = append(m.lower, lower)
	m.upper = append(m.upper, upper)
	m.integer = append(m.integer, integer)
	return len(m.cost) - 1
}

// AddRow adds lower <= sum of value x column <= upper, each column at most once,
// and returns its index. The slices are copied.
func (m *Model) AddRow(lower, upper float64, column []int32, value []float64) int {
	if len(column) != len(value) {
		panic(fmt.Sprintf("highs: a row with %d columns and %d values; want as many", len(column), len(value)))
	}
	m.rowLower = append(m.rowLower, lower)
	m.rowUpper = append(m.rowUpper, upper)
	m.begin = append(m.begin, int32(len(m.column)))
	m.column = append(m.column, column...)
	m.value = append(m.value, value...)
	return len(m.rowLower) - 1
}

// SetCost changes what a column costs.
func (m *Model) SetCost(column int, cost float64) { m.cost[column] = cost }

// SetBounds changes what a column may be; equal bounds fix it.
func (m *Model) SetBounds(column int, lower, upper float64) {
	m.lower[column], m.upper[column] = lower, upper
}

// Columns returns how many there are.
func (m *Model) Columns() int { return len(m.cost) }

// Rows returns how many there are.
func (m *Model) Rows() int { return len(m.rowLower) }

// worst is the objective of no solution.
func (m *Model) worst() float64 {
	if m.Maximise {
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// check finds what HiGHS would refuse, or take for something else, and says where.
func (m *Model) check() error {
	if !finite(m.Offset) {
		return fmt.Errorf("offset %v; want a finite number", m.Offset)
	}
	for i, cost := range m.cost {
		if !finite(cost) {
			return fmt.Errorf("column %d: cost %v; want a finite number", i, cost)
		}
		if err := checkBounds(m.lower[i], m.upper[i]); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	last := make([]int, len(m.cost)) // the row + 1 that named a column last
	for row, begin := range m.begin {
		if err := checkBounds(m.rowLower[row], m.rowUpper[row]); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		end := len(m.column)
		if row+1 < len(m.begin) {
			end = int(m.begin[row+1])
		}
		for k := int(begin); k < end; k++ {
			switch c := m.column[k]; {
			case c < 0 || int(c) >= len(m.cost):
				return fmt.Errorf("row %d: column %d; want one of the %d there are", row, c, len(m.cost))
			case last[c] == row+1:
				return fmt.Errorf("row %d: column %d twice; want the sum of its values", row, c)
			case !(math.Abs(m.value[k]) < tooLarge):
				return fmt.Errorf("row %d: %v x column %d; want less than %g", row, m.value[k], c, tooLarge)
			default:
				last[c] = row + 1
			}
		}
	}
	return nil
}

// tooLarge is what HiGHS refuses as a value (its large_matrix_value). What is at
// most 1e-9 it takes for 0.
const tooLarge = 1e15

func checkBounds(lower, upper float64) error {
	if !(lower <= upper) || math.IsInf(lower, 1) || math.IsInf(upper, -1) {
		return fmt.Errorf("bounds %v to %v; want a lower and an upper one", lower, upper)
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
