package services

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
	"github.com/escala-sched/escala/workload"
)

// jobs is a workload whose last job is submitted at 9:30 of its second day.
func jobs() *workload.Workload {
	w := &workload.Workload{Name: "jobs", Source: "jobs.csv", Format: "csv", Hash: "abc", Epoch: workload.Unknown, Rows: 2, Notes: []string{"A note."}}
	for i, at := range []workload.Time{0, 33*workload.Hour + 30*workload.Minute} {
		w.Jobs = append(w.Jobs, workload.Job{ID: []string{"a", "b"}[i], Submit: at, Need: workload.Need{GPUs: 1}})
		w.Actual = append(w.Actual, workload.Actual{Duration: workload.Hour, Start: workload.Unknown, End: workload.Unknown})
	}
	return w
}

// files are what the tests' services files name.
var files = map[string]string{
	// A window of ten minutes is missing, and two have no requests.
	"dir/rates.csv": "# made by hand\nat,load,other\n600,100,x\n1200,0,x\n1800, 50.5 ,x\n2400,0,x\n3600,301,x\n",
	"dir/even.csv":  "at,load\n0,100\n600,200\n1200,150\n1800,50\n",
}

func readTestFile(path string) ([]byte, error) {
	if text, ok := files[filepath.ToSlash(path)]; ok {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func add(t *testing.T, w *workload.Workload, yaml string) *workload.Workload {
	t.Helper()
	out, err := Add(w, Input{File: "dir/apps.yaml", Data: []byte(yaml), Read: readTestFile})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// one adds one service and returns its job.
func one(t *testing.T, yaml string) (*workload.Job, *workload.Actual) {
	t.Helper()
	out := add(t, jobs(), "services:\n  - {name: x, "+yaml+"}\n")
	i := slices.IndexFunc(out.Jobs, func(j workload.Job) bool { return j.ID == "x" })
	return &out.Jobs[i], &out.Actual[i]
}

// everyKey is a file in which each key appears.
const everyKey = `
name: real-time
services:
  - name: chat
    team: serving
    user: ann
    partition: prod
    gpu: [H100, A100]
    priority: 7
    start: 2h
    for: 1d
    demand: {step: 1h, gpus: [2, 4, 8], repeat: true}
    actual: {weekly: [1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1]}
    min: 50%
    max: [3, 5, 9]
    swaps: 4 per 1h
    penalty: 20
  - name: search
    gpu: H100
    until: 2d
    weekly: [0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0]
    swaps: {gpus: 2, every: 30m}
    max: +2
  - name: code
    requests: {file: even.csv, time: at, column: load, gpusPer: 0.02, step: 20m, aggregate: mean, gaps: keep, repeat: true}
`

func TestAddReadsEveryKey(t *testing.T) {
	w := jobs()
	out := add(t, w, everyKey)
	h := workload.Hour
	forever := workload.Contract{HasMinRuntime: true}
	life := func(d workload.Span) workload.Contract {
		c := forever
		c.MinRuntime = d
		return c
	}
	day := func(by, night int32) workload.Curve {
		c := workload.Curve{Step: h, Repeat: true}
		for k := range 24 {
			c.Values = append(c.Values, night)
			if k >= 9 && k < 18 {
				c.Values[k] = by
			}
		}
		return c
	}
	more := day(5, 2)
	want := []workload.Job{
		{ID: "search", Kind: workload.KindRealtime, Need: workload.Need{Tasks: 3, GPUs: 1, GPUTypes: "H100"}, Estimate: 48 * h, Contract: life(48 * h),
			Service: &workload.Service{Demand: day(3, 0), Max: more, Swaps: 2, SwapEvery: h / 2}},
		{ID: "code", Kind: workload.KindRealtime, Need: workload.Need{Tasks: 3, GPUs: 1}, Estimate: 34 * h, Contract: life(34 * h),
			Service: &workload.Service{Demand: workload.Curve{Step: h / 3, Values: []int32{3, 2}, Repeat: true}}},
		w.Jobs[0],
		{ID: "chat", Team: "serving", User: "ann", Partition: "prod", Kind: workload.KindRealtime, Submit: 2 * h, Priority: 7,
			Need: workload.Need{Tasks: 9, GPUs: 1, GPUTypes: "H100|A100"}, Estimate: 24 * h, Contract: life(24 * h),
			Service: &workload.Service{Demand: workload.Curve{Start: 2 * h, Step: h, Values: []int32{2, 4, 8}, Repeat: true},
				Min:   workload.Curve{Start: 2 * h, Step: h, Values: []int32{1, 2, 4}, Repeat: true},
				Max:   workload.Curve{Start: 2 * h, Step: h, Values: []int32{3, 5, 9}, Repeat: true},
				Swaps: 4, SwapEvery: h, Penalty: 20}},
		w.Jobs[1],
	}
	if diff := cmp.Diff(want, out.Jobs); diff != "" {
		t.Errorf("jobs (-want,+got):\n%s", diff)
	}
	actual := workload.Actual{Start: workload.Unknown, End: workload.Unknown}
	wantActual := []workload.Actual{actual, actual, w.Actual[0], actual, w.Actual[1]}
	really := day(9, 1)
	wantActual[0].Duration, wantActual[1].Duration, wantActual[3].Duration, wantActual[3].Demand = 48*h, 34*h, 24*h, &really
	if diff := cmp.Diff(wantActual, out.Actual); diff != "" {
		t.Errorf("actual (-want,+got):\n%s", diff)
	}
	if out.Name != "jobs + real-time" || out.Source != "jobs.csv + apps.yaml" || out.Format != "csv + services" || out.Rows != 5 || len(out.Hash) != 64 {
		t.Errorf("%s from %s, %s, %d rows, hash %s", out.Name, out.Source, out.Format, out.Rows, out.Hash)
	}
	if diff := cmp.Diff(jobs(), w); diff != "" {
		t.Errorf("the workload given was changed (-want,+got):\n%s", diff)
	}
	if err := out.Check(); err != nil {
		t.Error(err)
	}
	// The name of the file stands for that of its services, and its bytes count.
	other := add(t, jobs(), strings.Replace(everyKey, "name: real-time", "", 1))
	if other.Name != "jobs + apps" || other.Hash == out.Hash {
		t.Errorf("%s, hash %s", other.Name, other.Hash)
	}
}

// TestForms: each way to say a demand.
func TestForms(t *testing.T) {
	m := workload.Minute
	const log = "file: rates.csv, time: at, column: load, gpusPer: 0.1"
	for name, tc := range map[string]struct {
		yaml string
		want workload.Curve
	}{
		"steps begin with the service": {"start: 90m, demand: {step: 30m, gpus: [1, 2]}", workload.Curve{Start: 90 * m, Step: 30 * m, Values: []int32{1, 2}}},
		"a log under demand": {"demand: {requests: {" + log + ", step: 10m, gaps: interpolate}}",
			workload.Curve{Start: 10 * m, Step: 10 * m, Values: []int32{10, 8, 6, 14, 22, 31}}},
		"the highest of a step": {"requests: {" + log + ", step: 20m, gaps: interpolate}", workload.Curve{Start: 10 * m, Step: 20 * m, Values: []int32{10, 14, 31}}},
		"the mean of a step": {"requests: {" + log + ", step: 20m, aggregate: mean, gaps: interpolate}",
			workload.Curve{Start: 10 * m, Step: 20 * m, Values: []int32{9, 10, 26}}},
		"steps finer than windows": {"requests: {file: even.csv, time: at, column: load, gpusPer: 0.01, step: 5m}",
			workload.Curve{Step: 5 * m, Values: []int32{1, 1, 2, 2, 2, 2, 1, 1}}},
		"steps across windows": {"requests: {file: even.csv, time: at, column: load, gpusPer: 0.01, step: 15m, aggregate: mean}",
			workload.Curve{Step: 15 * m, Values: []int32{2, 2, 1}}}, // (600 x 100 + 300 x 200) / 900 = 133, 167, 50
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := one(t, tc.yaml)
			if diff := cmp.Diff(tc.want, j.Service.Demand); diff != "" {
				t.Errorf("(-want,+got):\n%s", diff)
			}
		})
	}
}

// TestBounds: each way to say the least and the most.
func TestBounds(t *testing.T) {
	const demand = "demand: {step: 1h, gpus: [0, 3, 5]}, "
	for yaml, want := range map[string][2][]int32{
		"min: 2, max: 6":                 {{0, 2, 2}, {6}},
		"min: 0":                         {{0}, nil},
		"min: -1, max: +3":               {{0, 2, 4}, {3, 6, 8}},
		"min: 50%, max: 120%":            {{0, 2, 3}, {0, 4, 6}},
		"min: 33.3%, max: 100%":          {{0, 1, 2}, {0, 3, 5}},
		"min: [0, 3, 4], max: [4, 4, 5]": {{0, 3, 4}, {4, 4, 5}},
		"min: [0, 0, 0], max: [9, 9, 9]": {{0}, {9}},
	} {
		j, _ := one(t, demand+yaml)
		got := [2][]int32{j.Service.Min.Values, j.Service.Max.Values}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want,+got):\n%s", yaml, diff)
		}
		for _, c := range []workload.Curve{j.Service.Min, j.Service.Max} {
			if len(c.Values) > 1 && (c.Step != workload.Hour || c.Start != 0 || c.Repeat) {
				t.Errorf("%s: the steps are not those of the demand: %+v", yaml, c)
			}
		}
	}
}

// TestPeakIsOfItsLife: what comes before and after does not count.
func TestPeakIsOfItsLife(t *testing.T) {
	const log = "requests: {file: even.csv, time: at, column: load, gpusPer: 0.1, step: 10m}" // 10, 20, 15, 5
	for yaml, want := range map[string]int32{
		"until: 40m, " + log:            20,
		"start: 20m, for: 10m, " + log:  15,
		"start: 20m, for: 601s, " + log: 15,
		"start: 30m, " + log:            5,
		"start: 30m, " + log + ", actual: {step: 1h, gpus: [3, 8], repeat: true}":             8,
		"start: 30m, for: 1h, " + log + ", actual: {step: 1h, gpus: [3, 8], repeat: true}":    5,
		"start: 30m, for: 3601s, " + log + ", actual: {step: 1h, gpus: [3, 8], repeat: true}": 8,
	} {
		if j, _ := one(t, yaml); j.Need.Tasks != want {
			t.Errorf("%s: %d tasks, want %d", yaml, j.Need.Tasks, want)
		}
	}
}

// TestCalendar: weeks begin on Monday, in the zone that is named; dates are UTC.
func TestCalendar(t *testing.T) {
	week := "[" + strings.Repeat("1, ", 167) + "9]"
	w := jobs()
	w.Epoch = time.Date(2020, 9, 3, 16, 0, 0, 0, time.UTC).UnixMilli() // Friday 0:00 in Shanghai
	for name, tc := range map[string]struct {
		zone *time.Location
		want time.Time
	}{
		"UTC":  {nil, time.Date(2020, 8, 31, 0, 0, 0, 0, time.UTC)},
		"zone": {time.FixedZone("UTC+8", 8*3600), time.Date(2020, 8, 30, 16, 0, 0, 0, time.UTC)},
	} {
		in := Input{File: "apps.yaml", Data: []byte("services: [{name: x, start: 2020-09-03T20:00, until: 2020-09-04T10:00, weekly: " + week + "}]"), Zone: tc.zone}
		out, err := Add(w, in)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(out.Jobs, func(j workload.Job) bool { return j.ID == "x" })
		if got := time.UnixMilli(w.Epoch + out.Jobs[i].Service.Demand.Start).UTC(); !got.Equal(tc.want) {
			t.Errorf("%s: the week begins %s, want %s", name, got, tc.want)
		}
		if out.Jobs[i].Submit != 4*workload.Hour || out.Actual[i].Duration != 14*workload.Hour {
			t.Errorf("%s: from %d for %d", name, out.Jobs[i].Submit, out.Actual[i].Duration)
		}
	}
}

// TestNotes: what was assumed stands in the head of every report.
func TestNotes(t *testing.T) {
	const log = "file: rates.csv, time: at, column: load, gpusPer: 0.1, step: 10m, gaps: "
	out := add(t, jobs(), `
services:
  - {name: x, requests: {`+log+`interpolate}}
  - {name: y, demand: {step: 1h, gpus: [5]}}
  - {name: z, for: 2h, demand: {step: 1h, gpus: [5, 6]}}
  - {name: zeros, for: 10m, start: 10m, requests: {file: zeros.csv, time: at, column: load, gpusPer: 1, step: 5s}}
`)
	want := []string{
		"A note.",
		"4 real-time applications come from apps.yaml.",
		"Windows without requests in rates.csv (demand of x): 3 of 6; they were filled in between their neighbours.",
		"The demand of x is given for 10m to 1h10m, and it runs from 0s to 1d10h: outside, the first and the last value hold.",
		"Windows without requests in zeros.csv (demand of zeros): 1 of 2; they count as they are (gaps: interpolate would fill them in).",
		"The demand of zeros is given for 0s to 10s, and it runs from 10m to 20m: outside, the first and the last value hold.",
		"The SHA-256 is that of the SHA-256 sums of the workload, the services and their files, one after the other.",
	}
	if diff := cmp.Diff(want, out.Notes); diff != "" {
		t.Errorf("(-want,+got):\n%s", diff)
	}
}

// TestGapsAtTheEnds: before the first requests and after the last, theirs hold.
func TestGapsAtTheEnds(t *testing.T) {
	j, _ := one(t, "requests: {file: ends.csv, time: at, column: load, gpusPer: 1, step: 1s, gaps: interpolate}")
	if want := []int32{4, 4, 4, 4, 3, 2, 2}; !slices.Equal(j.Service.Demand.Values, want) {
		t.Errorf("%v, want %v", j.Service.Demand.Values, want)
	}
}

func TestBadFiles(t *testing.T) {
	yamlxtest.BadFiles(t, func(name string, data []byte) error {
		_, err := Add(jobs(), Input{File: "dir/" + name, Data: data, Read: readTestFile})
		var e *yamlx.Error
		if errors.As(err, &e) {
			e.File = filepath.Base(e.File)
		}
		return err
	})
}

func init() {
	files["dir/zeros.csv"] = "at,load\n0,0\n5,3\n"
	files["dir/ends.csv"] = "at,load\n0,0\n1,0\n2,4\n3,0\n4,0\n5,2\n6,0\n"
}
