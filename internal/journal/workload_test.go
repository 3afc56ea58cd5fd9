package journal

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestJournalIsATrace simulates, reads the journal as a workload, and simulates
// that under the same policy: it must come to the same.
func TestJournalIsATrace(t *testing.T) {
	w := someJobs(11, 200, false)
	for i := range w.Jobs {
		w.Jobs[i].After, w.Jobs[i].Limit, w.Actual[i].CancelAfter = nil, 0, 0
		w.Jobs[i].Contract.NotResumable = false // such a job would be left out once it is stopped
	}
	o := sim.Options{Workload: w, Cluster: lab(true), Policy: shipped(t, "srsf"), Assume: sim.Assumptions{Checkpoint: workload.Minute, Grace: workload.Second}}
	data, _ := record(t, o)
	got, spec, err := ToWorkload(reader(t, data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Jobs, got.Jobs); diff != "" {
		t.Errorf("jobs (-want,+got):\n%s", diff)
	}
	for i := range w.Actual {
		if a, b := w.Actual[i], got.Actual[i]; a.Duration != b.Duration || a.Outcome != b.Outcome {
			t.Errorf("job %d: %+v, want %+v", i, b, a)
		}
	}
	res, err := sim.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Workload, o.Cluster = got, spec
	again, err := sim.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res.Jobs, again.Jobs); diff != "" {
		t.Errorf("second simulation (-want,+got):\n%s", diff)
	}
	for i := range res.Jobs {
		if got.Actual[i].Start != res.Jobs[i].FirstStart || got.Actual[i].End != res.Jobs[i].Finish {
			t.Errorf("job %d: recorded %d to %d, want %d to %d", i, got.Actual[i].Start, got.Actual[i].End, res.Jobs[i].FirstStart, res.Jobs[i].Finish)
		}
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	lines := []string{
		`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":5,"gpus":1,"after":[{"job":"a"},{"job":"d"}]}}`,
		`{"t":10,"fact":"submitted","job":2,"spec":{"id":"c","submit_ms":10,"gpus":1}}`,
		`{"t":10,"fact":"submitted","job":3,"spec":{"id":"d","submit_ms":10,"gpus":1}}`,
		`{"t":10,"fact":"submitted","job":4,"spec":{"id":"e","submit_ms":10,"gpus":1}}`,
		`{"t":10,"fact":"submitted","job":5,"spec":{"id":"f","submit_ms":10,"gpus":1}}`,
		`{"t":10,"fact":"submitted","job":6,"spec":{"id":"g","submit_ms":10,"gpus":1}}`,
		`{"t":10,"fact":"submitted","job":7,"spec":{"id":"h","submit_ms":10,"gpus":1}}`,
		`{"t":10,"fact":"submitted","job":8,"spec":{"id":"i","submit_ms":10,"gpus":1,"contract":{"resumable":false}}}`,
		`{"t":10,"do":"refuse","job":5,"why":"never-fits"}`,
		`{"t":10,"do":"refuse","job":6,"why":"dependency-failed"}`,
		`{"t":11,"fact":"started","job":1,"try":1}`,
		`{"t":11,"fact":"started","job":2,"try":1}`,
		`{"t":11,"fact":"started","job":4,"try":1}`,
		`{"t":11,"fact":"started","job":7,"try":1}`,
		`{"t":11,"fact":"started","job":8,"try":1}`,
		`{"t":12,"fact":"cancelled","job":3}`,
		`{"t":12,"fact":"cancelled","job":4}`,
		`{"t":14,"fact":"stopped","job":4,"try":1,"cause":"cancelled","kept":2,"lost":1}`,
		`{"t":15,"fact":"finished","job":1,"try":1,"outcome":"failed","kept":4}`,
		`{"t":16,"fact":"stopped","job":7,"try":1,"cause":"preempted","kept":2}`,
		`{"t":16,"fact":"stopped","job":8,"try":1,"cause":"preempted","kept":2}`,
	}
	w, _, err := ToWorkload(reader(t, []byte(head(t)+strings.Join(lines, "\n")+"\n")))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 2 || w.Jobs[0].ID != "b" || w.Jobs[1].ID != "e" || len(w.Jobs[0].After) != 0 {
		t.Errorf("jobs %+v; want b without dependencies, then e", w.Jobs)
	}
	want := []workload.Actual{{Duration: 4, Outcome: workload.OutcomeFailed, Start: 11, End: 15}, {Duration: 3, Outcome: workload.OutcomeCancelled, Start: 11, End: 14}}
	if diff := cmp.Diff(want, w.Actual); diff != "" {
		t.Errorf("actual (-want,+got):\n%s", diff)
	}
	wantDropped := []workload.Dropped{{Cause: string(waits), Count: 1, First: "run.jsonl:2"}, {Cause: string(runs), Count: 1, First: "run.jsonl:4"},
		{Cause: string(withdrawn), Count: 1, First: "run.jsonl:5"}, {Cause: string(neverFits), Count: 1, First: "run.jsonl:7"},
		{Cause: string(neverReady), Count: 1, First: "run.jsonl:8"}, {Cause: string(requeued), Count: 1, First: "run.jsonl:9"},
		{Cause: string(preempted), Count: 1, First: "run.jsonl:10"}}
	if diff := cmp.Diff(wantDropped, w.Dropped); diff != "" {
		t.Errorf("dropped (-want,+got):\n%s", diff)
	}
	if w.Rows != 9 || len(w.Notes) != 1 {
		t.Errorf("rows %d, notes %q", w.Rows, w.Notes)
	}
}

// TestServicesComeBack: an application's life, and what it really needed, are those of
// the run; what it needed as declared needs no word.
func TestServicesComeBack(t *testing.T) {
	for _, ref := range []string{"fifo", "easy-per-event", "priority"} {
		w := withServices(&workload.Workload{Name: "w", Epoch: workload.Unknown})
		data, _ := record(t, sim.Options{Workload: w, Cluster: cluster.Uniform("1x8", 1, 8), Policy: shipped(t, ref)})
		got, _, err := ToWorkload(reader(t, data))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.Jobs, got.Jobs); diff != "" {
			t.Errorf("%s: jobs (-want,+got):\n%s", ref, diff)
		}
		for i := range w.Actual {
			a, b := &w.Actual[i], &got.Actual[i]
			if a.Duration != b.Duration || (a.Demand == nil) != (b.Demand == nil) {
				t.Errorf("%s: %s: %+v, want %+v", ref, w.Jobs[i].ID, b, a)
			}
			for at := w.Jobs[i].Submit; a.Demand != nil && at < b.End; at += 10 * workload.Second {
				if want, have := a.Demand.At(at), b.Demand.At(at); want != have {
					t.Fatalf("%s: %s needs %d at %d, and comes back with %d", ref, w.Jobs[i].ID, want, at, have)
				}
			}
		}
	}
}

func TestDemandOfFacts(t *testing.T) {
	declared := workload.Curve{Step: 10, Values: []int32{1, 2, 2, 1}}
	for name, tc := range map[string]struct {
		told told
		end  workload.Time
		want *workload.Curve
		odd  bool
	}{
		"nothing told":  {end: 40},
		"as declared":   {told: told{{0, 1}, {10, 2}, {30, 1}}, end: 40},
		"ends before":   {told: told{{0, 1}, {10, 2}}, end: 30},
		"stays":         {told: told{{0, 1}, {10, 2}}, end: 40, want: &workload.Curve{Step: 10, Values: []int32{1, 2}}},
		"one":           {told: told{{5, 9}}, end: 40, want: &workload.Curve{Start: 5, Step: 10, Values: []int32{9}}},
		"odd times":     {told: told{{4, 1}, {10, 3}, {19, 0}}, end: 40, want: &workload.Curve{Start: 4, Step: 3, Values: []int32{1, 1, 3, 3, 3, 0}}},
		"told twice":    {told: told{{4, 1}, {4, 2}, {6, 3}}, end: 40, want: &workload.Curve{Start: 4, Step: 2, Values: []int32{2, 3}}},
		"no step there": {told: told{{0, 1}, {1, 3}, {mostValues, 0}}, end: 2 * mostValues, odd: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.told.curve(&declared, tc.end)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok == tc.odd {
				t.Errorf("%v (-want,+got):\n%s", ok, diff)
			}
		})
	}
}

// TestTakenDownWhileItWaits: an application that never came up has its life all the same.
func TestTakenDownWhileItWaits(t *testing.T) {
	lines := []string{
		`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":10,"tasks":9,"gpus":1,"service":{"demand":{"step_ms":5,"gpus":[9]}}}}`,
		`{"t":10,"fact":"demand","job":1,"gpus":9}`,
		`{"t":25,"fact":"cancelled","job":1}`,
	}
	w, _, err := ToWorkload(reader(t, []byte(head(t)+strings.Join(lines, "\n")+"\n")))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 1 || w.Actual[0].Duration != 15 || w.Actual[0].Start != workload.Unknown {
		t.Errorf("%+v", w.Actual)
	}
}

// TestObservedRunsAreTheTrace: what another scheduler really did goes before what shadow made up.
func TestObservedRunsAreTheTrace(t *testing.T) {
	text := head(t) + `{"t":11,"do":"start","job":0,"try":1,"gpus":1,"place":[[0,"1"]],"why":"in-order"}
{"t":11,"fact":"started","job":0,"try":1}
{"t":12,"fact":"observed","job":0,"since":2,"text":"n7"}
{"t":20,"fact":"finished","job":0,"try":1,"kept":9}
{"t":40,"fact":"observed","job":0,"since":15,"until":40,"outcome":"failed","exit":1}
`
	w, _, err := ToWorkload(reader(t, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]workload.Actual{{Duration: 25, Start: 15, End: 40, Outcome: workload.OutcomeFailed}}, w.Actual); diff != "" {
		t.Errorf("(-want,+got):\n%s", diff)
	}
}
