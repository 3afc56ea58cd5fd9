package slurmhist

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden holds a text to a file of testdata/golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", path, diff)
	}
}

func gather(t testing.TB, name string, data []byte) *Gatherer {
	t.Helper()
	g := NewGatherer()
	if _, err := trace.ScanSlurm(name, bytes.NewReader(data), nil, func(r *trace.SlurmRecord) error { g.Add(r); return nil }); err != nil {
		t.Fatal(err)
	}
	return g
}

func labSite(t testing.TB) *Site {
	t.Helper()
	s := &Site{}
	for _, f := range []struct {
		name string
		take func(string, []byte) error
	}{{"nodes.txt", s.AddNodes}, {"partitions.txt", s.AddNodes}, {"config.txt", s.AddConfig}, {"qos.txt", s.AddQOS},
		{"events.txt", func(n string, d []byte) error { return s.AddEvents(n, d, nil) }}} {
		if err := f.take(f.name, lab(t, f.name)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func text(t testing.TB, w *workload.Workload) []byte {
	t.Helper()
	var b bytes.Buffer
	f, _ := trace.Lookup("escala")
	if err := f.Write(&b, w); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLab imports what a real Slurm wrote of a few minutes in which everything happened: arrays,
// a heterogeneous job, preemption, a requeue, a node that failed, whole nodes, a reservation.
func TestLab(t *testing.T) {
	build := func(name string) *History {
		h, err := gather(t, name, lab(t, name)).Build(labSite(t), Options{Name: "lab"})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := build("sacct.txt")
	p, m, err := h.site.Policy()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Replay(context.Background(), p, nil); err != nil {
		t.Fatal(err)
	}
	h.Report.Model = m
	h.Note()
	golden(t, "workload.jsonl", text(t, h.Workload))
	var c bytes.Buffer
	if err := cluster.WriteYAML(&c, h.Cluster); err != nil {
		t.Fatal(err)
	}
	golden(t, "cluster.yaml", c.Bytes())
	h.Report.Check = nil // has all figures there are
	r, err := json.MarshalIndent(h.Report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "import.json", append(r, '\n'))

	if err := h.Workload.Check(); err != nil {
		t.Error(err)
	}
	j := build("sacct.json")
	if diff := cmp.Diff(h.Workload.Jobs, j.Workload.Jobs) + cmp.Diff(h.Workload.Actual, j.Workload.Actual) + cmp.Diff(h.Runs, j.Runs); diff != "" {
		t.Errorf("the JSON is another history (-text +JSON):\n%s", diff)
	}
}

// TestDeduced: without nodes the cluster is what was in use at once.
func TestDeduced(t *testing.T) {
	h, err := gather(t, "sacct.txt", lab(t, "sacct.txt")).Build(&Site{}, Options{Name: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range h.Cluster.Nodes {
		got = append(got, fmt.Sprintf("%s %d %s %v", n.Name, n.GPUs, n.GPUType, n.Partitions))
	}
	want := []string{"n1 1  [debug train]", "n2 4  [debug train]", "n3 4  [debug train]", "n4 4  [debug train]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !h.Report.Cluster.Untyped {
		t.Error("two jobs of 8 GPUs ran over both types: types bind nobody")
	}
	if p := h.Placements(); p.Legal != p.Runs {
		t.Errorf("what was deduced of the record does not hold it: %+v", p)
	}
}

var header = strings.ReplaceAll("JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|State|ReqTRES|AllocTRES|TimelimitRaw|NodeList|Comment|Reservation|Licenses|Constraints\n", "|", separator)

// rec is a line of the accounting: times are seconds of a day.
func rec(id, state string, submit, start, end int, req, alloc, nodes string, more ...string) string {
	when := func(s int) string {
		if s < 0 {
			return "Unknown"
		}
		return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC).Format("2006-01-02T15:04:05")
	}
	elapsed := max(end-start, 0)
	if start < 0 || end < 0 {
		elapsed = 0
	}
	field := map[string]string{"User": "ann", "Account": "vision", "Partition": "gpu", "QOS": "normal", "Eligible": when(submit), "ElapsedRaw": fmt.Sprint(elapsed)}
	for _, m := range more {
		k, v, _ := strings.Cut(m, "=")
		field[k] = v
	}
	return strings.Join([]string{id, field["User"], field["Account"], field["Partition"], field["QOS"], when(submit), field["Eligible"], when(start), when(end), field["ElapsedRaw"], state, req, alloc,
		"60", nodes, field["Comment"], field["Reservation"], field["Licenses"], field["Constraints"]}, separator) + "\n"
}

func g(n, nodes int) string { return fmt.Sprintf("cpu=%d,gres/gpu=%d,node=%d", 4*nodes, n, nodes) }

const fourNodes = `NodeName=n1 CPUTot=64 RealMemory=1000
   AvailableFeatures=rack0,fast
   Gres=gpu:a100:8
   Partitions=gpu,debug
NodeName=n2 CPUTot=64 RealMemory=1000
   AvailableFeatures=rack0
   Gres=gpu:a100:8
   Partitions=gpu
NodeName=n3 CPUTot=64 RealMemory=1000
   AvailableFeatures=rack1
   Gres=gpu:h100:8
   Partitions=gpu
NodeName=c1 CPUTot=128 RealMemory=1000
   Partitions=cpu
PartitionName=gpu
   OverSubscribe=NO
PartitionName=debug
   OverSubscribe=EXCLUSIVE
`

func TestHistories(t *testing.T) {
	type want struct {
		// jobs as "id submit duration need outcome runs", and cause: jobs of each.
		jobs           []string
		left, simple   map[string]int
		requeues, lost string
	}
	tests := map[string]struct {
		in      string
		options Options
		bare    bool // nothing but the accounting
		want    want
	}{
		"plain": {in: rec("1", "COMPLETED", 0, 60, 160, g(16, 2), g(16, 2), "n[1-2]"),
			want: want{jobs: []string{"1 0 100 2 x 8 GPUs + 4 cores, each on a node of its own completed 1"}}},
		"tasks of an array have its label": {in: rec("5_0", "COMPLETED", 0, 1, 2, g(1, 1), g(1, 1), "n1") + rec("5_1", "FAILED", 0, 1, 3, g(1, 1), g(1, 1), "n1") + rec("5_[2-9]", "PENDING", 0, -1, -1, g(1, 1), "", ""),
			want: want{jobs: []string{"5_0 0 1 1 GPU + 4 cores completed 1 [array=5]", "5_1 0 2 1 GPU + 4 cores failed 1 [array=5]"}, left: map[string]int{"tasks of an array that were not split off": 1}}},
		"the limit of an array is no wait": {in: rec("5_0", "COMPLETED", 0, 90, 100, g(1, 1), g(1, 1), "n1", "Eligible=2026-01-01T00:01:20"),
			want: want{jobs: []string{"5_0 80 10 1 GPU + 4 cores completed 1 [array=5]"}, simple: map[string]int{"could start later than it was submitted": 1}}},
		"requeued: the last run counts": {in: rec("1", "PREEMPTED", 0, 10, 110, g(2, 1), g(2, 1), "n1") + rec("1", "REQUEUED", 110, 200, 300, g(2, 1), g(2, 1), "n2") + rec("1", "COMPLETED", 300, 400, 450, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"1 0 50 2 GPUs + 4 cores completed 3"}, requeues: "PREEMPTED 1, REQUEUED 1", lost: "0.111"}},
		"requeued: what was saved counts": {in: rec("1", "PREEMPTED", 0, 10, 110, g(2, 1), g(2, 1), "n1", "Comment=escala:checkpoint-interval=40s") + rec("1", "NODE_FAIL", 110, 200, 300, g(2, 1), g(2, 1), "n2") + rec("1", "COMPLETED", 300, 400, 450, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"1 0 210 2 GPUs + 4 cores completed 3"}, requeues: "PREEMPTED 1, NODE_FAIL 1", lost: "0.022"}},
		"a failed node asks nobody": {in: rec("1", "PREEMPTED", 0, 10, 110, g(2, 1), g(2, 1), "n1") + rec("1", "NODE_FAIL", 110, 200, 300, g(2, 1), g(2, 1), "n2") + rec("1", "COMPLETED", 300, 400, 450, g(2, 1), g(2, 1), "n1"),
			options: Options{Contract: workload.Contract{CheckpointOnStop: true}},
			want:    want{jobs: []string{"1 0 150 2 GPUs + 4 cores completed 3"}, requeues: "NODE_FAIL 1, PREEMPTED 1", lost: "0.056"}},
		"requeued and withdrawn": {in: rec("1", "PREEMPTED", 0, 10, 110, g(2, 1), g(2, 1), "n1") + rec("1", "CANCELLED by 7", 110, -1, 300, g(2, 1), "", ""),
			want: want{jobs: []string{"1 0 100 2 GPUs + 4 cores preempted 1"}, simple: map[string]int{"requeued, and had not run again": 1}}},
		"requeued, and nothing more": {in: rec("1", "REQUEUED", 0, 10, 110, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"1 0 100 2 GPUs + 4 cores unknown 1"}, simple: map[string]int{"requeued, and what came of it is not told": 1}}},
		"records that stand twice": {in: rec("1", "RUNNING", 0, 10, -1, g(2, 1), g(2, 1), "n1", "ElapsedRaw=5") + rec("1", "COMPLETED", 0, 10, 20, g(2, 1), g(2, 1), "n1") + rec("2", "PENDING", 0, -1, -1, g(2, 1), "", "") + rec("2", "COMPLETED", 0, 15, 20, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1", "2 0 5 2 GPUs + 4 cores completed 1"}}},
		"an ID that was given again": {in: rec("1", "COMPLETED", 0, 10, 20, g(2, 1), g(2, 1), "n1") + rec("1", "COMPLETED", 900, 910, 920, g(2, 1), g(2, 1), "n1", "User=ben"),
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1"}, left: map[string]int{"job ID that was given again": 1}}},
		"still running": {in: rec("1", "RUNNING", 0, 10, -1, g(2, 1), g(2, 1), "n1", "ElapsedRaw=490") + rec("2", "COMPLETED", 0, 10, 500, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"1 0 490 2 GPUs + 4 cores unknown 1", "2 0 490 2 GPUs + 4 cores completed 1"}, simple: map[string]int{"still ran": 1}}},
		"what never ran": {in: rec("1", "CANCELLED by 5", 0, -1, 10, g(2, 1), "", "") + rec("2", "CANCELLED", 0, 10, 10, g(2, 1), "", "") + rec("3", "PENDING", 0, -1, -1, g(2, 1), "", "") + rec("4", "COMPLETED", 0, 1, 2, g(1, 1), g(1, 1), "n1"),
			want: want{jobs: []string{"4 0 1 1 GPU + 4 cores completed 1"}, left: map[string]int{"cancelled before it started": 2, "still waiting": 1}}},
		"heterogeneous, alike": {in: rec("7+0", "COMPLETED", 0, 10, 110, g(8, 1), g(8, 1), "n1") + rec("7+1", "COMPLETED", 0, 10, 120, g(16, 2), g(16, 2), "n[2-3]"),
			want: want{jobs: []string{"7 0 110 3 x 8 GPUs + 4 cores completed 1"}, simple: map[string]int{"its parts are one gang": 1}}},
		"heterogeneous, not alike": {in: rec("7+0", "COMPLETED", 0, 10, 110, g(1, 1), g(1, 1), "n1") + rec("7+1", "COMPLETED", 0, 10, 120, g(4, 1), g(4, 1), "n2"),
			want: want{jobs: []string{"7 0 110 5 GPUs + 8 cores completed 1 span"}, simple: map[string]int{"its parts are one total": 1}}},
		"heterogeneous, one part without GPUs": {in: rec("7+0", "COMPLETED", 0, 10, 110, "cpu=8,node=1", "cpu=8,node=1", "n1") + rec("7+1", "COMPLETED", 0, 10, 120, g(4, 1), g(4, 1), "n2"),
			want: want{jobs: []string{"7 0 110 4 GPUs + 12 cores completed 1 span"}, simple: map[string]int{"its parts are one total": 1}}},
		"heterogeneous, of two types": {in: rec("7+0", "COMPLETED", 0, 10, 110, "cpu=1,gres/gpu:a100=1,node=1", g(1, 1), "n1") + rec("7+1", "COMPLETED", 0, 10, 120, "cpu=1,gres/gpu:h100=1,node=1", g(1, 1), "n3") + rec("9", "COMPLETED", 0, 1, 2, g(1, 1), g(1, 1), "n1"),
			want: want{jobs: []string{"9 0 1 1 GPU + 4 cores completed 1"}, left: map[string]int{"heterogeneous job whose parts ask for GPUs of different types": 1}}},
		"heterogeneous, over partitions": {in: rec("7+0", "COMPLETED", 0, 10, 110, g(1, 1), g(1, 1), "n1") + rec("7+1", "COMPLETED", 0, 10, 120, g(1, 1), g(1, 1), "n1", "Partition=debug") + rec("9", "COMPLETED", 0, 1, 2, g(1, 1), g(1, 1), "n1"),
			want: want{jobs: []string{"9 0 1 1 GPU + 4 cores completed 1"}, left: map[string]int{"heterogeneous job over several partitions": 1}}},
		"a node for itself": {in: rec("1", "COMPLETED", 0, 1, 3601, "cpu=1,gres/gpu=2,node=1", "cpu=64,gres/gpu=2,node=1", "n1") + rec("2", "COMPLETED", 0, 1, 3601, "cpu=1,gres/gpu=2,node=2", "cpu=128,gres/gpu=2,node=2", "n[2-3]"),
			want: want{jobs: []string{"1 0 3600 8 GPUs + 64 cores completed 1", "2 0 3600 2 x 8 GPUs + 64 cores, each on a node of its own completed 1"}, simple: map[string]int{"had its nodes for itself": 2}}},
		"an exclusive partition": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Partition=debug"),
			want: want{jobs: []string{"1 0 10 8 GPUs + 4 cores completed 1 on n1"}, simple: map[string]int{"had its nodes for itself": 1, "shares some nodes with a larger one": 1}}},
		"partitions": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Partition=gpu,debug") + rec("2", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Partition=gone"),
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1 @gpu", "2 0 10 2 GPUs + 4 cores completed 1 @"}, simple: map[string]int{"named several partitions": 1, "its partition is none of the cluster's": 1}}},
		"features": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Constraints=rack0") + rec("2", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Constraints=fast&rack0") + rec("3", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Constraints=[rack0|rack1]") +
			rec("4", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Constraints=rack0*2") + rec("5", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Constraints=none"),
			want: want{jobs: []string{"1 0 10 2 GPUs a100 + 4 cores completed 1", "2 0 10 2 GPUs + 4 cores completed 1 on n1", "3 0 10 2 GPUs + 4 cores completed 1", "4 0 10 2 GPUs + 4 cores completed 1", "5 0 10 2 GPUs + 4 cores completed 1"},
				simple: map[string]int{"asks for features of nodes in counts or groups": 1, "asks for features that no node has": 1}}},
		"features of nobody knows which": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Constraints=rack0"), bare: true,
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1"}, simple: map[string]int{"asks for features of nodes, and nothing tells": 1}}},
		"licences and reservations": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Licenses=solver:1", "Reservation=slot") + rec("2", "COMPLETED", 0, 1, 11, g(2, 1)+",license/solver=1", g(2, 1), "n1"),
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1", "2 0 10 2 GPUs + 4 cores completed 1"}, simple: map[string]int{"asks for licences": 2, "ran in a reservation": 1}}},
		"GPUs that do not come out even": {in: rec("1", "COMPLETED", 0, 1, 11, g(5, 2), g(5, 2), "n[1-2]"),
			want: want{jobs: []string{"1 0 10 5 GPUs + 8 cores completed 1 span"}, simple: map[string]int{"do not come out even": 1}}},
		"parts of nodes": {in: rec("1", "COMPLETED", 0, 1, 11, g(8, 2), g(8, 2), "n[1-2]"),
			want: want{jobs: []string{"1 0 10 2 x 4 GPUs + 4 cores, each on a node of its own completed 1"}}},
		"without GPUs": {in: rec("1", "COMPLETED", 0, 1, 11, "cpu=4,node=1", "cpu=4,node=1", "c1", "Partition=cpu") + rec("2", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"2 0 10 2 GPUs + 4 cores completed 1"}, left: map[string]int{"asks for no GPU": 1}}},
		"without GPUs, asked for": {in: rec("1", "COMPLETED", 0, 1, 11, "cpu=4,node=1", "cpu=4,node=1", "c1", "Partition=cpu") + rec("2", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1"), options: Options{CPUJobs: true},
			want: want{jobs: []string{"1 0 10 4 cores completed 1", "2 0 10 2 GPUs + 4 cores completed 1"}}},
		"memory counts where jobs are placed by it": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1)+",mem=500M", g(2, 1), "n1") + rec("2", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1)+",mem=500M", "n1"),
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1", "2 0 10 2 GPUs + 4 cores + 500 MiB completed 1"}}},
		"a comment that cannot be read": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1", "Comment=escala:minruntime"),
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1"}}},
		"GPUs that are not told": {in: rec("1", "COMPLETED", 0, 1, 11, "", "", "n1") + rec("2", "COMPLETED", 0, 1, 11, "cpu=10,mem=100G,node", "cpu=10,mem=100G,node", "n1") + rec("3", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1"),
			want: want{jobs: []string{"3 0 10 2 GPUs + 4 cores completed 1"}, left: map[string]int{"GPU count not told": 1, "GPU count may be cut": 1}}},
		"steps and fragments": {in: rec("1", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1") + rec("1.batch", "COMPLETED", 0, 1, 11, g(2, 1), g(2, 1), "n1") + "a" + separator + "b\n",
			want: want{jobs: []string{"1 0 10 2 GPUs + 4 cores completed 1"}, left: map[string]int{"record that cannot be read": 1}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			site := &Site{}
			if !tc.bare {
				if err := site.AddNodes("nodes", []byte(fourNodes)); err != nil {
					t.Fatal(err)
				}
			}
			h, err := gather(t, "sacct", []byte(header+tc.in)).Build(site, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Workload.Check(); err != nil {
				t.Fatal(err)
			}
			var jobs []string
			runs := map[int32]int{}
			for i := range h.Runs {
				runs[h.Runs[i].Job]++
			}
			for i := range h.Workload.Jobs {
				jobs = append(jobs, describe(h, i, runs[int32(i)], slices.ContainsFunc(tc.want.jobs, func(s string) bool { return strings.Contains(s, "@") })))
			}
			if diff := cmp.Diff(tc.want.jobs, jobs); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
			counts(t, "left out", tc.want.left, h.Report.LeftOut)
			counts(t, "simplified", tc.want.simple, h.Report.Simplified)
			var again []string
			lost := 0.0
			for _, i := range h.Report.Requeues {
				again = append(again, fmt.Sprintf("%s %d", i.Cause, i.Jobs))
				lost += i.GPUHours
			}
			if got := strings.Join(again, ", "); got != tc.want.requeues || tc.want.lost != "" && fmt.Sprintf("%.3f", lost) != tc.want.lost {
				t.Errorf("run again: %q, %.3f GPU-hours lost; want %q, %s", got, lost, tc.want.requeues, tc.want.lost)
			}
		})
	}
}

func describe(h *History, i, runs int, partition bool) string {
	j, a := &h.Workload.Jobs[i], &h.Workload.Actual[i]
	s := fmt.Sprintf("%s %d %d %s %s %d", j.ID, j.Submit/1000, a.Duration/1000, j.Need.String(), a.Outcome, runs)
	if j.Need.Span {
		s += " span"
	}
	if j.Need.Nodes != "" {
		s += " on " + j.Need.Nodes
	}
	if v := j.Labels["array"]; v != "" {
		s += " [array=" + v + "]"
	}
	if partition {
		s += " @" + j.Partition
	}
	return s
}

func counts(t *testing.T, what string, want map[string]int, items []Item) {
	t.Helper()
	for _, i := range items {
		found := false
		for cause, n := range want {
			if strings.Contains(i.Cause, cause) {
				found = true
				if i.Jobs != n {
					t.Errorf("%s: %d %s, want %d", what, i.Jobs, i.Cause, n)
				}
			}
		}
		if !found {
			t.Errorf("%s: %d %s (%s), which nobody expected", what, i.Jobs, i.Cause, i.Example)
		}
	}
	if len(items) != len(want) {
		t.Errorf("%s: %d causes, want %d: %v", what, len(items), len(want), want)
	}
}

// TestNothing says why nothing is left.
func TestNothing(t *testing.T) {
	for in, want := range map[string]string{
		header: "no job that can be replayed",
		header + rec("1", "PENDING", 0, -1, -1, g(2, 1), "", "") + rec("2", "COMPLETED", 0, 1, 2, "cpu=1,node=1", "cpu=1,node=1", "c1"): "no job that can be replayed: 1 still waiting, 1 asks for no GPU (--cpu-jobs keeps them)",
		header + rec("1", "COMPLETED", 0, 1, 2, g(1, 1), g(1, 1), ""):                                                                   "nothing tells the nodes of the cluster: neither a list of nodes nor the column NodeList",
	} {
		if _, err := gather(t, "sacct", []byte(in)).Build(&Site{}, Options{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPlacements: what could not have been is counted by why.
func TestPlacements(t *testing.T) {
	site := &Site{}
	if err := site.AddNodes("nodes", []byte(fourNodes)); err != nil {
		t.Fatal(err)
	}
	in := header + rec("1", "COMPLETED", 0, 0, 100, g(6, 1), g(6, 1), "n1") + rec("2", "COMPLETED", 0, 50, 100, g(6, 1), g(6, 1), "n1") + rec("3", "COMPLETED", 0, 100, 200, g(8, 1), g(8, 1), "n1") +
		rec("4", "COMPLETED", 0, 0, 100, g(9, 1), g(9, 1), "n2") + rec("5", "COMPLETED", 0, 300, 400, "cpu=1,gres/gpu:h100=1,node=1", "cpu=1,gres/gpu:h100=1,gres/gpu=1,node=1", "n1") +
		rec("6", "COMPLETED", 0, 300, 400, g(1, 1), g(1, 1), "n3", "Partition=debug") + rec("7", "COMPLETED", 0, 300, 400, g(1, 1), g(1, 1), "") + rec("8", "COMPLETED", 0, 300, 400, g(2, 1), g(2, 1), "old1")
	h, err := gather(t, "sacct", []byte(in)).Build(site, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := h.Placements()
	if p.Runs != 8 || p.Legal != 3 || p.Untold != 1 {
		t.Errorf("%+v", p)
	}
	counts(t, "illegal", map[string]int{"its nodes were full": 1, "had more GPUs than its nodes have": 2, "not in its partition": 1}, p.Illegal)
	if c := h.Report.Cluster; c.Told != 3 || c.Deduced != 1 || c.WithoutGPUs != 1 {
		t.Errorf("a node that is gone is deduced: %+v", c)
	}
}

// TestOutages: events of nodes become outages of the cluster.
func TestOutages(t *testing.T) {
	site := &Site{}
	events := "NodeName|TimeStart|TimeEnd|State\nn1|2026-01-01T00:01:00|2026-01-01T00:02:00|DOWN\nn1|2026-01-01T00:02:00|2026-01-01T00:03:00|DOWN*\nn1|2026-01-01T00:01:30|2026-01-01T00:05:00|DRAIN\n" +
		"n2|2025-12-01T00:00:00|2026-01-01T00:00:30|DRAIN\nn3|2026-01-01T00:01:00|Unknown|DRAINED\nn3|2026-01-01T00:00:40|2026-01-01T00:00:40|DOWN\nc1|2026-01-01T00:01:00|Unknown|DOWN\nn2|2025-01-01T00:01:00|2025-01-01T00:02:00|DOWN\nn2|2027-01-01T00:01:00|Unknown|DOWN\n"
	if err := site.AddNodes("nodes", []byte(fourNodes)); err != nil {
		t.Fatal(err)
	}
	if err := site.AddEvents("events", []byte(events), nil); err != nil {
		t.Fatal(err)
	}
	h, err := gather(t, "sacct", []byte(header+rec("1", "COMPLETED", 10, 20, 900, g(8, 1), g(8, 1), "n1"))).Build(site, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range h.Cluster.Outages {
		got = append(got, fmt.Sprintf("%d %s %s", o.At/1000, o.Node, o.Change))
	}
	want := []string{"10 n2 drain", "30 n2 resume", "40 n3 down", "41 n3 up", "60 n1 down", "60 n3 drain", "90 n1 drain", "180 n1 up", "300 n1 resume"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if o := *h.Report.Outages; o != (Outages{Used: 5, Outside: 2, Unknown: 1, Open: 1}) {
		t.Errorf("%+v", o)
	}
}

// recorder keeps the places of runs.
type recorder struct{ place map[int32][]fact.Grant }

func (r *recorder) Fact(*fact.Fact)    {}
func (r *recorder) Instant(*sim.Gauge) {}
func (r *recorder) Action(a *fact.Action) {
	if a.Do == fact.Start {
		r.place[a.Job] = slices.Clone(a.Place)
	}
}

// asSlurm writes a simulated run as sacct would have.
func asSlurm(w *workload.Workload, c *cluster.Spec, res *sim.Result, place map[int32][]fact.Grant) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range w.Jobs {
		j, r := &w.Jobs[i], &res.Jobs[i]
		nodes := map[string]bool{}
		var names []string
		for _, g := range place[int32(i)] {
			if n := c.Nodes[g.Node].Name; !nodes[n] {
				nodes[n] = true
				names = append(names, n)
			}
		}
		total, asked := int(j.Need.TotalGPUs()), max(int(j.Need.Tasks), 1)
		req := fmt.Sprintf("cpu=1,gres/gpu=%d,node=%d", total, asked)
		alloc := fmt.Sprintf("cpu=1,gres/gpu=%d,node=%d", total, len(names))
		b.WriteString(rec(fmt.Sprint(i+1), "COMPLETED", int(j.Submit/1000), int(r.FirstStart/1000), int(r.Finish/1000), req, alloc, strings.Join(names, ","), "User="+j.User, "Account="+j.Team))
	}
	return b.String()
}

// TestTheModelReplaysItself: a history that the modelled policy made itself is replayed exactly.
func TestTheModelReplaysItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := &Site{}
		spec := cluster.Uniform("lab", rapid.IntRange(1, 4).Draw(t, "nodes"), 8)
		for i := range spec.Nodes {
			site.Nodes = append(site.Nodes, Node{Name: spec.Nodes[i].Name, GPUs: []trace.GPUType{{Count: 8}}})
		}
		p, _, err := site.Policy()
		if err != nil {
			t.Fatal(err)
		}
		w := &workload.Workload{Name: "made", Epoch: workload.Unknown}
		at := workload.Time(0)
		for i := range rapid.IntRange(1, 60).Draw(t, "jobs") {
			at += workload.Span(rapid.IntRange(0, 600).Draw(t, "gap")) * 1000
			j := workload.Job{ID: fmt.Sprint(i + 1), User: "u", Team: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "team"), Submit: at, Limit: workload.Hour,
				Need: workload.Need{GPUs: int32(rapid.SampledFrom([]int{1, 1, 2, 4, 8, 16}).Draw(t, "gpus"))}}
			if int64(j.Need.GPUs) > spec.GPUs() {
				j.Need.GPUs = 8
			}
			w.Jobs = append(w.Jobs, j)
			w.Actual = append(w.Actual, workload.Actual{Duration: workload.Span(rapid.IntRange(1, 3600).Draw(t, "runs")) * 1000, Start: workload.Unknown, End: workload.Unknown})
		}
		for i := range w.Jobs {
			w.Jobs[i].Need.CPU = 1000
		}
		rec := &recorder{place: map[int32][]fact.Grant{}}
		res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: p, Observers: []sim.Observer{rec}})
		if err != nil {
			t.Fatal(err)
		}
		gath := NewGatherer()
		if _, err := trace.ScanSlurm("sacct", strings.NewReader(asSlurm(w, spec, res, rec.place)), nil, func(r *trace.SlurmRecord) error { gath.Add(r); return nil }); err != nil {
			t.Fatal(err)
		}
		h, err := gath.Build(site, Options{Name: "made"})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Replay(context.Background(), p, nil); err != nil {
			t.Fatal(err)
		}
		f := h.Report.Fidelity
		if f.All.Jobs != len(w.Jobs) || f.All.Error != 0 || f.All.WaitP50[0] != f.All.WaitP50[1] || f.All.WaitP90[0] != f.All.WaitP90[1] || f.All.Correlation != nil && *f.All.Correlation != 1 {
			t.Fatalf("the replay is not what happened: %+v", f.All)
		}
		if math.Abs(f.Occupancy[0]-f.Occupancy[1]) > 1e-9 || f.Refused > 0 {
			t.Fatalf("occupancy was %v and is %v", f.Occupancy[0], f.Occupancy[1])
		}
		if pl := f.Placements; pl.Legal != pl.Runs || pl.Runs != len(w.Jobs) {
			t.Fatalf("placements: %+v", pl)
		}
		was, is := &h.Report.Check.Recorded, &h.Report.Check.Replay
		for name, pair := range map[string][2]float64{"wait": {was.Wait.Mean, is.Wait.Mean}, "jct": {was.JCT.Mean, is.JCT.Mean}, "slowdown": {was.BoundedSlowdown.Mean, is.BoundedSlowdown.Mean},
			"queue time": {was.QueueTime.Mean, is.QueueTime.Mean}, "jain": {was.Jain, is.Jain}, "makespan": {was.Makespan, is.Makespan}, "GPU-hours": {was.GPUHours, is.GPUHours}, "jobs": {float64(was.Jobs), float64(is.Jobs)}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Fatalf("%s was %v and is %v", name, pair[0], pair[1])
			}
		}
	})
}

// TestAnonymize: no name is left, and what belongs together has one code.
func TestAnonymize(t *testing.T) {
	h, err := gather(t, "sacct.txt", lab(t, "sacct.txt")).Build(labSite(t), Options{Name: "secretlab"})
	if err != nil {
		t.Fatal(err)
	}
	p, m, _ := h.site.Policy()
	if err := h.Replay(context.Background(), p, nil); err != nil {
		t.Fatal(err)
	}
	h.Report.Model, h.Report.Inputs, h.Report.Warnings = m, []Input{{What: "accounting", Name: "secretlab.txt", SHA256: "x"}}, []string{"secretlab"}
	was := h.Report.Fidelity.Line
	key := []byte("a key of enough bytes")
	h.Anonymize(key, false)
	h.Note()
	var all bytes.Buffer
	all.Write(text(t, h.Workload))
	if err := cluster.WriteYAML(&all, h.Cluster); err != nil {
		t.Fatal(err)
	}
	budgets, r, err := ImportBudgets("assoc", lab(t, "assoc.txt"), "", trace.NewNames(key))
	if err != nil {
		t.Fatal(err)
	}
	h.Report.Budgets = r
	report, _ := json.Marshal(h.Report)
	all.Write(budgets)
	all.Write(report)
	for _, secret := range []string{"ann", "ben", "cleo", "nlp", "vision", "infra", "train", "debug", "scav", "n1", "n4", "secretlab", `"28"`, "2026", "rack0", "slot"} {
		if i := strings.Index(all.String(), secret); i >= 0 && !strings.Contains("Shannon", secret) {
			t.Errorf("%q is still there: ...%s...", secret, all.String()[max(i-40, 0):min(i+40, all.Len())])
		}
	}
	if !slices.Contains(h.Workload.Notes, was) {
		t.Error("nothing says how far to believe it")
	}
	if h.Workload.Jobs[0].Submit != 0 {
		t.Errorf("the first submission is at %d", h.Workload.Jobs[0].Submit)
	}
	parts := map[string]bool{}
	for _, n := range h.Cluster.Nodes {
		for _, p := range n.Partitions {
			parts[p] = true
		}
	}
	for i := range h.Workload.Jobs {
		if p := h.Workload.Jobs[i].Partition; p != "" && !parts[p] {
			t.Fatalf("partition %s is none of the cluster's", p)
		}
		if !strings.Contains(string(budgets), h.Workload.Jobs[i].Team) || !strings.Contains(string(budgets), h.Workload.Jobs[i].User) {
			t.Fatalf("%s of %s is in no budget", h.Workload.Jobs[i].User, h.Workload.Jobs[i].Team)
		}
	}
	if err := h.Cluster.Check(); err != nil {
		t.Error(err)
	}
}

func TestSpearman(t *testing.T) {
	for name, tc := range map[string]struct {
		in   [][2]float64
		want float64
	}{
		"the same":  {[][2]float64{{1, 10}, {2, 20}, {3, 21}}, 1},
		"reverse":   {[][2]float64{{1, 3}, {2, 2}, {3, 1}}, -1},
		"with ties": {[][2]float64{{1, 1}, {1, 1}, {2, 2}, {3, 3}}, 1},
		"one tie":   {[][2]float64{{1, 1}, {2, 1}, {3, 3}}, 0.8660254037844387},
	} {
		if got := spearman(tc.in); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if d := distance([][2]float64{{5, 5}, {5, 7}}); d.Correlation != nil || d.Error != 0 {
		t.Errorf("waits that are all the same have no correlation: %+v", d)
	}
}
