package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
)

// verb is something that is done to jobs or nodes.
type verb struct {
	word, short, long, example string
	// past says that it was done: "job 12 %s".
	past string
	// states of jobs that it is for.
	states []string
	// reason: whoever does it may say why.
	reason bool
}

var jobVerbs = []verb{
	{word: "cancel", short: "Withdraw jobs, or arrays of jobs; what runs is stopped with its grace", past: "is cancelled", states: []string{"alive"}, reason: true,
		example: "  escala cancel 12\n  escala cancel 12 13_4 --reason 'wrong branch'"},
	{word: "hold", short: "Keep waiting jobs out of the queue", past: "is held", states: []string{"waiting", "blocked"}, reason: true,
		example: "  escala hold 12 13"},
	{word: "release", short: "Let held jobs back into the queue", past: "is released", states: []string{"held"},
		example: "  escala release 12"},
	{word: "requeue", short: "Stop the runs of jobs and have them wait again", past: "is told to stop, and will wait again", states: []string{"running"},
		example: "  escala requeue 12"},
}

// jobCommands are the commands that change jobs.
func jobCommands(s *State) []*cobra.Command {
	var out []*cobra.Command
	for _, v := range jobVerbs {
		f := &changeFlags{verb: v, path: "/jobs/", noun: "job"}
		c := f.command(s)
		c.Use = v.word + " JOB..."
		c.Args = argCount(1, -1, "IDs of jobs")
		c.ValidArgsFunction = f.completeJobs(s, v.states...)
		out = append(out, c)
	}
	return out
}

// changeFlags are the options of a command that changes jobs or nodes, one by one.
type changeFlags struct {
	liveFlags
	verb       verb
	path, noun string
	reason     string
}

func (f *changeFlags) command(s *State) *cobra.Command {
	v := f.verb
	c := &cobra.Command{GroupID: groupLive, Short: v.short, Long: v.long, Example: v.example}
	c.RunE = f.ask(s, func(ctx context.Context, c *conn, args []string) error { return f.run(ctx, s, c, args) })
	if v.reason {
		c.Flags().StringVar(&f.reason, "reason", "", "why, for others to read")
	}
	f.add(c)
	return c
}

// changeResult is what became of one of them; a list of these is the JSON.
type changeResult struct {
	ID      string `json:"id"`
	Changed int    `json:"changed"`
	Of      int    `json:"of,omitempty"`
	Running int    `json:"running,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (f *changeFlags) run(ctx context.Context, s *State, c *conn, args []string) error {
	var results []changeResult
	var failed []error
	for _, id := range args {
		var out api.Changed
		_, err := c.Call(ctx, http.MethodPost, f.path+url.PathEscape(id)+"/"+f.verb.word, api.Reason{Text: f.reason}, &out, nil)
		r := changeResult{ID: id, Changed: out.Changed, Of: out.Of, Running: out.Running}
		var gone *client.Unreachable
		switch {
		case ctx.Err() != nil || errors.As(err, &gone):
			return err
		case err != nil:
			r.Error = err.Error()
			failed = append(failed, judged(err))
		case f.output != "json":
			if err := s.print("%s\n", f.done(id, &out)); err != nil {
				return err
			}
		}
		results = append(results, r)
	}
	if f.output == "json" {
		body, err := json.Marshal(results)
		if err == nil {
			err = s.printRaw(body)
		}
		if err != nil {
			return err
		}
	}
	return allBroken(failed, "")
}

// done says what was done, of an array to how many of its jobs.
func (f *changeFlags) done(id string, out *api.Changed) string {
	if out.Of == 0 {
		return f.noun + " " + id + " " + f.verb.past
	}
	switch f.verb.word {
	case "cancel":
		var parts []string
		if n := min(out.Running, out.Changed); n > 0 {
			parts = append(parts, plural(n, "job")+" told to stop")
		}
		if n := out.Changed - out.Running; n > 0 {
			parts = append(parts, plural(n, "job")+" withdrawn before "+pick(n == 1, "it", "they")+" ran")
		}
		if len(parts) == 0 {
			parts = []string{"all of it is being cancelled already"}
		}
		return "array " + id + " is cancelled: " + strings.Join(parts, ", ")
	case "hold":
		text := fmt.Sprintf("array %s: %s held", id, plural(out.Changed, "job"))
		if out.Running > 0 {
			text += fmt.Sprintf(", %s of them running, which go on until they are stopped", grouped(int64(min(out.Running, out.Changed))))
		}
		return text
	}
	text := fmt.Sprintf("array %s: %s %s", id, plural(out.Changed, "job"), strings.TrimPrefix(f.verb.past, "is "))
	if out.Changed == 0 {
		text = fmt.Sprintf("array %s: none of its %s is held", id, plural(out.Of, "job"))
	}
	return text
}
