package slurmworld

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/atomicfile"
)

// HeartbeatName is the file of a state directory that says when a scheduler last saw and directed its Slurm.
const HeartbeatName = "slurm.heartbeat"

// beat says that Slurm was seen and acted upon now. The time is written down, not left to the file's own: a copy on
// another host tells the same.
func (w *World) beat() {
	now := w.opts.Now()
	if w.opts.Heartbeat == "" || now.Sub(w.beaten) < w.opts.Poll && !w.beaten.IsZero() {
		return
	}
	err := func() error {
		f, err := atomicfile.Create(w.opts.Heartbeat)
		if err != nil {
			return err
		}
		defer f.Abort()
		if _, err := io.WriteString(f, now.UTC().Format(time.RFC3339)+"\n"); err != nil {
			return err
		}
		return f.Commit()
	}()
	if failed := err != nil; failed != w.faint { // once, not every two seconds
		if w.faint = failed; failed {
			w.log.Error("the heartbeat cannot be written: a release timer will take escala for dead", "file", w.opts.Heartbeat, "err", err)
		} else {
			w.log.Info("the heartbeat is written again", "file", w.opts.Heartbeat)
		}
	}
	if err == nil {
		w.beaten = now
	}
}

// aheadAtMost is how far the clocks of two hosts may be apart.
const aheadAtMost = time.Minute

// Silent is for how long a scheduler has not beaten, by its heartbeat file. An error means that it cannot be told: then
// nobody may take the scheduler for dead.
func Silent(path string, now time.Time) (time.Duration, error) {
	text, err := os.ReadFile(path) //nolint:gosec // whoever calls says which file it is
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no heartbeat %s; a daemon that runs with --world slurm --enforce writes %s into its state directory", path, HeartbeatName)
	}
	if err != nil {
		return 0, fmt.Errorf("the heartbeat: %w", err)
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("the heartbeat %s: %.40q is not a time such as 2026-12-01T14:03:00Z", path, text)
	}
	if at.After(now.Add(aheadAtMost)) {
		return 0, fmt.Errorf("the heartbeat %s is of %s, which is %s ahead of this host's clock: set the clocks right", path, at.Format(time.RFC3339), at.Sub(now).Round(time.Second))
	}
	return max(now.Sub(at), 0), nil
}
