package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/sim"
)

// Config says how events are sent. Hooks, Now and Log are required.
type Config struct {
	Hooks []Hook
	Now   func() time.Time
	Log   *slog.Logger
	// Version of the program, for the User-Agent.
	Version string
	// Transport carries requests; nil = one of its own.
	Transport http.RoundTripper
}

// Sender tells hooks of events. As a [live.Timer] it hears when a batch is on disk.
type Sender struct {
	hooks []*hook
	// head is the last batch on disk.
	head atomic.Int64
}

var (
	_ live.Observer = (*Sender)(nil)
	_ live.Timer    = (*Sender)(nil)
)

// answerTime is how long a receiver has to answer.
const answerTime = 10 * time.Second

// New returns a sender, which sends once it is run.
func New(cfg Config) *Sender {
	t := cfg.Transport
	if t == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost, own.ResponseHeaderTimeout = 1, answerTime
		t = own
	}
	client := &http.Client{Transport: t, Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s := &Sender{}
	for i := range cfg.Hooks {
		s.hooks = append(s.hooks, &hook{Hook: cfg.Hooks[i], s: s, client: client, now: cfg.Now, log: cfg.Log.With("hook", cfg.Hooks[i].Name), agent: "escala/" + cfg.Version, bell: make(chan struct{}, 1)})
	}
	return s
}

// Run sends until the context ends.
func (s *Sender) Run(ctx context.Context, d *live.Daemon) {
	spec := d.Header().Cluster
	at := site{source: "/escala/" + url.PathEscape(spec.Name), wall: d.Wall}
	for i := range spec.Nodes {
		at.nodes = append(at.nodes, spec.Nodes[i].Name)
	}
	var all sync.WaitGroup
	for _, h := range s.hooks {
		all.Go(func() { h.run(ctx, d, &at) })
	}
	all.Wait()
}

// Fact implements [live.Observer].
func (s *Sender) Fact(*fact.Fact) {}

// Action implements [live.Observer].
func (s *Sender) Action(*fact.Action) {}

// Instant implements [live.Observer].
func (s *Sender) Instant(*sim.Gauge) {}

// Timed rings the bell when a batch is on disk.
func (s *Sender) Timed(x *live.Timing) {
	if x.Step != live.Appended {
		return
	}
	s.head.Store(x.Batch)
	for _, h := range s.hooks {
		select {
		case h.bell <- struct{}{}:
		default:
		}
	}
}

// Count is how a hook does.
type Count struct {
	Name                       string
	Delivered, Failed, Dropped int64
	// Behind is how many batches it has not looked at.
	Behind int64
}

// Counts tells how all do.
func (s *Sender) Counts() []Count {
	out := make([]Count, len(s.hooks))
	for i, h := range s.hooks {
		out[i] = Count{h.Name, h.delivered.Load(), h.failed.Load(), h.dropped.Load(), max(s.head.Load()-h.at.Load(), 0)}
	}
	return out
}
