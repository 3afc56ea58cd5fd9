package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/report"
)

func (s *Server) queueRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/queue", "queue", "Waiting jobs in the order in which they are next, with when they will start"), s.queue)
}

type queueIn struct {
	User   string `query:"user" maxLength:"100"`
	Team   string `query:"team" maxLength:"200"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Offset int    `query:"offset" minimum:"0" default:"0" doc:"ranks to leave out"`
}

func (s *Server) queue(ctx context.Context, in *queueIn) (*listOut, error) {
	v, err := s.d.View(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	out := &listOut{Body: api.Jobs{Jobs: []api.Job{}, AsOf: s.at(v.At)}}
	f, r := live.Filter{User: in.User, Team: in.Team}, &rooms{s: s}
	for i := in.Offset; i < len(v.Queue) && len(out.Body.Jobs) < in.Limit; i++ {
		for _, j := range s.d.Some([]int32{v.Queue[i].Job}) {
			if !f.Takes(&j) || j.Phase != live.Waiting && j.Phase != live.Clearing {
				continue
			}
			x := s.job(&j, s.now())
			x.Waiting = s.waitingAt(&j, v, &v.Queue[i], r)
			out.Body.Jobs = append(out.Body.Jobs, x)
		}
	}
	return out, nil
}

// waiting is where a job stands in the queue, nil for one that does not wait.
func (s *Server) waiting(j *live.Job, v *live.View, r *rooms) *api.Waiting {
	switch j.Phase {
	case live.Waiting, live.Clearing:
		return s.waitingAt(j, v, v.Of(j.Number), r)
	case live.Held:
		return &api.Waiting{Why: report.Sentence(fact.Reason{Code: fact.Held, For: -1, Want: int32(j.Holds)}, s.names()), Code: fact.Held.String()}
	case live.Blocked:
		on := ""
		for _, a := range j.Spec.After {
			on = a.Job
		}
		return &api.Waiting{Why: "It waits for job " + on + " to end.", Code: fact.Dependency.String()}
	}
	return nil
}

func (s *Server) waitingAt(j *live.Job, v *live.View, q *live.Queued, r *rooms) *api.Waiting {
	w := &api.Waiting{Promised: s.until(j.Promised), Why: "It has just come in."}
	if v != nil && j.Spec.Submit < v.At {
		w.Why = "It has just come back into the queue."
	}
	if v != nil && q != nil {
		w.Rank, w.Of, w.AsOf, w.Futures = q.Rank, len(v.Queue), s.at(v.At), q.Futures
		if q.Why.Code != 0 {
			w.Why, w.Code = report.Sentence(q.Why, s.names()), q.Why.Code.String()
		}
		if q.Futures > 0 {
			w.P50, w.P90, w.Few = s.at(q.P50), s.at(q.P90), q.Few
		}
	}
	// Whatever else it waits for, it waits for a node first.
	if closed := r.closed(j); closed != "" && j.Phase == live.Waiting {
		w.Why, w.Code = closed, noNodeOpen
	}
	return w
}
