package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world/slurmworld"
)

// SlurmOptions say of which part of a Slurm cluster is decided, and how it is talked to.
type SlurmOptions struct {
	// Partitions that are given to escala.
	Partitions []string
	// Lease is how long waiting jobs stay kept back once the daemon is gone; 0 = the default.
	Lease time.Duration
	// LeaseArgs are more arguments of sbatch for the lease.
	LeaseArgs []string
	// Conf is the path of slurm.conf, Bin the directory of the tools; "" = as Slurm's tools find them.
	Conf, Bin string
	// Calls that change something, a second at most; 0 = the default.
	Calls int
}

// Client talks to the cluster.
func (o *SlurmOptions) Client() *slurm.Client {
	return &slurm.Client{Runner: &slurm.Tools{Dir: o.Bin, Conf: o.Conf}}
}

// mayEnforce says what is missing to change other people's jobs.
func mayEnforce(p *slurm.Probe) error {
	switch {
	case p.Right >= slurm.Operator:
		return nil
	case p.RightUnknown != nil:
		return fmt.Errorf("--enforce changes other people's jobs, and what %s may do could not be found out: %w", p.User, p.RightUnknown)
	case !p.Config.Accounting():
		return fmt.Errorf("--enforce changes other people's jobs: without accounting only SlurmUser (%s) may, and this is %s", p.Config.SlurmUser, p.User)
	}
	return fmt.Errorf("--enforce changes other people's jobs, and %s may not: sacctmgr modify user %s set adminlevel=Operator", p.User, p.User)
}

// openSlurm opens a Slurm cluster.
func openSlurm(ctx context.Context, o *Options) (*place, error) {
	probe, err := o.Slurm.Client().Probe(ctx)
	if err != nil {
		return nil, &Misconfigured{fmt.Errorf("asking Slurm what it is: %w", err)}
	}
	o.Log.Info("Slurm answers", "version", probe.Config.Version, "user", probe.User, "right", probe.Right.String())
	if err := mayEnforce(probe); err != nil && !o.Shadow {
		return nil, &Misconfigured{err}
	}
	w, err := slurmworld.New(ctx, slurmworld.Options{Slurm: o.Slurm.Client(), Now: o.Now, Log: o.Log, Partitions: o.Slurm.Partitions, Lease: o.Slurm.Lease, LeaseArgs: o.Slurm.LeaseArgs, Calls: o.Slurm.Calls})
	if err != nil {
		return nil, &Misconfigured{err}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Skipped)) {
		o.Log.Info("a node is left to Slurm", "node", name, "why", w.Skipped[name])
	}
	spec := w.Cluster()
	text := fmt.Sprintf("Slurm: %d GPUs on %d nodes", spec.GPUs(), len(spec.Nodes))
	if len(o.Slurm.Partitions) > 0 {
		text += ", partitions " + strings.Join(o.Slurm.Partitions, ", ")
	}
	if o.Shadow {
		return &place{world: slurmworld.InShadow(w), text: "in shadow: nothing is done; " + text}, nil
	}
	return &place{world: w, text: text}, nil
}
