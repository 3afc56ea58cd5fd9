package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/policy"
)

func (s *Server) ruleRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/budgets", "get-budgets", "The budgets in force"), s.getBudgets)
	huma.Register(s.api, op(http.MethodPut, "/budgets", "set-budgets", "Have other budgets hold; If-Match names those that they replace"), s.setBudgets)
	huma.Register(s.api, op(http.MethodGet, "/policy", "get-policy", "The policy in force"), s.getPolicy)
	huma.Register(s.api, op(http.MethodPut, "/policy", "set-policy", "Have another policy decide; If-Match names the one that it replaces"), s.setPolicy)
	huma.Register(s.api, op(http.MethodPost, "/policy/try", "try-policy", "What another policy would do now; nothing is changed"), s.tryPolicy)
}

type textOut struct {
	ETag string `header:"ETag"`
	Body api.Text
}

type textIn struct {
	IfMatch string `header:"If-Match" maxLength:"100" doc:"ETag of what is to be replaced; * or nothing = whatever it is"`
	Body    api.Text
}

// match is the tag that a header names, "" for any.
func match(header string) string {
	if header == "*" {
		return ""
	}
	return trimQuotes(header)
}

func trimQuotes(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func (s *Server) getBudgets(context.Context, *struct{}) (*textOut, error) {
	t, by, tag := s.d.Budgets()
	if t == nil {
		return nil, s.problem(&live.NotFound{What: "budget: policy " + s.d.Header().Policy.Name + " shares by none"})
	}
	return &textOut{`"` + tag + `"`, api.Text{Name: t.Name, YAML: string(t.YAML()), By: by, Tag: tag}}, nil
}

func (s *Server) setBudgets(ctx context.Context, in *textIn) (*textOut, error) {
	name := in.Body.Name
	if name == "" {
		name = "budgets"
	}
	tree, err := budget.Parse(name+".yaml", []byte(in.Body.YAML))
	if err != nil {
		return nil, s.problem(&live.Invalid{Field: "yaml", Msg: err.Error()})
	}
	tag, err := s.maySetBudgets(ctx, tree)
	if err != nil {
		return nil, s.problem(err)
	}
	if named := match(in.IfMatch); named != "" && named != tag {
		return nil, s.precondition(in.IfMatch, &live.Conflict{Msg: "the budgets were changed in the meantime"})
	}
	if err := s.d.SetBudgets(ctx, tree, s.who(ctx).User, tag); err != nil {
		return nil, s.precondition(in.IfMatch, err)
	}
	return s.getBudgets(ctx, nil)
}

// precondition answers 412 where a tag was named that does not hold any more.
func (s *Server) precondition(header string, err error) error {
	var c *live.Conflict
	if errors.As(err, &c) && match(header) != "" {
		return huma.NewError(http.StatusPreconditionFailed, c.Error())
	}
	return s.problem(err)
}

func (s *Server) getPolicy(context.Context, *struct{}) (*textOut, error) {
	p, by, tag := s.d.Policy()
	return &textOut{`"` + tag + `"`, api.Text{Name: p.Name, YAML: string(p.YAML()), By: by, Tag: tag}}, nil
}

// parsePolicy reads a policy, or takes a shipped one by name where there is no text.
func parsePolicy(t *api.Text) (*policy.Policy, error) {
	if t.YAML == "" {
		p, err := policy.Resolve(t.Name)
		if err != nil {
			return nil, &live.Invalid{Field: "name", Msg: err.Error()}
		}
		return p, nil
	}
	p, err := policy.Parse("policy.yaml", []byte(t.YAML))
	if err != nil {
		return nil, &live.Invalid{Field: "yaml", Msg: err.Error()}
	}
	return p, nil
}

func (s *Server) setPolicy(ctx context.Context, in *textIn) (*textOut, error) {
	if err := s.may(ctx, auth.SetPolicy); err != nil {
		return nil, s.problem(err)
	}
	p, err := parsePolicy(&in.Body)
	if err != nil {
		return nil, s.problem(err)
	}
	if err := s.d.SetPolicy(ctx, p, s.who(ctx).User, match(in.IfMatch)); err != nil {
		return nil, s.precondition(in.IfMatch, err)
	}
	return s.getPolicy(ctx, nil)
}

type trialIn struct{ Body api.Text }

type trialOut struct{ Body api.Trial }

func (s *Server) tryPolicy(ctx context.Context, in *trialIn) (*trialOut, error) {
	p, err := parsePolicy(&in.Body)
	if err != nil {
		return nil, s.problem(err)
	}
	t, err := s.d.Try(ctx, p)
	if err != nil {
		return nil, s.problem(err)
	}
	out := &trialOut{api.Trial{Policy: p.Name, Waiting: t.Waiting, Starts: s.trial(t.Starts), Stops: s.trial(t.Stops), Before: s.ids(t.Before), After: s.ids(t.After)}}
	return out, nil
}

func (s *Server) trial(list []fact.Action) []api.TrialAction {
	out := []api.TrialAction{}
	for i := range list {
		for _, id := range s.ids([]int32{list[i].Job}) {
			out = append(out, api.TrialAction{Job: id, Why: report.Sentence(list[i].Reason, s.names())})
		}
	}
	return out
}

func (s *Server) ids(jobs []int32) []string {
	out := []string{}
	for _, j := range s.d.Some(jobs) {
		out = append(out, j.Spec.ID)
	}
	return out
}
