package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/sim"
)

// Tracer makes spans of turns of the loop and of requests. A nil one makes none. Spans hold
// numbers, routes and IDs of jobs; no names of people, and nothing of what jobs run.
type Tracer struct {
	provider *tracesdk.TracerProvider
	tracer   trace.Tracer
	// steps of the turn under way: the loop alone has it.
	steps []live.Timing
	jobs  []int64
}

// mostJobs is how many jobs a span names.
const mostJobs = 32

var (
	_ live.Observer = (*Tracer)(nil)
	_ live.Timer    = (*Tracer)(nil)
)

// NewTracer sends spans by OTLP over HTTP to a URL; "" = to where OTEL_EXPORTER_OTLP_ENDPOINT says.
// The other variables of OpenTelemetry hold too, such as OTEL_TRACES_SAMPLER. Spans that cannot be
// sent are dropped.
func NewTracer(ctx context.Context, url, version string, log *slog.Logger) (*Tracer, error) {
	var opts []otlptracehttp.Option
	if url != "" {
		opts = append(opts, otlptracehttp.WithEndpointURL(url))
	}
	x, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("traces to %s: %w", url, err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans could not be sent", "err", err) }))
	return newTracer(version, tracesdk.WithBatcher(x)), nil
}

func newTracer(version string, opts ...tracesdk.TracerProviderOption) *Tracer {
	r := resource.NewSchemaless(attribute.String("service.name", "escala"), attribute.String("service.version", version))
	if own, err := resource.Merge(r, resource.Environment()); err == nil {
		r = own
	}
	p := tracesdk.NewTracerProvider(append(opts, tracesdk.WithResource(r))...)
	return &Tracer{provider: p, tracer: p.Tracer("escala")}
}

// Close sends what was not sent yet.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Fact notes which job is concerned.
func (t *Tracer) Fact(f *fact.Fact) { t.job(f.Job) }

// Action notes which job is concerned.
func (t *Tracer) Action(a *fact.Action) { t.job(a.Job) }

func (t *Tracer) job(n int32) {
	if k := len(t.jobs); n >= 0 && k < mostJobs && (k == 0 || t.jobs[k-1] != int64(n)) {
		t.jobs = append(t.jobs, int64(n))
	}
}

// Instant implements [live.Observer].
func (t *Tracer) Instant(*sim.Gauge) {}

// Timed keeps the steps of a turn, and makes spans of them when it is over.
func (t *Tracer) Timed(x *live.Timing) {
	if x.Step != live.Turned {
		t.steps = append(t.steps, *x)
		return
	}
	if x.N > 0 {
		t.turn(x)
	}
	t.steps, t.jobs = t.steps[:0], t.jobs[:0]
}

// what a step counts.
var counted = map[live.Step]string{live.Decided: "escala.actions", live.Appended: "escala.bytes", live.Sent: "escala.orders", live.Turned: "escala.lines"}

func (t *Tracer) turn(x *live.Timing) {
	ctx, span := t.tracer.Start(context.Background(), "turn", trace.WithTimestamp(x.Began))
	if span.IsRecording() {
		span.SetAttributes(attribute.Int64("escala.batch", x.Batch), attribute.Int(counted[x.Step], x.N), attribute.Int64Slice("escala.jobs", t.jobs))
		for i := range t.steps {
			s := &t.steps[i]
			_, child := t.tracer.Start(ctx, s.Step.String(), trace.WithTimestamp(s.Began), trace.WithAttributes(attribute.Int(counted[s.Step], s.N)))
			child.End(trace.WithTimestamp(s.Ended))
		}
	}
	span.End(trace.WithTimestamp(x.Ended))
}

// request begins the span of a request, which goes on the trace of the one who sent it.
func (t *Tracer) request(r *http.Request) (*http.Request, func(route string, code int)) {
	if t == nil {
		return r, func(string, int) {}
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	r = r.WithContext(ctx)
	return r, func(route string, code int) {
		span.SetName(methodOf(r) + " " + route)
		span.SetAttributes(attribute.String("http.request.method", methodOf(r)), attribute.String("http.route", route), attribute.Int("http.response.status_code", code))
		if id := r.PathValue("id"); id != "" && len(id) <= 64 {
			span.SetAttributes(attribute.String("escala.job", id))
		}
		if code >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
