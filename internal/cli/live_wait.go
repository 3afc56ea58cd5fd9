package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/workload"
)

func waitCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	var timeout workload.Span
	var quiet bool
	c := &cobra.Command{
		Use:     "wait JOB...",
		GroupID: groupLive,
		Short:   "Wait for the end of jobs, and end with their exit code",
		Long: `Waits until all have ended. The exit code is 0 where all completed, else the largest of
theirs: a job's own code, 124 for one that reached its limit of time, 130 for one that was
cancelled before it had a code. With --timeout it is 124 where some have not ended by then.`,
		Example: "  escala wait 12\n  escala wait 12 13 --timeout 2h && ./publish",
		Args:    argCount(1, -1, "IDs of jobs or arrays"),
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			w := waiter{s: s, c: c, quiet: quiet || f.output == "json", timeout: time.Duration(timeout) * time.Millisecond}
			for _, id := range args {
				ids, err := members(ctx, c, id)
				if err != nil {
					return err
				}
				w.ids = append(w.ids, ids...)
			}
			err := w.run(ctx)
			if f.output == "json" && len(w.done) > 0 {
				if e := s.printJSON(api.Jobs{Jobs: w.done}); e != nil {
					return e
				}
			}
			return err
		}),
	}
	c.Flags().Var(span{&timeout}, "timeout", "give up after this time, with exit code 124")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "say nothing")
	f.add(c)
	c.ValidArgsFunction = f.completeJobs(s, "alive")
	return c
}

// waiter waits for the end of jobs.
type waiter struct {
	s       *State
	c       *conn
	ids     []string
	quiet   bool
	timeout time.Duration
	// done are the jobs that have ended.
	done []api.Job
}

// run ends with the worst of the exit codes.
func (w *waiter) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := map[string]bool{}
	for _, id := range w.ids {
		left[id] = true
	}
	concerned := map[string]bool{}
	for id := range left {
		concerned[id] = true
	}
	news := watch(ctx, w.c, func(id string) bool { return concerned[id] })
	var late <-chan time.Time
	if w.timeout > 0 {
		late = time.After(w.timeout)
	}
	worst := exitOK
	for first := true; ; first = false {
		for _, id := range w.ids {
			if !left[id] {
				continue
			}
			j, err := w.s.getJob(ctx, w.c, id, !first)
			if err != nil {
				return err
			}
			if !over(j) {
				continue
			}
			delete(left, id)
			w.done = append(w.done, *j)
			worst = max(worst, jobCode(j))
			if !w.quiet {
				w.s.say("job %s %s\n", id, endText(j, w.s.wall()))
			}
		}
		if len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			if !w.quiet {
				w.s.say("%s of %d not done after %s\n", plural(len(left), "job"), len(w.ids), spanOf(w.timeout))
			}
			return &ended{exitTimeout}
		case <-news:
		case <-time.After(lookEvery):
		}
	}
	if worst != exitOK {
		return &ended{worst}
	}
	return nil
}

// endText says how a job ended.
func endText(j *api.Job, clock wallClock) string {
	text := j.State
	if j.Exit != nil && *j.Exit != 0 {
		text += fmt.Sprintf(" with exit code %d", *j.Exit)
	}
	if j.By != "" {
		text += " by " + j.By
	}
	if j.Text != "" && j.State != "completed" && !strings.HasPrefix(j.Text, "exit code") {
		text += ": " + clock.local(unprintable(j.Text))
	}
	if j.Started != nil && j.Ended != nil {
		text += fmt.Sprintf(" (waited %s, took %s)", spanOf(j.Started.Sub(j.Submitted)), spanOf(j.Ended.Sub(*j.Started)))
	}
	return text
}

// members are the IDs of an array's jobs that are alive, or that of a single job.
func members(ctx context.Context, c *conn, id string) ([]string, error) {
	var j api.Job
	_, err := fetch(ctx, c, "/jobs/"+url.PathEscape(id), nil, &j)
	if err == nil {
		return []string{id}, nil
	}
	if !notFound(err) {
		return nil, err
	}
	var out []string
	for _, state := range []string{"alive", "ended"} {
		var list []api.Job
		query := url.Values{"array": {id}}
		if _, e := pages(ctx, c, query, []string{state}, maxArray, &list); e != nil {
			return nil, e
		}
		for i := range list {
			out = append(out, list[i].ID)
		}
	}
	if len(out) == 0 {
		return nil, err
	}
	return out, nil
}
