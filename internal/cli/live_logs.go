package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

func logsCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	var follow bool
	var attempt int32
	c := &cobra.Command{
		Use:     "logs JOB",
		GroupID: groupLive,
		Short:   "Print what a job wrote",
		Long: `Prints the output of the last run of a job, or of the one that --attempt names. With
--follow it goes on until the job has ended, from run to run where it is stopped and resumed.`,
		Example: "  escala logs 12\n  escala logs -f 12\n  escala logs 12 --attempt 1",
		Args:    argCount(1, 1, "the ID of a job"),
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			if !follow {
				return s.copyLog(ctx, c, args[0], attempt, 0, false, nil)
			}
			l := logReader{s: s, c: c, id: args[0], only: attempt}
			_, err := l.run(ctx)
			return err
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as it grows, until the job has ended")
	c.Flags().Int32Var(&attempt, "attempt", 0, "`number` of the run (default: the last)")
	f.addServer(c)
	c.ValidArgsFunction = f.completeJobs(s, "running", "alive", "ended")
	return c
}

// copyLog writes a log to standard output as it comes. at counts the bytes.
func (s *State) copyLog(ctx context.Context, c *conn, id string, attempt int32, from int64, follow bool, at *int64) error {
	q := url.Values{"attempt": {fmt.Sprint(attempt)}, "from": {fmt.Sprint(from)}}
	if follow {
		q.Set("follow", "true")
	}
	in, _, err := c.Stream(ctx, http.MethodGet, "/jobs/"+url.PathEscape(id)+"/log?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	n, err := io.Copy(outputOf{s.Stdout}, in)
	if at != nil {
		*at = from + n
	}
	var broken *outputError
	if errors.As(err, &broken) || !follow {
		return err
	}
	return nil // what broke off is taken up again
}

// outputOf marks errors of the output, which no reconnecting cures.
type outputOf struct{ w io.Writer }

type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

func (o outputOf) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}

// logReader follows the output of a job from run to run, to its end. It asks for one run at a
// time, so that it knows where it is when the connection breaks.
type logReader struct {
	s  *State
	c  *conn
	id string
	// only is the run to follow, 0 = the present one and those that come.
	only int32
	// saw is told what became of the job, each time it may be something else.
	saw func(*api.Job)

	// now is the run that is read, at how far that came.
	now int32
	at  int64
}

// run ends with the job as it ended, or with the run that was asked for.
func (l *logReader) run(ctx context.Context) (*api.Job, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	news := watch(ctx, l.c, func(id string) bool { return id == l.id })
	for first := true; ; first = false {
		j, err := l.s.getJob(ctx, l.c, l.id, !first)
		if err != nil {
			return nil, err
		}
		if first && l.now == 0 {
			l.now = max(l.only, j.Attempt, 1)
		}
		if l.saw != nil {
			l.saw(j)
		}
		r := l.next(j)
		switch {
		case r == nil && over(j), l.only > 0 && l.now > l.only:
			return j, nil
		case r == nil:
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-news:
			case <-time.After(lookEvery):
			}
			continue
		}
		left := r.Ended != nil || over(j) // asked before reading: what was written last is read
		if err := l.s.copyLog(ctx, l.c, l.id, l.now, l.at, true, &l.at); err != nil && !away(err) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if left {
			l.now, l.at = l.now+1, 0
		} else {
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// next is the run to be read now, nil where there is none yet.
func (l *logReader) next(j *api.Job) *api.JobRun {
	for i := range j.Runs {
		if r := &j.Runs[i]; r.Attempt >= l.now && (l.only == 0 || r.Attempt == l.only) {
			if r.Attempt > l.now {
				l.now, l.at = r.Attempt, 0
			}
			if r.Started == nil && r.Ended == nil && !over(j) {
				return nil // it is being started: what there is to say of it comes with that
			}
			return r
		}
	}
	return nil
}
