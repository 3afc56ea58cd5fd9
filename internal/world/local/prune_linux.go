package local

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"
)

// Retention says what of ended jobs is kept.
type Retention struct {
	// LogAge is how long the log of a run is kept after the last byte; 0 = for ever. Logs is how many are
	// kept at most, the newest; 0 = all.
	LogAge time.Duration
	Logs   int
	// CheckpointAge is how long the own checkpoint directory of a job is kept after it was last
	// changed; 0 = for ever.
	CheckpointAge time.Duration
}

// Prune removes old logs, and checkpoints of jobs that are not alive: one that waits to be
// resumed needs them. Runs that are not settled keep everything. It returns how many of each it removed.
func (w *World) Prune(keep Retention, alive func(job int32) bool) (logs, checkpoints int, err error) {
	now := w.opts.Now()
	type old struct {
		name string
		at   time.Time
	}
	var list []old
	var errs []error
	entries, err := os.ReadDir(w.path("logs"))
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		id, ok := parseRunName(e.Name())
		if !ok || exists(w.path("runs", runName(id))) {
			continue
		}
		list = append(list, old{e.Name(), newest(w.path("logs", e.Name()))})
	}
	slices.SortFunc(list, func(a, b old) int { return b.at.Compare(a.at) })
	for i, l := range list {
		if keep.LogAge > 0 && now.Sub(l.at) > keep.LogAge || keep.Logs > 0 && i >= keep.Logs {
			if err := os.RemoveAll(w.path("logs", l.name)); err != nil {
				errs = append(errs, err)
				continue
			}
			logs++
		}
	}
	if keep.CheckpointAge <= 0 {
		return logs, 0, errors.Join(errs...)
	}
	entries, err = os.ReadDir(w.path("checkpoints"))
	if err != nil {
		return logs, 0, err
	}
	for _, e := range entries {
		job, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil || alive(int32(job)) || now.Sub(newest(w.path("checkpoints", e.Name()))) <= keep.CheckpointAge {
			continue
		}
		if err := os.RemoveAll(w.path("checkpoints", e.Name())); err != nil {
			errs = append(errs, err)
			continue
		}
		checkpoints++
	}
	return logs, checkpoints, errors.Join(errs...)
}

// newest is when a folder, or a file right in it, was last changed.
func newest(dir string) time.Time {
	var at time.Time
	see := func(info fs.FileInfo, err error) {
		if err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	see(os.Lstat(dir))
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		see(e.Info())
	}
	return at
}
