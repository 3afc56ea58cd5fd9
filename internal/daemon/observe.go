package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/observe"
	"github.com/escala-sched/escala/internal/webhook"
	"github.com/escala-sched/escala/internal/world"
)

// Observe says how a daemon is watched.
type Observe struct {
	// MetricsListen is an address at which metrics are served without authentication, "" = none:
	// then only the API serves them.
	MetricsListen string
	// Webhooks are told of jobs.
	Webhooks []webhook.Hook
	// Traces are sent to OTLP, "" = to where OTEL_EXPORTER_OTLP_ENDPOINT says.
	Traces bool
	OTLP   string
	// Revision of the program.
	Revision string
}

// TracesWanted tells whether the environment asks for traces.
func TracesWanted(getenv func(string) string) bool {
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// watch is what makes a daemon visible.
type watch struct {
	o       *Options
	metrics *observe.Metrics
	log     *observe.Log
	tracer  *observe.Tracer
	hooks   *webhook.Sender
	listen  net.Listener
}

// newWatch makes it, before the daemon that it watches.
func newWatch(ctx context.Context, o *Options, activity func() world.Sample) (*watch, error) {
	x := &o.Observe
	w := &watch{o: o, log: observe.NewLog(o.Log), hooks: webhook.New(webhook.Config{Hooks: x.Webhooks, Now: o.Now, Log: o.Log, Version: o.Version})}
	w.metrics = observe.New(observe.Config{Now: o.Now, Version: o.Version, Revision: x.Revision, Activity: activity, State: o.State, Hooks: w.hooksDo})
	if x.MetricsListen != "" {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", x.MetricsListen)
		if err != nil {
			return nil, fmt.Errorf("metrics cannot be served at %s: %w", x.MetricsListen, err)
		}
		w.listen = l
		if !loopback(l.Addr()) {
			o.Log.Warn("metrics are served beyond this machine, to everybody: names of teams and how busy they are", "address", l.Addr().String())
		}
	}
	if x.Traces {
		t, err := observe.NewTracer(ctx, x.OTLP, o.Version, o.Log)
		if err != nil {
			w.close()
			return nil, err
		}
		w.tracer = t
	}
	return w, nil
}

func (w *watch) close() {
	if w.listen != nil {
		_ = w.listen.Close()
	}
}

func (w *watch) hooksDo() []observe.Hook {
	var out []observe.Hook
	for _, c := range w.hooks.Counts() {
		out = append(out, observe.Hook(c))
	}
	return out
}

// observers are those of the loop.
func (w *watch) observers() []live.Observer {
	list := []live.Observer{w.metrics, w.log}
	if len(w.o.Observe.Webhooks) > 0 {
		list = append(list, w.hooks)
	}
	if w.tracer != nil {
		list = append(list, w.tracer)
	}
	return list
}

// begin watches a daemon from its present state on.
func (w *watch) begin(d *live.Daemon) {
	w.metrics.Begin(d)
	w.log.Begin(d)
}

// around counts and traces the requests of a server.
func (w *watch) around(h http.Handler) http.Handler { return w.metrics.Middleware(h, w.tracer) }

// run does beside the loop what there is to do, until the context ends.
func (w *watch) run(ctx context.Context, g *errgroup.Group, d *live.Daemon) {
	g.Go(func() error { w.metrics.Probe(ctx); return nil })
	g.Go(func() error { tell(ctx, d); return nil })
	if len(w.o.Observe.Webhooks) > 0 {
		g.Go(func() error { w.hooks.Run(ctx, d); return nil })
	}
	if w.listen != nil {
		g.Go(func() error { return serve(ctx, w.listen, w.open(), w.o.Log) })
	}
	if w.tracer != nil {
		g.Go(func() error {
			<-ctx.Done()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			defer cancel()
			if err := w.tracer.Close(last); err != nil {
				w.o.Log.Warn("the last spans could not be sent", "err", err)
			}
			return nil
		})
	}
}

// open serves metrics to everybody. On a loopback address only to who calls it by an address or
// localhost: a browser can be made to call it by another name, for a page of somebody else's.
func (w *watch) open() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.metrics.Handler())
	local := loopback(w.listen.Addr())
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if local && !plainHost(r.Host) {
			http.Error(rw, "call this by its address, or localhost", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(rw, r)
	})
}

func plainHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	_, err = netip.ParseAddr(host)
	return err == nil || host == "localhost"
}

func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// settings are how the daemon was started, for the support bundle: no secrets, and nothing of who
// may do what.
func settings(o *Options) map[string]any {
	hooks := []map[string]any{}
	for i := range o.Observe.Webhooks {
		h := &o.Observe.Webhooks[i]
		hooks = append(hooks, map[string]any{"name": h.Name, "host": h.URL.Host, "types": h.Types, "teams": h.Teams})
	}
	return map[string]any{
		"state": o.State, "journal": journalKind(o.Journal), "listen": o.Listen, "tls": o.CertFile != "", "socket_group": o.SocketGroup, "pretended_gpus": o.Pretend,
		"shadow": o.Shadow, "allow_root": o.AllowRoot, "limits": o.Limits, "hosts": o.Hosts, "submit_to": o.SubmitTo, "issuers": len(o.Issuers), "keep": o.Keep,
		"assume": o.Assume, "metrics_listen": o.Observe.MetricsListen, "webhooks": hooks, "traces": o.Observe.Traces, "pid": os.Getpid(),
	}
}

// journalKind says what keeps the journal: the text may hold a password.
func journalKind(path string) string {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "a database"
	}
	return path
}
