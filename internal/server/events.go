package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

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
	o := op(http.MethodGet, "/events", "events", "Changes as they happen, as server-sent events: change, beat (nothing happened), reset (something was missed)")
	reg := s.api.OpenAPI().Components.Schemas
	data := &huma.Schema{OneOf: []*huma.Schema{reg.Schema(reflect.TypeFor[live.Event](), true, ""), reg.Schema(reflect.TypeFor[beat](), true, ""), reg.Schema(reflect.TypeFor[reset](), true, "")}}
	o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeArray,
		Items: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"id": {Type: huma.TypeInteger}, "event": {Type: huma.TypeString}, "data": data}}}}}}}
	huma.Register(s.api, o, s.events)
}

func (s *Server) events(_ context.Context, in *eventsIn) (*huma.StreamResponse, error) {
	after, _ := strconv.ParseInt(in.LastID, 10, 64)
	return &huma.StreamResponse{Body: func(c huma.Context) {
		c.SetHeader("Content-Type", "text/event-stream")
		c.SetHeader("X-Accel-Buffering", "no") // proxies pass it on as it comes
		w := c.BodyWriter()
		flush, _ := w.(http.Flusher)
		s.stream(c.Context(), after, func(b []byte) error {
			_, err := w.Write(b)
			if err == nil && flush != nil {
				flush.Flush()
			}
			return err
		})
	}}, nil
}

// stream sends events until nobody wants them any more. What has gathered goes out at once.
func (s *Server) stream(ctx context.Context, after int64, send func([]byte) error) {
	l, catchUp, missed := s.d.Events().Listen(after)
	defer l.Close()
	var b []byte
	if missed {
		b = event(b, 0, "reset", reset{"what happened in between is not remembered"})
	}
	if len(catchUp) == 0 {
		b = event(b, l.Begin, "beat", beat{s.d.Now().UnixMilli()})
	}
	for i := range catchUp {
		b = event(b, catchUp[i].ID, "change", &catchUp[i])
	}
	quiet := time.NewTicker(beatEvery)
	defer quiet.Stop()
	for {
		if send(b) != nil {
			return
		}
		b = b[:0]
		select {
		case <-quiet.C:
			if s.cfg.Auth.Still(s.who(ctx)) != nil {
				return
			}
			b = event(b, 0, "beat", beat{s.d.Now().UnixMilli()})
		case <-ctx.Done():
			return
		case <-s.d.Done():
			return
		case e, ok := <-l.C:
			for more := true; ok && more && len(b) < 64<<10; {
				b = event(b, e.ID, "change", &e)
				select {
				case e, ok = <-l.C:
				default:
					more = false
				}
			}
			if !ok {
				_ = send(event(b, 0, "reset", reset{"too slow: events were left out"}))
				return
			}
		}
	}
}

// event appends a server-sent event.
func event(b []byte, id int64, kind string, data any) []byte {
	if id > 0 {
		b = strconv.AppendInt(append(b, "id: "...), id, 10)
		b = append(b, '\n')
	}
	body, _ := json.Marshal(data)
	return append(append(append(append(append(b, "event: "...), kind...), "\ndata: "...), body...), "\n\n"...)
}
