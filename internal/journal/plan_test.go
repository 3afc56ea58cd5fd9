package journal

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// moody plans as a solver does that is given a time: what it finds differs from one call to
// the next, whatever it is asked. mood is where it begins.
func moody(mood uint64) func(*engine.Outlook) (*fact.Plan, error) {
	return func(o *engine.Outlook) (*fact.Plan, error) {
		mood++
		r, err := horizon.Fast(o.Problem, horizon.Options{Work: 5 + int(mood%7), Seed: mood, NoBound: true})
		if err == nil && mood%5 != 0 {
			return &fact.Plan{Until: o.At + int64(1+mood%3)*5*workload.Minute, Inputs: fmt.Sprintf("%x", mood), Solver: r.Solver,
				Objective: int64(r.Score.Objective * (1 << 20)), Starts: o.Starts(r.Plan)}, nil
		}
		return nil, nil
	}
}

// proposing are runs under policies that plan the horizon, with plans from outside.
func proposing(t *testing.T, each func(t *testing.T, o sim.Options)) {
	worlds := map[string]sim.Options{
		"nodes":    {Workload: someJobs(2, 120, true), Cluster: lab(false)},
		"outages":  {Workload: someJobs(3, 120, true), Cluster: lab(true), Assume: sim.Assumptions{Grace: 15 * workload.Second, StartLatency: 3 * workload.Second}},
		"services": {Workload: withServices(someJobs(6, 60, true)), Cluster: lab(true)},
	}
	for name, o := range worlds {
		for _, interrupt := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/interrupt=%t", name, interrupt), func(t *testing.T) {
				own := *shipped(t, "horizon")
				h := *own.Horizon
				h.Step, h.Replan, h.Work, h.Interrupt = 2*workload.Minute, 4*workload.Minute, 5, interrupt
				own.Horizon, o.Policy = &h, &own
				each(t, o)
			})
		}
	}
}

// A run with plans that no second run would come to is decided again to the same, in full
// and from the middle on: they are facts.
func TestVerifyWithProposedPlans(t *testing.T) {
	total := 0
	proposing(t, func(t *testing.T, o sim.Options) {
		o.Planner = moody(1)
		data, _ := record(t, o)
		o.Planner = moody(4)
		if other, _ := record(t, o); bytes.Equal(data, other) {
			t.Error("another mood of the planner writes the same journal")
		}
		if n := bytes.Count(data, []byte(`"fact":"plan"`)); n == 0 {
			t.Error("no plan was proposed")
		}
		total += bytes.Count(data, []byte(`"why":"proposed"`))
		got, err := Replay(reader(t, data), true)
		if err != nil {
			t.Fatal(err)
		}
		folded, err := Replay(reader(t, data), false)
		if err != nil {
			t.Fatal(err)
		}
		if got.Facts != folded.Facts || got.Actions != folded.Actions || got.Engine.Gauge() != folded.Engine.Gauge() {
			t.Errorf("folding gives %+v, deciding again %+v", folded.Engine.Gauge(), got.Engine.Gauge())
		}
		foldThenDecide(t, data)
	})
	if total == 0 {
		t.Error("no plan was followed: this test shows nothing")
	}
}

// As a trace a run with plans is its jobs: plans are what was decided by, not what was asked.
func TestTraceHasNoPlans(t *testing.T) {
	proposing(t, func(t *testing.T, o sim.Options) {
		o.Planner = moody(2)
		data, _ := record(t, o)
		got, _, err := ToWorkload(reader(t, data))
		if err != nil {
			t.Fatal(err)
		}
		without := bytes.SplitAfter(data, []byte("\n"))
		for i, line := range without {
			if bytes.Contains(line, []byte(`"fact":"plan"`)) {
				without[i] = nil
			}
		}
		want, _, err := ToWorkload(reader(t, bytes.Join(without, nil)))
		if err != nil {
			t.Fatal(err)
		}
		want.Hash = got.Hash
		want.Dropped, got.Dropped = nil, nil // these name lines
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("jobs (-want,+got):\n%s", diff)
		}
	})
}

// What a plan costs a journal: a start on one node is some 20 bytes.
func TestPlanLine(t *testing.T) {
	p := &fact.Plan{Until: 3_600_000, Inputs: "ab", Solver: "search", Objective: 3 << 20, Bound: 4 << 20, Starts: []fact.PlannedStart{
		{Job: 7, At: 0, Place: []fact.Grant{cluster.WholeGrant(0, 0xf)}}, {Job: 3, At: 1_800_000, Place: []fact.Grant{cluster.WholeGrant(1, 0xff), cluster.WholeGrant(2, 0xff)}}, {Job: 4, At: 1_800_000}}}
	got := string(AppendFact(nil, &fact.Fact{Kind: fact.PlanProposed, Job: -1, Node: -1, Plan: p}))
	const want = `{"t":0,"fact":"plan","until":3600000,"inputs":"ab","solver":"search","objective":3145728,"bound":4194304,"starts":[[7,0,[[0,"f"]]],[3,1800000,[[1,"ff"],[2,"ff"]]],[4,1800000]]}` + "\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	spaced := `[ [ 7 , 0 , [ [ 0 , "f" ] ] ] , [3,1800000,[[1,"ff"] , [2,"ff"]]],[4 ,1800000 ] ]`
	starts, ok := parseStarts([]byte(spaced))
	if diff := cmp.Diff(p.Starts, starts); !ok || diff != "" {
		t.Errorf("with spaces (-want,+got):\n%s", diff)
	}
	if starts, ok := parseStarts([]byte("[ ]")); !ok || starts != nil {
		t.Errorf("an empty list gives %v, %v", starts, ok)
	}
}

func TestPlanOfNothingIsNotWritten(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, &Header{Cluster: lab(false), Policy: shipped(t, "horizon")})
	if err != nil {
		t.Fatal(err)
	}
	w.Fact(&fact.Fact{Kind: fact.PlanProposed, Job: -1, Node: -1})
	if err := w.Close(); err == nil {
		t.Error("a plan that is none was written")
	}
}
