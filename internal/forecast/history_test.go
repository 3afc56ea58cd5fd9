package forecast

import (
	"testing"

	"github.com/escala-sched/escala/workload"
)

// TestFew holds that a history says of itself that it is short: of jobs that said how long they
// take, and of those that did not.
func TestFew(t *testing.T) {
	var h History
	if !h.Few(0) || !h.Few(workload.Hour) {
		t.Error("nothing is known, and that is enough")
	}
	for i := range enough {
		if !h.Few(0) {
			t.Errorf("after %d jobs it is enough", i)
		}
		h.Add("ana", 1, 0, workload.Minute)
	}
	if h.Few(0) || !h.Few(workload.Hour) {
		t.Errorf("of those that said nothing enough are known, and of those that did none: %v %v", h.Few(0), h.Few(workload.Hour))
	}
	for range enough {
		h.Add("ben", 8, workload.Hour, workload.Minute)
	}
	if h.Few(workload.Hour) || h.Clone().Few(workload.Hour) {
		t.Error("enough of both are known")
	}
}

// TestDrawOfTheUnknown holds that a run of which nothing is known is not said to end in a moment because
// it has only begun.
func TestDrawOfTheUnknown(t *testing.T) {
	var none, one History
	one.Add("ana", 1, 0, workload.Second)
	for name, c := range map[string]struct {
		h              *History
		estimate, done workload.Span
		least, most    workload.Span
	}{
		"not begun":                {&none, 0, 0, workload.Hour, workload.Hour},
		"just begun":               {&none, 0, workload.Second, workload.Hour, workload.Hour},
		"longer than the only one": {&one, 0, 2 * workload.Second, workload.Hour, workload.Hour},
		"longer than an hour":      {&none, 0, 2 * workload.Hour, 2 * workload.Hour, 4*workload.Hour + 1},
		"it said":                  {&none, 5 * workload.Minute, workload.Second, 5 * workload.Minute, 5 * workload.Minute},
		"longer than it said":      {&none, 5 * workload.Minute, 6 * workload.Minute, 6 * workload.Minute, 12*workload.Minute + 1},
	} {
		for seed := range uint64(20) {
			if w := c.h.Draw(seed, 3, "ana", 1, c.estimate, c.done); w < c.least || w > c.most {
				t.Errorf("%s: %d ms", name, w)
			}
		}
	}
}
