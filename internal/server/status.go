package server

import (
	"context"
	"encoding/hex"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
)

func (s *Server) statusRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/status", "status", "How things stand"), s.status)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive\n") })
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ok, trouble := s.d.Ready(); !ok {
			plain(w, http.StatusServiceUnavailable, trouble+"\n")
			return
		}
		plain(w, http.StatusOK, "ready\n")
	})
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}

type statusOut struct{ Body api.Status }

func (s *Server) status(ctx context.Context, _ *struct{}) (*statusOut, error) {
	c, h := s.d.Counts(), s.d.Header()
	head, err := s.d.Head(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	out := api.Status{Version: s.cfg.Version, Now: s.d.Now().UTC(), World: s.cfg.WorldText, Shadow: s.d.Shadow(), Policy: h.Policy.Name,
		GPUs: c.Installed / 1000, GPUsAvailable: float64(c.Available) / 1000, GPUsUsed: float64(c.Used) / 1000, Waiting: c.Waiting, WaitingGPUs: float64(c.WaitingGPU) / 1000,
		Running: c.Running, Held: c.Held + c.Blocked, Nodes: len(s.cfg.World.Cluster().Nodes), NodesDown: c.Down, NodesDrained: c.Drained,
		Journal: api.Journal{Batches: head.Seq, Since: s.d.Wall(s.d.Since()), Chain: hex.EncodeToString(head.Chain[:])}}
	who := s.who(ctx)
	out.You = api.You{User: who.User, Role: who.Role().String()}
	if out.Ready, out.Trouble = s.d.Ready(); out.Ready {
		out.Trouble = ""
	}
	return &statusOut{out}, nil
}
