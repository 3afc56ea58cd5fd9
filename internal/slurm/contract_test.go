package slurm

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/workload"
)

// said is what terms make of a job of nobody's.
func said(t Terms) workload.Job {
	j := workload.Job{Team: "account"}
	t.Apply(&j)
	return j
}

func TestContract(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   func(j workload.Job, s Signal) bool
	}{
		{"", func(j workload.Job, _ Signal) bool { return j.Contract == workload.Contract{} && j.Team == "account" }},
		{"my run", func(j workload.Job, _ Signal) bool { return j.Contract == workload.Contract{} }},
		{"escala:min-runtime=2h,checkpoint-interval=30m,resumable=no", func(j workload.Job, _ Signal) bool {
			return j.Contract == workload.Contract{HasMinRuntime: true, MinRuntime: 7_200_000, CheckpointInterval: 1_800_000, NotResumable: true}
		}},
		{"run 7 escala:min-runtime=0,team=vision and more", func(j workload.Job, _ Signal) bool {
			return j.Contract == workload.Contract{HasMinRuntime: true} && j.Team == "vision"
		}},
		{"notescala:min-runtime=2h", func(j workload.Job, _ Signal) bool { return j.Contract == workload.Contract{} }},
		{"escala:checkpoint-on-stop,resumable=no,estimate=4h\nnext line", func(j workload.Job, _ Signal) bool {
			return j.Contract == workload.Contract{CheckpointOnStop: true, NotResumable: true} && j.Estimate == 14_400_000
		}},
		{"escala:restart-cost=90s", func(j workload.Job, _ Signal) bool { return j.Contract == workload.Contract{RestartCost: 90_000} }},
		{"escala:signal=B:USR1@90", func(j workload.Job, s Signal) bool {
			return s == Signal{Name: "USR1", Batch: true, Before: 90 * time.Second} && j.Contract == workload.Contract{Grace: 90_000}
		}},
		{"escala:signal=10,grace=5s", func(j workload.Job, s Signal) bool {
			return s == Signal{Name: "10", Before: time.Minute} && j.Contract == workload.Contract{Grace: 5000}
		}},
	} {
		got, err := ParseContract(c.text)
		if err != nil || !c.ok(said(got), got.Signal()) {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
	}
}

// TestContractCases: what is taken and what is not; the plugin for Slurm is held to the same file.
func TestContractCases(t *testing.T) {
	data, err := os.ReadFile("testdata/contracts.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		verdict, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		n++
		got, err := ParseContract(text)
		if (err == nil) != (verdict == "ok") {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && got != (Terms{}) {
			t.Errorf("%q: half of it was taken", text)
		}
	}
	if n < 50 {
		t.Errorf("%d cases", n)
	}
}

func FuzzContract(f *testing.F) {
	f.Add("escala:min-runtime=2h")
	f.Add("x escala:signal=B:USR1@90,grace=1m,team=a y")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseContract(text)
		if err != nil && got != (Terms{}) {
			t.Errorf("%q: half of it was taken", text)
		}
		if c := said(got).Contract; c.MinRuntime < 0 || c.Grace < 0 || c.RestartCost < 0 || c.CheckpointInterval < 0 {
			t.Errorf("%q: %+v", text, c)
		}
		if got.Or(got) != got || got.Or(Terms{}) != got || (Terms{}).Or(got) != got {
			t.Errorf("%q: joined with itself or nothing it is another one", text)
		}
	})
}
