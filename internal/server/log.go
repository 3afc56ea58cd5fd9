package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// lookEvery is how often a log that is followed is looked at.
const lookEvery = 250 * time.Millisecond

type logIn struct {
	ID      string `path:"id" maxLength:"64"`
	Attempt int32  `query:"attempt" minimum:"0" doc:"which run; 0 = the last, and with follow those that come"`
	From    int64  `query:"from" minimum:"0" doc:"bytes to leave out"`
	Follow  bool   `query:"follow" doc:"go on until the job has ended"`
}

func (s *Server) logRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/jobs/{id}/log", "job-log", "What a job wrote, as text"), s.jobLog)
}

func (s *Server) jobLog(ctx context.Context, in *logIn) (*huma.StreamResponse, error) {
	j, err := s.d.One(ctx, in.ID)
	if err != nil {
		return nil, s.problem(err)
	}
	if err := auth.Can(s.who(ctx), auth.ReadJobPrivate, s.cfg.Auth.Job(j.Spec.User, j.Spec.Team)); err != nil {
		return nil, s.problem(err)
	}
	logs, ok := s.cfg.World.(world.Logger)
	if !ok {
		return nil, s.problem(&live.NotFound{What: "log: what runs there writes its own"})
	}
	attempt := in.Attempt
	if attempt == 0 && j.Run() != nil {
		attempt = j.Run().Attempt
	}
	if attempt == 0 && !in.Follow {
		return nil, s.problem(&live.NotFound{What: "log of job " + j.Spec.ID + ": it has not run yet"})
	}
	if attempt > 0 && !in.Follow {
		f, _, err := logs.OpenLog(world.Run{Job: j.Number, Attempt: attempt}, in.From)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, s.problem(&live.NotFound{What: "log of this run of job " + j.Spec.ID + " any more"})
		}
		if err != nil {
			return nil, s.problem(err)
		}
		_ = f.Close()
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		c.SetHeader("Content-Type", "text/plain; charset=utf-8")
		c.SetHeader("X-Escala-Attempt", strconv.Itoa(int(attempt)))
		w := c.BodyWriter()
		flush, _ := w.(http.Flusher)
		if flush != nil {
			flush.Flush()
		}
		f := follower{s: s, logs: logs, id: in.ID, run: world.Run{Job: j.Number, Attempt: attempt}, at: in.From, one: in.Attempt > 0, w: w}
		for {
			over := !in.Follow || f.over(c.Context()) // asked before reading, so that what was written last is read
			if f.read() != nil {
				return
			}
			if flush != nil {
				flush.Flush()
			}
			if over {
				return
			}
			select {
			case <-c.Context().Done():
				return
			case <-s.d.Done():
				return
			case <-time.After(lookEvery):
			}
		}
	}}, nil
}

// follower reads a log as it grows, from run to run.
type follower struct {
	s    *Server
	logs world.Logger
	id   string
	run  world.Run
	at   int64
	// one: this run alone.
	one bool
	w   io.Writer
}

// over tells whether nothing more will be written, and goes on to the next run where one began.
func (f *follower) over(ctx context.Context) bool {
	j, err := f.s.d.Job(ctx, f.id)
	if err != nil {
		return true
	}
	if !j.Phase.Alive() && (j.Run() == nil || j.Run().Attempt == f.run.Attempt) {
		return true
	}
	if r := j.Run(); r != nil && r.Attempt > f.run.Attempt {
		if f.one {
			return true
		}
		_ = f.read()
		f.run.Attempt, f.at = r.Attempt, 0
		return !j.Phase.Alive()
	}
	return f.one && j.Run() != nil && j.Run().Left != workload.Unknown
}

func (f *follower) read() error {
	if f.run.Attempt == 0 {
		return nil
	}
	in, at, err := f.logs.OpenLog(f.run, f.at)
	if err != nil {
		return nil // not there yet
	}
	defer func() { _ = in.Close() }()
	f.at = at // where what there was by then ends
	_, err = io.Copy(f.w, in)
	return err
}
