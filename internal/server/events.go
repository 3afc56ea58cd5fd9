package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/escala-sched/escala/internal/live"
)

// reset tells a listener that it missed something and has to ask for everything again.
type reset struct {
	Why string `json:"why"`
}

// beat tells that the connection is alive. The first says by its ID where a listener began, so that
// one that comes back before anything happened misses nothing.
type beat struct {
	At int64 `json:"at"`
}

// beatEvery is how often it is told when nothing happens.
const beatEvery = 30 * time.Second

type eventsIn struct {
	LastID string `header:"Last-Event-ID" maxLength:"20"`
}

func (s *Server) eventRoutes() {
	o := op(http.MethodGet, "/events", "events", "Changes as they happen, as server-sent events")
	sse.Register(s.api, o, map[string]any{"change": live.Event{}, "reset": reset{}, "beat": beat{}}, s.events)
}

func (s *Server) events(ctx context.Context, in *eventsIn, send sse.Sender) {
	after, _ := strconv.ParseInt(in.LastID, 10, 64)
	l, catchUp, missed := s.d.Events().Listen(after)
	defer l.Close()
	if missed && send.Data(reset{"what happened in between is not remembered"}) != nil {
		return
	}
	tell := func(e live.Event) bool { return send(sse.Message{ID: int(e.ID), Data: e}) == nil }
	if len(catchUp) == 0 && send(sse.Message{ID: int(l.Begin), Data: beat{s.d.Now().UnixMilli()}}) != nil {
		return
	}
	for _, e := range catchUp {
		if !tell(e) {
			return
		}
	}
	quiet := time.NewTicker(beatEvery)
	defer quiet.Stop()
	for {
		select {
		case <-quiet.C:
			if s.cfg.Auth.Still(s.who(ctx)) != nil || send.Data(beat{s.d.Now().UnixMilli()}) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-s.d.Done():
			return
		case e, ok := <-l.C:
			if !ok {
				_ = send.Data(reset{"too slow: events were left out"})
				return
			}
			if !tell(e) {
				return
			}
		}
	}
}
