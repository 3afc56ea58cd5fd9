package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
)

// who is asking. Without a middleware before it nobody is.
func (s *Server) who(ctx context.Context) *auth.Identity {
	if id := auth.FromContext(ctx); id != nil {
		return id
	}
	return &auth.Identity{UID: -1, GID: -1}
}

// may tells whether whoever asks may do something that concerns nobody's job.
func (s *Server) may(ctx context.Context, a auth.Action) error {
	return auth.Can(s.who(ctx), a, auth.Object{})
}

// operates tells whether whoever asks is an operator.
func (s *Server) operates(ctx context.Context) bool { return s.who(ctx).Operator() }

func (s *Server) maySubmit(ctx context.Context, user, team string) error {
	return s.cfg.Auth.CanSubmit(s.who(ctx), user, team)
}

// mayChange holds that all jobs are the asker's to change.
func (s *Server) mayChange(ctx context.Context, a auth.Action, id string, jobs []int32) error {
	list := s.d.Some(jobs)
	if len(list) == 0 {
		j, err := s.d.Job(ctx, id)
		if err != nil {
			return err
		}
		list = append(list, j)
	}
	for i := range list {
		if err := auth.Can(s.who(ctx), a, s.cfg.Auth.Job(list[i].Spec.User, list[i].Spec.Team)); err != nil {
			return err
		}
	}
	return nil
}

// overrides tells whether a hold is an operator's: that of one on other people's jobs.
func (s *Server) overrides(ctx context.Context, jobs []int32) bool {
	if !s.operates(ctx) {
		return false
	}
	for _, j := range s.d.Some(jobs) {
		if j.Spec.User != s.who(ctx).User {
			return true
		}
	}
	return false
}

// sees tells whether command and log of a job may be shown.
func (s *Server) sees(ctx context.Context, j *live.Job) bool {
	return auth.Can(s.who(ctx), auth.ReadJobPrivate, s.cfg.Auth.Job(j.Spec.User, j.Spec.Team)) == nil
}

// maySetBudgets holds that every account which another tree changes is the asker's. tag is that
// of the budgets which it was compared with: only those may be replaced.
func (s *Server) maySetBudgets(ctx context.Context, tree *budget.Tree) (tag string, err error) {
	old, _, tag := s.d.Budgets()
	if old == nil {
		return "", s.may(ctx, auth.SetBudgets)
	}
	who := s.who(ctx)
	for _, c := range auth.NewCredits(old, tree) {
		if c.By != "" && c.By != who.User {
			return "", &live.Invalid{Field: "yaml", Msg: "a new credit is by " + c.By + ", and it is " + who.User + " who gives it"}
		}
	}
	return tag, auth.Can(who, auth.SetBudgets, auth.Object{Paths: auth.ChangedPaths(old, tree)})
}

// homeTeam is the team of a user who names none: the first account that takes their jobs, else
// a team of their own.
func (s *Server) homeTeam(user string) string {
	paths, anyTeam := s.cfg.Auth.Teams(user)
	if anyTeam || len(paths) == 0 {
		return user
	}
	return paths[0]
}

// refusal turns what package auth says no with into an answer.
func refusal(err error) error {
	var no *auth.Forbidden
	if errors.As(err, &no) {
		return huma.NewError(http.StatusForbidden, no.Error())
	}
	if code := auth.Status(err); code != 0 {
		return huma.NewError(code, err.Error())
	}
	return nil
}
