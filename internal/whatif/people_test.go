package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// doings draws what people do: they hold jobs and release them, give some another priority, and cancel some, whatever
// these do by then. Some jobs are an array of which few may run at once.
func doings(t *rapid.T, w *workload.Workload) (events []fact.Fact, patience map[string]workload.Span) {
	patience = map[string]workload.Span{}
	most := rapid.IntRange(1, 3).Draw(t, "at once")
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if w.Actual[i].CancelAfter = 0; j.Service != nil {
			continue
		}
		j.After = nil
		if i%4 == 0 {
			j.ID = fmt.Sprintf("9_%d", i)
			j.Labels = map[string]string{throttleLabel: fmt.Sprint(most)}
		}
		n := int32(i)
		at := func(from int64, name string) workload.Time {
			return from + int64(rapid.IntRange(0, 40).Draw(t, name))*1000 + int64(i)*7 + 1 // at a time of its own
		}
		if rapid.IntRange(0, 3).Draw(t, "held") == 0 {
			hold := rapid.SampledFrom([]fact.HoldBy{fact.HoldOwner, fact.HoldOperator, fact.HoldBegin}).Draw(t, "by")
			from := at(j.Submit, "hold")
			events = append(events, fact.Fact{Kind: fact.JobHeld, At: from, Job: n, Node: -1, Hold: hold, By: "ann"})
			if rapid.Bool().Draw(t, "released") {
				events = append(events, fact.Fact{Kind: fact.JobReleased, At: at(from+500, "release"), Job: n, Node: -1, Hold: hold, By: "ann"})
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "edited") == 0 {
			events = append(events, fact.Fact{Kind: fact.JobEdited, At: at(j.Submit, "edit") + 5, Job: n, Node: -1, Priority: int64(rapid.IntRange(-2, 2).Draw(t, "priority")), By: "ann"})
		}
		if rapid.IntRange(0, 3).Draw(t, "cancelled") == 0 {
			when := at(j.Submit, "cancel") + 3
			patience[j.ID] = when - j.Submit
			events = append(events, fact.Fact{Kind: fact.JobCancelled, At: when, Job: n, Node: -1, By: "ann"})
		}
	}
	slices.SortStableFunc(events, func(a, b fact.Fact) int { return cmp.Compare(a.At, b.At) })
	return events, patience
}

// TestWhatPeopleDidComesAgain: holds, releases, cancellations of what waits and of what runs,
// and throttles of arrays are a part of what happened, and of its replay.
func TestWhatPeopleDidComesAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		if o.Policy.Sharing != nil { // a run from a state begins with budgets, which no line would tell
			return
		}
		o.Cluster.Outages = nil
		events, patience := doings(t, o.Workload)
		e, err := engine.New(o.Cluster, o.Policy, engine.Defaults{})
		if err != nil {
			return
		}
		o.From = &sim.From{State: e.Snapshot(), StartLatency: o.Assume.StartLatency, Events: events}
		o.Follow = newThrottle(&scene{state: o.From.State, w: o.Workload}).follow
		was := &starts{ids: func(n int32) string { return o.Workload.Jobs[n].ID }, from: -1}
		o.Observers = []sim.Observer{was}
		data, ok := record(t, o)
		if !ok {
			return
		}
		j, err := Read("j.jsonl", data)
		if err != nil {
			t.Skip("nothing happened")
		}
		from := workload.Time(rapid.IntRange(-1, int(j.End)/500).Draw(t, "from")) * 500
		s, err := j.cut(from, j.End)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.scene(1, func(id string) (workload.Actual, bool) {
			a, ok := known(o.Workload)(id)
			a.CancelAfter = patience[id]
			return a, ok
		})
		if err != nil {
			t.Fatal(err)
		}
		is := &starts{ids: func(n int32) string { return c.w.Jobs[n].ID }, from: s.from - 1}
		x := c.options(s.header.Policy)
		x.Observers = []sim.Observer{is}
		if _, err := sim.Run(context.Background(), x); err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(was.list), func(l string) bool { return at(l) < s.from })
		if d := differ(upTo(want, j.End), upTo(is.list, j.End)); d != "" {
			t.Fatalf("%s from %d (state of %d): %s", o.Policy.Name, from, s.now, d)
		}
	})
}
