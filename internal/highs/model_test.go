package highs

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

var inf = math.Inf(1)

// small is a model of two columns and a row.
func small() *Model {
	m := &Model{}
	m.AddColumn(1, 0, 1, true)
	m.AddColumn(2, 0, inf, false)
	m.AddRow(1, inf, []int32{0, 1}, []float64{1, 1})
	return m
}

func TestChecks(t *testing.T) {
	nan := math.NaN()
	row := func(column []int32, value []float64) func(*Model, *Options) {
		return func(m *Model, _ *Options) { m.AddRow(0, 1, column, value) }
	}
	for name, tc := range map[string]struct {
		change func(*Model, *Options)
		want   string // in the error
	}{
		"cost":                 {func(m *Model, _ *Options) { m.SetCost(1, inf) }, "column 1: cost +Inf"},
		"offset":               {func(m *Model, _ *Options) { m.Offset = nan }, "offset NaN"},
		"bounds the wrong way": {func(m *Model, _ *Options) { m.SetBounds(0, 2, 1) }, "column 0: bounds 2 to 1"},
		"bound not a number":   {func(m *Model, _ *Options) { m.SetBounds(0, nan, 1) }, "column 0: bounds NaN to 1"},
		"bounds at infinity":   {func(m *Model, _ *Options) { m.SetBounds(0, inf, inf) }, "column 0: bounds +Inf"},
		"bounds of a row":      {func(m *Model, _ *Options) { m.AddRow(1, 0, nil, nil) }, "row 1: bounds 1 to 0"},
		"no such column":       {row([]int32{2}, []float64{1}), "row 1: column 2; want one of the 2"},
		"negative column":      {row([]int32{-1}, []float64{1}), "row 1: column -1"},
		"column twice":         {row([]int32{1, 0, 1}, []float64{1, 1, 1}), "row 1: column 1 twice"},
		"value not a number":   {row([]int32{1}, []float64{nan}), "row 1: NaN x column 1"},
		"value too large":      {row([]int32{1}, []float64{-1e15}), "row 1: -1e+15 x column 1"},
		"time limit":           {func(_ *Model, o *Options) { o.TimeLimit = -time.Second }, "time limit -1s"},
		"work limit":           {func(_ *Model, o *Options) { o.WorkLimit = -1 }, "work limit -1"},
		"node limit":           {func(_ *Model, o *Options) { o.NodeLimit = 1 << 31 }, "node limit 2147483648"},
		"gap":                  {func(_ *Model, o *Options) { o.Gap = nan }, "gap NaN"},
		"seed":                 {func(_ *Model, o *Options) { o.Seed = -1 }, "seed -1"},
		"short start":          {func(_ *Model, o *Options) { o.Start = []float64{1} }, "start of 1 values; want one for each of the 2"},
		"start not a number":   {func(_ *Model, o *Options) { o.Start = []float64{1, nan} }, "start of column 1 is NaN"},
		"basis of a model that has shrunk": {
			func(_ *Model, o *Options) { o.Basis = &Basis{column: make([]int32, 3), row: make([]int32, 1)} }, "basis of 3 columns and 1 rows",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, o := small(), Options{}
			tc.change(m, &o)
			if err := errors.Join(m.check(), o.check(m)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if err := errors.Join(small().check(), (&Options{}).check(small())); err != nil {
		t.Error(err)
	}
}

func TestRowOfUnequalSlices(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a row with two columns and a value is taken")
		}
	}()
	small().AddRow(0, 1, []int32{0, 1}, []float64{1})
}

func TestStatusNames(t *testing.T) {
	for s := Unknown; s <= Interrupted; s++ {
		if s.String() == "" || s.String() == "status?" {
			t.Errorf("status %d has no name", s)
		}
	}
	if Status(-1).String() != "status?" || (Interrupted+1).String() != "status?" {
		t.Error("what is no status has a name")
	}
}

func TestNotBuilt(t *testing.T) {
	if Available() == nil {
		t.Skip("built with the solver")
	}
	s, err := New(context.Background())
	if s != nil || !errors.Is(err, ErrNotBuilt) || !errors.Is(Available(), ErrNotBuilt) {
		t.Errorf("New says %v, %v and Available %v; want ErrNotBuilt", s, err, Available())
	}
}
