// Package metrics turns what happened into numbers. It is incremental: a
// [Collector] watches a run fact by fact, simulated or live, and [Compute] gives
// the numbers so far. docs/metrics.md defines each number, its unit and its
// source; simulator, reports and a live system all read them here.
//
// GPU-time is milli-GPU x ms, summed exactly in 128 bits and turned into a
// float64 only when a ratio is formed.
package metrics
