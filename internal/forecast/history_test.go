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
