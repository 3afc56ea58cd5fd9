package slurmworld

import (
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// TestCallsAreHeldToARate: no more than so many a second in the long run, and what cannot wait makes the others wait.
func TestCallsAreHeldToARate(t *testing.T) {
	now := time.Unix(1000, 0)
	w := &World{opts: Options{Now: func() time.Time { return now }}, rate: newRate(10, now)}
	w.rate.tokens = 0
	w.spend(3)
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

// TestLooksLeaveRoom: however few calls there may be, looks take no more than there are, and something can be changed.
func TestLooksLeaveRoom(t *testing.T) {
	for _, most := range []int{1, 3, 20} {
		for slower := range mostSlower + 1 {
			now := time.Unix(1000, 0)
			w := &World{opts: Options{Now: func() time.Time { return now }}, rate: newRate(most, now)}
			w.rate.slower = slower
			calls, changes := 0, 0
			for end := now.Add(1000 * time.Second); now.Before(end); {
				w.spend(callsOfALook)
				calls += callsOfALook
				for range 5 {
					if w.token() {
						calls, changes = calls+1, changes+1
					}
				}
				now = now.Add(w.rate.looks(250 * time.Millisecond))
			}
			allowed := 1000*most>>slower + 2*most + 2*callsOfALook
			if calls > allowed || changes == 0 {
				t.Errorf("%d a second, halved %d times: %d calls in 1000 s, %d of them changes; %d are allowed", most, slower, calls, changes, allowed)
			}
		}
	}
}

// TestBusy: slurmctld is asked less while it is behind, step by step, and more again once it is not.
func TestBusy(t *testing.T) {
	r := newRate(20, time.Unix(1000, 0))
	if w := r.looks(2 * time.Second); w != 2*time.Second {
		t.Error(w)
	}
	for _, x := range []struct {
		d      slurm.Diag
		took   time.Duration
		why    string
		slower int
	}{
		{slurm.Diag{ServerThreads: 3, AgentQueue: 40}, time.Second, "", 0},
		{slurm.Diag{ServerThreads: 80}, 0, "it serves 80 calls at once", 1},
		{slurm.Diag{AgentQueue: 4000}, 0, "4000 messages to nodes wait", 2},
		{slurm.Diag{}, 6 * time.Second, "a look took 6s", 3},
		{slurm.Diag{ServerThreads: 256}, 0, "it serves 256 calls at once", 4},
		{slurm.Diag{ServerThreads: 256}, 0, "it serves 256 calls at once", 4},
		{slurm.Diag{}, 0, "", 3},
	} {
		why := busy(&x.d, x.took)
		r.adapt(why)
		if why != x.why || r.slower != x.slower {
			t.Errorf("%+v, %v: %q, halved %d times; want %q, %d", x.d, x.took, why, r.slower, x.why, x.slower)
		}
	}
	if w := r.looks(2 * time.Second); w != 16*time.Second {
		t.Error(w)
	}
	if r.refill(r.at.Add(time.Hour)); r.tokens != 8 {
		t.Error(r.tokens)
	}
}
