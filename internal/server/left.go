package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/world"
)

func (s *Server) leftRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/left", "left", "Jobs and nodes that are left to the cluster's own scheduler, with the reason"), s.left)
}

type leftIn struct {
	User  string `query:"user" maxLength:"100"`
	Team  string `query:"team" maxLength:"200" doc:"account of the cluster's own scheduler"`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"100"`
}

type leftOut struct{ Body api.Left }

func (s *Server) left(_ context.Context, in *leftIn) (*leftOut, error) {
	out := &leftOut{Body: api.Left{Whys: []api.LeftWhy{}, Jobs: []api.LeftJob{}, Nodes: []api.LeftNode{}}}
	c, ok := s.cfg.World.(world.Chooser)
	if !ok {
		return out, nil // nothing is
	}
	l := c.LeftAlone()
	out.Body.AsOf = stamp(l.At)
	whys := map[string]*api.LeftWhy{}
	for _, running := range []bool{true, false} {
		for i := range l.Jobs {
			j := &l.Jobs[i]
			if j.Running != running || in.User != "" && j.User != in.User || in.Team != "" && j.Account != in.Team {
				continue
			}
			w := whys[j.Why]
			if w == nil {
				w = &api.LeftWhy{Why: j.Why}
				whys[j.Why] = w
			}
			state := "waiting"
			if running {
				state, w.Running, w.GPUs = "running", w.Running+1, w.GPUs+j.GPUs
			} else {
				w.Waiting++
			}
			if len(out.Body.Jobs) == in.Limit {
				out.Body.More++
				continue
			}
			out.Body.Jobs = append(out.Body.Jobs, api.LeftJob{ID: j.ID, User: j.User, Account: j.Account, Partition: j.Partition, State: state, GPUs: j.GPUs, Nodes: j.Nodes, Since: stamp(j.Since), Why: j.Why})
		}
	}
	for _, w := range whys {
		out.Body.Whys = append(out.Body.Whys, *w)
	}
	slices.SortFunc(out.Body.Whys, func(a, b api.LeftWhy) int {
		return cmp.Or(cmp.Compare(b.GPUs, a.GPUs), cmp.Compare(b.Running+b.Waiting, a.Running+a.Waiting), cmp.Compare(a.Why, b.Why))
	})
	for _, n := range l.Nodes {
		out.Body.Nodes = append(out.Body.Nodes, api.LeftNode{Name: n.Name, Why: n.Why})
	}
	return out, nil
}

// stamp is a time for people, nil where it is not known.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
