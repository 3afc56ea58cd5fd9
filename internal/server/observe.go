package server

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/observe/bundle"
)

// observeRoutes serve metrics, to whoever may read the cluster, and what support needs.
func (s *Server) observeRoutes() {
	if s.cfg.Metrics == nil {
		return
	}
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if err := s.may(r.Context(), auth.ReadCluster); err != nil {
			auth.WriteError(w, err)
			return
		}
		s.cfg.Metrics.ServeHTTP(w, r)
	})
	huma.Register(s.api, op(http.MethodGet, "/support-bundle", "support-bundle", "What helps to find out what is wrong, as a tar file in gzip"), s.bundle)
}

type bundleIn struct {
	JournalMiB int64 `query:"journal_mib" minimum:"0" maximum:"4096" default:"64" doc:"how much of the journal at most, by whole segments; the last one is always there"`
	Anonymize  bool  `query:"anonymize" doc:"codes for the names of people, teams, jobs and nodes; a trace takes the place of the journal"`
}

func (s *Server) bundle(ctx context.Context, in *bundleIn) (*huma.StreamResponse, error) {
	for _, a := range []auth.Action{auth.ExportJournal, auth.Configure} {
		if err := s.may(ctx, a); err != nil {
			return nil, s.problem(err)
		}
	}
	o := bundle.Options{JournalBytes: in.JournalMiB << 20}
	if in.Anonymize {
		o.Key = make([]byte, 32)
		_, _ = rand.Read(o.Key)
	}
	src := &bundle.Source{Daemon: s.d, Metrics: s.cfg.Metrics, Version: s.cfg.Version, Revision: s.cfg.Revision, World: s.cfg.WorldText, Config: s.cfg.Settings, Now: s.d.Now}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		c.SetHeader("Content-Type", "application/gzip")
		c.SetHeader("Content-Disposition", `attachment; filename="escala-bundle.tar.gz"`)
		if err := bundle.Write(c.Context(), c.BodyWriter(), src, o); err != nil {
			s.cfg.Log.Error("a support bundle broke off", "err", err)
			panic(http.ErrAbortHandler) // the head was sent
		}
	}}, nil
}
