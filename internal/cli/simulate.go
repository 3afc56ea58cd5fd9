package cli

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/results"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// simulateFlags are the options of escala simulate.
type simulateFlags struct {
	read                           readFlags
	world                          worldFlags
	planner                        plannerFlags
	policy, cluster, output        string
	out, jobs, journal, reportPath string
}

func simulateCommand(s *State) *cobra.Command {
	f := &simulateFlags{planner: plannerFlags{budget: 2 * workload.Second}}
	c := &cobra.Command{
		Use:     "simulate [WORKLOAD...]",
		GroupID: groupRun,
		Short:   "Replay a workload under one policy and write everything that happened",
		Long: `Replays the jobs of a workload under one policy. --out names a folder that takes

  journal.jsonl    every fact and every decision with its reason
  jobs.csv         one row per job; jobs.parquet holds the same
  series.csv       the cluster over time; series.parquet holds the same
  services.csv     real-time applications over time, where there are any
  metrics.json     what --output json prints

All of them appear when the run is complete, or none does. The journal's hash is
shown at the end: the same inputs give the same journal, byte by byte.

--planner full has a solver plan the hours to come while jobs wait, each plan in the time
of --planner-budget. Plans become facts that the policy follows as far as they are legal.
What a solver finds in a given time differs from run to run, and so does the journal; each
journal holds its plans and replays to the same.`,
		Example: `  escala simulate jobs.csv --policy easy --cluster 16x8 --out run1
  escala simulate jobs.csv --policy srtf --cluster c.yaml --checkpoint 30m --jobs jobs-srtf.csv
  escala simulate jobs.csv --policy my.yaml --cluster 16x8 --journal run.jsonl --output json
  escala simulate jobs.csv --policy horizon --cluster 4x8 --planner full --planner-budget 5s --out run1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), s, args, cmd.Flags().Changed)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.policy, "policy", "p", "fifo", "policy, by `name` or file")
	fs.StringVarP(&f.cluster, "cluster", "c", "", "cluster to run on: 16x8, pool:256, or a `file`")
	fs.VarP(newChoice(&f.output, "table", "json", "csv"), "output", "o", "what to print: table, json, csv")
	fs.StringVar(&f.out, "out", "", "write all files into this `folder`")
	fs.StringVar(&f.jobs, "jobs", "", "write one row per job to this CSV `file`")
	fs.StringVar(&f.journal, "journal", "", "write the journal to this `file`")
	fs.StringVar(&f.reportPath, "report", "", "write a self-contained page of figures and pictures to this `file`")
	f.world.add(c)
	fs.Var(newChoice(&f.planner.mode, "", "full"), "planner", "who plans outside of the decisions of a policy that plans the horizon: full, a solver (default: nobody)")
	fs.Var(span{&f.planner.budget}, "planner-budget", "time that each of its plans may take")
	_ = c.RegisterFlagCompletionFunc("planner", words("full"))
	f.read.add(c)
	f.read.addServices(c)
	completeRun(c)
	return c
}

// runFiles are the paths of what a run writes; "" = not written.
type runFiles struct {
	journal, jobs, jobsParquet, series, seriesParquet, services, metrics, report string
}

// files says where to write; services: there are real-time applications.
func (f *simulateFlags) files(services bool) runFiles {
	p := runFiles{journal: f.journal, jobs: f.jobs, report: f.reportPath}
	if f.out == "" {
		return p
	}
	in := func(path *string, name string) {
		if *path == "" {
			*path = filepath.Join(f.out, name)
		}
	}
	in(&p.journal, "journal.jsonl")
	in(&p.jobs, "jobs.csv")
	in(&p.jobsParquet, "jobs.parquet")
	in(&p.series, "series.csv")
	in(&p.seriesParquet, "series.parquet")
	if services {
		in(&p.services, "services.csv")
	}
	in(&p.metrics, "metrics.json")
	return p
}

// list returns the paths that are written.
func (p *runFiles) list() []string {
	var out []string
	for _, path := range []string{p.journal, p.jobs, p.jobsParquet, p.series, p.seriesParquet, p.services, p.metrics, p.report} {
		if path != "" {
			out = append(out, path)
		}
	}
	return out
}

func (f *simulateFlags) run(ctx context.Context, s *State, args []string, given func(string) bool) error {
	batch(s)
	if f.out == "-" {
		return noStdout()
	}
	if err := f.planner.settle(given); err != nil {
		return err
	}
	c, t, err := s.prepare(args, []string{f.policy}, f.cluster, &f.read, &f.world)
	if err != nil {
		return err
	}
	if t.planner, err = f.planner.planner(t.policies[0], f.world.seed); err != nil {
		return err
	}
	if t.planner != nil {
		c.Assumptions = append(c.Assumptions, f.planner.assumption(t.policies[0]))
	}
	if f.out != "" {
		if err := s.MkdirAll(f.out); err != nil {
			return badInput(noFile(err), "--out with a folder that can be made")
		}
	}
	p := f.files(applications(t.workload) > 0)
	out, err := s.begin(p.list()...)
	if err != nil {
		return err
	}
	defer out.abort()
	t.pictures, t.series = p.report != "", p.series != ""
	var log *journal.Writer
	if p.journal != "" {
		o := t.options(0)
		if log, err = journal.NewWriter(out.find(p.journal), journal.HeaderOf(&o, s.Build.name())); err != nil {
			return err
		}
		t.observer = log
	}
	t.finished = func(_ int, r *sim.Result, col *metrics.Collector) error { return p.write(out, t, r, col) }
	rest := func() error {
		if log != nil {
			if err := log.Close(); err != nil {
				return err
			}
		}
		return p.writeReports(out, c)
	}
	if err := s.carryOut(ctx, t, c, out, rest, f.output); err != nil {
		return err
	}
	return f.close(s, t, log)
}

// close says what came of plans, and what the journal is.
func (f *simulateFlags) close(s *State, t *study, log *journal.Writer) error {
	text := ""
	if t.planner != nil {
		text = "Plans: " + t.planner.summary() + "\n"
	}
	if log != nil {
		text += fmt.Sprintf("Journal: %s lines, SHA-256 %s\n", grouped(log.Lines()), log.Hash())
	}
	if f.output == "table" && text != "" {
		return s.print("\n%s", text)
	}
	s.say("%s", text)
	return nil
}

// write makes the files of what happened to jobs and cluster.
func (p *runFiles) write(out *outputs, t *study, r *sim.Result, col *metrics.Collector) error {
	for _, f := range []struct {
		path string
		fill func(w *bufio.Writer) error
	}{
		{p.jobs, func(w *bufio.Writer) error { return results.WriteJobsCSV(w, t.workload, r) }},
		{p.jobsParquet, func(w *bufio.Writer) error { return results.WriteJobsParquet(w, t.workload, r) }},
		{p.series, func(w *bufio.Writer) error { return results.WriteSeriesCSV(w, col.Series(r.End)) }},
		{p.seriesParquet, func(w *bufio.Writer) error { return results.WriteSeriesParquet(w, col.Series(r.End)) }},
		{p.services, func(w *bufio.Writer) error { return results.WriteServicesCSV(w, col.Services(r.End)) }},
	} {
		if f.path == "" {
			continue
		}
		if err := out.write(f.path, f.fill); err != nil {
			return err
		}
	}
	return nil
}

// writeReports makes the files that are made of figures.
func (p *runFiles) writeReports(out *outputs, c *report.Comparison) error {
	if p.metrics != "" {
		if err := out.write(p.metrics, func(w *bufio.Writer) error { return report.WriteJSON(w, c) }); err != nil {
			return err
		}
	}
	if p.report != "" {
		return out.write(p.report, func(w *bufio.Writer) error { return report.WriteHTML(w, c) })
	}
	return nil
}
