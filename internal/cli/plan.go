package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/exact"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// planFlags are the options of escala plan.
type planFlags struct {
	mode, policy, against string
	work                  int
	budget                workload.Span
	seed                  uint64
	read                  planReading
	workload              planWorkload
	html, output          string
}

const (
	modeFast = "fast"
	modeFull = "full"
)

func planCommand(s *State) *cobra.Command {
	f := &planFlags{}
	c := &cobra.Command{
		Use:     "plan SCENARIO|WORKLOAD",
		GroupID: groupRun,
		Short:   "Plan the hours to come: which GPU runs what in which step",
		Long: `Reads a horizon (GPUs, steps, waiting and running jobs, real-time demand) and plans
it: batch-like work as blocks held without interruption, real-time work as a number of
GPUs that follows its demand. Shows the grid of GPU x time, what it is worth and how far
from the best possible it is at most, where real-time work has no margin, and when which
GPUs are idle. docs/horizon.md has the rules and the format; "-" is standard input.

A workload on a --cluster is replayed under the policy horizon up to a time (--at), and
planned from there.

--mode fast searches orders of jobs. With --work it makes exactly so many attempts, and
the same file, work and seed give the same plan everywhere; with --budget it makes as
many as fit in that time. --mode full goes on from there with formal models until the
plan is proven or the budget is used up. Ctrl-C ends either early with the best plan.

--policy plans by a baseline instead: first come, first served, with real-time work
holding its peak throughout. --against shows one beside the plan.`,
		Example: `  escala plan day.json
  escala plan day.json --mode fast --work 200 --output json
  escala plan day.json --mode full --budget 1m --against fifo --html plan.html
  escala plan day.json --policy fifo-grid
  escala plan jobs.csv --cluster 4x8 --services services.yaml --at 2d
  escala plan day.json --blocks unaligned --complete`,
		Args: argCount(1, 1, "a scenario, or a workload"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), s, args[0], cmd.Flags().Changed)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.Var(newChoice(&f.mode, modeFast, modeFull), "mode", "how to plan: fast, full")
	fs.IntVar(&f.work, "work", 0, fmt.Sprintf("`attempts` of the search: in fast mode exactly so many, in full mode at least (default %d)", horizon.DefaultWork))
	fs.Var(span{&f.budget}, "budget", fmt.Sprintf("time to search for; default of full mode: %s", spanText(workload.Span(exact.DefaultBudget/time.Millisecond))))
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the search")
	fs.Var(newChoice(&f.policy, append([]string{"", "fifo"}, baselines()...)...), "policy", "plan by a baseline instead: fifo (which is fifo-strict), "+strings.Join(baselines()[1:], ", "))
	fs.Var(newChoice(&f.against, append([]string{"", "fifo"}, baselines()...)...), "against", "compare with a baseline, named as for --policy")
	f.read.add(c)
	f.workload.add(c)
	fs.VarP(newChoice(&f.output, "table", "json"), "output", "o", "what to print: table, json")
	fs.StringVar(&f.html, "html", "", "write a self-contained page with the picture to this `file`")
	_ = c.RegisterFlagCompletionFunc("mode", words(modeFast, modeFull))
	_ = c.RegisterFlagCompletionFunc("policy", words(append([]string{"fifo"}, baselines()...)...))
	_ = c.RegisterFlagCompletionFunc("against", words(append([]string{"fifo"}, baselines()...)...))
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	return c
}

// baselines lists the names of the baselines.
func baselines() []string {
	var names []string
	for _, b := range []horizon.Baseline{horizon.FIFOStrict, horizon.FIFOSkip, horizon.FIFOGrid, horizon.FIFOBlock} {
		names = append(names, b.String())
	}
	return names
}

// settle refuses options that contradict each other.
func (f *planFlags) settle(given func(string) bool) error {
	for _, name := range []*string{&f.policy, &f.against} {
		if *name == "fifo" {
			*name = horizon.FIFOStrict.String()
		}
	}
	switch {
	case given("work") && f.work < 1:
		return badUsage(fmt.Sprintf("--work %d", horizon.DefaultWork), "--work %d: want at least 1 attempt", f.work)
	case given("budget") && f.budget <= 0:
		return badUsage("--budget 30s", "--budget 0: want a length of time")
	case f.policy == "" && f.mode == modeFast && given("work") && given("budget"):
		return badUsage("one of them", "--work and --budget: in fast mode the one says how many attempts to make, the other for how long")
	case f.policy != "" && f.policy == f.against:
		return badUsage("--against another baseline, or --mode in place of --policy", "--policy and --against are both %s", f.policy)
	}
	if f.policy != "" {
		for _, name := range []string{"mode", "work", "budget", "seed"} {
			if given(name) {
				return badUsage("one of them", "--policy %s and --%s: a baseline searches nothing", f.policy, name)
			}
		}
	}
	return f.read.settle()
}

func (f *planFlags) run(ctx context.Context, s *State, path string, given func(string) bool) error {
	if err := f.settle(given); err != nil {
		return err
	}
	q, err := f.loadProblem(ctx, s, path, given)
	if err != nil {
		return err
	}
	out, err := s.begin(f.html)
	if err != nil {
		return err
	}
	defer out.abort()
	r := &report.PlanReport{Version: s.Build.name(), Command: "escala " + quoteArgs(s.Args), Source: path, Problem: q, Exempt: f.workload.exempt, At: f.workload.moment}
	first, err := f.plan(ctx, s, q)
	if err != nil {
		return f.blame(path, q, err)
	}
	r.Plans = append(r.Plans, first)
	if f.against != "" {
		second, err := baseline(q, f.against)
		if err != nil {
			return badInput(fmt.Errorf("%s: --against %s: %w", path, f.against, err), "without --against: the baselines hold every peak throughout, which is not possible here")
		}
		r.Plans = append(r.Plans, second)
	}
	if f.html != "" {
		if err := out.write(f.html, func(w *bufio.Writer) error { return report.WritePlanHTML(w, r) }); err != nil {
			return err
		}
	}
	if err := f.show(s, r); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	if first.Interrupted {
		s.say("Interrupted: this is the best plan found so far.\n")
	}
	if f.html != "" && f.output == "table" {
		s.say("\nThe picture is in %s.\n", f.html)
	}
	if len(first.Broken) > 0 {
		return fmt.Errorf("the plan breaks a rule: %v; this is a defect of the planner", first.Broken[0])
	}
	return nil
}

// plan makes the plan that the options ask for.
func (f *planFlags) plan(ctx context.Context, s *State, q *horizon.Problem) (*report.Planned, error) {
	if f.policy != "" {
		return baseline(q, f.policy)
	}
	bar := s.newPlanProgress(f)
	bar.begin()
	r, err := f.search(ctx, q, bar)
	bar.end()
	if err != nil {
		return nil, err
	}
	p := report.Look(r)
	p.Mode, p.Seed, p.Interrupted = f.mode, f.seed, ctx.Err() != nil
	return p, nil
}

func (f *planFlags) search(ctx context.Context, q *horizon.Problem, bar *planProgress) (*horizon.Result, error) {
	budget := time.Duration(f.budget) * time.Millisecond
	if f.mode == modeFull {
		return exact.Full(ctx, q, exact.Options{Budget: budget, Work: f.work, Seed: f.seed, Now: time.Now, Progress: bar.told})
	}
	o := horizon.Options{Work: f.work, Seed: f.seed}
	end := time.Now().Add(budget)
	if budget > 0 {
		o.Work = math.MaxInt
	}
	o.Stop = func() bool { return ctx.Err() != nil || budget > 0 && time.Now().After(end) }
	return horizon.Fast(q, o)
}

// blame says whose fault it is that there is no plan: the scenario's where it has none
// that the search can begin with.
func (f *planFlags) blame(path string, q *horizon.Problem, err error) error {
	named := fmt.Errorf("%s: %w", path, err)
	if _, cause := horizon.Fast(q, horizon.Options{Work: 1, NoBound: true}); f.policy == "" && cause == nil {
		return named
	}
	return badInput(named, planHint)
}

// baseline plans first come, first served.
func baseline(q *horizon.Problem, name string) (*report.Planned, error) {
	b, ok := horizon.ParseBaseline(name)
	if !ok {
		return nil, errors.New(yamlx.Choice(name, baselines()))
	}
	plan, err := horizon.FIFO(q, b)
	if err != nil {
		return nil, err
	}
	p := report.Look(&horizon.Result{Plan: plan, Score: plan.Score(), Solver: name})
	p.Policy = name
	return p, nil
}

// show prints the plan.
func (f *planFlags) show(s *State, r *report.PlanReport) error {
	w := bufio.NewWriter(s.Stdout)
	var err error
	if f.output == "json" {
		err = report.WritePlanJSON(w, r)
	} else {
		err = report.WritePlanText(w, r, report.TableOptions{Color: s.colored(s.Stdout), Width: s.Stdout.width()})
	}
	if err != nil {
		return err
	}
	return w.Flush()
}
