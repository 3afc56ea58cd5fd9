package slurmworld

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/slurm"
)

// Released is what was given back to Slurm.
type Released struct {
	// Leases that were cancelled, and Jobs whose dependency on one was taken away, by ID.
	Leases, Jobs []string
}

// Release gives a queue back to Slurm as it was: no job depends on a lease any more, and there is none. It
// needs no daemon, and a daemon that runs would take the queue again: end it first. It is to be called by
// the user whose lease it is.
func Release(ctx context.Context, c *slurm.Client, leaseName string) (*Released, error) {
	if leaseName == "" {
		leaseName = "escala-lease"
	}
	out, err := c.Run(ctx, "squeue", "-h", "-a", "--me", "-n", leaseName, "-o", "%A") // anybody may call a job like that
	if err != nil {
		return nil, fmt.Errorf("looking for leases: %w", err)
	}
	r := &Released{Leases: strings.Fields(string(out))}
	jobs, _, err := c.Queue(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading Slurm's queue: %w", err)
	}
	for i := range jobs {
		j := &jobs[i]
		dependency := j.Dependency
		held := false
		for _, l := range r.Leases {
			if gated(dependency, l) {
				dependency, held = open(dependency, l), true
			}
		}
		if !held || j.State != slurm.Pending {
			continue
		}
		if err := c.Update(ctx, j.ID, "dependency="+dependency); err != nil && !errors.Is(err, slurm.ErrNoJob) && !errors.Is(err, slurm.ErrEnded) {
			return r, fmt.Errorf("job %s: %w", j.ID, err)
		}
		r.Jobs = append(r.Jobs, j.ID)
	}
	for _, l := range slices.Clone(r.Leases) { // last: without one all dependencies on it are satisfied
		if err := c.Cancel(ctx, l); err != nil && !errors.Is(err, slurm.ErrNoJob) && !errors.Is(err, slurm.ErrEnded) {
			return r, fmt.Errorf("cancelling the lease %s: %w", l, err)
		}
	}
	return r, nil
}
