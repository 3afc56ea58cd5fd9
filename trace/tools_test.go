package trace

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/workload"
)

func TestAnonymize(t *testing.T) {
	w := sample(t, "workload.jsonl", Options{})
	w.Jobs[0].Need.Nodes = "n1|n2"
	w.Jobs[0].Contract.NotResumable = true
	before := write(t, "escala", w)
	a := Anonymize(w, []byte("key"), true)
	mustHold(t, a)
	text := string(write(t, "escala", a))
	for _, secret := range []string{"ann", "vision", "project", `"a"`, "n1", "demo", "x.csv", "A note"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is still there:\n%s", secret, text)
		}
	}
	if diff := cmp.Diff(string(before), string(write(t, "escala", w))); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
	if a.Jobs[0].Labels["label1"] == "" || a.Jobs[1].After[0].Job != a.Jobs[0].ID {
		t.Errorf("labels or dependencies are lost: %+v %+v", a.Jobs[0].Labels, a.Jobs[1].After)
	}
	if a.Actual[0].Duration != w.Actual[0].Duration || a.Jobs[0].Need.GPUs != 8 || a.Epoch != workload.Unknown {
		t.Error("shape, duration or epoch is wrong")
	}
	if a.Jobs[0].Contract != w.Jobs[0].Contract {
		t.Errorf("the contract is %+v, want %+v", a.Jobs[0].Contract, w.Jobs[0].Contract)
	}
	if again := Anonymize(w, []byte("key"), true); !cmp.Equal(a, again) {
		t.Error("the same key gives other codes")
	}
	if other := Anonymize(w, []byte("other"), true); other.Jobs[0].User == a.Jobs[0].User {
		t.Error("another key gives the same codes")
	}
}

func TestAnonymizeRebase(t *testing.T) {
	w := sample(t, "helios.csv", Options{})
	kept, moved := Anonymize(w, nil, false), Anonymize(w, nil, true)
	if kept.Epoch != w.Epoch || kept.Jobs[0].Submit != w.Jobs[0].Submit {
		t.Error("times moved without being asked")
	}
	by := w.Jobs[0].Submit
	if moved.Jobs[0].Submit != 0 || moved.Jobs[1].Submit != w.Jobs[1].Submit-by || moved.Actual[1].Start != w.Actual[1].Start-by {
		t.Error("times are not rebased to the first submission")
	}
}

func TestGenerate(t *testing.T) {
	o := GenOptions{Jobs: 20_000, Nodes: 128, GPUsPerNode: 8, Load: 0.95, Seed: 7}
	w, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, w)
	again, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(w, again) {
		t.Error("the same seed gives another workload")
	}
	info := Describe(w, 1024)
	if *info.Load < 0.80 || *info.Load > 1.10 {
		t.Errorf("offered load %.3f, want about 0.95", *info.Load)
	}
	if info.Estimates.Given != 20_000 || info.Estimates.Under != 0 {
		t.Errorf("estimates %+v, want all of them, none below the duration", info.Estimates)
	}
	if info.MaxGPUs != 128 || info.Users < 50 || len(info.Teams) != genTeams {
		t.Errorf("max %d GPUs, %d users, %d teams", info.MaxGPUs, info.Users, len(info.Teams))
	}
	var mean float64
	for seed := range uint64(20) {
		w, err := Generate(GenOptions{Jobs: 20_000, Nodes: 128, GPUsPerNode: 8, Load: 0.5, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		mean += *Describe(w, 1024).Load / 20
	}
	if mean < 0.48 || mean > 0.52 {
		t.Errorf("mean load of 20 seeds %.3f, want 0.5", mean)
	}
	for i := 1; i < len(w.Jobs); i++ {
		if w.Jobs[i].Submit <= w.Jobs[i-1].Submit {
			t.Fatal("submissions are not distinct")
		}
	}
	small, err := Generate(GenOptions{Jobs: 2000, Nodes: 2, GPUsPerNode: 4, Load: 1, Seed: 1, MaxGPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := Describe(small, 8).MaxGPUs; got != 2 {
		t.Errorf("at most %d GPUs, want 2", got)
	}
	for _, bad := range []GenOptions{{}, {Jobs: 1}, {Jobs: 1, Nodes: 1, GPUsPerNode: 1}, {Jobs: 1, Nodes: 1, GPUsPerNode: 1, Load: math.NaN()},
		{Jobs: 1, Nodes: 1, GPUsPerNode: 1, Load: 1, MaxGPUs: -1}} {
		if _, err := Generate(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestClippedMean compares the closed form with the mean of the drawn jobs.
func TestClippedMean(t *testing.T) {
	w, err := Generate(GenOptions{Jobs: 200_000, Nodes: 1, GPUsPerNode: 1, Load: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, want := Describe(w, 0).Duration.Mean, clippedMean(genMu(1), genSigma, genMin, genMax)
	if math.Abs(got/want-1) > 0.03 {
		t.Errorf("mean of 200,000 jobs %.1f s, closed form %.1f s", got, want)
	}
}

func TestResample(t *testing.T) {
	w := sample(t, "openb_pods.csv", Options{KeepUnscheduled: true}) // asks for 1000 + 460 + 0 + 8000 milli
	r, err := Resample(w, 10_000, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, r)
	var asked int64
	seen := map[string]bool{}
	for i := range r.Jobs {
		asked += r.Jobs[i].Need.TotalMilli()
		seen[r.Jobs[i].ID] = true
		if r.Jobs[i].Submit != int64(i)*1000 || r.Actual[i].Duration != Forever {
			t.Fatal("not one per second, or not for ever")
		}
	}
	if asked < 30_000 || asked >= 38_000 {
		t.Errorf("asks for %d milli, want 30,000 and at most one job more", asked)
	}
	for i := range w.Jobs {
		if !seen[w.Jobs[i].ID] {
			t.Errorf("%s of the list is missing", w.Jobs[i].ID)
		}
	}
	again, _ := Resample(w, 10_000, 3, 1)
	other, _ := Resample(w, 10_000, 3, 2)
	if !cmp.Equal(r, again) || cmp.Equal(r, other) {
		t.Error("the seed does not decide the order")
	}
	if _, err := Resample(sample(t, "plain.csv", Options{}), 0, 1, 1); err == nil {
		t.Error("a capacity of 0 is taken")
	}
	w.Jobs = w.Jobs[2:3] // CPU only: it would never reach the target
	if _, err := Resample(w, 1000, 1, 1); err == nil {
		t.Error("a list without GPUs is taken")
	}
}

func TestReadOpenbNodes(t *testing.T) {
	const head = "sn,cpu_milli,memory_mib,gpu,model\n"
	spec, err := ReadOpenbNodes("nodes.csv", []byte(head+"a,64000,262144,2,P100\nb,96000,1024,0,\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := spec.Nodes[0]; n.Name != "a" || n.GPUType != "P100" || n.GPUs != 2 || n.CPU != 64000 || n.Memory != 262144 {
		t.Errorf("node %+v", n)
	}
	if !IsOpenbNodes([]byte(head)) || IsOpenbNodes([]byte("nodes:\n- name: a\n")) {
		t.Error("node lists are not told from other clusters")
	}
	bad := map[string]string{
		head:                                     "no nodes in the file",
		head + "a,64000,262144,2\n":              "wrong number of fields",
		head + "a,64000,x,2,P100\n":              "nodes.csv:2: cpu_milli, memory_mib and gpu must be whole numbers",
		head + "a,1,1,2,P100\na,1,1,2,P100\n":    "appears twice",
		head + "a,1,1,65,P100\n":                 "65 GPUs",
		"sn,cpu_milli,memory_mib,gpu\na,1,1,1\n": "column model is missing",
	}
	for data, want := range bad {
		if _, err := ReadOpenbNodes("nodes.csv", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", data, err, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	w := sample(t, "plain.csv", Options{})
	info := Describe(w, 8)
	if info.Jobs != 3 || info.GPUJobs != 3 || info.Span != 30.5 || info.MaxGPUs != 8 || info.Users != 2 {
		t.Errorf("%+v", info)
	}
	hours := (4*600 + 12.25) / 3600
	if math.Abs(info.GPUHours-hours) > 1e-12 || math.Abs(*info.Load-hours*3600/30.5/8) > 1e-12 {
		t.Errorf("%g GPU-hours, load %g", info.GPUHours, *info.Load)
	}
	if e := info.Estimates; e.Given != 1 || e.Over != 1 || math.Abs(e.MedianRatio-600.0/900) > 1e-12 {
		t.Errorf("estimates %+v", e)
	}
	if info.Duration.Median != 12.25 || info.Duration.Max != 600 {
		t.Errorf("duration %+v", info.Duration)
	}
	text, err := json.Marshal(info)
	if err != nil || !strings.Contains(string(text), `"offered_load"`) || strings.Contains(string(text), `null`) {
		t.Errorf("%s %v", text, err)
	}
	if _, err := json.Marshal(Describe(&workload.Workload{Epoch: workload.Unknown}, 8)); err != nil {
		t.Error(err)
	}
}

// TestLocation: naive times are of the zone asked for, hours stay hours of its day.
func TestLocation(t *testing.T) {
	zone := time.FixedZone("UTC+8", 8*3600)
	utc, east := sample(t, "helios.csv", Options{}), sample(t, "helios.csv", Options{Location: zone})
	if utc.Epoch-east.Epoch != 8*workload.Hour {
		t.Errorf("epochs %d and %d, want 8 h between", utc.Epoch, east.Epoch)
	}
	if !cmp.Equal(utc.Jobs, east.Jobs) {
		t.Error("the zone moved the jobs within their day")
	}
}

func TestGPUOnly(t *testing.T) {
	w := sample(t, "helios.csv", Options{GPUOnly: true})
	if dropped(w, causeCPUOnly) != 1 || Describe(w, 0).GPUJobs != len(w.Jobs) {
		t.Errorf("dropped %v of %d jobs", w.Dropped, len(w.Jobs))
	}
}

func TestIDSet(t *testing.T) {
	var s idSet
	var jobs []workload.Job
	for _, tc := range []struct {
		id  string
		new bool
	}{{"9", true}, {"10", true}, {"10", false}, {"9", false}, {"2", true}, {"2", false}, {"11", true}, {"10", false}} {
		if got := s.add(jobs, tc.id); got != tc.new {
			t.Errorf("%s: new %v, want %v", tc.id, got, tc.new)
		}
		if tc.new {
			jobs = append(jobs, workload.Job{ID: tc.id})
		}
	}
}
