// Package observe makes what happens in a live daemon visible: Prometheus metrics, traces and
// log lines. docs/observability.md lists all of them; what a number means is defined in
// docs/metrics.md, and counted by package metrics, as in simulations.
//
// Nothing here changes what is decided, and nothing slows the loop down: [Metrics] costs less than
// a microsecond for each fact, and all else is done when somebody asks.
package observe
