package cli

import (
	"net/url"

	"github.com/spf13/pflag"

	"github.com/escala-sched/escala/internal/daemon"
	"github.com/escala-sched/escala/internal/webhook"
)

// observeFlags say how a daemon is watched.
type observeFlags struct{ metricsListen, webhooks, otlp string }

func (f *observeFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.metricsListen, "metrics-listen", "", "`address` of Prometheus metrics without authentication, such as 127.0.0.1:7422 (default: /metrics of the API alone)")
	fs.StringVar(&f.webhooks, "webhook", "", "`file` of webhooks that are told of jobs")
	fs.StringVar(&f.otlp, "otlp", "", "`URL` that traces are sent to, by OTLP over HTTP (default: none, or OTEL_EXPORTER_OTLP_ENDPOINT)")
}

func (f *observeFlags) options(s *State) (daemon.Observe, error) {
	o := daemon.Observe{MetricsListen: f.metricsListen, OTLP: f.otlp, Traces: f.otlp != "" || daemon.TracesWanted(s.Getenv), Revision: s.Build.Revision}
	if f.otlp != "" {
		if u, err := url.Parse(f.otlp); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return o, badUsage("--otlp http://localhost:4318", "--otlp: want an http or https URL")
		}
	}
	if f.webhooks != "" {
		hooks, err := webhook.Load(f.webhooks)
		if err != nil {
			return o, badInput(err, "docs/observability.md describes the file")
		}
		o.Webhooks = hooks
	}
	return o, nil
}
