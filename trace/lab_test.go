package trace

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/workload"
)

func mustLab(t testing.TB, o LabOptions) (*workload.Workload, []byte) {
	t.Helper()
	w, budgets, err := GenerateLab(o)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, w)
	return w, budgets
}

// labTotals counts jobs and GPU-hours again, from the jobs themselves.
func labTotals(w *workload.Workload) (jobs map[string]int, hours map[string]float64) {
	jobs, hours = map[string]int{}, map[string]float64{}
	for i := range w.Jobs {
		k := w.Jobs[i].Labels["kind"]
		jobs[k]++
		hours[k] += float64(w.Jobs[i].Need.TotalGPUs()) * float64(w.Actual[i].Duration) / float64(workload.Hour)
	}
	return jobs, hours
}

// TestLabRegimes holds loads and counts to the three regimes that the lab is for.
func TestLabRegimes(t *testing.T) {
	for _, tc := range []struct {
		allocated float64
		jobs      int
	}{{0.75, 245_000}, {1.0, 217_000}, {1.7, 138_000}} {
		for seed := range uint64(5) {
			w, _ := mustLab(t, LabOptions{Seed: seed, Allocated: tc.allocated})
			jobs, hours := labTotals(w)
			capacity := 1024.0 * 35 * 24
			allocated := (hours["debug"] + hours["session"] + hours["training"]) / capacity
			offered := allocated + hours["sweep"]/capacity
			if math.Abs(allocated/tc.allocated-1) > 0.03 || math.Abs(offered/2.5-1) > 0.03 {
				t.Errorf("seed %d: allocated %.3f of %g, offered %.3f of 2.5", seed, allocated, tc.allocated, offered)
			}
			if n := len(w.Jobs); math.Abs(float64(n)/float64(tc.jobs)-1) > 0.15 {
				t.Errorf("regime %g, seed %d: %d jobs, want about %d", tc.allocated, seed, n, tc.jobs)
			}
			if math.Abs(float64(jobs["debug"])-45_000) > 20 || jobs["squat"] != 0 {
				t.Errorf("regime %g, seed %d: %v", tc.allocated, seed, jobs)
			}
			if n := float64(jobs["training"]) / tc.allocated; n < 1800 || n > 2800 {
				t.Errorf("regime %g, seed %d: %d trainings, want about 2,200 for each 1.0", tc.allocated, seed, jobs["training"])
			}
		}
	}
}

// TestLabJobs holds every job to what its kind promises.
func TestLabJobs(t *testing.T) {
	for _, o := range []LabOptions{{Seed: 1}, {Seed: 2, CheckpointOnStop: true, Squat: 0.15}, {Seed: 3, GPUs: 88, Days: 7, Allocated: 1.7}} {
		w, _ := mustLab(t, o)
		gpus, last := int32(o.GPUs), workload.Day*35
		if gpus == 0 {
			gpus = 1024
		}
		if o.Days != 0 {
			last = workload.Span(o.Days) * workload.Day
		}
		sizes, capped, trainings := map[int32]int{}, 0, 0
		for i := range w.Jobs {
			j, a := &w.Jobs[i], &w.Actual[i]
			c, size := &j.Contract, j.Need.TotalGPUs()
			ok := c.HasMinRuntime && a.CancelAfter > 0 && a.Duration > 0 && j.Estimate >= a.Duration &&
				size >= 1 && size <= gpus/2 && j.Submit >= 0 && j.Submit < last &&
				j.Labels["team"] == j.Team && strings.HasPrefix(j.Labels["experiment"], j.Team) &&
				j.Labels["legacy-priority"] == []string{"LOW", "NORMAL", "HIGH"}[j.Priority] &&
				(size <= 8) == (j.Need.Tasks == 0)
			stops := c.CheckpointInterval == workload.Hour && c.CheckpointOnStop == o.CheckpointOnStop && (c.Grace > 0) == o.CheckpointOnStop
			switch kind := j.Labels["kind"]; kind {
			case "debug":
				ok = ok && size <= 8 && a.Duration <= workload.Hour && c.MinRuntime > 0 && c.MinRuntime <= 15*workload.Minute && a.CancelAfter == 4*workload.Hour
			case "session":
				ok = ok && j.Kind == workload.KindInteractive && size <= 8 && c.MinRuntime > 0
			case "training":
				lo, hi := workload.Day, 4*workload.Day
				if size > 64 {
					lo, hi = 3*workload.Day, 8*workload.Day
				}
				ok = ok && stops && a.CancelAfter >= lo && a.CancelAfter <= hi && c.MinRuntime >= workload.Hour && c.MinRuntime <= 8*workload.Hour &&
					a.Duration >= 30*workload.Minute && a.Duration <= 14*workload.Day
				trainings++
				sizes[size]++
				if c.MinRuntime == 8*workload.Hour {
					capped++
				}
			case "sweep":
				ok = ok && stops && size <= 8 && c.MinRuntime == 0 && a.CancelAfter >= workload.Day/2 && a.CancelAfter <= 2*workload.Day
			case "squat":
				ok = ok && o.Squat > 0 && j.Labels["squat"] == "yes" && j.Labels["legacy-priority"] == "HIGH"
			default:
				ok = false
			}
			if !ok {
				t.Fatalf("seed %d: not as its kind promises: %+v %+v", o.Seed, *j, *a)
			}
		}
		if o.GPUs != 0 {
			continue
		}
		if part := float64(capped) / float64(trainings); part < 0.36 || part > 0.44 {
			t.Errorf("seed %d: %.2f of the trainings declare the cap, want 0.40", o.Seed, part)
		}
		if sizes[1] == 0 || sizes[512] == 0 || sizes[1]+sizes[8]+sizes[512] > trainings {
			t.Errorf("seed %d: sizes %v", o.Seed, sizes)
		}
		if big := sizes[128] + sizes[256] + sizes[512]; big < 50 || big > 120 {
			t.Errorf("seed %d: %d trainings of more than 64 GPUs, want 50 to 120", o.Seed, big)
		}
	}
}

// TestLabBudgets: the file is accepted, the shares are those promised, and every job
// has a leaf.
func TestLabBudgets(t *testing.T) {
	w, data := mustLab(t, LabOptions{Seed: 1, Squat: 0.1})
	tree, err := budget.Parse("budgets.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if un := tree.CheckWorkload(w); len(un) > 0 {
		t.Errorf("jobs without a leaf: %+v", un)
	}
	people, leaves, programs := map[string]bool{}, 0, 0
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		if n.Depth == 1 {
			programs++
		}
		if !n.Leaf() {
			continue
		}
		leaves++
		for _, u := range n.Users {
			people[u] = true
		}
		share := float64(n.Share) / 1000 // in percent of all, since those of programs are too
		if share < 2 || share > 14 {
			t.Errorf("%s has %g %%, want 2 to 14", n.Path, share)
		}
	}
	if leaves != 15 || programs != 4 || len(people) != 150 || len(tree.Reported) != 15 {
		t.Errorf("%d teams (%d reported) in %d programs, %d people", leaves, len(tree.Reported), programs, len(people))
	}
	var sum int64
	for _, c := range tree.Nodes[0].Children {
		sum += tree.Nodes[c].Share
	}
	if sum != 100_000 {
		t.Errorf("the shares of the programs sum to %d thousandths of a percent", sum)
	}
}

func labBytes(t testing.TB, w *workload.Workload) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeEscala(&b, w); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLabDeterminism: same seed, same bytes; another seed, other bytes.
func TestLabDeterminism(t *testing.T) {
	o := LabOptions{Seed: 7, GPUs: 128, Days: 14}
	w1, b1 := mustLab(t, o)
	w2, b2 := mustLab(t, o)
	if labBytes(t, w1) != labBytes(t, w2) || !bytes.Equal(b1, b2) {
		t.Error("one seed gives two labs")
	}
	o.Seed = 8
	if w3, _ := mustLab(t, o); labBytes(t, w1) == labBytes(t, w3) {
		t.Error("two seeds give one lab")
	}
}

// TestLabKnobs: one knob leaves what it does not concern as it was.
func TestLabKnobs(t *testing.T) {
	type pair struct {
		j workload.Job
		a workload.Actual
	}
	byID := func(o LabOptions) map[string]pair {
		o.Seed, o.GPUs = 5, 256
		w, _ := mustLab(t, o)
		m := make(map[string]pair, len(w.Jobs))
		for i := range w.Jobs {
			m[w.Jobs[i].ID] = pair{w.Jobs[i], w.Actual[i]}
		}
		return m
	}
	base := byID(LabOptions{Allocated: 0.75, Offered: 2.25})
	// differ counts the jobs of base that are not the same in a lab, by kind.
	differ := func(o LabOptions) map[string]int {
		other, n := byID(o), map[string]int{}
		for id, p := range base {
			q, ok := other[id]
			if !ok || !reflect.DeepEqual(p, q) {
				n[p.j.Labels["kind"]]++
			}
		}
		return n
	}
	for name, tc := range map[string]struct {
		o    LabOptions
		most map[string]int
	}{
		// The same 1.5 of sweeps; the last training of each team was cut.
		"more allocated":   {LabOptions{Allocated: 1.7, Offered: 3.2}, map[string]int{"training": 15}},
		"more sweeps":      {LabOptions{Allocated: 0.75, Offered: 3}, map[string]int{"sweep": 15}},
		"squatters":        {LabOptions{Allocated: 0.75, Offered: 2.25, Squat: 0.15}, nil},
		"nobody is bursty": {LabOptions{Allocated: 0.75, Offered: 2.25, BurstyTeams: -1}, map[string]int{"debug": math.MaxInt, "session": math.MaxInt, "training": math.MaxInt}},
	} {
		for kind, n := range differ(tc.o) {
			if n > tc.most[kind] {
				t.Errorf("%s changes %d jobs of kind %s, want at most %d", name, n, kind, tc.most[kind])
			}
		}
	}
	// Bursts move submissions and nothing else; ten teams have none in either.
	calm, moved := byID(LabOptions{Allocated: 0.75, Offered: 2.25, BurstyTeams: -1}), map[string]bool{}
	for id, p := range base {
		q := calm[id]
		if q.j.Submit != p.j.Submit {
			moved[p.j.Team] = true
			q.j.Submit = p.j.Submit
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("bursts change more than the time of %s:\n%s", id, cmp.Diff(p.j, q.j)+cmp.Diff(p.a, q.a))
		}
	}
	if len(moved) != 5 {
		t.Errorf("%d teams are bursty, want 5", len(moved))
	}
}

// TestLabBursts: half of what a bursty team submits comes on few days; other teams
// follow the week.
func TestLabBursts(t *testing.T) {
	w, _ := mustLab(t, LabOptions{Seed: 1})
	perDay := map[string][]int{}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if j.Labels["kind"] != "debug" {
			continue
		}
		if perDay[j.Team] == nil {
			perDay[j.Team] = make([]int, 35)
		}
		perDay[j.Team][j.Submit/workload.Day]++
	}
	bursty := 0
	for _, days := range perDay {
		total := 0
		for _, n := range days {
			total += n
		}
		slices.Sort(days)
		top := 0
		for _, n := range days[25:] {
			top += n
		}
		if float64(top) > 0.7*float64(total) {
			bursty++
		}
	}
	if bursty != 5 {
		t.Errorf("%d teams submit 70 %% of their debug jobs on ten days, want 5", bursty)
	}
}

// TestLabGolden holds the generator to bytes that were once looked at: each hundredth line.
func TestLabGolden(t *testing.T) {
	w, budgets := mustLab(t, LabOptions{Seed: 1, GPUs: 88, Days: 7, Offered: 1.2, Squat: 0.1})
	text := labBytes(t, w)
	var got string
	for i, line := range strings.SplitAfter(text, "\n") {
		if i%50 == 0 {
			got += line
		}
	}
	got += string(budgets)
	golden := filepath.Join("testdata", "golden", "lab.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", golden, diff)
	}
	back, err := ReadBytes("lab.jsonl", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Jobs, back.Jobs) + cmp.Diff(w.Actual, back.Actual); diff != "" {
		t.Errorf("does not read back (-want +got):\n%s", diff)
	}
}

// TestLabAnySize: labs of all sizes hold together.
func TestLabAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.IntRange(1, 16).Draw(t, "per node")
		o := LabOptions{
			Seed: rapid.Uint64().Draw(t, "seed"), Days: rapid.IntRange(1, 20).Draw(t, "days"),
			GPUsPerNode: per, GPUs: per * rapid.IntRange((8+per-1)/per, 20).Draw(t, "nodes"),
			Allocated: rapid.Float64Range(0.01, 3).Draw(t, "allocated"), Teams: rapid.IntRange(1, 40).Draw(t, "teams"),
			Squat: rapid.Float64Range(0, 1).Draw(t, "squat"), BurstyTeams: -1,
		}
		o.Offered = o.Allocated + rapid.Float64Range(0, 2).Draw(t, "more")
		o.Programs = rapid.IntRange(1, o.Teams).Draw(t, "programs")
		o.Researchers = o.Teams + rapid.IntRange(0, 50).Draw(t, "more people")
		w, data, err := GenerateLab(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		tree, err := budget.Parse("budgets.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		if un := tree.CheckWorkload(w); len(un) > 0 {
			t.Fatalf("jobs without a leaf: %+v", un)
		}
		for i := range w.Jobs {
			if n := w.Jobs[i].Need.TotalGPUs(); n < 1 || int(n) > max(o.GPUs/2, 8) {
				t.Fatalf("a job of %d GPUs on %d", n, o.GPUs)
			}
		}
	})
}

func TestLabRefuses(t *testing.T) {
	for want, o := range map[string]LabOptions{
		"days; want":                 {Days: -1},
		"in whole nodes":             {GPUs: 100},
		"want at least 8":            {GPUs: 4, GPUsPerNode: 4},
		"allocated <= offered":       {Allocated: 3},
		"allocated work of NaN":      {Allocated: math.NaN()},
		"are too much":               {GPUs: 8_000_000, Days: 3660},
		"want 1 to 200":              {Teams: 201},
		"programs; want":             {Programs: 16},
		"at least one for each":      {Researchers: 10},
		"at most the number of team": {BurstyTeams: 16},
		"squatters on":               {Squat: -1},
	} {
		if _, _, err := GenerateLab(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

// BenchmarkGenerateLab makes the lab of regime 1.0 at full size.
func BenchmarkGenerateLab(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		w, _, err := GenerateLab(LabOptions{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(w.Jobs)), "jobs")
	}
}
