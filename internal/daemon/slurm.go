package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
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
	// Contracts are what the site says of jobs that do not say it themselves; nil = nothing.
	Contracts *slurm.Contracts
	// Calls a second at most; 0 = the default.
	Calls int
	// Read is how nodes and queue are read: [ReadText], [ReadJSON], or slurmrestd's socket as "unix:PATH". TokenFile has the
	// token for that; "" = slurmctld is asked for one.
	Read, TokenFile string
}

// Ways to read a cluster.
const (
	ReadText = "text"
	ReadJSON = "json"
	readREST = "unix:"
)

// reader is what reads the cluster as it was asked for, if that can be done.
func (o *SlurmOptions) reader(ctx context.Context, p *slurm.Probe, now func() time.Time, log *slog.Logger) (slurm.Reader, error) {
	c := o.Client()
	switch socket, rest := strings.CutPrefix(o.Read, readREST); {
	case o.Read == "" || o.Read == ReadText:
		return c, nil
	case o.Read == ReadJSON:
		if !p.JSON["squeue"] || !p.JSON["sinfo"] && !p.JSON["scontrol"] {
			return nil, fmt.Errorf("Slurm %s here writes no JSON; want --slurm-read text", p.Config.Version) //nolint:staticcheck // a name
		}
		return &slurm.JSON{Runner: c.Runner}, nil
	case rest:
		r := &slurm.REST{Socket: socket, User: p.User, Token: func(ctx context.Context) (string, error) { return c.Token(ctx, tokenLife) }}
		if o.TokenFile != "" {
			r.Token = slurm.TokenFile(o.TokenFile)
		}
		if _, err := r.Nodes(ctx); err != nil {
			return nil, fmt.Errorf("reading the nodes by %s: %w", o.Read, err)
		}
		return &slurm.Fallback{First: r, Then: c, Now: now, Failed: func(err error) {
			log.Warn("slurmrestd does not do; Slurm's tools are asked for a while", "socket", socket, "err", err)
		}}, nil
	}
	return nil, fmt.Errorf("--slurm-read %s: want %s, %s or unix:PATH, the socket of slurmrestd", o.Read, ReadText, ReadJSON)
}

// tokenLife is how long a token is good for that slurmctld made for escala.
const tokenLife = time.Hour

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

// leastMemory is how long slurmctld has to know how a job ended: an interruption of that length is nothing special.
const leastMemory = time.Minute

// forgetful says that ends of jobs may be missed, "" = they are not: slurmctld or accounting tells them later as well.
func forgetful(c *slurm.Config) string {
	if c.Accounting() || c.MinJobAge == 0 || c.MinJobAge >= leastMemory {
		return "" // 0 = it never forgets
	}
	return fmt.Sprintf("slurmctld forgets a job %s after its end (MinJobAge), and there is no accounting that would know more: one that ends while escala is away for longer counts as lost with its node, and is not known to have been completed. Set MinJobAge=300", c.MinJobAge)
}

// checkContracts holds the site's contracts to the partitions and QOS that there are: a name that is spelled wrong would
// leave its jobs without their contract, and nobody would notice.
func checkContracts(ctx context.Context, o *Options, p *slurm.Probe) error {
	if o.Slurm.Contracts == nil {
		return nil
	}
	c := o.Slurm.Client()
	list, err := c.Partitions(ctx)
	if err != nil {
		return &Misconfigured{fmt.Errorf("asking Slurm for its partitions: %w", err)}
	}
	partitions := make([]string, len(list))
	for i := range list {
		partitions[i] = list[i].Name
	}
	var qos []string
	if p.Config.Accounting() {
		if qos, err = c.QOS(ctx); err != nil {
			o.Log.Warn("whether there is each QOS of the contracts is not known", "err", err)
		}
	}
	if err := o.Slurm.Contracts.Check(partitions, qos); err != nil {
		return &Misconfigured{err}
	}
	return nil
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
	if os.Geteuid() == 0 && !o.Shadow && !o.AllowRoot {
		return nil, &Misconfigured{errors.New("--enforce as root: an operator in Slurm may do all that is needed (docs/slurm.md, Rights); run escala as a user of its own, or say --allow-root")}
	}
	administers := !o.Shadow && probe.Right >= slurm.Administrator
	if !o.Shadow && !administers {
		o.Log.Info("AdminComment of jobs that are stopped, and drains in Slurm: off, they need administrator", "user", probe.User, "right", probe.Right.String())
	}
	if text := forgetful(probe.Config); text != "" {
		o.Log.Warn(text)
	}
	if err := checkContracts(ctx, o, probe); err != nil {
		return nil, err
	}
	reader, err := o.Slurm.reader(ctx, probe, o.Now, o.Log)
	if err != nil {
		return nil, &Misconfigured{err}
	}
	w, err := slurmworld.New(ctx, slurmworld.Options{Slurm: o.Slurm.Client(), Reader: reader, Now: o.Now, Log: o.Log, Partitions: o.Slurm.Partitions, Lease: o.Slurm.Lease, LeaseArgs: o.Slurm.LeaseArgs, Calls: o.Slurm.Calls,
		Administers: administers, Contracts: o.Slurm.Contracts, Accounting: probe.Config.Accounting(), Sealed: probe.Right < slurm.Operator, Heartbeat: filepath.Join(o.State, slurmworld.HeartbeatName)})
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
