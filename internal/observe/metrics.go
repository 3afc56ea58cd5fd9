package observe

import (
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Config says what is measured. Now is required.
type Config struct {
	Now func() time.Time
	// Version and Revision of the program.
	Version, Revision string
	// Teams is how many teams, and accounts, have a label of their own; the rest is "other".
	// 0 = 100.
	Teams int
	// Activity is the last measurement of GPUs; nil = nothing measures.
	Activity func() world.Sample
	// State is a directory of the file system that must not fill up; "" = none is watched.
	State string
	// Hooks tells how webhooks do; nil = there are none.
	Hooks func() []Hook
}

// Hook is how a webhook does.
type Hook struct {
	Name string
	// Delivered, Failed and Dropped count events since the process began.
	Delivered, Failed, Dropped int64
	// Behind is how many batches of the journal it has not looked at.
	Behind int64
}

// Metrics are what a daemon is measured by. It is a [live.Observer] and a [live.Timer].
type Metrics struct {
	cfg      Config
	registry *prometheus.Registry

	decide, append, turn *prometheus.HistogramVec
	requests             *prometheus.CounterVec
	answers              *prometheus.HistogramVec

	mu    sync.Mutex
	d     *live.Daemon
	c     *metrics.Collector
	jobs  *jobs
	gauge sim.Gauge
	// at is up to when all is counted, on the journal's clock; seen is when that was.
	at   workload.Time
	seen time.Time
	// written and segment are bytes of the journal, decided when it last was.
	written, segment int64
	decided          time.Time
	probe            probe
	size             size

	// accounts have a label of their own.
	naming   sync.Mutex
	accounts map[string]bool
}

var (
	_ live.Observer = (*Metrics)(nil)
	_ live.Timer    = (*Metrics)(nil)
)

// New returns metrics, which stand still until [Metrics.Begin].
func New(cfg Config) *Metrics {
	if cfg.Teams == 0 {
		cfg.Teams = 100
	}
	m := &Metrics{cfg: cfg, registry: prometheus.NewRegistry(), jobs: newJobs(cfg.Teams), accounts: map[string]bool{},
		decide: decisionSeconds.vec(), append: appendSeconds.vec(), turn: turnSeconds.vec(), answers: httpSeconds.vec(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: httpRequests.name, Help: httpRequests.help}, httpRequests.labels)}
	j := m.jobs
	m.registry.MustRegister(m.decide, m.append, m.turn, m.requests, m.answers, j.quota, j.admission, j.ready, j.requeue, j.queue, j.completion,
		scrape{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Begin counts from the daemon's present state on. It is called before [live.Daemon.Run].
func (m *Metrics) Begin(d *live.Daemon) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.d = d
	at := max(d.Time(m.cfg.Now()), d.Counts().Now)
	tree, _, _ := d.Budgets()
	m.c = metrics.NewCollector(metrics.Config{Cluster: d.Header().Cluster, Window: metrics.Window{From: at, To: workload.Never}, Budgets: tree, Endless: true})
	m.at = at
	s := seed{m: m, at: at}
	s.nodes()
	s.jobs()
	m.decided = m.cfg.Now()
	g := d.Gauge()
	m.instant(&g)
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 8})
}

// Registry is where all are registered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Fact takes in what happened. What a scrape has counted already stays counted: a fact that was
// under way then takes effect at its time.
func (m *Metrics) Fact(f *fact.Fact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil {
		return
	}
	m.jobs.fact(f)
	if f.At < m.at {
		late := *f
		late.At = m.at
		f = &late
	}
	m.c.Fact(f)
}

// Action takes in what was decided.
func (m *Metrics) Action(a *fact.Action) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil {
		return
	}
	m.jobs.action(a)
	if a.At < m.at {
		late := *a
		late.At = m.at
		a = &late
	}
	m.c.Action(a)
}

// Instant takes in the state after an instant.
func (m *Metrics) Instant(g *sim.Gauge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c != nil {
		m.instant(g)
	}
}

func (m *Metrics) instant(g *sim.Gauge) {
	m.gauge = *g
	m.gauge.At = max(g.At, m.at)
	m.c.Instant(&m.gauge)
	m.at, m.seen = m.gauge.At, m.cfg.Now()
}

// Timed takes in how long the loop took.
func (m *Metrics) Timed(x *live.Timing) {
	took := x.Ended.Sub(x.Began).Seconds()
	switch x.Step {
	case live.Decided:
		m.decide.WithLabelValues().Observe(took)
	case live.Appended:
		m.append.WithLabelValues().Observe(took)
	case live.Turned:
		if x.N > 0 {
			m.turn.WithLabelValues().Observe(took)
		}
		return
	default:
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.Step == live.Decided {
		m.decided = x.Ended
		return
	}
	m.written += int64(x.N)
	m.segment = x.Segment
}

// Checked takes in that a job has passed what a world checks before its first start. No fact tells
// of it: worlds that check something call it.
func (m *Metrics) Checked(job int32, at workload.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs.checks(job, at)
}

func goVersion() string { return runtime.Version() }
