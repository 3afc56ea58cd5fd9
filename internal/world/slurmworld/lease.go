package slurmworld

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// lease is the job on which all that waits depends.
type lease struct {
	id string
	// renewed is when its time was put off last; alive: it was in the queue at the last look.
	renewed time.Time
	alive   bool
}

// keep has a lease that is put off. It costs one call each quarter of it.
func (w *World) keep(ctx context.Context) error {
	now := w.opts.Now()
	l := &w.lease
	if l.id == "" {
		w.spend(callsOfTexts)
		id, err := w.findLease(ctx)
		if err != nil {
			return err
		}
		*l = lease{id: id, alive: id != ""}
	}
	begin, end := fmt.Sprintf("now+%d", int(w.opts.Lease.Seconds())), fmt.Sprintf("now+%d", int((w.opts.Lease+w.opts.Overtime).Seconds()))
	switch {
	case l.id == "" || !l.alive:
		w.spend(1)
		id, err := w.opts.Slurm.Submit(ctx, "true", append([]string{"--job-name=" + w.opts.LeaseName, "--begin=" + begin, "--deadline=" + end, "--time=1", "--ntasks=1", "--no-requeue",
			"--output=/dev/null", "--error=/dev/null", "--chdir=/", "--export=NONE", "--comment=waiting jobs depend on this one as long as escala decides of them"}, w.opts.LeaseArgs...)...)
		if err != nil {
			return fmt.Errorf("submitting the lease: %w", err)
		}
		*l = lease{id: id, renewed: now, alive: true}
		w.log.Info("waiting jobs depend on a lease", "job", id, "for", w.opts.Lease)
	case now.Sub(l.renewed) > w.opts.Lease/4:
		w.spend(1)
		if err := w.opts.Slurm.Update(ctx, l.id, "starttime="+begin, "deadline="+end); err != nil {
			return fmt.Errorf("putting the lease off: %w", err)
		}
		l.renewed = now
	}
	return nil
}

// findLease finds the lease of an earlier life.
func (w *World) findLease(ctx context.Context) (string, error) {
	out, err := w.opts.Slurm.Run(ctx, "squeue", "-h", "-a", "--me", "-t", "PENDING", "-n", w.opts.LeaseName, "-o", "%A")
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(id), nil
}
