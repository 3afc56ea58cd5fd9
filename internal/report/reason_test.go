package report

import (
	"strings"
	"testing"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

func TestEveryReasonHasASentence(t *testing.T) {
	w := &workload.Workload{Epoch: workload.Unknown, Jobs: []workload.Job{{ID: "j0"}, {ID: "j1"}}}
	seen := map[string]string{}
	for c := fact.Code(1); named(c); c++ {
		s := Sentence(fact.Reason{Code: c, For: 1, Have: 1, Want: 16, Block: 4, Until: workload.Hour}, Names(w))
		if s == "" || !strings.HasSuffix(s, ".") {
			t.Errorf("%s: %q is not a sentence", c, s)
		}
		if other, twice := seen[s]; twice {
			t.Errorf("%s and %s read the same: %q", c, other, s)
		}
		seen[s] = c.String()
	}
	if len(seen) < 19 {
		t.Errorf("only %d reasons found", len(seen))
	}
}

// named tells whether the code exists: the table of names ends with the last.
func named(c fact.Code) (ok bool) {
	defer func() { _ = recover() }()
	return c.String() != ""
}

func TestSentenceNamesJobsAndTimes(t *testing.T) {
	w := &workload.Workload{Epoch: workload.Unknown, Jobs: []workload.Job{{ID: "j0"}, {ID: "j1"}}}
	tests := map[string]struct {
		r    fact.Reason
		want string
	}{
		"delay": {fact.Reason{Code: fact.WouldDelay, For: 1, Until: 90 * workload.Minute},
			"It fits now, but would delay job j1, which has a reservation at day 0 01:30:00."},
		"few": {fact.Reason{Code: fact.TooFewFree, For: -1, Have: 1, Want: 8}, "It needs 8 GPUs and 1 is free."},
		"one": {fact.Reason{Code: fact.TooFewFree, For: -1, Want: 1}, "It needs 1 GPU and 0 are free."},
		"guard": {fact.Reason{Code: fact.GuardOff, For: -1},
			"Others could be stopped for it, but with its own start counted its account would be served no less than theirs, or they are below their share themselves."},
		"blocked": {fact.Reason{Code: fact.BlockedByHead, For: 0}, "Job j0 is before it in the same queue and does not fit yet."},
		"planned": {fact.Reason{Code: fact.Planned, For: -1}, "The plan of the hours to come has it now."},
		"later": {fact.Reason{Code: fact.PlannedLater, For: -1, Until: 3 * workload.Hour},
			"The plan of the hours to come has it at day 0 03:00:00."},
		"unplanned": {fact.Reason{Code: fact.Unplanned, For: -1, Until: workload.Day},
			"The plan of the hours to come has no place for it until day 1 00:00:00, where it ends."},
		"proposed": {fact.Reason{Code: fact.Proposed, For: -1}, "The plan that was proposed has it now."},
		"off plan": {fact.Reason{Code: fact.OffPlan, For: -1, Until: workload.Hour},
			"The plan that was proposed had it at day 0 01:00:00, but the GPUs that it named are not free."},
		"follows": {fact.Reason{Code: fact.FollowsDemand, For: -1, Have: 3, Want: 3}, "It follows its demand: it needs 3 GPUs, and has as many."},
		"short":   {fact.Reason{Code: fact.FollowsDemand, For: -1, Have: 1, Want: 3}, "It follows its demand: it needs 3 GPUs, and can have only 1."},
		"spare":   {fact.Reason{Code: fact.FollowsDemand, For: -1, Have: 2, Want: 1}, "It follows its demand: it needs 1 GPU, and has 2."},
		"asleep":  {fact.Reason{Code: fact.FollowsDemand, For: -1}, "It follows its demand: it needs no GPU now."},
		"nobody":  {fact.Reason{Code: fact.BlockedByHead, For: -1}, "Another job is before it in the same queue and does not fit yet."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Sentence(tc.r, Names(w)); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestStopSentence holds that unallocated work is said to have gone for being that.
func TestStopSentence(t *testing.T) {
	names := Names(&workload.Workload{Jobs: []workload.Job{{ID: "a"}, {ID: "b"}}})
	for _, c := range []struct {
		r           fact.Reason
		unallocated bool
		want        string
	}{
		{fact.Reason{Code: fact.GaveWay, For: 1}, true, "It ran unallocated: such work gives way at once to work that is charged, here to job b."},
		{fact.Reason{Code: fact.GaveWay, For: -1}, true, "It ran unallocated: such work gives way at once to work that is charged."},
		{fact.Reason{Code: fact.GaveWay, For: 1}, false, "It was stopped for job b, which goes before it under the policy's preemption rule."},
		{fact.Reason{Code: fact.Drained, For: -1}, true, "It was stopped since its node is wanted for repair."},
	} {
		if got := StopSentence(c.r, c.unallocated, names); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
