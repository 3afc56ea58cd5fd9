package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/demo"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/results"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
)

// compareFlags are the options of escala compare.
type compareFlags struct {
	read                  readFlags
	world                 worldFlags
	policies              []string
	cluster, output, jobs string
	report                string
}

func compareCommand(s *State) *cobra.Command {
	f := &compareFlags{}
	c := &cobra.Command{
		Use:     "compare [WORKLOAD...]",
		GroupID: groupRun,
		Short:   "Replay a workload under several policies and compare them",
		Long: `Replays the jobs of a workload under each policy on the same cluster, and shows
what differs. Differences are to the first policy.

Without a WORKLOAD it replays the embedded trace (1,867 jobs of SenseTime's Helios,
September 2020) on its own cluster under six policies, and writes report.html.
Several WORKLOAD files are merged in time; "-" is standard input.

--cluster takes NODESxGPUS (16x8), pool:GPUS (pool:256, GPUs without nodes), a
YAML file, or openb's list of nodes. --policy takes names from "escala policy list"
and YAML files; a suffix @perfect, @given, @limit or @helios changes what is known
of run times, as in sjf@helios.

--jobs writes one row per job: job_id,submit,gpus,start,finish and more. With one
policy it writes that very file; with several, one file for each: out.csv becomes
out.fifo.csv, out.sjf-helios.csv and so on ("@", "/" and blanks become "-").`,
		Example: `  escala compare
  escala compare jobs.csv --cluster 16x8 --policy fifo,easy,sjf@helios
  escala compare jobs.csv --cluster 16x8 --policy easy,my/policy.yaml --report report.html
  escala compare log.swf.gz --policy fifo,easy,conservative --output json
  escala compare jobs.csv --cluster c.yaml --policy srtf --checkpoint 30m --restart-cost 2m
  escala compare pods.jsonl --cluster nodes.csv --policy place-random,place-fgd --until 3h
  escala compare jobs.csv --cluster 16x8 --policy easy --window 7d..14d --jobs out.csv
  escala compare lab.jsonl --cluster 128x8 --policy priority,easy --budgets budgets.yaml --window 5d..
  escala compare jobs.csv --services apps.yaml --cluster 16x8 --policy fifo,easy`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), s, args, cmd.Flags().Changed)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringSliceVarP(&f.policies, "policy", "p", nil, "policies to compare, by `name` or file, joined by commas; the first is the baseline\n(default "+strings.Join(demo.Policies(), ",")+")")
	fs.StringVarP(&f.cluster, "cluster", "c", "", "cluster to run on: 16x8, pool:256, or a `file`")
	fs.VarP(newChoice(&f.output, "table", "json", "csv"), "output", "o", "what to print: table, json, csv")
	fs.StringVar(&f.report, "report", "", "write a self-contained page of figures and pictures to this `file`; '' = none (default for the embedded trace: report.html)")
	fs.StringVar(&f.jobs, "jobs", "", "write one row per job to this CSV `file`; one file for each of several policies")
	f.world.add(c)
	f.read.add(c)
	f.read.addServices(c)
	completeRun(c)
	return c
}

// completeRun completes the options that compare and simulate share.
func completeRun(c *cobra.Command) {
	_ = c.RegisterFlagCompletionFunc("policy", completePolicies)
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json", "csv"))
}

func (f *compareFlags) run(ctx context.Context, s *State, args []string, given func(string) bool) error {
	batch(s)
	isDemo := len(args) == 0
	if isDemo && !given("report") && f.output == "table" {
		f.report = "report.html"
	}
	if f.jobs == "-" {
		return noStdout()
	}
	if len(f.policies) == 0 {
		f.policies = demo.Policies()
	}
	c, t, err := s.prepare(args, f.policies, f.cluster, &f.read, &f.world)
	if err != nil {
		return err
	}
	t.pictures = f.report != ""
	jobs := f.jobsPaths(t)
	out, err := s.begin(append(jobs, f.report)...)
	if err != nil {
		return err
	}
	defer out.abort()
	if f.jobs != "" {
		t.finished = func(i int, r *sim.Result, _ *metrics.Collector) error {
			return out.write(jobs[i], func(w *bufio.Writer) error { return results.WriteJobsCSV(w, t.workload, r) })
		}
	}
	pages := func() error {
		if f.report == "" {
			return nil
		}
		return out.write(f.report, func(w *bufio.Writer) error { return report.WriteHTML(w, c) })
	}
	if err := s.carryOut(ctx, t, c, out, pages, f.output); err != nil {
		return err
	}
	if isDemo && f.report != "" && f.output == "table" {
		s.say("\nThe pictures are in %s.\n", f.report)
	}
	return nil
}

// jobsPaths are the files of the policies' jobs.
func (f *compareFlags) jobsPaths(t *study) []string {
	if f.jobs == "" {
		return nil
	}
	if len(t.policies) == 1 {
		return []string{f.jobs}
	}
	var out []string
	for _, p := range t.policies {
		out = append(out, withPolicy(f.jobs, p.Name))
	}
	return out
}

// prepare reads all inputs of a run and checks that they fit together. Without
// workloads it takes the embedded trace.
func (s *State) prepare(paths, policies []string, clusterRef string, read *readFlags, world *worldFlags) (*report.Comparison, *study, error) {
	isDemo := len(paths) == 0
	if err := world.settle(isDemo); err != nil {
		return nil, nil, err
	}
	t := &study{assume: world.assume, faults: world.faults, forecast: world.forecast, refs: policies}
	c := &report.Comparison{Version: s.Build.name(), Command: "escala " + quoteArgs(s.Args)}
	var err error
	if t.policies, err = resolve(policies, world); err != nil {
		return nil, nil, err
	}
	if isDemo {
		if err := read.unused(); err != nil {
			return nil, nil, err
		}
		if t.workload, err = demo.Workload(); err != nil {
			return nil, nil, err
		}
		if t.workload, err = s.withServices(t.workload, read); err != nil {
			return nil, nil, err
		}
		c.Attribution = demo.Attribution
	} else if t.workload, err = s.readWorkloads(paths, read); err != nil {
		return nil, nil, err
	}
	if err := world.foresees(t.workload); err != nil {
		return nil, nil, err
	}
	implied := ""
	if isDemo && clusterRef == "" {
		t.cluster, err = demo.Cluster()
	} else {
		t.cluster, implied, err = s.clusterFor(clusterRef, t.workload)
	}
	if err != nil {
		return nil, nil, err
	}
	if t.window, t.until, err = world.times(t.workload); err != nil {
		return nil, nil, err
	}
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	c.Workload, c.Cluster = t.workload, t.cluster
	c.Assumptions = world.assumptions(t.workload)
	if implied != "" {
		c.Assumptions = append(c.Assumptions, report.Assumption{Name: "Cluster size", Value: fmt.Sprintf("%d GPUs", t.cluster.GPUs()), Source: implied})
	}
	if isDemo && clusterRef == "" {
		c.Assumptions = append(c.Assumptions, demoAssumptions()...)
	}
	if err := s.takeBudgets(world.budgets, t, c); err != nil {
		return nil, nil, err
	}
	return c, t, nil
}
