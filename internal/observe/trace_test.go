package observe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracesdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/workload"
)

// TestTurnsAreTraced: a submission that starts at once is a turn with its steps, in their order.
func TestTurnsAreTraced(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	tr := newTracer("test", tracesdk.WithSpanProcessor(rec))
	inBubble(t, nil, func(r *rig) {
		r.stop()
		r.start(tr)
		before := len(rec.Ended())
		s := &live.Submission{By: "ann-the-secret", Payload: []byte("xyzzy"), Job: workload.Job{User: "ann-the-secret", Team: "a", Need: workload.Need{GPUs: 1}}}
		if _, err := r.d.Submit(r.t.Context(), s); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var names []string
		spans := rec.Ended()[before:]
		for _, s := range spans {
			names = append(names, s.Name())
			for _, a := range s.Attributes() {
				if strings.Contains(a.Value.String(), "secret") || strings.Contains(a.Value.String(), "xyzzy") {
					t.Errorf("span %s holds %s = %s", s.Name(), a.Key, a.Value.String())
				}
			}
		}
		if got := strings.Join(names, " "); !strings.HasPrefix(got, "decide append orders turn") {
			t.Errorf("spans: %s", got)
		}
		turn := spans[3]
		for _, s := range spans[:3] {
			if s.Parent().SpanID() != turn.SpanContext().SpanID() || s.StartTime().Before(turn.StartTime()) || s.EndTime().After(turn.EndTime()) {
				t.Errorf("span %s does not lie in its turn", s.Name())
			}
		}
	})
}

// TestRequestsAreTraced: by route, as part of the caller's trace.
func TestRequestsAreTraced(t *testing.T) {
	rec := tracetest.NewSpanRecorder()
	tr := newTracer("test", tracesdk.WithSpanProcessor(rec))
	m := New(Config{Now: time.Now})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /jobs/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux.HandleFunc("GET /breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	h := m.Middleware(mux, tr)
	req := httptest.NewRequest(http.MethodGet, "/jobs/17?token=secret", nil)
	req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	h.ServeHTTP(httptest.NewRecorder(), req)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("BREW", "/nowhere/secret", nil))
	func() {
		defer func() { _ = recover() }()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/breaks", nil))
	}()
	spans := rec.Ended()
	if len(spans) != 3 {
		t.Fatalf("%d spans, want 3", len(spans))
	}
	if s := spans[0]; s.Name() != "GET /jobs/{id}" || s.SpanContext().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("span %s of trace %s", s.Name(), s.SpanContext().TraceID())
	}
	for _, s := range spans {
		if text := s.Name() + attributes(s); strings.Contains(text, "secret") {
			t.Errorf("a span holds what is not its business: %s", text)
		}
	}
	got := read(t, m.registry)
	for _, want := range []string{`escala_http_requests_total{code="418",method="GET",route="/jobs/{id}"}`, `escala_http_requests_total{code="404",method="other",route="other"}`, `escala_http_requests_total{code="200",method="GET",route="/breaks"}`} {
		if got[want] != 1 {
			t.Errorf("%s is %v, want 1", want, got[want])
		}
	}
}

func attributes(s tracesdk.ReadOnlySpan) string {
	var b strings.Builder
	for _, a := range s.Attributes() {
		b.WriteString(" " + string(a.Key) + "=" + a.Value.String())
	}
	return b.String()
}
