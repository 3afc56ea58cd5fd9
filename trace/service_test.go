package trace

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/workload"
)

// anyCurve draws a curve that the format can hold.
func anyCurve(t *rapid.T, name string) workload.Curve {
	return workload.Curve{
		Start: rapid.Int64Range(-1e9, 1e9).Draw(t, name+" start"), Step: rapid.Int64Range(1, 1e9).Draw(t, name+" step"),
		Values: rapid.SliceOfN(rapid.Int32Range(0, 100), 1, 40).Draw(t, name+" values"), Repeat: rapid.Bool().Draw(t, name+" repeat"),
	}
}

func anyService(t *rapid.T) (workload.Job, workload.Actual) {
	s := &workload.Service{Demand: anyCurve(t, "demand"), Penalty: rapid.Int64Range(0, 1e15).Draw(t, "penalty")}
	s.Demand.Values[0]++ // above 0 at some time
	if rapid.Bool().Draw(t, "has min") {
		s.Min = anyCurve(t, "min")
	}
	if rapid.Bool().Draw(t, "has max") {
		s.Max = anyCurve(t, "max")
	}
	if rapid.Bool().Draw(t, "has swaps") {
		s.Swaps, s.SwapEvery = rapid.Int32Range(1, 100).Draw(t, "swaps"), rapid.Int64Range(1, 1e9).Draw(t, "every")
	}
	j := workload.Job{ID: "s", Kind: workload.KindRealtime, Need: workload.Need{Tasks: 101, GPUs: 1}, Service: s}
	a := workload.Actual{Duration: rapid.Int64Range(0, 1e10).Draw(t, "life"), Start: workload.Unknown, End: workload.Unknown}
	if rapid.Bool().Draw(t, "has actual") {
		c := anyCurve(t, "actual")
		a.Demand = &c
	}
	return j, a
}

// TestServicesRoundTrip: every service comes back as it was, and writing it again gives
// the same bytes.
func TestServicesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, a := anyService(t)
		w := &workload.Workload{Name: "w", Source: "s", Epoch: workload.Unknown, Rows: 1, Jobs: []workload.Job{j}, Actual: []workload.Actual{a}}
		var out, again bytes.Buffer
		if err := writeEscala(&out, w); err != nil {
			t.Fatal(err)
		}
		back, err := ReadBytes("again.jsonl", out.Bytes(), Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if diff := cmp.Diff(w.Jobs, back.Jobs) + cmp.Diff(w.Actual, back.Actual); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		back.Hash, back.Format = "", ""
		if err := writeEscala(&again, back); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Fatalf("%v\n%s\nand then\n%s", err, out.Bytes(), again.Bytes())
		}
	})
}

// TestShiftMovesCurves: what an application needs at a time, it needs at the time moved.
func TestShiftMovesCurves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j, a := anyService(t)
		w := &workload.Workload{Jobs: []workload.Job{j}, Actual: []workload.Actual{a}}
		by := rapid.Int64Range(-1e10, 1e10).Draw(t, "by")
		Shift(w, by)
		moved, really := w.Jobs[0].Service, w.Actual[0].Demand
		for range 20 {
			at := rapid.Int64Range(-1e11, 1e11).Draw(t, "at")
			same := j.Service.Demand.At(at) == moved.Demand.At(at+by) && j.Service.Min.At(at) == moved.Min.At(at+by) && j.Service.Max.At(at) == moved.Max.At(at+by)
			if !same || a.Demand != nil && a.Demand.At(at) != really.At(at+by) {
				t.Fatalf("%d is not what %d was", at+by, at)
			}
		}
		if len(moved.Min.Values) == 0 && moved.Min.Start != 0 || moved.Swaps != j.Service.Swaps || moved.Penalty != j.Service.Penalty {
			t.Fatalf("%+v", moved)
		}
		Shift(w, -by)
		if diff := cmp.Diff(&workload.Workload{Jobs: []workload.Job{j}, Actual: []workload.Actual{a}}, w); diff != "" {
			t.Fatalf("there and back (-want,+got):\n%s", diff)
		}
	})
}

// TestAnonymizeMovesCurves: the clock of a demand goes with that of the jobs, and the
// original stays as it was.
func TestAnonymizeMovesCurves(t *testing.T) {
	w := sample(t, "services.jsonl", Options{})
	Shift(w, workload.Day)
	before := write(t, "escala", w)
	a := Anonymize(w, []byte("key"), true)
	mustHold(t, a)
	if !bytes.Equal(before, write(t, "escala", w)) {
		t.Error("the original was changed")
	}
	want := sample(t, "services.jsonl", Options{})
	for i := range a.Jobs {
		if diff := cmp.Diff(want.Jobs[i].Service, a.Jobs[i].Service) + cmp.Diff(want.Actual[i].Demand, a.Actual[i].Demand); diff != "" {
			t.Errorf("%d (-want,+got):\n%s", i, diff)
		}
	}
	if kept := Anonymize(w, []byte("key"), false); kept.Jobs[0].Service.Demand.Start != workload.Day-workload.Hour {
		t.Errorf("times moved without being asked: %+v", kept.Jobs[0].Service)
	}
	if text := string(write(t, "escala", a)); strings.Contains(text, "chat") || strings.Contains(text, "serving") {
		t.Errorf("names are still there:\n%s", text)
	}
}

func TestResampleRefusesServices(t *testing.T) {
	_, err := Resample(sample(t, "services.jsonl", Options{}), 8000, 1, 1)
	if err == nil || !strings.Contains(err.Error(), `job "chat" is a real-time application`) {
		t.Errorf("got %v", err)
	}
}

func TestDescribeServices(t *testing.T) {
	got := Describe(sample(t, "services.jsonl", Options{}), 0).Services
	want := []ServiceInfo{
		// 2 x 3, 9, 0, then 2 for 22 hours, each half an hour or as said.
		{Name: "chat", Span: 86400, Peak: 9, Mean: (3 + 4.5 + 0 + 2*22) / 24, GPUHours: 3 + 4.5 + 2*22, HeldGPUHours: 9 * 24},
		{Name: "search", Span: 7200, Peak: 2, Mean: 2, GPUHours: 4, HeldGPUHours: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want,+got):\n%s", diff)
	}
}

// TestGPUTime compares the closed form with a sum over every millisecond.
func TestGPUTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := workload.Curve{Start: rapid.Int64Range(-20, 20).Draw(t, "start"), Step: rapid.Int64Range(1, 7).Draw(t, "step"),
			Values: rapid.SliceOfN(rapid.Int32Range(0, 9), 1, 6).Draw(t, "values"), Repeat: rapid.Bool().Draw(t, "repeat")}
		from := rapid.Int64Range(-50, 50).Draw(t, "from")
		to := from + rapid.Int64Range(0, 100).Draw(t, "length")
		want := 0.0
		for at := from; at < to; at++ {
			want += float64(c.At(at))
		}
		if got := gpuTime(&c, from, to); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%+v from %d to %d: %g, want %g", c, from, to, got, want)
		}
	})
	long := workload.Curve{Step: 1, Values: []int32{0, 2}, Repeat: true}
	if got := gpuTime(&long, 0, 8e15); got != 8e15 {
		t.Errorf("a long life comes to %g", got)
	}
}
