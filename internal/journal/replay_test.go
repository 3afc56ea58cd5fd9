package journal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestVerify decides again under every shipped policy that the cluster can serve.
func TestVerify(t *testing.T) {
	costly := sim.Assumptions{Checkpoint: 2 * workload.Minute, RestartCost: 20 * workload.Second, Grace: 15 * workload.Second, StartLatency: 3 * workload.Second}
	worlds := map[string]sim.Options{
		"pool":     {Workload: someJobs(1, 200, false), Cluster: &cluster.Spec{Name: "pool:40", Count: 40}},
		"nodes":    {Workload: someJobs(2, 200, true), Cluster: lab(false)},
		"outages":  {Workload: someJobs(3, 200, true), Cluster: lab(true), Assume: costly},
		"failures": {Workload: someJobs(4, 200, false), Cluster: lab(false), Faults: sim.Faults{MTBF: 20 * workload.Minute, MTTR: 5 * workload.Minute, Seed: 7}},
		"services": {Workload: withServices(someJobs(6, 100, true)), Cluster: lab(true)},
		"cut":      {Workload: someJobs(5, 200, true), Cluster: lab(true), Until: 30 * workload.Minute, Assume: sim.Assumptions{Grace: workload.Minute}},
	}
	refs := append(policy.Names(), "easy@helios", "srsf@helios", "conservative@helios", "sjf@given")
	for name, o := range worlds {
		for _, ref := range refs {
			t.Run(name+"/"+ref, func(t *testing.T) {
				o.Policy = shipped(t, ref)
				if !suits(o.Policy, o.Cluster) {
					t.Skip("needs nodes")
				}
				data, hash := record(t, o)
				again, _ := record(t, o)
				if !bytes.Equal(data, again) {
					t.Error("a second run writes another journal")
				}
				r := reader(t, data)
				got, err := Replay(r, true)
				if err != nil {
					t.Fatal(err)
				}
				if r.Hash() != hash {
					t.Error("reader and writer disagree on the hash")
				}
				folded, err := Replay(reader(t, data), false)
				if err != nil {
					t.Fatal(err)
				}
				if got.Facts != folded.Facts || got.Actions != folded.Actions || got.Engine.Gauge() != folded.Engine.Gauge() {
					t.Errorf("folding gives %+v, deciding again %+v", folded.Engine.Gauge(), got.Engine.Gauge())
				}
			})
		}
	}
}

// TestFoldThenDecide folds the first half of a journal without deciding, as a
// restart does, and holds that decisions go on as if nothing had happened.
func TestFoldThenDecide(t *testing.T) {
	seeds := 3
	for _, ref := range append(policy.Names(), "easy@helios", "conservative@helios", "easy-per-event@helios", "multifactor@helios") {
		t.Run(ref, func(t *testing.T) {
			for seed := range uint64(seeds) {
				o := sim.Options{Workload: someJobs(seed, 200, true), Cluster: lab(true), Policy: shipped(t, ref)}
				// After a fold the engine looks at everything once more, at a point at which a
				// per-event run may have had nothing to look at: an extra promise can come of it.
				if seed%2 == 1 && !o.Policy.PerEvent {
					o.Assume = sim.Assumptions{Grace: 20 * workload.Second, StartLatency: 5 * workload.Second}
					o.Faults = sim.Faults{MTBF: 20 * workload.Minute, MTTR: 5 * workload.Minute, Seed: seed}
				}
				data, _ := record(t, o)
				foldThenDecide(t, data)
			}
		})
	}
}

// foldThenDecide folds the first half of a journal and decides the second again.
func foldThenDecide(t *testing.T, data []byte) {
	t.Helper()
	r := reader(t, data)
	p, err := newReplay(r)
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.Count(data, []byte("\n")) / 2
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !p.verify && e.Line > half && e.At > p.out.Now {
			if err := p.end(e.Line, e.Raw); err != nil {
				t.Fatal(err)
			}
			p.verify, p.due = true, false
		}
		if err := p.entry(e); err != nil {
			t.Fatal(err)
		}
	}
	if p.out.Decisions == 0 {
		t.Error("nothing was decided again")
	}
}

// TestEditsAreFound edits a journal in many ways: replay must name the very line.
func TestEditsAreFound(t *testing.T) {
	data, _ := record(t, sim.Options{Workload: someJobs(2, 120, true), Cluster: lab(true), Policy: shipped(t, "priority"),
		Assume: sim.Assumptions{Grace: 30 * workload.Second}})
	lines := bytes.SplitAfter(data, []byte("\n"))
	tests := map[string]struct{ find, from, to string }{
		"another GPU":     {`"do":"start"`, `"place":[[`, `"place":[[1`},
		"another job":     {`"do":"start"`, `"job":`, `"job":1`},
		"another victim":  {`"do":"stop"`, `"for":`, `"for":1`},
		"another reason":  {`"do":"start"`, `"why":"in-order"`, `"why":"skipped"`},
		"another attempt": {`"do":"start"`, `"try":`, `"try":1`},
		"no start":        {`"do":"start"`, "", ""},
		"no stop":         {`"do":"stop"`, "", ""},
		"no hold":         {`"do":"hold"`, "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			edits := 0
			for i := 1; i < len(lines); i++ {
				if !bytes.Contains(lines[i], []byte(tc.find)) || !bytes.Contains(lines[i], []byte(tc.from)) {
					continue
				}
				edits++
				edited := append([][]byte{}, lines...)
				edited[i] = bytes.Replace(lines[i], []byte(tc.from), []byte(tc.to), 1)
				if tc.from == "" {
					edited[i] = nil
				}
				_, err := Replay(reader(t, bytes.Join(edited, nil)), true)
				var line int
				var diff *Difference
				var bad *Error
				switch {
				case errors.As(err, &diff):
					line = diff.Line
				case errors.As(err, &bad): // a number that means nothing is found on reading
					line = bad.Line
				}
				if line != i+1 {
					t.Fatalf("line %d edited, replay says %v", i+1, err)
				}
			}
			if edits == 0 {
				t.Error("the journal has no such line")
			}
		})
	}
}

// A start that was unallocated is another one than a charged one.
func TestUnallocatedIsCompared(t *testing.T) {
	data, _ := record(t, sim.Options{Workload: someJobs(2, 120, true), Cluster: lab(false), Policy: shipped(t, "contract")})
	const mark = `,"unalloc":true`
	at := bytes.Index(data, []byte(mark))
	if at < 0 {
		t.Fatal("the journal has no unallocated start")
	}
	edited := bytes.Replace(data, []byte(mark), nil, 1)
	_, err := Replay(reader(t, edited), true)
	var diff *Difference
	if want := bytes.Count(data[:at], []byte("\n")) + 1; !errors.As(err, &diff) || diff.Line != want || !strings.Contains(diff.Decided, mark) {
		t.Errorf("%v, want a difference at line %d", err, want)
	}
}

func TestDifferenceShowsBoth(t *testing.T) {
	data, _ := record(t, sim.Options{Workload: someJobs(2, 10, false), Cluster: lab(false), Policy: shipped(t, "fifo")})
	data = bytes.Replace(data, []byte(`"why":"in-order"`), []byte(`"why":"skipped"`), 1)
	_, err := Replay(reader(t, data), true)
	for _, want := range []string{"run.jsonl:3: decided otherwise", `"why":"skipped"`, `"why":"in-order"`, "written by escala test"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %s", err, want)
		}
	}
}

func TestReplayRefusesWhatTheEngineDoes(t *testing.T) {
	data, _ := record(t, sim.Options{Workload: someJobs(2, 10, false), Cluster: lab(false), Policy: shipped(t, "fifo")})
	lines := bytes.SplitAfter(data, []byte("\n"))
	i := 1
	for !bytes.Contains(lines[i], []byte(`"started"`)) {
		i++
	}
	twice := append(append(append([][]byte{}, lines[:i+1]...), lines[i]), lines[i+1:]...)
	_, err := Replay(reader(t, bytes.Join(twice, nil)), false)
	var bad *Error
	if !errors.As(err, &bad) || bad.Line != i+2 {
		t.Errorf("a doubled fact gives %v, want an error at line %d", err, i+2)
	}
}
