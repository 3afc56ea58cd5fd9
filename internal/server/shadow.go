package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/versus"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

func (s *Server) shadowRoutes() {
	huma.Register(s.api, op(http.MethodPost, "/jobs/{id}/observed", "observed", "Tell a scheduler in shadow what another one did with a job"), s.observed)
	o := op(http.MethodPost, "/observed", "observed-batch", "Tell what another scheduler did with many jobs")
	o.MaxBodyBytes = maxBatch
	huma.Register(s.api, o, s.observedBatch)
	huma.Register(s.api, op(http.MethodGet, "/shadow", "shadow-report", "How shadow and reality differ"), s.shadowReport)
}

// observation turns a body into what the daemon takes.
func observation(id string, b *api.Observed) (live.Observation, error) {
	o := live.Observation{ID: id, Exit: b.Exit, Where: b.On}
	if b.Started != nil {
		o.Started = *b.Started
	}
	if b.Ended != nil {
		o.Ended = *b.Ended
	}
	if b.Outcome != "" {
		var ok bool
		if o.Outcome, ok = workload.ParseOutcome(b.Outcome); !ok {
			return o, &live.Invalid{Field: "outcome", Msg: b.Outcome + " is no outcome"}
		}
		o.HasOutcome = true
	}
	return o, nil
}

// real is what was observed of a job, nil for nothing.
func (s *Server) real(r *live.Real) *api.Observed {
	if r == nil {
		return nil
	}
	out := &api.Observed{Started: s.at(r.Since), Ended: s.at(r.Until), Exit: r.Exit, On: r.Where}
	if out.Ended != nil {
		out.Outcome = r.Outcome.String()
	}
	return out
}

type observedIn struct {
	ID   string `path:"id" maxLength:"64" doc:"ID of a job"`
	Body api.Observed
}

func (s *Server) observed(ctx context.Context, in *observedIn) (*changeOut, error) {
	if err := s.may(ctx, auth.Observe); err != nil {
		return nil, s.problem(err)
	}
	o, err := observation(in.ID, &in.Body)
	if err != nil {
		return nil, s.problem(err)
	}
	errs, err := s.d.Observe(ctx, []live.Observation{o}, s.who(ctx).User)
	if err == nil {
		err = errs[0]
	}
	if err != nil {
		return nil, s.problem(err)
	}
	return &changeOut{api.Changed{Changed: 1}}, nil
}

type observedBatchIn struct{ Body api.ObservedBatch }

// observedBatch takes each observation or refuses it, by itself.
func (s *Server) observedBatch(ctx context.Context, in *observedBatchIn) (*batchOut, error) {
	if err := s.may(ctx, auth.Observe); err != nil {
		return nil, s.problem(err)
	}
	out := &batchOut{Body: api.BatchResult{Results: make([]api.BatchItem, len(in.Body.Jobs))}}
	var list []live.Observation
	var of []int
	for i := range in.Body.Jobs {
		j := &in.Body.Jobs[i]
		out.Body.Results[i].ID = j.ID
		o, err := observation(j.ID, &j.Observed)
		if err != nil {
			out.Body.Results[i].Error = err.Error()
			continue
		}
		list, of = append(list, o), append(of, i)
	}
	errs, err := s.d.Observe(ctx, list, s.who(ctx).User)
	if err != nil {
		return nil, s.problem(err)
	}
	for k, err := range errs {
		if err != nil {
			out.Body.Results[of[k]].Error = err.Error()
		}
	}
	return out, nil
}

type shadowIn struct {
	Since time.Time `query:"since" doc:"jobs submitted from here on; nothing = of the last seven days"`
	Until time.Time `query:"until" doc:"and before; nothing = up to now"`
	Limit int       `query:"limit" minimum:"0" maximum:"10000" default:"50" doc:"how many of the jobs whose starts differ most are listed"`
}

type shadowOut struct{ Body api.Shadow }

// shadowWindow is how far back a report goes if nothing is said.
const shadowWindow = 7 * 24 * time.Hour

func (s *Server) shadowReport(ctx context.Context, in *shadowIn) (*shadowOut, error) {
	if err := s.may(ctx, auth.WhatIf); err != nil {
		return nil, s.problem(err)
	}
	if !s.d.Shadow() {
		return nil, s.problem(&live.Conflict{Msg: "this scheduler runs the jobs itself: there is no shadow to compare"})
	}
	if in.Since.IsZero() {
		in.Since = s.d.Now().Add(-shadowWindow)
	}
	w := metrics.Window{From: s.d.Time(in.Since), To: workload.Never}
	if !in.Until.IsZero() {
		w.To = s.d.Time(in.Until)
	}
	if w.To <= w.From {
		return nil, s.problem(&live.Invalid{Field: "until", Msg: "the window ends before it begins"})
	}
	// One after the other: each reads the journal of its window.
	select {
	case s.shadows <- struct{}{}:
		defer func() { <-s.shadows }()
	case <-ctx.Done():
		return nil, s.problem(ctx.Err())
	}
	out, err := versus.Report(ctx, s.d, versus.Options{Window: w, Differences: in.Limit})
	if err != nil {
		return nil, s.problem(err)
	}
	return &shadowOut{*out}, nil
}
