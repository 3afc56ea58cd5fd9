package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

func runCommand(s *State) *cobra.Command {
	f := &submitFlags{job: newJobFlags()}
	c := &cobra.Command{
		Use:                   "run [options] -- COMMAND [ARG...] | run [options] SCRIPT",
		GroupID:               groupLive,
		DisableFlagsInUseLine: true,
		Short:                 "Queue a job, follow its output, and end with its exit code",
		Long: `Does what submit does and stays: the output of the job goes to standard output, what
becomes of it to standard error. A job that is stopped for others and resumed is followed
on. Ctrl-C cancels the job; a second one leaves at once.`,
		Example: `  escala run --gpus 1 -- python train.py
  escala run --gpus 8 --estimate 3h --min-runtime 1h -- torchrun --nproc-per-node 8 train.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd, s, args, func(ctx context.Context, c *conn, b *api.Submit) error {
				if len(b.Indices) > 0 {
					return badUsage("escala submit --wait --array ...", "an array has no single output to follow")
				}
				return f.follow(ctx, s, c, b)
			})
		},
	}
	f.add(c, s)
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "say nothing of what becomes of it")
	_ = c.Flags().MarkHidden("output")
	return c
}

// follow submits, follows, and cancels where it is interrupted.
func (f *submitFlags) follow(ctx context.Context, s *State, c *conn, b *api.Submit) error {
	out, _, err := f.post(ctx, c, b)
	if err != nil {
		return err
	}
	s.warn(out.Warnings)
	t := &teller{s: s, quiet: f.quiet}
	t.line("%s", queued(&out, b))
	l := logReader{s: s, c: c, id: out.ID, saw: t.saw}
	j, err := l.run(ctx)
	if ctx.Err() != nil {
		t.wipe()
		s.say("Cancelling job %s; Ctrl-C again leaves at once.\n", out.ID)
		// The caller's end is what cancelling must outlive.
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if _, err := c.Call(rest, http.MethodPost, "/jobs/"+url.PathEscape(out.ID)+"/cancel", api.Reason{Text: "interrupted"}, nil, nil); err != nil {
			return judged(fmt.Errorf("job %s was not cancelled: %w", out.ID, err))
		}
		l.saw = nil
		_, _ = l.run(rest)
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	t.line("job %s %s", out.ID, endText(j, s.wall()))
	if code := jobCode(j); code != exitOK {
		return &ended{code}
	}
	return nil
}

// teller says on standard error what becomes of a job, and each thing once.
type teller struct {
	s     *State
	quiet bool
	// What was said last, and when, and of which run that it was stopped.
	state            string
	attempt, stopped int32
	text             string
	at               time.Time
	// drawn: there is a line on the terminal that the next one replaces.
	drawn bool
}

// tellEvery is how often a place in line is told where nobody watches.
const tellEvery = 10 * time.Second

func (t *teller) line(format string, args ...any) {
	if t.quiet {
		return
	}
	t.wipe()
	t.s.say(format+"\n", args...)
}

func (t *teller) wipe() {
	if t.drawn {
		t.s.say("\r\x1b[K")
	}
	t.drawn = false
}

// saw tells what changed.
func (t *teller) saw(j *api.Job) {
	clock := t.s.wall()
	for i := range j.Runs {
		if r := &j.Runs[i]; r.Ended != nil && r.Attempt > t.stopped && !(over(j) && i == len(j.Runs)-1) {
			t.stopped = r.Attempt
			why := r.StopWhy
			if why == "" {
				why = r.End
			}
			t.line("stopped: %s", clock.local(why))
		}
	}
	changed := j.State != t.state || j.Attempt != t.attempt
	t.state, t.attempt = j.State, j.Attempt
	switch {
	case j.Waiting != nil:
		t.waiting(waitText(j, clock), changed, clock)
	case j.State == "running" && changed:
		text := "running on " + joined(j.Nodes)
		if j.Unallocated {
			text += ", unallocated: it may be stopped at any time"
		} else if j.Protected != nil {
			text += ", safe until " + clock.text(*j.Protected)
		}
		t.line("%s", text)
	}
}

// waiting tells a place in line: on a terminal on one line, else when it changed and not too often.
func (t *teller) waiting(text string, changed bool, clock wallClock) {
	if t.quiet || text == t.text && !changed {
		return
	}
	if t.s.Stderr.TTY {
		t.wipe()
		if w := t.s.Stderr.width(); w > 1 {
			text = cut(text, w-1)
		}
		t.s.say("%s", text)
		t.drawn, t.text = true, text
		return
	}
	if changed || clock.now.Sub(t.at) >= tellEvery {
		t.text, t.at = text, clock.now
		t.s.say("%s\n", text)
	}
}

// waitText says where a job stands in line, and why it does not run.
func waitText(j *api.Job, clock wallClock) string {
	w := j.Waiting
	text := j.State
	if w.Rank > 0 {
		text += fmt.Sprintf(": %s of %s", ordinal(w.Rank), grouped(int64(w.Of)))
	}
	text += ": " + clock.local(w.Why)
	if start := clock.starts(w); start != "" {
		text += pick(w.Promised != nil, " It is "+start+".", " Starts: "+start+".")
	}
	return text
}

func joined(list []string) string {
	switch {
	case len(list) == 0:
		return "this cluster"
	case len(list) > 3:
		return fmt.Sprintf("%s and %d more", list[0], len(list)-1)
	}
	text := list[0]
	for _, x := range list[1:] {
		text += ", " + x
	}
	return text
}
