package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/world/local"
)

// What of ended jobs stays on this machine where nothing is said.
const (
	KeepLogs        = 90 * 24 * time.Hour
	KeepLogsMost    = 100_000
	KeepCheckpoints = 90 * 24 * time.Hour
)

// DefaultRuns is how long logs and checkpoints of ended jobs are kept where nothing is said.
func DefaultRuns() local.Retention {
	return local.Retention{LogAge: KeepLogs, Logs: KeepLogsMost, CheckpointAge: KeepCheckpoints}
}

// pruneEvery is how often it is looked for logs and checkpoints that are too old.
const pruneEvery = time.Hour

// pruneAfter is when it is looked first: not while everything starts.
const pruneAfter = time.Minute

// pruner is a world that keeps something of ended jobs.
type pruner interface {
	Prune(keep local.Retention, alive func(job int32) bool) (logs, checkpoints int, err error)
}

// prune removes what is left of jobs that ended long ago, until the context ends.
func prune(ctx context.Context, w pruner, d *live.Daemon, first time.Duration, keep local.Retention, log *slog.Logger) {
	alive := func(job int32) bool {
		j := d.Some([]int32{job})
		return len(j) == 1 && j[0].Phase.Alive()
	}
	for wait := first; ; wait = pruneEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		logs, checkpoints, err := w.Prune(keep, alive)
		if err != nil {
			log.Error("removing what is left of ended jobs failed; it is tried again in an hour", "err", err)
		}
		if logs+checkpoints > 0 {
			log.Info("what was left of jobs that ended long ago was removed", "logs", logs, "checkpoints", checkpoints)
		}
	}
}
