package server

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/store"
)

func (s *Server) journalRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/journal", "export-journal", "The journal from a time on, as JSON lines"), s.exportJournal)
	huma.Register(s.api, op(http.MethodGet, "/journal/segments", "list-segments", "The stretches of the journal that can be read by themselves"), s.segments)
	huma.Register(s.api, op(http.MethodPost, "/journal/verify", "verify-journal", "Read all of the journal and check its chain"), s.verifyJournal)
}

type exportIn struct {
	Since time.Time `query:"since" doc:"the export begins with the last segment that begins by then; nothing = with the first"`
}

func (s *Server) exportJournal(ctx context.Context, in *exportIn) (*huma.StreamResponse, error) {
	if err := s.may(ctx, auth.ExportJournal); err != nil {
		return nil, s.problem(err)
	}
	list, err := s.d.Store().Segments(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	var from int64
	for i, g := range list {
		if i == 0 || !in.Since.IsZero() && g.From <= s.d.Time(in.Since) {
			from = g.First
		}
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		c.SetHeader("Content-Type", "application/x-ndjson")
		c.SetHeader("Content-Disposition", `attachment; filename="journal.jsonl"`)
		w := c.BodyWriter()
		// The head was sent: what goes wrong now can only be told by cutting the stream, which
		// readers of journals notice, and by the log.
		if err := s.d.Store().Read(c.Context(), from, func(b *store.Batch) error { _, err := w.Write(b.Body); return err }); err != nil {
			s.cfg.Log.Error("an export of the journal broke off", "err", err)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

type segment struct {
	First int64     `json:"first_batch"`
	Last  int64     `json:"last_batch"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Lines int64     `json:"lines"`
	Bytes int64     `json:"bytes"`
}

type segmentsOut struct {
	Body struct {
		Segments []segment `json:"segments"`
	}
}

func (s *Server) segments(ctx context.Context, _ *struct{}) (*segmentsOut, error) {
	list, err := s.d.Store().Segments(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	out := &segmentsOut{}
	for _, g := range list {
		out.Body.Segments = append(out.Body.Segments, segment{g.First, g.Last, s.d.Wall(g.From), s.d.Wall(g.To), g.Lines, g.Bytes})
	}
	return out, nil
}

type verifyOut struct {
	Body struct {
		Batches int64  `json:"batches"`
		Lines   int64  `json:"lines"`
		Bytes   int64  `json:"bytes"`
		Chain   string `json:"chain" doc:"SHA-256 at the end of the chain"`
	}
}

func (s *Server) verifyJournal(ctx context.Context, _ *struct{}) (*verifyOut, error) {
	if err := s.may(ctx, auth.ExportJournal); err != nil {
		return nil, s.problem(err)
	}
	v, err := s.d.Store().Verify(ctx, nil)
	if err != nil {
		return nil, huma.NewError(http.StatusConflict, err.Error())
	}
	head, err := s.d.Head(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	out := &verifyOut{}
	out.Body.Batches, out.Body.Lines, out.Body.Bytes, out.Body.Chain = v.Batches, v.Lines, v.Bytes, hex.EncodeToString(head.Chain[:])
	return out, nil
}
