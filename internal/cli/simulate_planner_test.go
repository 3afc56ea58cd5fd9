package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

const plannedApps = `services:
  - {name: chat, team: serving, for: 12h, penalty: 5, demand: {step: 1h, gpus: [1, 3, 6, 2], repeat: true}}
`

// A run with a planner that takes its time is decided again to the same, and the journal
// says of every start whether it follows a plan.
func TestSimulateWithPlanner(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{"jobs.csv": mixedJobs(40), "apps.yaml": plannedApps} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		w.out.Reset()
		w.err.Reset()
		w.Args = args
		if code := Run(t.Context(), w.State); code != exitOK {
			t.Fatalf("%v: exit code %d\n%s", args, code, w.err.String())
		}
		return w.out.String()
	}
	run("simulate", "jobs.csv", "--services", "apps.yaml", "--cluster", "2x8", "--policy", "horizon", "--planner", "full", "--planner-budget", "5ms",
		"--journal", "run.jsonl", "--output", "json")
	if text := w.err.String(); !regexp.MustCompile(`(?m)^Plans: [1-9][0-9]* plans? proposed, [0-9]+ of 40 starts of jobs follow one$`).MatchString(text) {
		t.Errorf("standard error is %q", text)
	}
	var got struct {
		Input struct {
			Assumptions []struct{ Name, Value, Source string }
		}
		Policies []struct{ Notes []string }
	}
	if err := json.Unmarshal(w.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if a := got.Input.Assumptions; !slices.ContainsFunc(a, func(x struct{ Name, Value, Source string }) bool {
		return x.Name == "Planner" && strings.HasPrefix(x.Value, "full, 5ms for each plan, every 30m while jobs wait; a plan is followed for 1h at most.") && x.Source == "--planner"
	}) {
		t.Errorf("assumptions are %+v", a)
	}
	if n := got.Policies[0].Notes; len(n) == 0 || !strings.HasSuffix(n[len(n)-1], " starts of jobs follow one.") {
		t.Errorf("notes are %q", n)
	}
	if text := run("replay", "run.jsonl", "--verify"); !strings.Contains(text, "taken again, all the same") {
		t.Error(text)
	}
	explainFollowed(t, run)
	data, err := os.ReadFile("run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`"fact":"plan","until":[0-9]+,"inputs":"[0-9a-f]{64}","solver":"search`).Match(data) {
		t.Error("no plan has its inputs and its solver")
	}
}

// explainFollowed looks at the first start of run.jsonl that follows a plan. On a machine that
// had no time for good plans there may be none.
func explainFollowed(t *testing.T, run func(...string) string) {
	t.Helper()
	in, err := os.Open("run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	r, err := journal.NewReader("run.jsonl", in)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			t.Log("no start follows a plan: explaining one is not tested")
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Action == nil || e.Action.Reason.Code != fact.Proposed {
			continue
		}
		job, at := "#"+seconds(workload.Time(e.Action.Job)*1000), seconds(e.At)
		if text := run("explain", "run.jsonl", job, "--at", at); !strings.Contains(text, "start 1. The plan that was proposed has it now.\nPlan       proposed at ") {
			t.Error(text)
		}
		var got explained
		if err := json.Unmarshal([]byte(run("explain", "run.jsonl", job, "--at", at, "--output", "json")), &got); err != nil {
			t.Fatal(err)
		}
		if p := got.Plan; p == nil || p.Start == nil || *p.Start > got.At || p.Proposed > got.At || p.Until <= got.At || len(p.Inputs) != 64 || p.Starts == 0 || p.Bound < p.Objective {
			t.Errorf("plan is %+v", p)
		}
		return
	}
}

func TestPlannerFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"blind policy":   {[]string{"--policy", "easy", "--planner", "full"}, "--planner full plans the hours to come, and policy easy follows no plan of them\nTry: --policy horizon, or no --planner\n"},
		"default policy": {[]string{"--planner", "full"}, "policy fifo follows no plan"},
		"budget alone":   {[]string{"--policy", "horizon", "--planner-budget", "1s"}, "--planner-budget is given and --planner is not"},
		"no time":        {[]string{"--policy", "horizon", "--planner", "full", "--planner-budget", "0"}, "want a length of time"},
		"another":        {[]string{"--policy", "horizon", "--planner", "fast"}, `--planner "fast"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append([]string{"simulate", "--out", "run"}, tc.args...)...)
			w.run(t, exitBadInput)
			if !strings.Contains(w.err.String(), tc.want) {
				t.Errorf("%q does not say %q", w.err.String(), tc.want)
			}
			if left := w.leftovers(t); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// outlook is one of a job that waits.
func outlook(t *testing.T) *engine.Outlook {
	t.Helper()
	p, err := policy.Resolve("horizon")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cluster.Uniform("1x4", 1, 4), p, engine.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	job := workload.Job{ID: "a", Need: workload.Need{GPUs: 2}, Estimate: workload.Hour}
	if err := e.Apply(&fact.Fact{Kind: fact.JobSubmitted, Job: 0, Node: -1, Submitted: &job}); err != nil {
		t.Fatal(err)
	}
	return e.Outlook(0, false)
}

func TestPlannerPlans(t *testing.T) {
	p := &planner{budget: 20 * time.Millisecond, seed: 1}
	o := outlook(t)
	got, err := p.plan(t.Context(), o, workload.Hour)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if got.Until != workload.Hour || len(got.Inputs) != 64 || got.Solver == "" || got.Objective <= 0 || got.Bound < got.Objective || len(got.Starts) != 1 || got.Starts[0].Job != 0 || len(got.Starts[0].Place) != 1 {
		t.Errorf("plan is %+v", got)
	}
	again, err := p.plan(t.Context(), outlook(t), workload.Hour)
	if err != nil || again.Inputs != got.Inputs {
		t.Errorf("equal inputs have the names %s and %s (%v)", got.Inputs, again.Inputs, err)
	}
}

func TestPlannerWithoutLegalPlan(t *testing.T) {
	p := &planner{budget: 20 * time.Millisecond}
	o := outlook(t)
	many := slices.Repeat([]int{9}, o.Problem.Steps)
	o.Problem.Apps = append(o.Problem.Apps, horizon.App{ID: "chat", Min: many, Demand: many, Max: many})
	if got, err := p.plan(t.Context(), o, workload.Hour); got != nil || err != nil {
		t.Errorf("plan %+v, error %v; want neither", got, err)
	}
}

func TestPlannerIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	p := &planner{budget: time.Hour}
	begin := time.Now()
	_, err := p.plan(ctx, outlook(t), workload.Hour)
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("it took %v", d)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	cancel()
	if got, err := p.plan(ctx, outlook(t), workload.Hour); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("plan %+v, error %v; want it interrupted", got, err)
	}
}

func TestPlanUnits(t *testing.T) {
	for v, want := range map[float64]int64{0: 0, 1: 1 << 20, -2.5: -5 << 19, 1e-9: 0, math.Inf(1): 1 << 62, math.Inf(-1): -1 << 62, 1e300: 1 << 62} {
		if got := planUnits(v); got != want {
			t.Errorf("%v is %d, want %d", v, got, want)
		}
	}
	if got := fromUnits(planUnits(12.25)); got != 12.25 {
		t.Errorf("12.25 comes back as %v", got)
	}
}

func TestProposedText(t *testing.T) {
	start := 7200.0
	for name, tc := range map[string]struct {
		r     proposedReport
		waits bool
		want  string
	}{
		"runs": {proposedReport{Solver: "search", Start: &start, Objective: 4, Bound: 5}, false,
			"Plan       proposed at 0s by search; it starts the job at 2h. One could be better by 20 % at most.\n"},
		"waits": {proposedReport{Until: 3600, Start: &start, Objective: 3, Bound: 3}, true,
			"Plan       proposed at 0s, followed until 1h at most; it starts the job at 2h. It is the best possible.\n"},
		"no place": {proposedReport{Until: 3600}, true, "Plan       proposed at 0s, followed until 1h at most; it has no place for the job.\n"},
		"later":    {proposedReport{Until: 3600, before: true}, true, "Plan       proposed at 0s, followed until 1h at most; the job came after it was made.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &explainText{s: &State{Stdout: Stream{Writer: &out}}, c: clock{workload.Unknown}}
			p.proposed(&tc.r, tc.waits)
			if got := out.String(); got != tc.want || p.err != nil {
				t.Errorf("got  %qwant %q", got, tc.want)
			}
		})
	}
}
