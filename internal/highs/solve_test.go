package highs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var shared = sync.OnceValues(func() (*Solver, error) { return New(context.Background()) })

// solver returns one for all tests, since the first may take seconds to compile.
func solver(t testing.TB) *Solver {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func solve(t testing.TB, m *Model, o Options) Result {
	t.Helper()
	r, err := solver(t).Solve(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hard is a knapsack with many limits. Of 30 columns and 20 rows HiGHS explores 60
// nodes a second and does not come to an end; of 200 and 30, 5 nodes.
func hard(columns, rows int) *Model {
	random := rand.New(rand.NewSource(1))
	m := &Model{Maximise: true}
	all := make([]int32, columns)
	for i := range all {
		all[i] = int32(m.AddColumn(float64(10+random.Intn(50)), 0, 1, true))
	}
	for range rows {
		size, sum := make([]float64, columns), 0.0
		for i := range size {
			size[i] = float64(5 + random.Intn(60))
			sum += size[i]
		}
		m.AddRow(-inf, math.Floor(sum/3), all, size)
	}
	return m
}

// first is a solution of a hard model: what fits, in order.
func first(m *Model) []float64 {
	x := make([]float64, m.Columns())
	for i := range x {
		if x[i] = 1; !fits(m, x) {
			x[i] = 0
		}
	}
	return x
}

func fits(m *Model, x []float64) bool {
	for row := range m.rowLower {
		if a := activity(m, row, x); a < m.rowLower[row]-1e-6 || a > m.rowUpper[row]+1e-6 {
			return false
		}
	}
	return true
}

func activity(m *Model, row int, x []float64) (sum float64) {
	end := len(m.column)
	if row+1 < len(m.begin) {
		end = int(m.begin[row+1])
	}
	for k := int(m.begin[row]); k < end; k++ {
		sum += m.value[k] * x[m.column[k]]
	}
	return sum
}

func objective(m *Model, x []float64) float64 {
	sum := m.Offset
	for i, cost := range m.cost {
		sum += cost * x[i]
	}
	return sum
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

func TestKnownModels(t *testing.T) {
	lp := func(maximise bool, sign float64) *Model { // a vertex where two rows meet
		m := &Model{Maximise: maximise, Offset: 10}
		m.AddColumn(3*sign, 0, inf, false)
		m.AddColumn(2*sign, 0, inf, false)
		m.AddRow(-inf, 4, []int32{0, 1}, []float64{1, 1})
		m.AddRow(-inf, 9, []int32{0, 1}, []float64{1, 3})
		m.AddRow(-inf, 3, []int32{0}, []float64{1})
		return m
	}
	one := func(cost, lower, upper float64, integer bool, rows ...[2]float64) *Model {
		m := &Model{}
		m.AddColumn(cost, lower, upper, integer)
		for _, r := range rows {
			m.AddRow(r[0], r[1], []int32{0}, []float64{1})
		}
		return m
	}
	ray := func(integer bool) *Model { // both columns grow for ever
		m := &Model{}
		m.AddColumn(-1, 0, inf, integer)
		m.AddColumn(0, 0, inf, integer)
		m.AddRow(-1, 1, []int32{0, 1}, []float64{1, -1})
		return m
	}
	nothing := &Model{Offset: 7}
	nothing.AddRow(-1, 1, nil, nil)
	impossible := &Model{}
	impossible.AddRow(1, 2, nil, nil)
	for name, tc := range map[string]struct {
		model   *Model
		options Options
		want    Result
	}{
		"maximise": {lp(true, 1), Options{}, Result{
			Status: Optimal, Feasible: true, X: []float64{3, 1}, Objective: 21, Bound: 21, RowDual: []float64{2, 0, 1}, ColumnDual: []float64{0, 0},
		}},
		"minimise": {lp(false, -1), Options{}, Result{
			Status: Optimal, Feasible: true, X: []float64{3, 1}, Objective: -1, Bound: -1, RowDual: []float64{-2, 0, -1}, ColumnDual: []float64{0, 0},
		}},
		"reduced cost": {one(5, 2, 9, false), Options{}, Result{
			Status: Optimal, Feasible: true, X: []float64{2}, Objective: 10, Bound: 10, RowDual: []float64{}, ColumnDual: []float64{5},
		}},
		"integers round up": {one(1, 0, inf, true, [2]float64{1.5, inf}), Options{}, Result{
			Status: Optimal, Feasible: true, X: []float64{2}, Objective: 2, Bound: 2,
		}},
		"relaxation": {one(1, 0, inf, true, [2]float64{1.5, inf}), Options{Relax: true}, Result{
			Status: Optimal, Feasible: true, X: []float64{1.5}, Objective: 1.5, Bound: 1.5, RowDual: []float64{1}, ColumnDual: []float64{0},
		}},
		"without presolve": {one(1, 0, inf, true, [2]float64{1.5, inf}), Options{NoPresolve: true}, Result{
			Status: Optimal, Feasible: true, X: []float64{2}, Objective: 2, Bound: 2,
		}},
		"infeasible LP":      {one(1, 0, 1, false, [2]float64{2, 3}), Options{}, Result{Status: Infeasible, Objective: inf, Bound: inf}},
		"infeasible MIP":     {one(1, 0, 5, true, [2]float64{1.2, 1.8}), Options{}, Result{Status: Infeasible, Objective: inf, Bound: inf}},
		"unbounded LP":       {ray(false), Options{NoPresolve: true}, Result{Status: Unbounded, Bound: -inf, Gap: inf}},
		"unbounded MIP":      {ray(true), Options{NoPresolve: true}, Result{Status: Unbounded, Bound: -inf, Gap: inf}},
		"nothing to decide":  {nothing, Options{}, Result{Status: Optimal, Feasible: true, X: []float64{}, Objective: 7, Bound: 7}},
		"nothing to be done": {impossible, Options{}, Result{Status: Infeasible, Objective: inf, Bound: inf}},
	} {
		t.Run(name, func(t *testing.T) {
			got := solve(t, tc.model, tc.options)
			if got.Status == Unbounded { // a point or none, as HiGHS likes
				got.Feasible, got.X, got.Objective = false, nil, 0
			}
			if (got.Basis != nil) != (got.RowDual != nil) {
				t.Errorf("basis %v, row duals %v; want both or neither", got.Basis, got.RowDual)
			}
			got.Basis, got.Nodes, got.Iterations, got.Work = nil, 0, 0, 0
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(near)); diff != "" {
				t.Error("(-want,+got)", diff)
			}
		})
	}
}

// Small knapsacks with several limits, against all subsets.
func TestKnapsacksAgainstBruteForce(t *testing.T) {
	s := solver(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &Model{Maximise: rapid.Bool().Draw(t, "maximise"), Offset: float64(rapid.IntRange(-5, 5).Draw(t, "offset"))}
		n := rapid.IntRange(1, 9).Draw(t, "columns")
		for range n {
			m.AddColumn(float64(rapid.IntRange(-9, 20).Draw(t, "cost")), 0, 1, true)
		}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			var column []int32
			var value []float64
			for c := range n {
				if v := rapid.IntRange(-3, 9).Draw(t, "value"); v != 0 {
					column, value = append(column, int32(c)), append(value, float64(v))
				}
			}
			lower := rapid.IntRange(-9, 12).Draw(t, "lower")
			m.AddRow(float64(lower), float64(lower+rapid.IntRange(0, 20).Draw(t, "room")), column, value)
		}
		best := m.worst()
		for set := range 1 << n {
			x := make([]float64, n)
			for c := range x {
				x[c] = float64(set >> c & 1)
			}
			if v := objective(m, x); fits(m, x) && (m.Maximise && v > best || !m.Maximise && v < best) {
				best = v
			}
		}
		r, err := s.Solve(context.Background(), m, Options{Seed: int32(rapid.IntRange(0, 3).Draw(t, "seed"))})
		switch {
		case err != nil:
			t.Fatal(err)
		case math.IsInf(best, 0):
			if r.Status != Infeasible || r.Feasible {
				t.Fatalf("%v with %v, want infeasible", r.Status, r.X)
			}
			return
		case r.Status != Optimal || !near(r.Objective, best) || !near(r.Bound, best):
			t.Fatalf("%v with %v and bound %v, want the optimum %v", r.Status, r.Objective, r.Bound, best)
		case !fits(m, r.X) || !near(objective(m, r.X), r.Objective):
			t.Fatalf("solution %v does not fit or is not worth %v", r.X, r.Objective)
		}
	})
}

// The duals are what they are said to be: with reduced costs they make up the costs,
// and with the bounds that hold, the objective.
func TestDuals(t *testing.T) {
	s := solver(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &Model{Maximise: rapid.Bool().Draw(t, "maximise")}
		n := rapid.IntRange(1, 6).Draw(t, "columns")
		for range n {
			m.AddColumn(float64(rapid.IntRange(-9, 9).Draw(t, "cost")), 0, float64(rapid.IntRange(0, 9).Draw(t, "upper")), rapid.Bool().Draw(t, "integer"))
		}
		rows := rapid.IntRange(1, 5).Draw(t, "rows")
		values := make([][]float64, rows)
		for row := range rows {
			column := make([]int32, n)
			values[row] = make([]float64, n)
			for c := range n {
				column[c], values[row][c] = int32(c), float64(rapid.IntRange(1, 9).Draw(t, "value"))
			}
			m.AddRow(-inf, float64(rapid.IntRange(0, 40).Draw(t, "upper")), column, values[row])
		}
		r, err := s.Solve(context.Background(), m, Options{Relax: true})
		if err != nil || r.Status != Optimal {
			t.Fatal(r.Status, err)
		}
		sum := 0.0
		for row, dual := range r.RowDual {
			sum += dual * m.rowUpper[row]
		}
		for c, dual := range r.ColumnDual {
			sum += dual * r.X[c]
			cost := dual
			for row := range rows {
				cost += r.RowDual[row] * values[row][c]
			}
			if !near(cost, m.cost[c]) {
				t.Fatalf("duals make the cost of column %d %v, want %v", c, cost, m.cost[c])
			}
		}
		if !near(sum, r.Objective) {
			t.Fatalf("duals make the objective %v, want %v", sum, r.Objective)
		}
	})
}

// A round of cutting planes: a row and a column more, from where the LP ended.
func TestBasisOfAGrownModel(t *testing.T) {
	m := hard(200, 30)
	before := solve(t, m, Options{Relax: true})
	column := int32(m.AddColumn(40, 0, 1, true))
	m.AddRow(-inf, 60, []int32{0, 1, 2, column}, []float64{30, 30, 30, 30})
	fresh := solve(t, m, Options{Relax: true, NoPresolve: true})
	warm := solve(t, m, Options{Relax: true, Basis: before.Basis})
	if warm.Status != Optimal || !near(warm.Objective, fresh.Objective) {
		t.Errorf("%v with %v from a basis, want %v", warm.Status, warm.Objective, fresh.Objective)
	}
	if warm.Iterations >= fresh.Iterations {
		t.Errorf("%d iterations from a basis, %d without", warm.Iterations, fresh.Iterations)
	}
}

func TestStart(t *testing.T) {
	m := hard(30, 20)
	x := first(m)
	r := solve(t, m, Options{Start: x, NodeLimit: NoNodes})
	if r.Status != NodeLimit || !r.Feasible || r.Objective < objective(m, x)-1e-6 || !fits(m, r.X) {
		t.Errorf("%v with %v, want at least the start's %v at the node limit", r.Status, r.Objective, objective(m, x))
	}
	if r := solve(t, m, Options{NodeLimit: NoNodes}); r.Status != NodeLimit || r.Feasible || r.X != nil || r.Objective != -inf {
		t.Errorf("%v with %v from nothing, want none", r.Status, r.Objective)
	}
	for i := range x {
		x[i] = 1
	}
	if r := solve(t, m, Options{Start: x, NodeLimit: 1}); r.Status != NodeLimit || !r.Feasible || !fits(m, r.X) {
		t.Errorf("%v (feasible: %v) from a start that is none, want it ignored", r.Status, r.Feasible)
	}
}

// Of a start that leaves the continuous columns open, HiGHS finds them.
func TestStartIsCompleted(t *testing.T) {
	m := &Model{}
	open := m.AddColumn(100, 0, 1, true)
	flow := m.AddColumn(1, 0, 50, false)
	m.AddRow(-inf, 0, []int32{int32(flow), int32(open)}, []float64{1, -50})
	m.AddRow(20, inf, []int32{int32(flow)}, []float64{1})
	r := solve(t, m, Options{Start: []float64{1, 0}, NodeLimit: NoNodes, NoPresolve: true})
	if !r.Feasible || !near(r.Objective, 120) {
		t.Errorf("%v with %v, want 120", r.Status, r.Objective)
	}
}

// limited checks what all results of a limit have in common.
func limited(t *testing.T, m *Model, r Result, want Status) {
	t.Helper()
	if r.Status != want {
		t.Errorf("status %v, want %v", r.Status, want)
	}
	if !r.Feasible || !fits(m, r.X) || !near(objective(m, r.X), r.Objective) {
		t.Errorf("solution worth %v (feasible: %v) does not fit or is not worth that", r.Objective, r.Feasible)
	}
	if r.Bound < r.Objective || !near(r.Gap, gap(r.Objective, r.Bound)) || r.Gap == 0 {
		t.Errorf("bound %v and gap %v with a solution of %v", r.Bound, r.Gap, r.Objective)
	}
}

func TestNodeLimit(t *testing.T) {
	m := hard(30, 20)
	r := solve(t, m, Options{NodeLimit: 20})
	limited(t, m, r, NodeLimit)
	if r.Nodes < 1 || r.Nodes > 20 || r.Iterations == 0 || r.Work == 0 {
		t.Errorf("%d nodes, %d iterations, work %d; want at most 20 and some", r.Nodes, r.Iterations, r.Work)
	}
}

func TestGap(t *testing.T) {
	m := hard(30, 20)
	r := solve(t, m, Options{Gap: 0.05})
	if r.Status != Optimal || r.Gap > 0.05 {
		t.Errorf("%v with gap %v, want at most 0.05", r.Status, r.Gap)
	}
	limited(t, m, r, Optimal)
}

func TestTimeLimit(t *testing.T) {
	m := hard(200, 30)
	limited(t, m, solve(t, m, Options{TimeLimit: 300 * time.Millisecond, Start: first(m)}), TimeLimit)

	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	r, err := solver(t).Solve(ctx, m, Options{TimeLimit: time.Hour, Start: first(m)})
	if err != nil {
		t.Fatal(err)
	}
	limited(t, m, r, TimeLimit)
}

func TestTimeLimitOfAnLP(t *testing.T) {
	r := solve(t, hard(200, 30), Options{Relax: true, WorkLimit: 20, NoPresolve: true})
	if r.Status != WorkLimit || r.RowDual != nil || r.Basis != nil || r.Bound != inf {
		t.Errorf("%v with duals %v, basis %v and bound %v; want none of them", r.Status, r.RowDual, r.Basis, r.Bound)
	}
}

// Wherever in a solve the clock says that it is over, HiGHS stops and keeps the start.
func TestWorkLimitAnywhere(t *testing.T) {
	m := hard(30, 20)
	x := first(m)
	for work := int64(1); work < 3000; work += 1 + work/3 {
		r := solve(t, m, Options{WorkLimit: work, Start: x})
		if r.Status != WorkLimit || !r.Feasible || r.Objective < objective(m, x)-1e-6 {
			t.Errorf("work %d: %v with %v, want at least %v", work, r.Status, r.Objective, objective(m, x))
		}
		if r.Work < work || r.Work > 3*work+1000 {
			t.Errorf("work %d: stopped at %d", work, r.Work)
		}
	}
}

// onWrite does something when HiGHS first says a word.
type onWrite struct {
	word string
	once sync.Once
	do   func()
}

func (w *onWrite) Write(text []byte) (int, error) {
	if strings.Contains(string(text), w.word) {
		w.once.Do(w.do)
	}
	return len(text), nil
}

func TestCancel(t *testing.T) {
	m := hard(200, 30)
	for _, word := range []string{"Running HiGHS", "Solving MIP model", " L "} {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := solver(t).Solve(ctx, m, Options{Start: first(m), Log: &onWrite{word: word, do: cancel}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		limited(t, m, r, Interrupted)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := solver(t).Solve(ctx, m, Options{Start: first(m)})
	if err != nil {
		t.Fatal(err)
	}
	limited(t, m, r, Interrupted)
}

func TestClose(t *testing.T) {
	solver(t) // skips, or fills the cache
	s, err := New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m := hard(200, 30)
	var started, ended sync.WaitGroup
	for range 2 {
		started.Add(1)
		ended.Go(func() {
			r, err := s.Solve(context.Background(), m, Options{Log: &onWrite{word: "Solving MIP", do: started.Done}})
			if err != nil || r.Status != Interrupted {
				t.Errorf("a solve ends with %v, %v; want interrupted", r.Status, err)
			}
		})
	}
	started.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	ended.Wait()
	if _, err := s.Solve(context.Background(), m, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a solve after Close says %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestDeterminism(t *testing.T) {
	m := hard(30, 20)
	var results []Result
	for _, o := range []Options{{NodeLimit: 30}, {NodeLimit: 30, Log: io.Discard}, {NodeLimit: 30, TimeLimit: time.Hour}} {
		results = append(results, solve(t, m, o))
	}
	var wg sync.WaitGroup
	beside := make([]Result, 2)
	for i := range beside {
		wg.Go(func() { beside[i] = solve(t, m, Options{NodeLimit: 30}) })
	}
	wg.Wait()
	for _, r := range append(results, beside...) {
		if diff := cmp.Diff(results[0], r); diff != "" {
			t.Error("two solves differ", diff)
		}
	}
	work := Options{WorkLimit: results[0].Work / 2}
	if diff := cmp.Diff(solve(t, m, work), solve(t, m, work)); diff != "" {
		t.Error("two solves of the same work differ", diff)
	}
	if other := solve(t, m, Options{NodeLimit: 30, Seed: 1}); other.Work == results[0].Work {
		t.Error("the seed changes nothing")
	}
}

func TestLogAndExtra(t *testing.T) {
	m := hard(30, 20)
	var log bytes.Buffer
	r := solve(t, m, Options{NodeLimit: 5, Log: &log, Extra: map[string]string{"mip_max_nodes": "1", "log_to_console": "true"}})
	if r.Nodes > 1 {
		t.Errorf("%d nodes, want the 1 of the option of HiGHS", r.Nodes)
	}
	for _, want := range []string{"Running HiGHS", "30 cols", "Solution status   feasible"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, &log)
		}
	}
	for extra, want := range map[string]string{"no_such_option": "no_such_option", "presolve": `"off", "choose" or "on"`} {
		_, err := solver(t).Solve(context.Background(), m, Options{Extra: map[string]string{extra: "maybe"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("option %s = maybe: %v", extra, err)
		}
	}
	m.AddRow(1, 0, nil, nil)
	if _, err := solver(t).Solve(context.Background(), m, Options{}); err == nil || !strings.HasPrefix(err.Error(), "highs: row 20:") {
		t.Errorf("a wrong row: %v", err)
	}
}

// A HiGHS that crashes says so, and the next solve has one of its own.
func TestCrash(t *testing.T) {
	m := hard(30, 20)
	_, err := solver(t).Solve(context.Background(), m, Options{Extra: map[string]string{"threads": "2", "parallel": "on"}})
	if err == nil || !strings.HasPrefix(err.Error(), "highs: HiGHS aborted") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want the crash of starting a thread, in a line", err)
	}
	limited(t, m, solve(t, m, Options{NodeLimit: 1}), NodeLimit)
}

func TestMemoryIsGivenBack(t *testing.T) {
	m := hard(30, 20)
	run := func(n int) (pages int) {
		for range n {
			solve(t, m, Options{WorkLimit: 200})
		}
		text, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Skip("no /proc/self/statm to measure memory with")
		}
		pages, err = strconv.Atoi(strings.Fields(string(text))[1])
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	before := run(30)
	if grown := (run(200) - before) * os.Getpagesize() >> 20; grown > 10 {
		t.Errorf("200 solves keep %d MiB", grown)
	}
}

// The size the package promises: 50,000 columns, 500,000 values.
func TestLargeModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const columns, rows, each = 50_000, 2_000, 10
	random := rand.New(rand.NewSource(2))
	of := make([][]int32, rows)
	m := &Model{Maximise: true}
	for c := range columns {
		m.AddColumn(float64(1+random.Intn(100)), 0, 1, true)
		for _, row := range random.Perm(rows)[:each] {
			of[row] = append(of[row], int32(c))
		}
	}
	ones := slices.Repeat([]float64{1}, columns)
	for _, column := range of {
		m.AddRow(-inf, 20, column, ones[:len(column)])
	}
	r := solve(t, m, Options{WorkLimit: 5000, Start: make([]float64, columns)})
	limited(t, m, r, WorkLimit)
	t.Logf("%v: %v of %v, work %d", r.Status, r.Objective, r.Bound, r.Work)
}

func TestNewWithoutCache(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	solver(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file) // of Linux; elsewhere the test tests less
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("New with a cancelled context says %v", err)
	}
	s, err := New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Solve(context.Background(), small(), Options{}); err != nil || r.Status != Optimal {
		t.Error(r.Status, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The names of imports and exports are those of one build of HiGHS.
func TestTheFileIsThePinnedOne(t *testing.T) {
	data, err := os.ReadFile("highs.wasm")
	if err != nil {
		t.Skip("no highs.wasm; make highs fetches it")
	}
	pin, err := os.ReadFile("highs.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if want := hex.EncodeToString(sum[:]) + "  highs.wasm\n"; !strings.Contains(string(pin), want) {
		t.Errorf("highs.wasm has %s, which highs.sha256 does not list; want: make highs", want)
	}
}

func BenchmarkNew(b *testing.B) {
	solver(b)
	for b.Loop() {
		s, err := New(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, bc := range []struct {
		name    string
		model   *Model
		options Options
	}{
		{"tiny", small(), Options{}},
		{"lp=200x30", hard(200, 30), Options{Relax: true}},
		{"lp=5000x30", hard(5000, 30), Options{Relax: true}},
		{"mip=30x20,nodes=30", hard(30, 20), Options{NodeLimit: 30}},
		{"mip=200x30,nodes=10", hard(200, 30), Options{NodeLimit: 10}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var iterations, work int64
			for b.Loop() {
				r := solve(b, bc.model, bc.options)
				iterations += r.Iterations
				work += r.Work
			}
			seconds := b.Elapsed().Seconds()
			b.ReportMetric(float64(iterations)/seconds, "iterations/s")
			b.ReportMetric(float64(work)/seconds, "work/s")
		})
	}
}
