package results

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// sample has a row of each kind.
func sample() (*workload.Workload, *sim.Result) {
	none := workload.Unknown
	w := &workload.Workload{Jobs: []workload.Job{
		{ID: "a", User: "ann", Team: "vision", Submit: 0, Need: workload.Need{GPUs: 8}},
		{ID: `b "x", y`, User: " sp ", Submit: 1500, Need: workload.Need{GPUs: 1, Milli: 250}},
		{ID: "c\nd", Submit: 2000, Need: workload.Need{Tasks: 2, GPUs: 4, MinTasks: 1, MaxTasks: 4}},
		{ID: "cpu", Submit: 2000, Need: workload.Need{CPU: 1000}},
		{ID: "e", Submit: 3001, Need: workload.Need{GPUs: 1}},
	}}
	res := &sim.Result{Estimates: []workload.Span{60_000, 0, 0, 0, 1}, Jobs: []sim.JobResult{
		{FirstStart: 0, Finish: 60_000, Ran: 60_000, Starts: 1, Outcome: workload.OutcomeFailed},
		{FirstStart: 2750, Finish: 10_005, Queued: 1250, Ran: 7255, Starts: 3, Preemptions: 1, NodeFailures: 1, Lost: 1_234_567, Restart: 500_000},
		{FirstStart: 2000, Finish: none, Starts: 1, Tasks: 4, State: sim.Running},
		{FirstStart: none, Finish: none, State: sim.Withdrawn, Outcome: workload.OutcomeCancelled, Queued: 1},
		{FirstStart: none, Finish: none, State: sim.Refused},
	}}
	return w, res
}

const sampleCSV = `job_id,submit,gpus,start,finish,user,team,wait,queued,ran,starts,preemptions,node_failures,lost_gpu_seconds,restart_gpu_seconds,estimate,outcome,state,tasks
a,0,8,0,60,ann,vision,0,0,60,1,0,0,0,0,60,failed,ended,0
"b ""x"", y",1.5,0.25,2.75,10.005," sp ",,1.25,1.25,7.255,3,1,1,1.234567,0.5,,completed,ended,0
"c
d",2,8,2,,,,0,0,0,1,0,0,0,0,,,running,4
cpu,2,0,,,,,,0.001,0,0,0,0,0,0,,cancelled,withdrawn,0
e,3.001,1,,,,,,0,0,0,0,0,0,0,0.001,,refused,0
`

func TestJobsCSV(t *testing.T) {
	w, res := sample()
	var out bytes.Buffer
	if err := WriteJobsCSV(&out, w, res); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleCSV, out.String()); diff != "" {
		t.Errorf("jobs.csv (-want,+got):\n%s", diff)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 6 || rows[2][0] != w.Jobs[1].ID || rows[3][0] != w.Jobs[2].ID {
		t.Errorf("read back: %v, %q", err, rows)
	}
	if err := WriteJobsCSV(io.Discard, w, &sim.Result{}); err == nil {
		t.Error("a result of another workload is written")
	}
}

func TestDecimals(t *testing.T) {
	for _, tc := range []struct {
		v      int64
		digits int
		want   string
	}{{0, 3, "0"}, {-1500, 3, "-1.5"}, {1, 3, "0.001"}, {-1, 3, "-0.001"}, {10, 3, "0.01"}, {1_000_000, 6, "1"}, {1_000_010, 6, "1.00001"}} {
		if got := string(appendDecimal(nil, tc.v, tc.digits)); got != tc.want {
			t.Errorf("%d of %d digits is written %s, want %s", tc.v, tc.digits, got, tc.want)
		}
	}
}

// cells renders a Parquet row as the CSV file has it.
func (r *jobRow) cells() []string {
	opt := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	}
	n := func(v float64) string { return fmt.Sprint(v) }
	return []string{r.ID, n(r.Submit), n(r.GPUs), opt(r.Start), opt(r.Finish), r.User, r.Team, opt(r.Wait), n(r.Queued), n(r.Ran),
		fmt.Sprint(r.Starts), fmt.Sprint(r.Preemptions), fmt.Sprint(r.NodeFailures), n(r.LostSeconds), n(r.RestartSeconds),
		opt(r.Estimate), r.Outcome, r.State, fmt.Sprint(r.Tasks)}
}

func TestJobsParquetHasTheSameRows(t *testing.T) {
	w, res := sample()
	var out, again bytes.Buffer
	if err := WriteJobsParquet(&out, w, res); err != nil {
		t.Fatal(err)
	}
	if err := WriteJobsParquet(&again, w, res); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("a second file differs (%v)", err)
	}
	rows, err := parquet.Read[jobRow](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := csv.NewReader(strings.NewReader(sampleCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{want[0]}
	for i := range rows {
		got = append(got, rows[i].cells())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-csv,+parquet):\n%s", diff)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	if diff := cmp.Diff(want[0], names); diff != "" {
		t.Errorf("columns (-csv,+parquet):\n%s", diff)
	}
}

func TestParquetBatches(t *testing.T) {
	w, res := many(5000)
	var out bytes.Buffer
	if err := WriteJobsParquet(&out, w, res); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[jobRow](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || len(rows) != 5000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i := range rows {
		if rows[i].ID != w.Jobs[i].ID || *rows[i].Start != float64(res.Jobs[i].FirstStart)/1000 || *rows[i].Finish != float64(res.Jobs[i].Finish)/1000 {
			t.Fatalf("row %d: %v", i, rows[i].cells())
		}
	}
}

func TestSeries(t *testing.T) {
	s := &metrics.Series{From: 500, Width: 2000, Bins: []metrics.Bin{
		{Span: 2000, Installed: 16_000, Available: 16_000, Assigned: 8000, Held: 1000, Fragmented: 500, WaitingGPUs: 3000, WaitingJobs: 2000, RunningJobs: 4000,
			Unallocated: 2000, Squat: 1000, Preemptions: 3, AllocatedPreemptions: 1, LostGPUHours: 0.25},
		{}, {Span: 300, Installed: 2400, Available: 2400, Assigned: 100}}}
	const want = seriesHeader + "0.5,2,8,8,4,0.5,0.25,1.5,1,2,1,0.5,3,1,0.25\n4.5,0.3,8,8,0.333333,0,0,0,0,0,0,0,0,0,0\n"
	var out bytes.Buffer
	if err := WriteSeriesCSV(&out, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("series.csv (-want,+got):\n%s", diff)
	}
	out.Reset()
	if err := WriteSeriesParquet(&out, s); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[seriesRow](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rowsOf(s), rows); diff != "" {
		t.Errorf("parquet (-want,+got):\n%s", diff)
	}
}

// TestOfARun writes what a real run leaves: every state has a name.
func TestOfARun(t *testing.T) {
	p, _ := policy.Shipped("fifo")
	w := &workload.Workload{}
	for i := range 20 {
		w.Jobs = append(w.Jobs, workload.Job{ID: fmt.Sprint(i), Submit: int64(i), Need: workload.Need{GPUs: int32(i%5) + 1}})
		w.Actual = append(w.Actual, workload.Actual{Duration: 1000})
	}
	res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: &cluster.Spec{Name: "pool:4", Count: 4}, Policy: p, Until: 5000})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteJobsCSV(&out, w, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{",ended,", ",waiting,", ",refused,"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no row with %s in\n%s", want, &out)
		}
	}
	if stateNames[len(stateNames)-1] == "" || len(stateNames) != int(sim.Withdrawn)+1 {
		t.Error("a state has no name")
	}
}

// TestDocsExample holds the example of docs/results.md against a run.
func TestDocsExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```csv\n")
	want, _, _ := strings.Cut(rest, "```")
	m := workload.Minute
	p, _ := policy.Shipped("priority")
	w := &workload.Workload{Jobs: []workload.Job{
		{ID: "night", User: "ann", Team: "vision", Need: workload.Need{Tasks: 2, GPUs: 4},
			Contract: workload.Contract{CheckpointInterval: 10 * m, RestartCost: m}},
		{ID: "urgent", User: "ben", Team: "speech", Submit: 15 * m, Priority: 5, Need: workload.Need{GPUs: 2}}},
		Actual: []workload.Actual{{Duration: 60 * m}, {Duration: 20 * m}}}
	res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: cluster.Uniform("2x4", 2, 4), Policy: p,
		Assume: sim.Assumptions{Grace: 30 * workload.Second}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteJobsCSV(&out, w, res); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("docs/results.md (-shown,+is):\n%s", diff)
	}
}

// many is a finished run of n jobs.
func many(n int) (*workload.Workload, *sim.Result) {
	w, res := &workload.Workload{}, &sim.Result{}
	for i := range n {
		at := int64(i) * 1700
		w.Jobs = append(w.Jobs, workload.Job{ID: fmt.Sprint(i), User: fmt.Sprintf("user%d", i%300), Team: fmt.Sprintf("team%d", i%12), Submit: at, Need: workload.Need{GPUs: 8}})
		res.Jobs = append(res.Jobs, sim.JobResult{FirstStart: at + 5000, Finish: at + 90_000, Queued: 5000, Ran: 85_000, Starts: 1})
		res.Estimates = append(res.Estimates, 3_600_000)
	}
	return w, res
}

func BenchmarkJobs(b *testing.B) {
	w, res := many(1_000_000)
	for name, write := range map[string]func(io.Writer, *workload.Workload, *sim.Result) error{"csv": WriteJobsCSV, "parquet": WriteJobsParquet} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := write(io.Discard, w, res); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
