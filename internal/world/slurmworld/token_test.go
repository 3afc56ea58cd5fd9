package slurmworld

import (
	"testing"
	"time"
)

// TestChangesAreHeldToARate: no more than so many a second in the long run, and what cannot wait makes the others wait.
func TestChangesAreHeldToARate(t *testing.T) {
	now := time.Unix(1000, 0)
	w := &World{opts: Options{Calls: 10, Now: func() time.Time { return now }}, counted: now}
	for range 3 {
		w.spend()
	}
	taken := 0
	for range 1000 { // ten seconds
		now = now.Add(10 * time.Millisecond)
		if w.token() {
			taken++
		}
	}
	if taken < 96 || taken > 98 {
		t.Errorf("%d changes in ten seconds besides three that did not wait, want 97", taken)
	}
	now = now.Add(time.Hour)
	taken = 0
	for w.token() {
		taken++
	}
	if taken != 20 || !w.soon {
		t.Errorf("%d at once after an hour, want 20", taken)
	}
}
