package trace

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/workload"
)

// sharedTraces is the folder of the public logs, which are not part of the
// repository (some licences forbid it).
func sharedTraces(t testing.TB) string {
	t.Helper()
	return reference.Path(t, "traces")
}

// mustHold checks what every reader promises.
func mustHold(t testing.TB, w *workload.Workload) {
	t.Helper()
	if err := w.Check(); err != nil {
		t.Fatalf("workload does not pass its own check: %v", err)
	}
	if w.Format != "escala" {
		if n := len(w.Jobs) + dropped(w, ""); n != w.Rows {
			t.Errorf("%d jobs + dropped rows, but %d rows read", n, w.Rows)
		}
	}
}

// dropped counts the dropped rows whose cause begins with prefix.
func dropped(w *workload.Workload, prefix string) int {
	n := 0
	for _, d := range w.Dropped {
		if strings.HasPrefix(d.Cause, prefix) {
			n += d.Count
		}
	}
	return n
}

// TestSharedTraces reads the public logs whole. The counts are those that their
// publishers or an independent count (awk) name.
func TestSharedTraces(t *testing.T) {
	dir := sharedTraces(t)
	tests := map[string]struct {
		format     string
		rows, jobs int
		dropped    map[string]int
	}{
		"helios/helios_venus_2vc_sept.csv":  {format: "helios", rows: 1867, jobs: 1867},
		"philly/philly.csv.gz":              {format: "philly", rows: 82247, jobs: 82247},
		"muri/trace1.csv":                   {format: "muri", rows: 1494, jobs: 1494},
		"muri/trace2.csv":                   {format: "muri", rows: 5755, jobs: 5755},
		"muri/cluster_trace.csv":            {format: "muri", rows: 400, jobs: 400},
		"openb/openb_pod_list_default.csv":  {format: "openb", rows: 8152, jobs: 7255, dropped: map[string]int{"never scheduled": 897}},
		"acme/converted_kalos_320jobs.csv":  {format: "acme-converted", rows: 319, jobs: 319},
		"swf/KTH-SP2-1996-2.1-cln.swf.gz":   {format: "swf", rows: 27992, jobs: 27992},
		"swf/HPC2N-2002-2.1-cln.swf.gz":     {format: "swf", rows: 202876, jobs: 202876},
		"swf/CEA-Curie-2011-2.1-cln.swf.gz": {format: "swf", rows: 312826, jobs: 298092, dropped: map[string]int{causeCancelled: 14730, "no processor": 4}},
		"swf/lublin_256.swf.gz":             {format: "swf", rows: 10000, jobs: 10000},

		"slurm-samples/xdmod/phillips.log.gz":          {format: "slurm", rows: 4285, jobs: 4046, dropped: map[string]int{causeCancelled: 239}},
		"slurm-samples/xdmod/pozidriv.log.gz":          {format: "slurm", rows: 11704, jobs: 11285, dropped: map[string]int{causeCancelled: 419}},
		"slurm-samples/xdmod/accounting-logs.log":      {format: "slurm", rows: 4, jobs: 4},
		"slurm-samples/xdmod/utf8-multibyte-chars.log": {format: "slurm", rows: 1, jobs: 1},
		"slurm-samples/xdmod/unknown-job-state.log":    {format: "slurm", rows: 2, jobs: 1, dropped: map[string]int{causeNoStart: 1}},

		"slurm-samples/gcm/sample-sacct-output-invalid-utf8.txt": {format: "slurm", rows: 11, jobs: 2, dropped: map[string]int{"job step": 9}},
		"slurm-samples/gcm/sample-sacct-one-multiline.txt":       {format: "slurm", rows: 4, jobs: 1, dropped: map[string]int{"job step": 2, "run that was requeued": 1}},
		"slurm-samples/gcm/sample-sacct-fake-line-break.txt":     {format: "slurm", rows: 4, jobs: 1, dropped: map[string]int{"job step": 2, "run that was requeued": 1}},
		"slurm-samples/gcm/sample-sacct-multiple-multiline.txt":  {format: "slurm", rows: 6, jobs: 1, dropped: map[string]int{"job step": 2, "run that was requeued": 3}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := Read(filepath.Join(dir, name), Options{})
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, w)
			if w.Format != tc.format || w.Rows != tc.rows || len(w.Jobs) != tc.jobs {
				t.Errorf("%s: %d rows, %d jobs; want %s: %d, %d; dropped %v",
					w.Format, w.Rows, len(w.Jobs), tc.format, tc.rows, tc.jobs, w.Dropped)
			}
			total := 0
			for cause, n := range tc.dropped {
				total += n
				if got := dropped(w, cause); got != n {
					t.Errorf("%d rows dropped as %q, want %d", got, cause, n)
				}
			}
			if got := dropped(w, ""); got != total {
				t.Errorf("%d rows dropped, want %d: %v", got, total, w.Dropped)
			}
		})
	}
}

// TestSharedBrokenSamples: logs without a usable job are errors that say why.
func TestSharedBrokenSamples(t *testing.T) {
	dir := filepath.Join(sharedTraces(t), "slurm-samples")
	tests := map[string]string{
		"xdmod/accounting-logs-with-job-arrays.log":      "array record that is not expanded",
		"xdmod/non-ended-job-state.log":                  "still running",
		"gcm/sample-sacct-output-with-invalid-lines.txt": "wrong number of fields",
		"gcm/sample-sacct-running-output-large.txt.gz":   "job step",
		"gcm/sample-sacct-output-midnight-edge-case.txt": "column Submit is missing",
		"sonar/sacct-output.txt":                         "no known format",
		"clockwork/sacct_1":                              "1 no end recorded, 1 run that was requeued",
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(filepath.Join(dir, name), Options{})
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), want) {
				t.Errorf("got %v, want an *Error about %q", err, want)
			}
		})
	}
}

// TestSharedMultilineEqualsJoined: a record broken over lines is read as its
// publisher's own joined version is.
func TestSharedMultilineEqualsJoined(t *testing.T) {
	dir := filepath.Join(sharedTraces(t), "slurm-samples", "gcm")
	for _, name := range []string{"sample-sacct-one-multiline", "sample-sacct-multiple-multiline", "sample-sacct-fake-line-break"} {
		broken, err := Read(filepath.Join(dir, name+".txt"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		joined, err := Read(filepath.Join(dir, name+"-expected.txt"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(joined.Jobs, broken.Jobs); diff != "" {
			t.Errorf("%s (-joined +broken):\n%s", name, diff)
		}
		if joined.Rows != broken.Rows {
			t.Errorf("%s: %d rows broken, %d joined", name, broken.Rows, joined.Rows)
		}
	}
}

// TestSharedFacts checks figures that the publishers or the READMEs of the logs name.
func TestSharedFacts(t *testing.T) {
	dir := sharedTraces(t)
	read := func(name string, o Options) (*workload.Workload, Info) {
		t.Helper()
		w, err := Read(filepath.Join(dir, name), o)
		if err != nil {
			t.Fatal(err)
		}
		return w, Describe(w, 0)
	}
	jobsOf := func(list []NameCount, name string) int {
		for _, n := range list {
			if n.Name == name {
				return n.Jobs
			}
		}
		return 0
	}
	jobsOfSize := func(info Info, gpus int64) int {
		for _, s := range info.Sizes {
			if s.GPUs == gpus {
				return s.Jobs
			}
		}
		return 0
	}
	equal := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}

	_, helios := read("helios/helios_venus_2vc_sept.csv", Options{})
	equal("helios vcvGl", jobsOf(helios.Teams, "vcvGl"), 1452)
	equal("helios vcvlY", jobsOf(helios.Partitions, "vcvlY"), 415)
	equal("helios completed", jobsOf(helios.Outcomes, "completed"), 786)
	equal("helios cancelled", jobsOf(helios.Outcomes, "cancelled"), 589)
	equal("helios failed", jobsOf(helios.Outcomes, "failed"), 491)
	equal("helios 8 GPUs", jobsOfSize(helios, 8), 691)
	equal("helios 128 GPUs", jobsOfSize(helios, 128), 401)
	equal("helios exact estimates", helios.Estimates.Exact, 1867)

	philly, info := read("philly/philly.csv.gz", Options{})
	equal("philly 1 GPU", jobsOfSize(info, 1), 76627)
	equal("philly 6214e9", jobsOf(info.Teams, "6214e9"), 41226)
	equal("philly VCs", len(info.Teams), 15)
	equal("philly GPU-hours", int(info.GPUHours), 978078)
	if got := time.UnixMilli(philly.Epoch).UTC().Format(time.DateOnly); got != "2017-09-04" {
		t.Errorf("philly starts on %s", got)
	}

	_, muri := read("muri/trace1.csv", Options{})
	equal("muri mean duration", int(math.Round(muri.Duration.Mean)), 250452)

	pods, openb := read("openb/openb_pod_list_default.csv", Options{KeepUnscheduled: true})
	equal("openb pods", len(pods.Jobs), 8152)
	equal("openb CPU pods", jobsOfSize(openb, 0), 1088)
	equal("openb 1 GPU", jobsOfSize(openb, 1), 6989)
	equal("openb parts", openb.FractionalJobs, 3078)
	var milli int64
	for i := range pods.Jobs {
		milli += pods.Jobs[i].Need.TotalMilli()
	}
	equal("openb GPUs asked for", int(milli/100), 60868)

	_, kalos := read("acme/converted_kalos_320jobs.csv", Options{})
	equal("kalos 512 GPUs", jobsOfSize(kalos, 512), 73)
	equal("kalos 1024 GPUs", jobsOfSize(kalos, 1024), 38)

	_, kth := read("swf/KTH-SP2-1996-2.1-cln.swf.gz", Options{})
	equal("kth mean run", int(math.Round(kth.Duration.Mean)), 8573)
	equal("kth largest", int(kth.MaxGPUs), 100)
	equal("kth failed", jobsOf(kth.Outcomes, "failed"), 7509)
	equal("kth estimates", kth.Estimates.Given, 27992)
	equal("kth overrun", kth.Estimates.Under, 0)

	_, hpc2n := read("swf/HPC2N-2002-2.1-cln.swf.gz", Options{})
	equal("hpc2n overrun", hpc2n.Estimates.Under, 14817)

	_, pozidriv := read("slurm-samples/xdmod/pozidriv.log.gz", Options{})
	equal("pozidriv preempted", jobsOf(pozidriv.Outcomes, "preempted"), 86)
	equal("pozidriv timeout", jobsOf(pozidriv.Outcomes, "timeout"), 9)
	_, phillips := read("slurm-samples/xdmod/phillips.log.gz", Options{})
	equal("phillips 2 GPUs", jobsOfSize(phillips, 2), 2)
	equal("phillips completed", jobsOf(phillips.Outcomes, "completed"), 2324)
}

// TestSharedResample makes FGD's arrivals: 1.3 times the 6,212 GPUs.
func TestSharedResample(t *testing.T) {
	dir := sharedTraces(t)
	data, err := os.ReadFile(filepath.Join(dir, "openb", "openb_node_list_gpu_node.csv"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ReadOpenbNodes("openb_node_list_gpu_node.csv", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Nodes) != 1213 || spec.GPUs() != 6212 {
		t.Errorf("%d nodes with %d GPUs, want 1213 with 6212", len(spec.Nodes), spec.GPUs())
	}
	w, err := Read(filepath.Join(dir, "openb", "openb_pod_list_default.csv"), Options{KeepUnscheduled: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resample(w, 6_212_000, 1.3, 42)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, r)
	var asked int64
	for i := range r.Jobs {
		asked += r.Jobs[i].Need.TotalMilli()
	}
	if asked < 8_075_600 || asked > 8_075_600+8000 {
		t.Errorf("%d milli asked for, want 8,075,600 and at most one pod more", asked)
	}
}
