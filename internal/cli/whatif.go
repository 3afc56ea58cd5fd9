package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/whatif"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// whatIfFlags are the options of escala what-if.
type whatIfFlags struct {
	live             liveFlags
	policies         []string
	since, until, by string
	output, report   string
	seed             uint64
}

func whatIfCommand(s *State) *cobra.Command {
	f := &whatIfFlags{}
	c := &cobra.Command{
		Use:     "what-if [JOURNAL]",
		GroupID: groupRun,
		Short:   "Go through the last days of a live scheduler again under other policies",
		Long: `Takes the state that the scheduler had some time ago, and what came since: jobs that
were submitted and withdrawn, holds, nodes that failed and were drained, budgets that
changed. It decides all of that again, under the policy that decided and under others, and
compares. Jobs take as long as they did. How long those take that had not ended is drawn.

Above the comparison stands how far the replay of the recorded policy is from what really
happened: as far as it is off, the others are not to be believed either.

Without a JOURNAL the running scheduler is asked for its own. A JOURNAL is a file of
"escala journal export" or "escala simulate --journal"; "-" is standard input.

--since is a length of time back from the journal's end, or a point in time: a date, or
seconds of a journal that has no calendar. docs/what-if.md says what can be believed.`,
		Example: `  escala what-if --policy easy
  escala what-if --policy mine.yaml,easy --since 3d --by team
  escala what-if --policy mine.yaml --since 2026-12-01 --report what-if.html journal.jsonl
  escala what-if --policy fifo --since 12h --output json journal.jsonl.gz`,
		Args: argCount(0, 1, "one journal or none"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), s, args) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringSliceVarP(&f.policies, "policy", "p", nil, "policies that might have decided, by `name` or file, joined by commas")
	fs.StringVar(&f.since, "since", "7d", "where to begin: 7d (back from the end), or a `time`")
	fs.StringVar(&f.until, "until", "", "where to end: 1d (back from the end), or a `time` (default: with the journal)")
	fs.Var(newChoice(&f.by, "", "team", "partition", "user"), "by", "show the figures of each team, partition or user too")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the run times that are drawn")
	fs.VarP(newChoice(&f.output, "table", "json", "csv"), "output", "o", "what to print: table, json, csv")
	fs.StringVar(&f.report, "report", "", "write a self-contained page of figures and pictures to this `file`")
	f.live.addServer(c)
	completeRun(c)
	_ = c.RegisterFlagCompletionFunc("by", words("team", "partition", "user"))
	return c
}

func (f *whatIfFlags) run(ctx context.Context, s *State, args []string) error {
	batch(s)
	if len(f.policies) == 0 {
		return badUsage("--policy easy; escala policy list has the names", "--policy is missing: what other policy might have decided?")
	}
	t := &study{refs: f.policies}
	var err error
	if t.policies, err = resolve(f.policies, &worldFlags{given: func(string) bool { return false }}); err != nil {
		return err
	}
	out, err := s.begin(f.report)
	if err != nil {
		return err
	}
	defer out.abort()
	j, err := f.read(ctx, s, args)
	if err != nil {
		return err
	}
	t.cluster, t.assume = j.Header.Cluster, j.Header.Assume
	if err := t.check(); err != nil {
		return err
	}
	q := &whatif.Question{Policies: t.policies, Seed: f.seed, Pictures: f.report != "", By: grouping(f.by)}
	if q.From, q.To, err = f.stretch(s, j); err != nil {
		return err
	}
	c, err := j.Ask(ctx, q)
	if err != nil {
		return out.cut(whatIfError(err, j))
	}
	c.Version, c.Command = s.Build.name(), "escala "+quoteArgs(s.Args)
	if f.report != "" {
		if err := out.write(f.report, func(w *bufio.Writer) error { return report.WriteHTML(w, c) }); err != nil {
			return err
		}
	}
	if err := out.commit(); err != nil {
		return err
	}
	return s.showGroups(f.output, c, f.by != "")
}

// read reads a file, or has the daemon tell its journal.
func (f *whatIfFlags) read(ctx context.Context, s *State, args []string) (*whatif.Journal, error) {
	const hint = "a file of escala journal export, or of escala simulate --journal"
	if len(args) == 0 {
		data, err := f.export(ctx, s)
		if err != nil {
			return nil, judged(err)
		}
		j, err := whatif.Read("journal", data)
		return j, badInput(err, hint)
	}
	data, err := s.readInput(args[0])
	if err != nil {
		return nil, err
	}
	if data, err = trace.Unpack(args[0], data); err != nil {
		return nil, badInput(err, hint)
	}
	s.room(batchLimit + bytesPerByte*int64(len(data)))
	j, err := whatif.Read(args[0], data)
	return j, badInput(err, hint)
}

// export asks the daemon for the segments that the stretch needs. A journal may have ended
// some time ago, so that a length of time back from its end begins earlier than one from now.
func (f *whatIfFlags) export(ctx context.Context, s *State) ([]byte, error) {
	c, err := f.live.dial(ctx, s)
	if err != nil {
		return nil, err
	}
	clock := s.wall()
	since, err := clock.parseSince(f.since)
	if err != nil {
		return nil, badUsage("--since 7d", "--since %s", err)
	}
	if _, err := yamlx.ParseDuration(f.since); err == nil {
		since = since.Add(since.Sub(clock.now)).Add(-24 * time.Hour)
	}
	in, _, err := c.Stream(ctx, http.MethodGet, "/journal?"+url.Values{"since": {since.UTC().Format(time.RFC3339)}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return io.ReadAll(in)
}

// stretch reads both ends on the journal's clock.
func (f *whatIfFlags) stretch(s *State, j *whatif.Journal) (from, to workload.Time, err error) {
	to = j.End
	if f.until != "" {
		if to, err = instant(s, "until", f.until, j); err != nil {
			return 0, 0, err
		}
	}
	if from, err = instant(s, "since", f.since, j); err != nil {
		return 0, 0, err
	}
	epoch := j.Header.Workload.Epoch
	switch {
	case from > j.End:
		return 0, 0, badUsage("--since 1d", "--since %s: the journal ends before, %s", f.since, report.Moment(j.End, epoch))
	case to <= from:
		return 0, 0, badUsage("--since 7d --until 1d", "--until %s is not after --since %s", f.until, f.since)
	case to < j.First:
		return 0, 0, badUsage("--until with a later time", "--until %s: the journal begins after, %s", f.until, report.Moment(j.First, epoch))
	}
	return from, to, nil
}

// instant is a point in time of a journal: a length of time back from its end, a date, or
// seconds of its clock.
func instant(s *State, flag, text string, j *whatif.Journal) (workload.Time, error) {
	if d, err := yamlx.ParseDuration(text); err == nil {
		return j.End - workload.Time(d), nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(v) < 1e15 {
		return workload.Time(math.Round(v * 1000)), nil
	}
	t, err := s.wall().parseSince(text)
	if err != nil {
		return 0, badUsage("--"+flag+" 7d", "--%s %s", flag, err)
	}
	if j.Header.Workload.Epoch == workload.Unknown {
		return 0, badUsage("--"+flag+" 7d, or seconds of its clock: --"+flag+" 86400", "--%s %s is a date, and the journal has no calendar", flag, text)
	}
	return t.UnixMilli() - j.Header.Workload.Epoch, nil
}

func grouping(name string) *metrics.Grouping {
	for _, g := range []metrics.Grouping{metrics.ByTeam, metrics.ByPartition, metrics.ByUser} {
		if g.String() == name {
			return &g
		}
	}
	return nil
}

// whatIfError says whose fault it is, and what to try.
func whatIfError(err error, j *whatif.Journal) error {
	var other *whatif.PolicyChanged
	var broken *journal.Error
	switch {
	case errors.As(err, &other):
		at, epoch := "--since "+seconds(other.At), j.Header.Workload.Epoch
		if epoch != workload.Unknown {
			at = "--since " + time.UnixMilli(epoch+other.At).UTC().Add(time.Second).Format(time.RFC3339)
		}
		return badInput(err, at+", from when on one policy decided; or --until with the time before")
	case errors.As(err, &broken):
		return badInput(err, "escala replay says more of a journal that cannot be read")
	}
	return fmt.Errorf("what if: %w", err)
}

// showGroups writes the comparison to standard output, with the figures of each group.
func (s *State) showGroups(format string, c *report.Comparison, groups bool) error {
	if format != "table" || !groups {
		return s.show(format, c)
	}
	w := bufio.NewWriter(s.Stdout)
	if err := report.WriteTable(w, c, report.TableOptions{Color: s.colored(s.Stdout), Width: s.Stdout.width(), Groups: true}); err != nil {
		return err
	}
	return w.Flush()
}
