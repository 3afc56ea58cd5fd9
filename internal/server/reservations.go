package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/workload"
)

func (s *Server) reservationRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/reservations", "list-reservations", "List for what nodes are kept, now, later and lately"), s.listReservations)
	huma.Register(s.api, op(http.MethodPost, "/reservations", "reserve", "Keep nodes for a time: for maintenance, or for some teams and users"), s.reserve)
	huma.Register(s.api, op(http.MethodDelete, "/reservations/{name}", "lift-reservation", "Give back what is kept"), s.liftReservation)
}

type reservationsOut struct{ Body api.Reservations }

func (s *Server) listReservations(context.Context, *struct{}) (*reservationsOut, error) {
	out := &reservationsOut{api.Reservations{Reservations: []api.Reservation{}}}
	for _, w := range s.d.Windows() {
		out.Body.Reservations = append(out.Body.Reservations, s.reservation(&w))
	}
	return out, nil
}

type reservationOut struct{ Body api.Reservation }

type reserveIn struct{ Body api.NewReservation }

func (s *Server) reserve(ctx context.Context, in *reserveIn) (*reservationOut, error) {
	if err := s.may(ctx, auth.Drain); err != nil {
		return nil, s.problem(err)
	}
	b := &in.Body
	w := fact.Window{ID: b.Name, Teams: b.Teams, Users: b.Users}
	spec := s.cfg.World.Cluster()
	for _, name := range b.Nodes {
		n := slices.IndexFunc(spec.Nodes, func(n cluster.Node) bool { return n.Name == name })
		if n < 0 {
			return nil, s.problem(&live.NotFound{What: "node " + name})
		}
		w.Nodes = append(w.Nodes, int32(n))
	}
	for _, name := range slices.Concat(b.Teams, b.Users) {
		if name == "" {
			return nil, s.problem(&live.Invalid{Field: "teams", Msg: "a team or user without a name"})
		}
	}
	id, err := s.d.SetWindow(ctx, w, b.From, b.Until, s.who(ctx).User, b.Text)
	if err != nil {
		return nil, s.problem(err)
	}
	list := s.d.Windows()
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].ID == id {
			return &reservationOut{s.reservation(&list[i])}, nil
		}
	}
	return nil, s.problem(&live.NotFound{What: "reservation " + id})
}

type reservationIn struct {
	Name string `path:"name" maxLength:"100"`
}

func (s *Server) liftReservation(ctx context.Context, in *reservationIn) (*nodeOut, error) {
	if err := s.may(ctx, auth.Resume); err != nil {
		return nil, s.problem(err)
	}
	if err := s.d.LiftWindow(ctx, in.Name, s.who(ctx).User); err != nil {
		return nil, s.problem(err)
	}
	return &nodeOut{api.Changed{Changed: 1}}, nil
}

// reservation is a window for others to read.
func (s *Server) reservation(w *live.Window) api.Reservation {
	now := s.now()
	out := api.Reservation{Name: w.ID, Nodes: []string{}, From: s.d.Wall(w.From), Until: s.d.Wall(w.Until), For: w.For(), Teams: w.Teams, Users: w.Users,
		State: "now", By: w.By, Text: w.Text, Set: s.d.Wall(w.Set), LiftedBy: w.LiftedBy}
	if w.From > now {
		out.State = "ahead"
	}
	switch {
	case w.Lifted != workload.Unknown:
		out.State, out.Lifted = "lifted", s.at(w.Lifted)
	case w.Over(now):
		out.State = "over"
	default:
		out.Stays = s.stays(w)
	}
	for _, n := range w.Nodes {
		out.Nodes = append(out.Nodes, s.cfg.World.Cluster().Nodes[n].Name)
	}
	return out
}

// stays are the runs on nodes of a window that were promised to be safe longer.
func (s *Server) stays(w *live.Window) []api.Stay {
	var jobs []int32
	nodes := s.d.Nodes()
	for _, n := range w.Nodes {
		jobs = append(jobs, nodes[n].Runs...)
	}
	slices.Sort(jobs)
	var out []api.Stay
	for _, j := range s.d.Some(slices.Compact(jobs)) {
		r := j.Run()
		if r == nil || r.Unallocated || r.Told != workload.Unknown || w.Allows(j.Spec.Team, j.Spec.User) {
			continue
		}
		safe := r.Protected
		if r.Up != workload.Unknown { // it counts from the confirmation
			safe += r.Up - r.Decided
		}
		if l := j.Spec.Limit; l > 0 {
			safe = min(safe, r.Decided+l)
		}
		if r.Protected > 0 && safe > w.From {
			out = append(out, api.Stay{Job: j.Spec.ID, Until: s.d.Wall(safe)})
		}
	}
	return out
}

// kept are the windows of a node that are not over.
func (s *Server) kept(n int32, list []live.Window, now workload.Time) (out []api.Kept) {
	for i := range list {
		if w := &list[i]; slices.Contains(w.Nodes, n) && !w.Over(now) {
			out = append(out, api.Kept{Reservation: w.ID, For: w.For(), From: s.d.Wall(w.From), Until: s.d.Wall(w.Until)})
		}
	}
	return out
}

// Window says for what a node is kept until a time.
func (n namer) Window(node int32, until workload.Time) (string, bool) {
	list := n.s.d.Windows()
	for i := len(list) - 1; i >= 0; i-- {
		if w := &list[i]; w.Until == until && slices.Contains(w.Nodes, node) {
			return fmt.Sprintf("Node %s is kept for %s from %s until %s", n.s.cfg.World.Cluster().Nodes[node].Name, w.For(), n.Time(w.From), n.Time(w.Until)), true
		}
	}
	return "", false
}
