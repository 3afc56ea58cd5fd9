package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/metrics"
)

// observedOutcomes are what a run may have come to.
var observedOutcomes = []string{"completed", "failed", "cancelled", "timeout", "node-fail", "preempted", "unknown"}

func observedCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	var started, ended, outcome, on string
	var exit int32
	c := &cobra.Command{
		Use:     "observed JOB",
		GroupID: groupLive,
		Short:   "Tell a scheduler in shadow what another one did with a job",
		Long: `Says when the job really started, where, and when and how it ended. Each may be told as
soon as it is known; what was told before is kept, and a correction replaces it. A job that
was withdrawn before it started has an end and the outcome cancelled. docs/shadow.md.`,
		Example: `  escala observed 12 --started now --on gpu07
  escala observed 12 --ended 14:35
  escala observed 12 --started 2026-12-01T08:00 --ended 2026-12-01T09:30 --outcome failed`,
		Args: argCount(1, 1, "the ID of a job"),
	}
	fl := c.Flags()
	fl.StringVar(&started, "started", "", "`time` of its start: now, 14:35, 10m (ago), 2026-12-01T08:00")
	fl.StringVar(&ended, "ended", "", "`time` of its end")
	fl.Var(newChoice(&outcome, observedOutcomes...), "outcome", "how it ended: "+strings.Join(observedOutcomes, ", "))
	fl.Int32Var(&exit, "exit", 0, "its exit `code`")
	fl.StringVar(&on, "on", "", "the `node` that it runs on, for people to read")
	f.add(c)
	_ = c.RegisterFlagCompletionFunc("outcome", words(observedOutcomes...))
	c.ValidArgsFunction = f.completeJobs(s, "alive", "ended")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		b := api.Observed{Exit: exit, On: on}
		if cmd.Flags().Changed("outcome") {
			b.Outcome = outcome
		}
		for _, x := range []struct {
			option, text string
			to           **time.Time
		}{{"started", started, &b.Started}, {"ended", ended, &b.Ended}} {
			if x.text == "" {
				continue
			}
			t, err := s.wall().parsePast(x.text)
			if err != nil {
				return badUsage("--"+x.option+" now", "--%s %s", x.option, err)
			}
			*x.to = &t
		}
		if b.Started == nil && b.Ended == nil && on == "" && b.Outcome == "" {
			return badUsage("escala observed "+args[0]+" --started now", "say what was observed: --started, --ended")
		}
		return f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			var out api.Changed
			if _, err := c.Call(ctx, http.MethodPost, "/jobs/"+url.PathEscape(args[0])+"/observed", b, &out, nil); err != nil {
				return err
			}
			if f.output == "json" {
				return s.printJSON(out)
			}
			return s.print("What really happened to job %s is known.\n", args[0])
		})(cmd, args)
	}
	return c
}

// realText says what another scheduler did with a job.
func realText(r *api.Observed, clock wallClock) string {
	if r == nil {
		return ""
	}
	var parts []string
	if r.Started != nil {
		parts = append(parts, "started "+clock.when(*r.Started)+pick(r.On == "", "", " on "+unprintable(r.On)))
	}
	if r.Ended != nil {
		parts = append(parts, r.Outcome+" "+clock.when(*r.Ended))
	}
	return strings.Join(parts, ", ")
}

// parsePast reads a time that has been: now, a time of the day, a duration before now, a date.
func (c wallClock) parsePast(text string) (time.Time, error) {
	if text == "now" {
		return c.now, nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, c.loc); err == nil {
			now := c.now.In(c.loc)
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, c.loc)
			if at.After(now) {
				at = time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), t.Second(), 0, c.loc)
			}
			return at, nil
		}
	}
	t, err := c.parseSince(text)
	if err != nil {
		return t, fmt.Errorf("%q: want a time such as now, 14:35, 10m (ago) or 2026-12-01T08:00", text)
	}
	return t, nil
}

// shadowFlags are the options of escala shadow.
type shadowFlags struct {
	liveFlags
	since, until string
	limit        int
}

func shadowCommand(s *State) *cobra.Command {
	f := &shadowFlags{}
	c := &cobra.Command{
		Use:     "shadow",
		GroupID: groupLive,
		Short:   "Say how a scheduler in shadow differs from the one that runs the jobs",
		Long: `Compares what was decided in shadow with what really happened: waits, GPUs in use, who
started earlier and later, what was stopped and what that would have cost, and how much of
it rests on guesses. docs/shadow.md explains it.`,
		Example: "  escala shadow\n  escala shadow --since 30d --output json",
		Args:    noArgs,
		RunE:    f.ask(s, func(ctx context.Context, c *conn, _ []string) error { return f.run(ctx, s, c) }),
	}
	fl := c.Flags()
	fl.StringVar(&f.since, "since", "7d", "jobs submitted from this `time` on: 7d, 2026-12-01")
	fl.StringVar(&f.until, "until", "", "and before this `time` (default: now)")
	fl.IntVar(&f.limit, "limit", 10, "how many of the jobs whose starts differ most are listed")
	f.add(c)
	return c
}

func (f *shadowFlags) run(ctx context.Context, s *State, c *conn) error {
	q := url.Values{"limit": {strconv.Itoa(f.limit)}}
	if f.limit < 0 || f.limit > 10_000 {
		return badUsage("--limit 10", "--limit %d: want 0 to 10,000", f.limit)
	}
	for option, text := range map[string]string{"since": f.since, "until": f.until} {
		if text == "" {
			continue
		}
		t, err := s.wall().parsePast(text)
		if err != nil {
			return badUsage("--"+option+" 7d", "--%s %s", option, err)
		}
		q.Set(option, t.UTC().Format(time.RFC3339))
	}
	var r api.Shadow
	raw, err := fetch(ctx, c, "/shadow", q, &r)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return s.printRaw(raw)
	}
	return s.showShadow(&r, s.wall())
}

// showShadow shows a report to people.
func (s *State) showShadow(r *api.Shadow, clock wallClock) error {
	n := &r.Jobs
	if err := s.print("%s in shadow, jobs submitted from %s to %s: %s in all\n  %s started in both, %s in shadow alone, %s in reality alone, %s in neither\n\n", s.paint(styleBold, "Policy "+r.Policy), clock.text(r.From), clock.text(r.To),
		grouped(int64(n.Submitted)), grouped(int64(n.Both)), grouped(int64(n.OnlyShadow)), grouped(int64(n.OnlyReal)), grouped(int64(n.Neither))); err != nil {
		return err
	}
	if err := s.showList(shadowFigures(r)); err != nil {
		return err
	}
	p := facts{}
	p.add("starts", "%s", startsText(&r.Starts))
	p.add("order", "%s of %s pairs of like jobs of one team started the other way round", grouped(r.Order.Swapped), grouped(r.Order.Pairs))
	p.add("stops", "shadow stopped %s for others; %s GPU-hours would be lost, %s spent on restarting", plural(r.Stops.Preemptions, "run"), trimNumber(r.Stops.LostGPUHours, 1), trimNumber(r.Stops.RestartGPUHours, 1))
	p.add("guesses", "%s", guessText(&r.Guesses))
	if n.Untold > 0 {
		p.add("untold", "of %s nothing was observed: they count as waiting in reality", plural(n.Untold, "job"))
	}
	if n.Refused > 0 {
		p.add("refused", "%s can never run in shadow", plural(n.Refused, "job"))
	}
	p.add("incomplete", "%s", r.Incomplete)
	if err := s.print("\n%s", p.text()); err != nil {
		return err
	}
	if len(r.Teams) > 0 {
		if err := s.print("\n"); err != nil {
			return err
		}
		if err := s.showList(shadowTeams(r.Teams)); err != nil {
			return err
		}
	}
	if len(r.List) == 0 {
		return nil
	}
	if err := s.print("\n"); err != nil {
		return err
	}
	return s.showList(shadowJobs(r.List, clock))
}

// shadowFigures are numbers of both side by side.
func shadowFigures(r *api.Shadow) *list {
	l := &list{columns: []column{{title: ""}, {title: "REALITY", right: true}, {title: "SHADOW", right: true}, {title: "DIFFERENCE", right: true}}}
	waits := func(name string, w *api.ShadowWaits) {
		row := func(what string, a, b float64, aBound, bBound bool) {
			l.add(cell{name + " " + what, ""}, cell{bounded(aBound) + lengthText(a), ""}, cell{bounded(bBound) + lengthText(b), ""}, cell{changeText(b - a), better(a - b)})
		}
		a, b := &w.Real, &w.Shadow
		row("p50", a.P50, b.P50, a.Bounds.P50, b.Bounds.P50)
		row("p90", a.P90, b.P90, a.Bounds.P90, b.Bounds.P90)
		row("mean", a.Mean, b.Mean, a.MeanBound(), b.MeanBound())
	}
	waits("wait", &r.Wait)
	if r.DebugWait != nil {
		waits("debug wait", r.DebugWait)
	}
	o := &r.Occupancy
	l.add(cell{"occupancy", ""}, cell{fmt.Sprintf("%.1f %%", o.Real*100), ""}, cell{fmt.Sprintf("%.1f %%", o.Shadow*100), ""}, cell{fmt.Sprintf("%+.1f pp", (o.Shadow-o.Real)*100), better(o.Shadow - o.Real)})
	g := &r.GPUHours
	l.add(cell{"GPU-hours", ""}, cell{trimNumber(g.Real, 1), ""}, cell{trimNumber(g.Shadow, 1), ""}, cell{fmt.Sprintf("%+.1f", g.Shadow-g.Real), ""})
	return l
}

func bounded(is bool) string { return pick(is, "≥", "") }

// better is the colour of a change for the better or for the worse.
func better(by float64) string {
	switch {
	case by > 0:
		return styleGood
	case by < 0:
		return styleBad
	}
	return ""
}

// lengthText is a length of time in seconds.
func lengthText(s float64) string { return spanOf(time.Duration(s * float64(time.Second))) }

// changeText is one with its sign.
func changeText(s float64) string {
	switch {
	case s >= 1:
		return "+" + lengthText(s)
	case s <= -1:
		return "-" + lengthText(-s)
	}
	return "="
}

func startsText(x *api.ShadowStarts) string {
	part := func(n int, word string, d *metrics.Dist) string {
		text := grouped(int64(n)) + " " + word
		if n > 0 {
			text += fmt.Sprintf(" (by %s at the median, %s at most)", lengthText(d.P50), lengthText(d.Max))
		}
		return text
	}
	return fmt.Sprintf("%s, %s, %s at the same time; %s a job on average", part(x.Earlier, "earlier in shadow", &x.EarlierBy), part(x.Later, "later", &x.LaterBy), grouped(int64(x.Same)),
		pick(x.MeanSaved >= 0, "earlier by "+lengthText(x.MeanSaved), "later by "+lengthText(-x.MeanSaved)))
}

func guessText(g *api.ShadowGuesses) string {
	text := fmt.Sprintf("%s of %s shadow runs that ended did so by a guess", grouped(int64(g.Guessed)), grouped(int64(g.Finished)))
	if g.Told > 0 {
		text += fmt.Sprintf("; of %s reality has told since: %d were too short (%s GPU-hours), %d too long (%s)", grouped(int64(g.Told)), g.TooShort, trimNumber(g.TooShortGPUHours, 1), g.TooLong, trimNumber(g.TooLongGPUHours, 1))
	}
	return text
}

// shadowTeams are the teams, who gained most first.
func shadowTeams(teams []api.ShadowTeam) *list {
	l := &list{columns: []column{{title: "TEAM", rest: true}, {title: "JOBS", right: true}, {title: "SAVED", right: true}, {title: "WAIT", right: true}, {title: "IN SHADOW", right: true},
		{title: "GPU-HOURS", right: true, wide: 90}, {title: "IN SHADOW", right: true, wide: 90}}}
	for i := range teams {
		t := &teams[i]
		l.add(cell{unprintable(t.Team), styleBold}, cell{grouped(int64(t.Jobs)), ""}, cell{changeText(t.Saved), better(t.Saved)}, cell{lengthText(t.RealWait), ""}, cell{lengthText(t.ShadowWait), ""},
			cell{trimNumber(t.GPUHours.Real, 1), ""}, cell{trimNumber(t.GPUHours.Shadow, 1), ""})
	}
	return l
}

// shadowJobs are the jobs whose starts differ most.
func shadowJobs(jobs []api.ShadowJob, clock wallClock) *list {
	l := &list{columns: []column{{title: "JOB"}, {title: "NAME", rest: true, wide: 80}, {title: "USER"}, {title: "TEAM", wide: 100}, {title: "GPUS", right: true}, {title: "SUBMITTED", wide: 80}, {title: "REALLY STARTED"},
		{title: "IN SHADOW"}, {title: "SAVED", right: true}, {title: "STOPS", right: true, wide: 100}, {title: "", wide: 90}}}
	at := func(t *time.Time) string {
		if t == nil {
			return "waits"
		}
		return clock.text(*t)
	}
	for i := range jobs {
		j := &jobs[i]
		l.add(cell{j.ID, styleBold}, cell{unprintable(j.Name), ""}, cell{unprintable(j.User), ""}, cell{unprintable(j.Team), ""}, cell{fmt.Sprint(j.GPUs), ""}, cell{clock.text(j.Submitted), ""}, cell{at(j.Real), ""},
			cell{at(j.Shadow), ""}, cell{changeText(j.Saved), better(j.Saved)}, cell{pick(j.Stops > 0, fmt.Sprint(j.Stops), ""), ""}, cell{pick(j.Guess, "guess", ""), styleFaint})
	}
	return l
}
