package slurmhist

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// TestOddSites are sites whose accounting is not what one would like.
func TestOddSites(t *testing.T) {
	typed := func(kind string) string { return "cpu=4,gres/gpu=1,gres/gpu:" + kind + "=1,node=1" }
	tests := map[string]struct {
		in           string
		jobs         []string
		left, simple map[string]int
		limits       []int // minutes
	}{
		"gangs over several types": {in: rec("1", "COMPLETED", 0, 1, 11, g(32, 4), g(32, 4), "n[1-4]") + rec("2", "COMPLETED", 0, 20, 30, typed("h100"), typed("h100"), "n3") +
			rec("3", "COMPLETED", 0, 20, 30, typed("v100"), typed("v100"), "n3") + rec("4", "COMPLETED", 0, 20, 30, typed("a100"), typed("a100"), "n4", "Partition=quick"),
			jobs:   []string{"1 0 10 4 x 8 GPUs + 4 cores, each on a node of its own completed 1", "2 0 10 1 GPU + 4 cores completed 1 on n3", "3 0 10 1 GPU + 4 cores completed 1", "4 0 10 1 GPU + 4 cores completed 1 on n4"},
			simple: map[string]int{"bound to its nodes by name, since others ran over several types": 2, "nodes that have it cannot be named": 1, "shares some nodes with a larger one": 1}},
		"parts of GPUs are no CPU jobs": {
			in: rec("1", "COMPLETED", 0, 1, 11, g(1, 1), g(1, 1), "n1") + rec("2", "COMPLETED", 0, 1, 11, "cpu=1,gres/shard=2,node=1", "cpu=1,gres/shard=2,node=1", "n1") +
				rec("3", "COMPLETED", 0, 1, 11, "cpu=1,gres/mps=50,node=1", "cpu=1,node=1", "n1") + rec("4", "COMPLETED", 0, 1, 11, "cpu=1,node=1", "cpu=1,node=1", "n1"),
			jobs: []string{"1 0 10 1 GPU + 4 cores completed 1"}, left: map[string]int{"asks for parts of GPUs": 2, "asks for no GPU": 1}},
		"a first record without a time": {in: strings.Replace(rec("1", "PREEMPTED", 0, 1, 11, g(1, 1), g(1, 1), "n1"), "2026-01-01T00:00:00"+separator+"2026", "soon"+separator+"2026", 1) + rec("1", "COMPLETED", 20, 21, 31, g(1, 1), g(1, 1), "n1"),
			jobs: []string{"1 20 10 1 GPU + 4 cores completed 1"}, left: map[string]int{"submit time not readable": 1}},
		"past the limit": {in: rec("1", "COMPLETED", 0, 1, 7202, g(1, 1), g(1, 1), "n1") + rec("2", "TIMEOUT", 0, 1, 3631, g(1, 1), g(1, 1), "n1"),
			jobs: []string{"1 0 7201 1 GPU + 4 cores completed 1", "2 0 3630 1 GPU + 4 cores timeout 1"}, simple: map[string]int{"longer than its time limit": 1}, limits: []int{121, 60}},
		"suspended": {in: rec("1", "COMPLETED", 0, 1, 1001, g(1, 1), g(1, 1), "n1", "ElapsedRaw=100"),
			jobs: []string{"1 0 100 1 GPU + 4 cores completed 1"}, simple: map[string]int{"was suspended": 1}},
		"a type that is gone": {in: rec("1", "COMPLETED", 0, 1, 11, typed("k80"), g(1, 1), "n1") + rec("2", "COMPLETED", 0, 1, 11, typed("h100"), g(1, 1), "n3"),
			jobs: []string{"1 0 10 1 GPU + 4 cores completed 1", "2 0 10 1 GPU h100 + 4 cores completed 1"}, simple: map[string]int{"a GPU type that no node has": 1}},
		"a partition on a part of the nodes": {in: rec("1", "COMPLETED", 0, 1, 11, g(24, 3), g(24, 3), "n[1-2,4]") + rec("2", "COMPLETED", 0, 20, 30, g(1, 1), g(1, 1), "n4", "Partition=quick") +
			rec("3", "COMPLETED", 0, 20, 30, g(1, 1), g(1, 1), "n4", "Partition=quick", "Constraints=fast") + rec("4", "COMPLETED", 0, 20, 30, g(1, 1), g(1, 1), "n1", "Constraints=fast"),
			jobs:   []string{"1 0 10 3 x 8 GPUs + 4 cores, each on a node of its own completed 1", "2 0 10 1 GPU + 4 cores completed 1 on n3|n4", "3 0 10 1 GPU + 4 cores completed 1 on n3|n4", "4 0 10 1 GPU + 4 cores completed 1 on n1"},
			simple: map[string]int{"shares some nodes with a larger one": 2, "features that no node of its partition has": 1}},
		"more nodes than it asked for": {in: rec("1", "COMPLETED", 0, 1, 11, g(24, 2), g(24, 3), "n[1-2,4]"),
			jobs: []string{"1 0 10 24 GPUs + 12 cores completed 1 span"}, simple: map[string]int{"more GPUs of a node than any has": 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			site := &Site{}
			if err := site.AddNodes("nodes", []byte(strings.Replace(fourNodes, "gpu:h100:8\n   Partitions=gpu", "gpu:h100:8\n   Partitions=gpu,quick", 1)+"NodeName=n4 CPUTot=64 Gres=gpu:a100:8 Partitions=gpu,quick\n")); err != nil {
				t.Fatal(err)
			}
			h, err := gather(t, "sacct", []byte(header+tc.in)).Build(site, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Workload.Check(); err != nil {
				t.Fatal(err)
			}
			var jobs []string
			for i := range h.Workload.Jobs {
				jobs = append(jobs, describe(h, i, 1, false))
			}
			if diff := cmp.Diff(tc.jobs, jobs); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
			for i, m := range tc.limits {
				if got := h.Workload.Jobs[i].Limit; got != int64(m)*workload.Minute {
					t.Errorf("job %d: limit of %d ms, want %d minutes", i, got, m)
				}
			}
			counts(t, "left out", tc.left, h.Report.LeftOut)
			counts(t, "simplified", tc.simple, h.Report.Simplified)
			p, _, err := site.Policy()
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Replay(t.Context(), p, nil); err != nil {
				t.Fatal(err)
			}
			if n := h.Report.Fidelity.Refused; n != 0 {
				t.Errorf("%d jobs that really ran are refused", n)
			}
		})
	}
}

// TestNothingAsked: with jobs without GPUs, one that asks for nothing is no job.
func TestNothingAsked(t *testing.T) {
	in := header + rec("1", "COMPLETED", 0, 1, 11, "mem=4G,node=1", "node=1", "c1") + rec("2", "COMPLETED", 0, 1, 11, "cpu=4,node=1", "cpu=4,node=1", "c1")
	h, err := gather(t, "sacct", []byte(in)).Build(&Site{}, Options{CPUJobs: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Workload.Check(); err != nil || ids(h.Workload) != "2" {
		t.Errorf("jobs %s: %v", ids(h.Workload), err)
	}
	counts(t, "left out", map[string]int{"asks for nothing": 1}, h.Report.LeftOut)
}

// TestSeveralClusters: IDs count from 1 in each cluster, so one is taken.
func TestSeveralClusters(t *testing.T) {
	in := "Cluster" + separator + header
	for _, r := range []struct{ cluster, line string }{
		{"big", rec("1", "COMPLETED", 0, 10, 110, g(1, 1), g(1, 1), "n1")}, {"small", rec("1", "COMPLETED", 500, 600, 3600, g(2, 1), g(2, 1), "s1")},
		{"big", rec("2", "COMPLETED", 0, 10, 110, g(1, 1), g(1, 1), "n1")}, {"", rec("3", "COMPLETED", 0, 10, 110, g(1, 1), g(1, 1), "n1")},
	} {
		in += r.cluster + separator + r.line
	}
	for which, want := range map[string]struct{ jobs, name, left string }{
		"":      {"1 2 3", "big", "1 of small"},
		"big":   {"1 2 3", "big", "1 of small"},
		"small": {"3 1", "small", "1 of big"},
	} {
		h, err := gather(t, "sacct", []byte(in)).Build(&Site{}, Options{Cluster: which})
		if err != nil {
			t.Fatal(err)
		}
		ids := ids(h.Workload)
		if ids != want.jobs || h.Cluster.Name != want.name || len(h.Report.LeftOut) != 1 || h.Report.LeftOut[0].Example != want.left || len(h.Report.Requeues) != 0 {
			t.Errorf("cluster %q: jobs %s of %s, left out %+v", which, ids, h.Cluster.Name, h.Report.LeftOut)
		}
	}
	_, err := gather(t, "sacct", []byte(in)).Build(&Site{}, Options{Cluster: "none"})
	if err == nil || err.Error() != "no record is of cluster none: the accounting is of big, small" {
		t.Error(err)
	}
}

func ids(w *workload.Workload) string {
	var all []string
	for i := range w.Jobs {
		all = append(all, w.Jobs[i].ID)
	}
	return strings.Join(all, " ")
}

// FuzzHistory: whatever the accounting is, what comes of it is a workload and a cluster by their
// own rules, and can be replayed.
func FuzzHistory(f *testing.F) {
	f.Add(lab(f, "sacct.txt"), true)
	f.Add(lab(f, "sacct.json"), false)
	f.Add([]byte(header+rec("1", "COMPLETED", 0, 1, 11, g(24, 2), g(24, 3), "n[1-3]", "Constraints=fast")), true)
	f.Add([]byte(header+rec("7+0", "PREEMPTED", 0, 10, 110, g(1, 1), g(1, 1), "n1", "Partition=debug")+rec("7+1", "COMPLETED", 0, 10, 120, g(4, 1), g(4, 1), "x2")), false)
	f.Fuzz(func(t *testing.T, data []byte, told bool) {
		gath := NewGatherer()
		if _, err := trace.ScanSlurm("f", bytes.NewReader(data), nil, func(r *trace.SlurmRecord) error { gath.Add(r); return nil }); err != nil {
			return
		}
		site := &Site{}
		if told {
			if err := site.AddNodes("nodes", []byte(fourNodes)); err != nil {
				t.Fatal(err)
			}
		}
		h, err := gath.Build(site, Options{Name: "f", CPUJobs: len(data)%2 == 0})
		if err != nil {
			return
		}
		if err := h.Workload.Check(); err != nil {
			t.Fatal(err)
		}
		if err := h.Cluster.Check(); err != nil {
			t.Fatal(err)
		}
		text(t, h.Workload)
		p, _, err := site.Policy()
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Workload.Jobs) > 100 {
			return
		}
		if err := h.Replay(t.Context(), p, nil); err != nil {
			t.Fatal(err)
		}
		h.Anonymize([]byte("a key of enough bytes"), false)
		h.Note()
		if err := h.Workload.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPlacementsOfMixedNodes: which GPUs of a node with several types a run had is not told, and
// follows from what the other nodes gave.
func TestPlacementsOfMixedNodes(t *testing.T) {
	site := &Site{}
	if err := site.AddNodes("nodes", []byte("NodeName=a Gres=gpu:a100:8\nNodeName=h Gres=gpu:h100:8\nNodeName=m Gres=gpu:a100:4,gpu:h100:4\n")); err != nil {
		t.Fatal(err)
	}
	typed := func(a100, h100, nodes int) string {
		return fmt.Sprintf("cpu=4,gres/gpu=%d,gres/gpu:a100=%d,gres/gpu:h100=%d,node=%d", a100+h100, a100, h100, nodes)
	}
	in := header + rec("1", "COMPLETED", 0, 1, 100, typed(6, 6, 3), typed(6, 6, 3), "a,h,m") + rec("2", "COMPLETED", 0, 2, 100, typed(2, 2, 1), typed(2, 2, 1), "m") +
		rec("3", "COMPLETED", 0, 3, 100, "cpu=1,gres/gpu=5,gres/gpu:a100=5,node=1", "cpu=1,gres/gpu=5,gres/gpu:a100=5,node=1", "a")
	h, err := gather(t, "sacct", []byte(in)).Build(site, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := h.Placements()
	if p.Legal != 2 {
		t.Errorf("%+v", p)
	}
	counts(t, "illegal", map[string]int{"its nodes were full": 1}, p.Illegal)
}
