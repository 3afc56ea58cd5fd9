package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// mixedJobs are jobs of three teams with and without protection, as CSV.
func mixedJobs(n int) string {
	r := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	b.WriteString("job_id,user,team,submit,duration,estimate,gpus,priority,min_runtime,checkpoint_interval,restart_cost\n")
	at := 0
	for i := range n {
		at += r.IntN(240)
		team := []string{"pretraining", "alignment", "vision", "nobody"}[min(r.IntN(13)/4, 3)]
		fmt.Fprintf(&b, "j%d,u%d,%s,%d,%d,%d,%d,%d,%d,600,30\n", i, r.IntN(4), team, at, 60+r.IntN(9000), 60+r.IntN(9000), 1<<r.IntN(5), r.IntN(3), 900*r.IntN(3))
	}
	return b.String()
}

const mixedBudgets = `children:
  - name: language
    share: 60
    children: [{name: pretraining, share: 70}, {name: alignment, share: 30}]
  - {name: vision, share: 40}
`

const strictContract = `name: strict
order: [priority, submit]
sharing: {guard: entitlement, reservations: {count: 2, above: 8, nodes: 60%}}
`

// TestExplainAlways explains every job of runs under several policies at several
// times: there is always a sentence, and whoever is before a job has a rule for it.
func TestExplainAlways(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{"jobs.csv": mixedJobs(60), "budgets.yaml": mixedBudgets, "strict.yaml": strictContract} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		w.out.Reset()
		w.err.Reset()
		w.Args = args
		if code := Run(t.Context(), w.State); code != exitOK {
			t.Fatalf("%v: exit code %d\n%s", args, code, w.err.String())
		}
		return w.out.Bytes()
	}
	seen := map[string]int{}
	for policyNumber, policy := range []string{"contract", "strict.yaml", "easy", "conservative", "priority", "srtf", "sjf", "multifactor"} {
		for _, cluster := range []string{"4x8", "pool:32"} {
			run("simulate", "jobs.csv", "--cluster", cluster, "--policy", policy, "--budgets", "budgets.yaml", "--journal", "run.jsonl", "--grace", "20s", "--output", "json")
			for _, at := range []string{"1h", "2h10m", "1000h"} {
				for job := policyNumber % 3; job < 60; job += 3 {
					args := []string{"explain", "run.jsonl", fmt.Sprintf("j%d", job)}
					if at != "1000h" {
						args = append(args, "--at", at)
					}
					w.Args = append(args, "--output", "json")
					w.out.Reset()
					w.err.Reset()
					if Run(t.Context(), w.State) == exitBadInput {
						if !strings.Contains(w.err.String(), "is submitted at") {
							t.Fatalf("%v: %s", args, w.err.String())
						}
						continue
					}
					var x explained
					if err := json.Unmarshal(w.out.Bytes(), &x); err != nil {
						t.Fatalf("%v: %v\n%s", args, err, w.err.String())
					}
					checkExplained(t, policy, args, &x, seen)
					if text := run(args...); !strings.Contains(string(text), "\nState ") || strings.Contains(string(text), "%!") {
						t.Fatalf("%v:\n%s", args, text)
					}
				}
			}
		}
	}
	for _, want := range []string{"waiting", "running", "ended", "promised", "ahead standing", "ahead share", "ahead priority", "ahead allocated", "ahead account",
		"ahead estimate", "why guard", "undated uncertain", "fills", "stop guard", "stop unallocated", "stop priority", "stop order", "stop date", "compared"} {
		if seen[want] == 0 {
			t.Errorf("nothing in these runs is %s", want)
		}
	}
	t.Log(seen)
}

func checkExplained(t *testing.T, policy string, args []string, x *explained, seen map[string]int) {
	t.Helper()
	seen[x.State]++
	if x.Why == nil && x.State != "running" && x.State != "ended" && x.State != "stopping" && x.State != "starting" || x.Why != nil && x.Why.Text == "" {
		t.Errorf("%s %v: %s without a reason", policy, args, x.State)
	}
	if x.Why != nil {
		seen["why "+x.Why.Code]++
		if x.Why.Code == "guard" && !strings.Contains(x.Why.Text, "counted") && !strings.Contains(x.Why.Text, "would hold") {
			t.Errorf("%s %v: %s", policy, args, x.Why.Text)
		}
	}
	if x.Ran != nil && (x.State != "ended" || x.Ran.Allocated == (x.Ran.Charged == "")) {
		t.Errorf("%s %v: %s, ran %+v", policy, args, x.State, x.Ran)
	}
	if w := x.Waits; w != nil {
		if w.Undated != nil {
			seen["undated "+w.Undated.Code]++
			if w.Date != nil || x.Job.GPUs <= 8 {
				t.Errorf("%s %v: %+v and %+v", policy, args, w.Date, w.Undated)
			}
		}
		if w.Unallocated {
			seen["fills"]++
			if w.FillRank < 1 || w.FillRank > w.FillOf || w.Rank-w.FillRank != w.Of-w.FillOf || strings.Contains(x.Account.Text, "first") {
				t.Errorf("%s %v: %d of %d, unallocated %d of %d: %s", policy, args, w.Rank, w.Of, w.FillRank, w.FillOf, x.Account.Text)
			}
		}
		if w.Date != nil {
			seen["promised"]++
		}
		for i, a := range w.Head {
			seen["ahead "+a.Why]++
			if a.Why == "unknown" || a.Text == "" || a.Rank != w.Rank-len(w.Head)+i {
				t.Errorf("%s %v: before it is %+v", policy, args, a)
			}
		}
	}
	if s := x.Stop; s != nil {
		seen["stop "+s.Rule]++
		if s.Why.Text != s.Text {
			t.Errorf("%s %v: stopped %q, because %q", policy, args, s.Why.Text, s.Text)
		}
		if s.Text == "" || s.Rule == "guard" && s.Before == nil {
			t.Errorf("%s %v: stopped %+v", policy, args, s)
		}
		if s.Before != nil {
			seen["compared"]++
		}
	}
}
