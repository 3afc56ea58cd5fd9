package whatif

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestTheSamePolicyIsWhatHappened: from any instant of a journal on, the policy that decided
// comes to what was recorded, to the millisecond, if run times are known.
func TestTheSamePolicyIsWhatHappened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		was := &starts{ids: func(n int32) string { return o.Workload.Jobs[n].ID }, from: -1}
		o.Observers = []sim.Observer{was}
		data, ok := record(t, o)
		if !ok {
			return
		}
		j, err := Read("j.jsonl", data)
		if err != nil {
			t.Fatal(err)
		}
		from := workload.Time(rapid.IntRange(-1, int(j.End)/500).Draw(t, "from")) * 500
		var is *starts
		s, err := j.cut(from, j.End)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.scene(1, known(o.Workload))
		if err != nil {
			t.Fatal(err)
		}
		is = &starts{ids: func(n int32) string { return c.w.Jobs[n].ID }, from: s.from - 1}
		x := c.options(s.header.Policy)
		x.Observers = []sim.Observer{is}
		if _, err := sim.Run(context.Background(), x); err != nil {
			t.Fatal(err)
		}
		want := &starts{from: is.from}
		for _, l := range was.list {
			if at(l) > is.from {
				want.list = append(want.list, l)
			}
		}
		if d := differ(want.list, is.list); d != "" {
			t.Fatalf("%s from %d (state of %d): %s", o.Policy.Name, from, s.now, d)
		}
	})
}

// upTo cuts lines off at a time: what happens to nodes once the journal has ended is not
// known.
func upTo(lines []string, end workload.Time) []string {
	i := slices.IndexFunc(lines, func(l string) bool { return at(l) > end })
	if i < 0 {
		return lines
	}
	return lines[:i]
}

// TestFromTheBeginningIsASimulation: asked from the beginning, another policy does what it
// does with the workload itself.
func TestFromTheBeginningIsASimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t, rapid.SampledFrom(policies()).Draw(t, "policy"))
		data, ok := record(t, o)
		if !ok {
			return
		}
		other := rapid.SampledFrom(policies()).Draw(t, "other")
		plain := o
		plain.Policy = other
		want := &starts{ids: func(n int32) string { return o.Workload.Jobs[n].ID }, from: -1}
		plain.Observers = []sim.Observer{want}
		if _, ok := record(t, plain); !ok {
			return
		}
		j, err := Read("j.jsonl", data)
		if err != nil {
			t.Fatal(err)
		}
		is := &starts{ids: want.ids, from: -1}
		_, err = j.Ask(context.Background(), &Question{From: -1, To: j.End, Policies: []*policy.Policy{other}, truth: known(o.Workload),
			watch: func(name string) []sim.Observer {
				if name == other.Name {
					return []sim.Observer{is}
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(upTo(want.list, j.End), upTo(is.list, j.End)); d != "" {
			t.Fatalf("%s after %s: %s", other.Name, o.Policy.Name, d)
		}
	})
}
