package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

// historyFlags are the options of escala history.
type historyFlags struct {
	liveFlags
	user, team, state, array, cursor string
	me, all                          bool
	limit                            int
}

func historyCommand(s *State) *cobra.Command {
	f := &historyFlags{}
	c := &cobra.Command{
		Use:     "history",
		GroupID: groupLive,
		Short:   "List jobs that ended, the last first",
		Example: `  escala history
  escala history --me --state failed
  escala history --all --output json > jobs.json`,
		Args: noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error { return f.run(ctx, s, c) }),
	}
	fl := c.Flags()
	fl.StringVar(&f.user, "user", "", "jobs of this `user` alone")
	fl.BoolVar(&f.me, "me", false, "my jobs alone")
	fl.StringVar(&f.team, "team", "", "jobs of this `team` alone")
	fl.StringVar(&f.state, "state", "ended", "`state` that they ended in: "+strings.Join(endedStates, ", "))
	fl.StringVar(&f.array, "array", "", "jobs of this `array` alone")
	fl.IntVar(&f.limit, "limit", 50, "at most so many")
	fl.StringVar(&f.cursor, "cursor", "", "go on behind the `page` that named it")
	fl.BoolVarP(&f.all, "all", "a", false, "all of them")
	f.add(c)
	_ = c.RegisterFlagCompletionFunc("state", words(endedStates...))
	_ = c.RegisterFlagCompletionFunc("team", f.completeTeams(s))
	return c
}

func (f *historyFlags) run(ctx context.Context, s *State, c *conn) error {
	if f.me {
		f.user = s.me()
	}
	if f.state != "ended" && !slices.Contains(endedStates, f.state) {
		return badUsage("escala queue --state "+f.state+" for jobs that run or wait", "--state %s: want one of %s", f.state, strings.Join(endedStates, ", "))
	}
	if f.limit < 1 {
		return badUsage("--limit 50", "--limit %d: want 1 or more", f.limit)
	}
	query := url.Values{"state": {f.state}}
	for k, v := range map[string]string{"user": f.user, "team": f.team, "array": f.array, "cursor": f.cursor} {
		if v != "" {
			query.Set(k, v)
		}
	}
	out := api.Jobs{Jobs: []api.Job{}}
	for {
		want := f.limit - len(out.Jobs)
		if f.all {
			want = 1000
		}
		query.Set("limit", strconv.Itoa(min(want, 1000)))
		var page api.Jobs
		if _, err := fetch(ctx, c, "/jobs", query, &page); err != nil {
			return err
		}
		out.Jobs, out.Next = append(out.Jobs, page.Jobs...), page.Next
		if page.Next == "" || !f.all && len(out.Jobs) >= f.limit {
			break
		}
		query.Set("cursor", page.Next)
	}
	if f.output == "json" {
		body, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return s.printRaw(body)
	}
	if len(out.Jobs) == 0 {
		s.say("No such job has ended yet.\n")
		return nil
	}
	if err := s.showList(mixedList(out.Jobs, s.wall())); err != nil {
		return err
	}
	if out.Next != "" {
		s.say("There are more: escala history --cursor %s\n", out.Next)
	}
	return nil
}

// mixedList is jobs that ended, and perhaps some that have not.
func mixedList(jobs []api.Job, clock wallClock) *list {
	l := &list{columns: []column{{title: "JOB"}, {title: "NAME", rest: true}, {title: "USER"}, {title: "TEAM", wide: 90}, {title: "GPUS", right: true}, {title: "STATE"}, {title: "EXIT", right: true},
		{title: "ENDED"}, {title: "WAITED", wide: 100}, {title: "GPU-HOURS", right: true, wide: 80}, {title: "STOPS", right: true, wide: 110}, {title: "WHY", wide: 100, rest: true}}}
	for i := range jobs {
		j := &jobs[i]
		waited, exit, stops := "", "", ""
		ended, why := clock.startText(j), clock.whyText(j)
		if j.Ended != nil {
			ended, why = clock.when(*j.Ended), unprintable(j.Text)
		}
		if j.Started != nil {
			waited = spanOf(j.Started.Sub(j.Submitted))
		}
		if j.Exit != nil {
			exit = fmt.Sprint(*j.Exit)
		}
		if j.Stops > 0 {
			stops = strconv.Itoa(j.Stops)
		}
		if j.By != "" {
			why = strings.TrimSuffix("by "+j.By+": "+why, ": ")
		}
		l.add(cell{j.ID, styleBold}, cell{unprintable(j.Name), ""}, cell{unprintable(j.User), ""}, cell{unprintable(j.Team), ""}, cell{fmt.Sprint(j.GPUs), ""}, cell{j.State, stateStyle(j.State)},
			cell{exit, ""}, cell{ended, ""}, cell{waited, ""}, cell{fmt.Sprintf("%.2f", j.GPUHours), ""}, cell{stops, ""}, cell{clock.local(why), styleFaint})
	}
	return l
}
