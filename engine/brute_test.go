package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// TestShortcutsChangeNothing drives two engines with the same facts, one of which
// looks at everything in each decision: bounds by counting, what is remembered of
// shapes and walks that end early must not change a single action.
func TestShortcutsChangeNothing(t *testing.T) {
	for seed := range uint64(18) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { compareWithBrute(t, seed, false) })
		t.Run(fmt.Sprint("windows/seed=", seed), func(t *testing.T) { compareWithBrute(t, seed, true) })
	}
}

func compareWithBrute(t *testing.T, seed uint64, windows bool) {
	rng := rand.New(rand.NewPCG(seed, 7))
	p, _ := policy.Shipped("contract")
	s := *p.Sharing
	s.Reservations.Above, s.Debug.Nodes = 8, int64(100*(seed%3))
	if seed%4 == 3 {
		s.Guard = policy.GuardEntitlement
	}
	s.MinRuntimeCap = 2 * workload.Hour
	pol := *p
	pol.Sharing = &s
	shares, spec := "children:\n  - name: p\n    share: 2\n    children:\n      - {name: a, share: 1}\n      - {name: b, share: 3}\n  - {name: c, share: 1}\n  - {name: d, share: 1}\n", cluster.Uniform("x", 12, 8)
	pooled := seed >= 12
	if pooled {
		shares = "pools: [H, A]\n" + strings.Replace(shares, "share: 3", "share: {H: 3, A: 0.5}", 1)
		for i := range spec.Nodes {
			spec.Nodes[i].GPUType = "AH"[i%2 : i%2+1]
		}
	}
	teams := []string{"a", "b", "c", "d", "z"}
	if wide := seed%3 == 2; wide {
		shares, teams = strings.Split(shares, "children:")[0]+"children:\n", nil
		for p := range 4 {
			shares += fmt.Sprintf("  - name: p%d\n    share: %d\n    children:\n", p, 1+p%3)
			for l := range 6 {
				teams = append(teams, fmt.Sprintf("t%d", p*6+l))
				shares += fmt.Sprintf("      - {name: t%d, share: %d}\n", p*6+l, 1+l%4)
			}
		}
	}
	tree, err := budget.Parse("t.yaml", []byte(shares))
	if err != nil {
		t.Fatal(err)
	}
	var es [2]*Engine
	for i := range es {
		if es[i], err = New(spec, &pol, Defaults{}); err != nil {
			t.Fatal(err)
		}
	}
	es[1].sharing.brute = true
	apply := func(f fact.Fact) {
		for _, e := range es {
			if err := e.Apply(&f); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := workload.Time(0)
	apply(fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: tree, Epoch: workload.Unknown})
	attempt := map[int32]int32{}
	var running []int32
	drop := func(n int32) {
		for i, r := range running {
			if r == n {
				running = append(running[:i], running[i+1:]...)
				return
			}
		}
	}
	type leaving struct {
		at  workload.Time
		job int32
	}
	var leave []leaving
	jobs := int32(0)
	for range 1500 {
		now += rng.Int64N(4 * workload.Minute)
		for i := 0; i < len(leave); i++ {
			if l := leave[i]; l.at <= now {
				leave = append(leave[:i], leave[i+1:]...)
				i--
				drop(l.job)
				apply(fact.Fact{Kind: fact.JobStopped, At: now, Job: l.job, Attempt: attempt[l.job], Node: -1, Cause: fact.CausePreempted})
			}
		}
		if len(running) > 0 && rng.IntN(3) > 0 {
			n := running[rng.IntN(len(running))]
			gone := false
			for _, l := range leave {
				gone = gone || l.job == n
			}
			if !gone {
				drop(n)
				apply(fact.Fact{Kind: fact.JobFinished, At: now, Job: n, Attempt: attempt[n], Node: -1})
			}
		}
		for range rng.IntN(3) {
			j := &workload.Job{ID: fmt.Sprint(jobs), Submit: now, Team: teams[rng.IntN(len(teams))], Priority: rng.Int64N(2),
				Contract: workload.Contract{HasMinRuntime: true, CheckpointOnStop: rng.IntN(2) == 0}}
			j.Need.GPUs = int32(1) << rng.IntN(6)
			if pooled {
				j.Need.GPUTypes = [...]string{"", "A", "H"}[rng.IntN(3)]
			}
			if rng.IntN(3) > 0 {
				j.Contract.MinRuntime = workload.Span(1+rng.IntN(20)) * 10 * workload.Minute
			}
			apply(fact.Fact{Kind: fact.JobSubmitted, At: now, Job: jobs, Node: -1, Submitted: j})
			jobs++
		}
		if windows && rng.IntN(40) == 0 {
			w := &fact.Window{ID: fmt.Sprint("w", now), From: now + rng.Int64N(6*workload.Hour)}
			w.Until = w.From + 1 + rng.Int64N(6*workload.Hour)
			for n := range int32(len(spec.Nodes)) {
				if rng.IntN(3) == 0 {
					w.Nodes = append(w.Nodes, n)
				}
			}
			if rng.IntN(2) == 0 {
				w.Teams = []string{teams[rng.IntN(len(teams))]}
			}
			if len(w.Nodes) > 0 {
				apply(fact.Fact{Kind: fact.WindowSet, At: now, Job: -1, Node: -1, Window: w})
			}
		}
		for again, turns := true, 0; again; turns++ {
			a, b := es[0].Decide(now), es[1].Decide(now)
			if !reflect.DeepEqual(a.Actions, b.Actions) && len(a.Actions)+len(b.Actions) > 0 {
				t.Fatalf("at %d s: with shortcuts\n%+v\nwithout\n%+v", now/1000, a.Actions, b.Actions)
			}
			if turns > 2000 {
				t.Fatal("it goes on deciding")
			}
			again = a.Again
			for _, e := range es {
				for i := range a.Actions {
					if err := e.Commit(&a.Actions[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := range a.Actions {
				switch x := &a.Actions[i]; x.Do {
				case fact.Start:
					attempt[x.Job] = x.Attempt
					running = append(running, x.Job)
					apply(fact.Fact{Kind: fact.JobStarted, At: now, Job: x.Job, Attempt: x.Attempt, Node: -1})
				case fact.Stop:
					leave = append(leave, leaving{max(x.Until, now), x.Job})
				}
			}
		}
	}
	if es[0].victimSets == 0 {
		t.Fatal("nobody had to give way: the test says nothing")
	}
}
