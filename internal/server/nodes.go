package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
)

func (s *Server) nodeRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/nodes", "list-nodes", "List nodes"), s.listNodes)
	huma.Register(s.api, op(http.MethodPost, "/nodes/{name}/drain", "drain-node", "Take a node out of use"),
		s.changeNode(auth.Drain, func(ctx context.Context, node int32, in *nodeIn) error {
			return s.d.Drain(ctx, []int32{node}, s.who(ctx).User, in.Body.Text)
		}))
	huma.Register(s.api, op(http.MethodPost, "/nodes/{name}/resume", "resume-node", "Put a node back into use"),
		s.changeNode(auth.Resume, func(ctx context.Context, node int32, _ *nodeIn) error {
			return s.d.Resume(ctx, []int32{node}, s.who(ctx).User)
		}))
}

type nodesOut struct{ Body api.Nodes }

func (s *Server) listNodes(context.Context, *struct{}) (*nodesOut, error) {
	spec := s.cfg.World.Cluster()
	state := s.d.Nodes()
	out := &nodesOut{Body: api.Nodes{Nodes: []api.Node{}}}
	busy := s.activity()
	windows, now := s.d.Windows(), s.now()
	for i := range spec.Nodes {
		n, x := &spec.Nodes[i], &state[i]
		node := api.Node{Name: n.Name, GPUType: n.GPUType, GPUs: n.GPUs, State: "up", By: x.By, Text: x.Text, Since: s.at(x.Since), Busy: busy[int32(i)], Kept: s.kept(int32(i), windows, now)}
		for _, j := range s.d.Some(x.Runs) {
			node.Jobs = append(node.Jobs, j.Spec.ID)
			for _, g := range j.Run().Place {
				if g.Node == int32(i) {
					node.Used += float64(g.Count) * float64(g.Milli) / 1000
				}
			}
		}
		switch {
		case x.Down:
			node.State = "down"
		case x.Drained && len(x.Runs) > 0:
			node.State = "draining"
		case x.Drained:
			node.State = "drained"
		}
		out.Body.Nodes = append(out.Body.Nodes, node)
	}
	return out, nil
}

type nodeIn struct {
	Name string `path:"name" maxLength:"300"`
	Body api.Reason
}

type nodeOut struct{ Body api.Changed }

func (s *Server) changeNode(a auth.Action, do func(ctx context.Context, node int32, in *nodeIn) error) func(context.Context, *nodeIn) (*nodeOut, error) {
	return func(ctx context.Context, in *nodeIn) (*nodeOut, error) {
		if err := s.may(ctx, a); err != nil {
			return nil, s.problem(err)
		}
		for i := range s.cfg.World.Cluster().Nodes {
			if s.cfg.World.Cluster().Nodes[i].Name == in.Name {
				if err := do(ctx, int32(i), in); err != nil {
					return nil, s.problem(err)
				}
				return &nodeOut{api.Changed{Changed: 1}}, nil
			}
		}
		return nil, s.problem(&live.NotFound{What: "node " + in.Name})
	}
}
