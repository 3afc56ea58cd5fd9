package server

import (
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
)

func (s *Server) jobRoutes() {
	s.submitRoutes()
	huma.Register(s.api, op(http.MethodGet, "/jobs", "list-jobs", "List jobs, those that are alive by number, ended ones the last first"), s.listJobs)
	huma.Register(s.api, op(http.MethodGet, "/jobs/{id}", "get-job", "Show a job and its runs"), s.getJob)
	huma.Register(s.api, op(http.MethodPost, "/jobs/{id}/cancel", "cancel-job", "Withdraw a job or an array; what runs is stopped with its grace"),
		s.change(auth.Cancel, func(ctx context.Context, jobs []int32, r *changeIn) (int, error) {
			return s.d.Cancel(ctx, jobs, s.who(ctx).User, r.Body.Text)
		}))
	huma.Register(s.api, op(http.MethodPost, "/jobs/{id}/hold", "hold-job", "Keep a waiting job out of the queue"),
		s.change(auth.Hold, func(ctx context.Context, jobs []int32, r *changeIn) (int, error) {
			return s.d.Hold(ctx, jobs, s.overrides(ctx, jobs), s.who(ctx).User, r.Body.Text)
		}))
	huma.Register(s.api, op(http.MethodPost, "/jobs/{id}/release", "release-job", "Let a held job back into the queue"),
		s.change(auth.Release, func(ctx context.Context, jobs []int32, _ *changeIn) (int, error) {
			return s.d.Release(ctx, jobs, s.operates(ctx), s.who(ctx).User)
		}))
	huma.Register(s.api, op(http.MethodPost, "/jobs/{id}/requeue", "requeue-job", "Stop a run and have the job wait again"),
		s.change(auth.Requeue, func(ctx context.Context, jobs []int32, _ *changeIn) (int, error) {
			return s.d.RequeueAll(ctx, jobs, s.who(ctx).User)
		}))
	huma.Register(s.api, op(http.MethodPost, "/jobs/{id}/checkpointed", "checkpointed", "Tell that a run has saved its state"),
		s.change(auth.Checkpointed, func(ctx context.Context, jobs []int32, r *changeIn) (int, error) {
			j := s.d.Some(jobs[:1])
			if len(j) == 0 || j[0].Run() == nil {
				return 0, &live.Conflict{Msg: "the job does not run"}
			}
			return 1, s.d.Checkpointed(ctx, jobs[0], j[0].Run().Attempt)
		}))
}

type idIn struct {
	ID string `path:"id" maxLength:"64" doc:"ID of a job"`
}

type jobOut struct{ Body api.Job }

func (s *Server) getJob(ctx context.Context, in *idIn) (*jobOut, error) {
	j, err := s.d.One(ctx, in.ID)
	if err != nil {
		return nil, s.problem(err)
	}
	out := s.job(&j, s.now())
	out.Runs = s.runs(&j)
	if s.sees(ctx, &j) {
		out.Command = s.command(ctx, &j)
	}
	if j.Phase.Alive() {
		out.Waiting = s.waiting(&j, s.d.Current(ctx), &rooms{s: s})
	}
	return &jobOut{out}, nil
}

type listIn struct {
	State  []string `query:"state" maxItems:"20" doc:"states to list: a state of a job, alive (the default), or ended"`
	User   string   `query:"user" maxLength:"100"`
	Team   string   `query:"team" maxLength:"200"`
	Array  string   `query:"array" maxLength:"64" doc:"jobs of this array"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor string   `query:"cursor" maxLength:"300" doc:"next of the page before"`
}

type listOut struct{ Body api.Jobs }

// aliveStates are the states of jobs of which something can still become.
var aliveStates = []string{"alive", "waiting", "held", "blocked", "clearing", "starting", "running", "stopping", "parked"}

func (s *Server) listJobs(ctx context.Context, in *listIn) (*listOut, error) {
	f := live.Filter{States: in.State, User: in.User, Team: in.Team, Array: in.Array}
	if len(f.States) == 0 {
		f.States = []string{"alive"}
	}
	past := !isAlive(f.States[0])
	for _, w := range f.States {
		if isAlive(w) == past {
			return nil, s.problem(&live.Invalid{Field: "state", Msg: "jobs that are alive and jobs that ended are listed one by one"})
		}
	}
	out := &listOut{}
	now := s.now()
	if past {
		cursor, err := base64.RawURLEncoding.DecodeString(in.Cursor)
		if err != nil {
			return nil, s.problem(&live.Invalid{Field: "cursor", Msg: "not a cursor of this list"})
		}
		jobs, next, err := s.d.Past(ctx, f, string(cursor), in.Limit)
		if err != nil {
			return nil, s.problem(err)
		}
		for i := range jobs {
			out.Body.Jobs = append(out.Body.Jobs, s.job(&jobs[i], now))
		}
		out.Body.Next = base64.RawURLEncoding.EncodeToString([]byte(next))
	} else {
		after, err := strconv.ParseInt("0"+in.Cursor, 10, 32)
		if err != nil {
			return nil, s.problem(&live.Invalid{Field: "cursor", Msg: "not a cursor of this list"})
		}
		jobs, more := s.d.Alive(f, int32(after)-1, in.Limit)
		v, r := s.d.Current(ctx), &rooms{s: s}
		for i := range jobs {
			x := s.job(&jobs[i], now)
			x.Waiting = s.waiting(&jobs[i], v, r)
			out.Body.Jobs = append(out.Body.Jobs, x)
		}
		if more {
			out.Body.Next = strconv.Itoa(int(jobs[len(jobs)-1].Number) + 1)
		}
	}
	if out.Body.Jobs == nil {
		out.Body.Jobs = []api.Job{}
	}
	return out, nil
}

func isAlive(state string) bool {
	for _, w := range aliveStates {
		if w == state {
			return true
		}
	}
	return false
}

type changeIn struct {
	ID   string `path:"id" maxLength:"64" doc:"ID of a job or of an array"`
	Body api.Reason
}

type changeOut struct{ Body api.Changed }

// change is a handler that changes jobs, of which all have to be the asker's to change.
func (s *Server) change(a auth.Action, do func(ctx context.Context, jobs []int32, in *changeIn) (int, error)) func(context.Context, *changeIn) (*changeOut, error) {
	return func(ctx context.Context, in *changeIn) (*changeOut, error) {
		jobs, err := s.d.Members(ctx, in.ID)
		if err != nil {
			return nil, s.problem(err)
		}
		if err := s.mayChange(ctx, a, in.ID, jobs); err != nil {
			return nil, s.problem(err)
		}
		out := api.Changed{}
		for _, j := range s.d.Some(jobs) {
			if j.Spec.ID == in.ID {
				break // a job alone
			}
			if out.Of++; j.Phase == live.Starting || j.Phase == live.Running || j.Phase == live.Stopping {
				out.Running++
			}
		}
		if out.Changed, err = do(ctx, jobs, in); err != nil {
			return nil, s.problem(err)
		}
		return &changeOut{out}, nil
	}
}

// command is what a job runs, in a line: as it is for its owner, without what may be a secret for
// others who may see it.
func (s *Server) command(ctx context.Context, j *live.Job) string {
	if s.cfg.Command == nil {
		return ""
	}
	argv, err := s.cfg.Command(ctx, j.Number)
	if err != nil {
		return ""
	}
	if j.Spec.User != s.who(ctx).User {
		argv = auth.Redact(argv)
	}
	return commandLine(argv)
}

// commandLine writes a command as a shell reads it.
func commandLine(argv []string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%"
	out := make([]string, len(argv))
	for i, a := range argv {
		if out[i] = a; a == "" || strings.Trim(a, plain) != "" && a != auth.Redacted {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
