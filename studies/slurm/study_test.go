package main

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/budget"
)

// TestSmall has a day and a queue on a real Slurm, in small.
func TestSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a quarter of a minute")
	}
	if os.Getuid() != 0 {
		t.Skip("accounting needs root")
	}
	for _, tool := range []string{"slurmctld", "slurmd", "slurmdbd", "mariadbd", "munged", "sbatch", "sacct"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	bin := filepath.Join(t.TempDir(), "escala")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/escala-sched/escala/cmd/escala").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	o := &options{bin: bin, out: t.TempDir(), seed: 1, day: 2 * time.Second, load: 0.3, waiting: 10, latency: time.Second, calm: time.Second, shorter: 100}
	jobs := drawDay(o.seed, o.day, o.load, o.shorter)
	out, p := &outcome{name: "escala", states: map[string]int{}}, &phases{waiting: o.waiting}
	err := onBench(func(b *bench) error {
		s, err := newSite(b, shortDay)
		if err != nil {
			return err
		}
		d, err := s.serve(t.Context(), b, bin, shortContract, "--slurm-calls", "200")
		if err != nil {
			return err
		}
		if err := out.through(t.Context(), o, s, d, jobs); err != nil {
			return err
		}
		if out.fidelity, err = fidelity(t.Context(), o, s); err != nil {
			return err
		}
		return p.through(t.Context(), o, s, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := o.simulations(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	o.writeDay(&text, jobs, append([]*outcome{out}, all...))
	p.write(&text)
	for _, w := range []string{"| escala | ", "| simulated: easy, a start takes 1s | ", "How far to believe it", "of the starts were decided", "## 10 waiting jobs", "| nothing happens | 1 | ", "the first job ran after"} {
		if !strings.Contains(text.String(), w) {
			t.Errorf("nothing says %q:\n%s", w, text.String())
		}
	}
	if journal, err := os.ReadFile(filepath.Join(o.out, "escala-journal.jsonl")); err != nil || !bytes.Contains(journal, []byte(`"do":"start"`)) {
		t.Errorf("the journal has no start: %v", err)
	}
}

// TestDay: what is drawn is the same each time, asks for what it should, and has all that the study is about.
func TestDay(t *testing.T) {
	day := 15 * time.Minute
	jobs := drawDay(1, day, 1.2, 1)
	if !reflect.DeepEqual(jobs, drawDay(1, day, 1.2, 1)) || reflect.DeepEqual(jobs, drawDay(2, day, 1.2, 1)) {
		t.Error("the seed does not tell the jobs")
	}
	work, spread, debug := 0.0, 0, 0
	has := map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		if j.at < 0 || j.at > day || i > 0 && j.at < jobs[i-1].at || time.Duration(j.limit)*time.Minute < j.length+20*time.Second || j.all() > nodes*perNode || (j.safe == 0) != (j.account == free) {
			t.Fatalf("job %d: %+v", i, j)
		}
		work += float64(j.all()) * j.length.Seconds()
		has[j.account] = true
		if j.tasks == 2 && j.gpus < perNode {
			spread++
		}
		if j.debug {
			debug++
		}
	}
	if got := work / (nodes * perNode * day.Seconds()); math.Abs(got-1.2) > 0.04 || spread == 0 || debug == 0 || len(has) != len(accounts) {
		t.Errorf("load %.2f, %d jobs of parts of two nodes, %d debug jobs, teams %v", got, spread, debug, has)
	}
}

// TestRecords: each run of a requeued job counts, and no second of it twice.
func TestRecords(t *testing.T) {
	began := time.Unix(1000, 0)
	jobs := []job{{tasks: 1, gpus: 2, account: large, length: 30 * time.Second}, {tasks: 1, gpus: 1, account: middle, length: 5 * time.Second}}
	const text = `7|1000|1020|1040|billing=2,cpu=1,gres/gpu:a100=2,gres/gpu=2|COMPLETED
7|1000|1002|1022|billing=2,gres/gpu=2|REQUEUED
8|1001|Unknown|1003||CANCELLED
8|1003|1003|1008|gres/gpu=1|COMPLETED
9|1000|1001|1002|gres/gpu=1|COMPLETED
`
	records, err := parseRecords([]byte(text), map[string]int{"7": 0, "8": 1})
	if err != nil || len(records) != 4 {
		t.Fatal(records, err)
	}
	runs, err := runsOf(records, jobs, began)
	s := time.Second
	if want := []run{{0, 2 * s, 22 * s}, {1, 3 * s, 8 * s}, {0, 22 * s, 40 * s}}; err != nil || !slices.Equal(runs, want) {
		t.Errorf("%v, %v; want %v", runs, err, want)
	}
	for _, broken := range []string{"7|1000|1002|1022|gres/gpu=3|COMPLETED\n", "7|1000|1002|Unknown|gres/gpu=2|RUNNING\n", "8|1003|1003|1008|gres/gpu=1|COMPLETED\n"} {
		r, err := parseRecords([]byte(broken), map[string]int{"7": 0, "8": 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runsOf(r, jobs, began); err == nil {
			t.Errorf("%q is taken for the accounting of a day that has ended", broken)
		}
	}
	if _, err := parseRecords([]byte("7|1000\n"), nil); err == nil {
		t.Error("a line that was cut is taken")
	}
}

// TestFigures: a job that was stopped once, and one that waited.
func TestFigures(t *testing.T) {
	s := time.Second
	jobs := []job{{tasks: 1, gpus: 64, account: large, length: 30 * s, safe: s}, {tasks: 2, gpus: 4, account: middle, length: 20 * s, safe: s}}
	o := &outcome{submitted: []time.Duration{0, 10 * s}, runs: []run{{0, 0, 20 * s}, {1, 20 * s, 40 * s}, {0, 40 * s, 50 * s}}}
	all := o.figuresOf(jobs, func(*job) bool { return true })
	if all.jobs != 2 || all.waitP90 != 10*s || all.jctMean != 40*s || all.preemptions != 1 || all.slowP50 != 1.5 || all.slow9 != 50.0/30 {
		t.Errorf("%+v", all)
	}
	if got, want := o.occupancy(jobs, 10*s, 40*s), (64.0*10+8*20)/(64*30); math.Abs(got-want) > 1e-9 {
		t.Errorf("occupancy %v, want %v", got, want)
	}
	// Of 50 s, 5,000 s of the day that is compressed: middle asked for 8 GPUs from 10 s on, at first in vain, which is less than its
	// share of 16. Its hours of 36 s: 8 x 26 s and 8 x 4 s are owed, and 8 x 20 s came.
	due := o.owed(jobs, 0, 50*s)
	hours := func(sec float64) float64 { return sec * compressed / 3600 }
	for _, x := range []struct {
		account   int
		owed, got float64
	}{{0, 16 * 50, 64 * 30}, {1, 8 * 30, 8 * 20}, {3, 0, 0}} {
		d := due[x.account]
		if math.Abs(d.Owed.GPUHours()-hours(x.owed)) > 0.01 || math.Abs(d.Charged.GPUHours()-hours(x.got)) > 0.01 {
			t.Errorf("%s: owed %v, charged %v; want %v, %v", accounts[x.account], d.Owed.GPUHours(), d.Charged.GPUHours(), hours(x.owed), hours(x.got))
		}
	}
	if got := budget.Total(due[:2]); math.Abs(got.Delivered.GPUHours()-hours(16*50+8*20)) > 0.01 {
		t.Errorf("delivered %v", got.Delivered.GPUHours())
	}
}

// TestDelays: starts that were Slurm's own, that failed, and that were decided.
func TestDelays(t *testing.T) {
	const journal = `{"escala":"journal","workload":{"epoch_ms":1000000}}
{"t":900,"fact":"submitted","job":0,"spec":{"id":"7"}}
{"t":900,"do":"start","job":0,"try":1,"why":"adopted"}
{"t":1900,"fact":"submitted","job":1,"spec":{"id":"8"}}
{"t":2000,"do":"start","job":1,"try":1,"why":"in-order"}
{"t":2500,"fact":"start-failed","job":1,"try":1}
{"t":3000,"do":"start","job":1,"try":1,"why":"in-order"}
`
	began, ms := time.UnixMilli(1000000), time.Millisecond
	d, err := delaysOf([]byte(journal), map[string]int{"7": 0, "8": 1}, began, []time.Duration{100 * ms, 1000 * ms}, []start{{0, began.Add(500 * ms), 0}, {1, began.Add(4200 * ms), 0}})
	if err != nil || d.adopted != 1 || d.failed != 1 || !slices.Equal(d.seen, []time.Duration{800 * ms, 900 * ms}) || !slices.Equal(d.begun, []time.Duration{1200 * ms}) {
		t.Errorf("%+v, %v", d, err)
	}
}
