package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixed is a comparison with made-up figures.
func fixed() *Comparison {
	dist := func(mean, p50, p90, p99 float64) metrics.Dist {
		return metrics.Dist{Mean: mean, P50: p50, P90: p90, P99: p99, Max: 2 * p99, N: 1867}
	}
	money := func(v float64) *float64 { return &v }
	base := metrics.Metrics{
		Window: metrics.Bounds{From: 0, To: 604800}, Jobs: 1867, Occupancy: 0.8126, OccupancyMakespan: 0.7702, GoodputOccupancy: 0.8126,
		Availability: 1, AllocatedGPURatio: 0.9, Fragmentation: 0.0312, Wait: dist(12034.5, 4210, 33012, 91234), QueueTime: dist(12034.5, 4210, 33012, 91234),
		JCT: dist(20111, 9000, 50000, 140000), BoundedSlowdown: dist(40.25, 3.1, 102.7, 801), Makespan: 700123, Jain: 0.9123, JainN: 9, JainBy: "team",
		Starvation: metrics.Starvation{Jobs: 12, Longest: 182468}, InstalledGPUs: 176, GPUHours: 24012.25,
		Cost: money(53012.5), IdleCost: money(11034.25), KWh: money(9120.75),
		Groups: []metrics.GroupUse{{Name: "vision", Jobs: 1000, GPUHours: 15000, Delivered: 0.7, MeanWait: 10000, P90Wait: 30000}, {Name: "speech", Jobs: 867, GPUHours: 9012.25, Delivered: 0.8, MeanWait: 14381, P90Wait: 36000}},
	}
	srtf := base
	srtf.Occupancy, srtf.GoodputOccupancy, srtf.Fragmentation = 0.8344, 0.8201, 0.0101
	srtf.Wait, srtf.QueueTime = dist(4321, 60, 9000, 120000), dist(4502, 75, 9900, 120500)
	srtf.JCT, srtf.BoundedSlowdown = dist(13456, 4000, 31000, 170000), dist(4.4, 1, 9.9, 61)
	srtf.Preemptions, srtf.PreemptionsPerJob, srtf.PreemptionsPer1000GPUHours = 431, 431./1867, 17.9
	srtf.LostGPUHours, srtf.LossGPUHours, srtf.LostByCause = 210.5, 210.5, map[string]float64{"preempted": 210.5}
	srtf.Starvation.Longest = 240000
	cut := base
	cut.Cut, cut.Unstarted, cut.Makespan = true, 12, 604800
	cut.Wait.LowerBounds, cut.Wait.ExactUpTo, cut.Wait.Bounds = 12, 5000, metrics.Bounded{P90: true, P99: true, Max: true}
	w := &workload.Workload{Name: "demo", Format: "csv", Source: "jobs.csv", Licence: "CC-BY-4.0", Hash: "9f2c", Rows: 1870, Epoch: workload.Unknown,
		Jobs: make([]workload.Job, 1867), Dropped: []workload.Dropped{{Cause: "no GPUs asked for", Count: 3, First: "jobs.csv:17"}}, Notes: []string{"Times are local to the site."}}
	s := cluster.Uniform("22x8", 22, 8)
	s.Currency = "USD"
	s.Types = []cluster.Type{{Name: "A100", PricePerHour: 1.6, IdleWatts: 60, ActiveWatts: 350}}
	return &Comparison{
		Workload: w, Cluster: s, Attribution: "Example Lab, 2026", Version: "v0.1.0", Command: "escala compare jobs.csv --cluster 22x8",
		Assumptions: []Assumption{{"Restart cost", "2 min", "flag"}},
		Policies: []Policy{
			{Name: "fifo", Description: "First come, first served.", Hash: "aa", Estimates: "given", Text: "name: fifo\n", Metrics: base},
			{Name: "srtf", Description: "Shortest remaining time first.", Source: "Schrage, 1968", Hash: "bb", Estimates: "perfect", Metrics: srtf},
			{Name: "a-policy-with-a-long-name", Hash: "cc", Notes: []string{"The run was cut after 7 d."}, Metrics: cut},
		},
	}
}

// judged is the same by budgets.
func judged() *Comparison {
	c := fixed()
	tree, err := budget.Parse("lab.yaml", []byte("name: lab\nchildren:\n  - {name: vision, share: 60}\n  - {name: speech, share: 40}\n"))
	if err != nil {
		panic(err)
	}
	c.Budgets, c.Unbudgeted = tree, []Unbudgeted{{Jobs: 3, Team: "visoin", Why: "no account has that name; did you mean vision?", First: "j17"}}
	for i := range c.Policies {
		m := &c.Policies[i].Metrics
		of := func(a, b float64) *float64 { r := a / b; return &r }
		owed, got := 9000.0, 8400+200*float64(i)
		m.UnallocatedShare, m.UnallocatedGPUHours, m.AllocatedGPUHours = 0.18, 4322, 19690
		m.AllocatedPreemptions, m.AllocatedPreemptionsPer1000GPUHours, m.Thrash = int64(40*i), 1.6*float64(i), int64(i)
		m.Dates, m.Drains = &metrics.Dates{Made: 12, Kept: 11, Broken: 1}, &metrics.Drains{Nodes: 4, Mean: 3600, Max: 7200}
		m.LostByClass = map[string]metrics.ClassLoss{"allocated": {LostGPUHours: 100 * float64(i)}, "unallocated": {LostGPUHours: 20, RestartGPUHours: 4}}
		m.Classes = []metrics.ClassWait{
			{Name: "debug", Jobs: 300, Started: 290, Withdrawn: 10, Dist: metrics.Dist{Mean: 400, P50: 20, P90: 600, P99: 14400, Max: 14400, N: 300, LowerBounds: 10, ExactUpTo: 14399.999, Bounds: metrics.Bounded{P99: true, Max: true}}},
			{Name: "unallocated", Jobs: 900, Started: 900, Dist: metrics.Dist{Mean: 9000, P50: 4000, P90: 30000, P99: 90000, Max: 99000, N: 900}}}
		m.Sizes = []metrics.ClassWait{{Name: "1", Jobs: 1000, Started: 990, Withdrawn: 10, Dist: metrics.Dist{P50: 30, P90: 700, P99: 20000, N: 1000}},
			{Name: ">64", Jobs: 4, Started: 4, Dist: metrics.Dist{P50: 40000, P90: 90000, P99: 90000, N: 4}}}
		m.Budget = &metrics.BudgetUse{Name: "lab", Demand: 20000, Owed: 2 * owed, Charged: 19000, Delivered: owed + got, Strict: owed + got - 100, OwedOfCapacity: 0.61,
			DeliveredOfOwed: of(owed+got, 2*owed), ChargedOfOwed: of(19000, 2*owed), StrictOfOwed: of(owed+got-100, 2*owed), Accounts: 2, Got95: 1,
			Worst: "speech", WorstOfOwed: of(got, owed), Reported: []metrics.AccountUse{
				{Account: "vision", Share: 0.6, Demand: 11000, Owed: owed, Charged: 10000, Delivered: owed, Strict: owed, DeliveredOfOwed: of(1, 1), StrictOfOwed: of(1, 1)},
				{Account: "speech", Share: 0.4, Demand: 9000, Owed: owed, Charged: got, Delivered: got, Strict: got - 100, DeliveredOfOwed: of(got, owed), StrictOfOwed: of(got-100, owed)}}}
	}
	return c
}

func TestGolden(t *testing.T) {
	tests := map[string]func(io.Writer, *Comparison) error{
		"budgets.txt":      func(w io.Writer, _ *Comparison) error { return WriteTable(w, judged(), TableOptions{}) },
		"budgets.json":     func(w io.Writer, _ *Comparison) error { return WriteJSON(w, judged()) },
		"budgets.csv":      func(w io.Writer, _ *Comparison) error { return WriteCSV(w, judged()) },
		"services.txt":     func(w io.Writer, _ *Comparison) error { return WriteTable(w, serving(), TableOptions{}) },
		"services.json":    func(w io.Writer, _ *Comparison) error { return WriteJSON(w, serving()) },
		"services.csv":     func(w io.Writer, _ *Comparison) error { return WriteCSV(w, serving()) },
		"table.txt":        func(w io.Writer, c *Comparison) error { return WriteTable(w, c, TableOptions{}) },
		"table-narrow.txt": func(w io.Writer, c *Comparison) error { return WriteTable(w, c, TableOptions{Width: 80}) },
		"table-color.txt":  func(w io.Writer, c *Comparison) error { return WriteTable(w, c, TableOptions{Color: true}) },
		"report.json":      WriteJSON,
		"report.csv":       WriteCSV,
		"finding.txt": func(w io.Writer, c *Comparison) error {
			_, err := io.WriteString(w, Finding(c)+"\n")
			return err
		},
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b, fixed()); err != nil {
				t.Fatal(err)
			}
			sameAsFile(t, name, b.Bytes())
		})
	}
}

func TestTableKeepsToTheWidth(t *testing.T) {
	for _, w := range []int{60, 80, 100, 140} {
		var b bytes.Buffer
		if err := WriteTable(&b, demo(100, 4), TableOptions{Width: w}); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(b.String(), "\n\n")
		for line := range strings.Lines(body) {
			if n := width(strings.TrimSuffix(line, "\n")); n > w && !strings.HasPrefix(line, "Differences") {
				t.Errorf("width %d: line of %d: %q", w, n, line)
			}
		}
	}
}

// TestJSONKeys holds the keys that scripts rely on.
func TestJSONKeys(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, fixed()); err != nil {
		t.Fatal(err)
	}
	var r struct {
		SchemaVersion int `json:"schemaVersion"`
		Policies      []struct {
			Name    string         `json:"name"`
			Metrics map[string]any `json:"metrics"`
		} `json:"policies"`
	}
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.SchemaVersion != 1 || len(r.Policies) != 3 {
		t.Fatalf("version %d, %d policies", r.SchemaVersion, len(r.Policies))
	}
	m := r.Policies[1].Metrics
	for _, key := range []string{"occupancy", "occupancy_makespan", "makespan", "preemptions", "lost_gpu_hours", "fragmentation", "allocated_gpu_ratio"} {
		if _, ok := m[key].(float64); !ok {
			t.Errorf("%s = %v, want a number", key, m[key])
		}
	}
	for _, key := range []string{"wait", "jct", "bounded_slowdown"} {
		d, _ := m[key].(map[string]any)
		for _, k := range []string{"mean", "p50", "p90", "p99"} {
			if _, ok := d[k].(float64); !ok {
				t.Errorf("%s.%s = %v, want a number", key, k, d[k])
			}
		}
	}
}

// TestBoundsSayWhy: nobody is said to have cut a run or withdrawn a job that was not.
func TestBoundsSayWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		cut                  bool
		unstarted, withdrawn int
		want                 string
	}{
		"cut":       {true, 12, 3, "The run was cut: figures marked >= are lower bounds."},
		"left over": {false, 12, 0, "Figures marked >= are lower bounds: jobs had not started or ended when the run did."},
		"withdrawn": {false, 0, 3, "Figures marked >= are lower bounds: jobs were withdrawn before they started."},
		"both":      {false, 12, 3, "Figures marked >= are lower bounds: jobs were withdrawn before they started, or had not started or ended when the run did."},
	} {
		t.Run(name, func(t *testing.T) {
			c := fixed()
			m := &c.Policies[2].Metrics
			m.Cut, m.Unstarted, m.Withdrawn = tc.cut, tc.unstarted, tc.withdrawn
			var b bytes.Buffer
			if err := WriteTable(&b, c, TableOptions{}); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if !tc.cut && strings.Contains(b.String(), "cut") {
				t.Error("it says that something was cut")
			}
		})
	}
}

// sameAsFile compares what was written with a file of testdata, or makes that what was written.
func sameAsFile(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run with -update and read the difference\n%s", path, got)
	}
}
