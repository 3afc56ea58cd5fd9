package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// explainFlags are the options of escala explain.
type explainFlags struct{ at, output string }

func explainCommand(s *State) *cobra.Command {
	f := &explainFlags{}
	var live liveFlags
	c := &cobra.Command{
		Use:     "explain [JOURNAL] JOB",
		GroupID: groupRun,
		Short:   "Say where a job stands, or stood at a time of a journal, and why",
		Long: `Without a JOURNAL it asks a live scheduler where one of its jobs stands. With one it
folds the journal up to a time and says of one job, named by its ID or as #NUMBER: why
it waits, who is before it and why, what its account had and is owed; or where it
runs, until when it is safe and who is charged; or by whom and why it was stopped.
docs/explain.md has an example of each.`,
		Example: `  escala explain run.jsonl train-7 --at 2d4h
  escala explain run.jsonl train-7 --at 2020-09-07T12:00
  escala explain run.jsonl '#12' --output json
  escala explain 12`,
		Args: argCount(1, 2, "a journal and a job, or a job of a live scheduler"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return f.live(cmd, s, &live, args)
			}
			batch(s)
			return f.run(s, args[0], args[1])
		},
	}
	c.Flags().StringVar(&f.at, "at", "", "`time` to look at: seconds, a duration since the workload's zero, or a date (default: the journal's last)")
	c.Flags().VarP(newChoice(&f.output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	live.addServer(c)
	c.ValidArgsFunction = live.completeJobs(s, "alive")
	return c
}

// live asks the daemon about a job.
func (f *explainFlags) live(cmd *cobra.Command, s *State, live *liveFlags, args []string) error {
	if f.at != "" {
		return badUsage("escala journal export -o run.jsonl, then escala explain run.jsonl "+args[0]+" --at TIME", "a live scheduler tells of now alone, and --at names another time")
	}
	if in, err := s.Open(args[0]); err == nil {
		_ = in.Close()
		return badUsage("escala explain "+quoteArgs(args)+" JOB", "%s is a file; which job of it?", args[0])
	}
	return live.ask(s, func(ctx context.Context, c *conn, args []string) error {
		return s.explainLive(ctx, c, args[0], f.output)
	})(cmd, args)
}

func (f *explainFlags) run(s *State, path, job string) error {
	const hint = "a journal that escala simulate wrote: --journal run.jsonl"
	in, err := s.Open(path)
	if err != nil {
		return badInput(noFile(err), hint)
	}
	defer func() { _ = in.Close() }()
	plain, err := unzipped(path, in)
	if err != nil {
		return err
	}
	r, err := journal.NewReader(path, plain)
	if err != nil {
		return broken(err, hint)
	}
	x := &explainer{path: path, header: r.Header(), history: newHistory(job)}
	at := workload.Never
	if f.at != "" {
		if at, err = parseMoment(f.at, &x.header.Workload); err != nil {
			return badUsage("--at 2d4h", "--at %s", err)
		}
	}
	if x.folded, err = journal.At(r, at, x.history); err != nil {
		return broken(err, hint)
	}
	if err := x.holds(r, at, f.at, job); err != nil {
		return broken(err, hint)
	}
	out := x.explain()
	if f.output == "json" {
		return s.printJSON(out)
	}
	return out.show(s, x.clock())
}

// holds checks that the journal tells of the time and by then of the job.
func (x *explainer) holds(r *journal.Reader, at workload.Time, text, job string) error {
	now, next := x.folded.Now, x.folded.Next
	say := x.clock().text
	switch {
	case now == workload.Unknown && next == nil:
		return badUsage("a journal of a run", "%s holds nothing that happened", x.path)
	case now == workload.Unknown:
		return badUsage("--at "+x.clock().option(next.At), "--at %s is before the first line of %s, which is of %s", text, x.path, say(next.At))
	case at != workload.Never && next == nil && now < at:
		return badUsage("--at "+x.clock().option(now), "--at %s is after the last line of %s, which is of %s", text, x.path, say(now))
	case x.history.known():
		return nil
	}
	return x.noJob(r, job)
}

// noJob says what may have been meant, or when the job will come.
func (x *explainer) noJob(r *journal.Reader, job string) error {
	h := x.history
	e, err := x.folded.Next, error(nil)
	for ; e != nil && err == nil; e, err = r.Next() {
		if e.Fact == nil || e.Fact.Kind != fact.JobSubmitted {
			continue
		}
		h.submitted(e.Fact)
		if h.known() {
			return badUsage("--at "+x.clock().option(e.At), "job %s is submitted at %s, after --at", job, x.clock().text(e.At))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	ids := make([]string, len(h.jobs))
	for i := range h.jobs {
		ids[i] = h.jobs[i].spec.ID
	}
	switch near := yamlx.Nearest(job, ids); {
	case len(ids) == 0:
		return badUsage("a journal of a run", "%s holds no job", x.path)
	case strings.HasPrefix(job, "#"):
		return badUsage("a number from #0 to #"+strconv.Itoa(len(ids)-1), "%s has no job %s", x.path, job)
	case near != "":
		return badUsage("escala explain "+quoteArgs([]string{x.path, near}), "%s has no job %q; did you mean %s?", x.path, job, near)
	}
	return badUsage("an ID such as "+ids[0]+", or #0 for the first job submitted", "%s has no job %q", x.path, job)
}

// clock writes times of a journal.
type clock struct{ epoch workload.Time }

func (x *explainer) clock() clock { return clock{x.header.Workload.Epoch} }

// text writes a time as people read it: a date where there is a calendar, else the
// time since the clock's zero, as --at takes it.
func (c clock) text(t workload.Time) string {
	switch {
	case c.epoch != workload.Unknown:
		return utc(c.epoch + t)
	case t < 0:
		return "-" + spanText(-t)
	}
	return spanText(t)
}

// option writes a time as --at takes it, exactly.
func (c clock) option(t workload.Time) string {
	if t < 0 || c.epoch != workload.Unknown {
		return seconds(t)
	}
	return spanText(t)
}

// Job and Time name jobs and times in sentences.
func (x *explainer) Job(n int32) string {
	if n < 0 || int(n) >= len(x.history.jobs) {
		return "another job"
	}
	return "job " + x.history.jobs[n].spec.ID
}

// Time writes a time of the journal's clock.
func (x *explainer) Time(t workload.Time) string { return x.clock().text(t) }

// lasting writes a length of time as people say it.
func lasting(d workload.Span) string { return roundSpan(float64(d) / 1000) }

// gpuHours is GPU-time in milli-GPU x ms as GPU-hours.
func gpuHours(area int64) float64 { return float64(area) / (1000 * float64(workload.Hour)) }

// gpusText writes a count of GPUs.
func gpusText(n int32) string { return plural(int(n), "GPU") }

// ofText writes who owns a job.
func ofText(user, team string) string {
	var parts []string
	if user != "" {
		parts = append(parts, "of "+user)
	}
	if team != "" {
		parts = append(parts, "team "+team)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s", strings.Join(parts, ", "))
}
