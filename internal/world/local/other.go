//go:build !linux

package local

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/world"
)

// World runs jobs as processes of this machine. It needs Linux.
type World struct{}

// Retention says what of ended jobs is kept.
type Retention struct {
	LogAge, CheckpointAge time.Duration
	Logs                  int
}

// ErrInUse says that another world has the state directory.
var ErrInUse = errors.New("the state directory is in use by another process")

var errLinux = errors.New("running jobs on this machine needs Linux")

// Open fails: it needs Linux.
func Open(context.Context, Options) (*World, error) { return nil, errLinux }

// Supervise fails: it needs Linux.
func Supervise([]string, func() time.Time) int { return 2 }

// Cluster is empty.
func (*World) Cluster() *cluster.Spec { return &cluster.Spec{} }

// Describe says what is missing.
func (*World) Describe() string { return errLinux.Error() }

// Begin fails.
func (*World) Begin(context.Context, []world.Belief, func(...world.Report)) error { return errLinux }

// Do does nothing.
func (*World) Do(...world.Order) {}

// Settled does nothing.
func (*World) Settled(...world.Run) {}

// Close does nothing.
func (*World) Close() error { return nil }

// OpenLog fails.
func (*World) OpenLog(world.Run, int64) (io.ReadCloser, int64, error) { return nil, 0, errLinux }

// Measure fails.
func (*World) Measure(context.Context) (world.Sample, error) { return world.Sample{}, errLinux }

// Prune fails.
func (*World) Prune(Retention, func(int32) bool) (logs, checkpoints int, err error) {
	return 0, 0, errLinux
}
