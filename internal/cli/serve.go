package cli

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/daemon"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// serveFlags are the options of escala serve.
type serveFlags struct {
	config                          string
	state, journal, policy, budgets string
	listen                          []string
	cert, key, group                string
	gpus                            int
	shadow, enforce                 bool
	demo, allowRoot                 bool
	cluster                         string
	logFormat, logLevel             string
	checkpoint, restart, grace      workload.Span
	limits                          live.Limits
	observe                         observeFlags
	world                           string
	slurm                           daemon.SlurmOptions
	contracts                       string
}

const defaultListen = "127.0.0.1:7421"

func serveCommand(s *State) *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:     "serve",
		GroupID: groupLive,
		Short:   "Schedule the jobs of this machine: the daemon",
		Long: `Runs the scheduler: it takes jobs from "escala submit" and over HTTP, decides with the
same engine that simulates, keeps everything in a journal, and runs the jobs as processes
of this machine. Without any option it takes the NVIDIA GPUs that nvidia-smi finds; with
--gpus N it pretends to have N of them, to try things out. What runs goes on when the
daemon stops, and is found again when it starts. docs/serve.md tells all of it.`,
		Example: `  escala serve --demo
  escala serve --gpus 8
  escala serve --policy contract --budgets budgets.yaml --listen 127.0.0.1:7421`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "configuration `file`; options go before what it says. docs/serve.md has every key")
	fl.StringVar(&f.state, "state", "", "`directory` of all that is kept (default: "+stateDirText+")")
	fl.StringVar(&f.journal, "journal", "", "`where` the journal is: a file, or postgres://... (default: in the state directory)")
	fl.StringArrayVar(&f.listen, "listen", []string{defaultListen}, "`address` of the API besides the socket in the state directory; none = the socket alone")
	fl.StringVar(&f.cert, "tls-cert", "", "certificate `file`; needed to listen beyond this machine")
	fl.StringVar(&f.key, "tls-key", "", "key `file` of the certificate")
	fl.StringVar(&f.group, "socket-group", "", "`group` that may use the socket, too")
	fl.IntVar(&f.gpus, "gpus", 0, "pretend to have this `number` of GPUs instead of looking for real ones")
	fl.StringVar(&f.policy, "policy", "contract", "`policy` for a new journal; later \"escala policy set\" changes it")
	fl.StringVar(&f.budgets, "budgets", "", "budgets `file` for a new journal; later \"escala budget set\" changes them")
	fl.BoolVar(&f.shadow, "shadow", false, "decide and journal everything, and do nothing: another scheduler runs the jobs. docs/shadow.md")
	fl.BoolVar(&f.enforce, "enforce", false, "do what is decided; that is the default on this machine")
	fl.StringVarP(&f.cluster, "cluster", "c", "", "in shadow: the `cluster` that there is, instead of this machine: NODESxGPUS, pool:N or a file")
	fl.BoolVar(&f.demo, "demo", false, "also submit the jobs of a small made-up lab, so that there is something to see")
	fl.BoolVar(&f.allowRoot, "allow-root", false, "let jobs that root submits run as root; with --world slurm --enforce: be root")
	fl.Var(newChoice(&f.logFormat, "auto", "text", "json"), "log-format", "how to log to standard error: auto, text, json")
	fl.Var(newChoice(&f.logLevel, "info", "debug", "warn", "error"), "log-level", "what to log: info, debug, warn, error")
	f.grace, f.checkpoint = 30*workload.Second, -1
	fl.Var(span{&f.grace}, "grace", "time that jobs have to stop which do not say")
	fl.Var(checkpoint{&f.checkpoint}, "checkpoint", "what jobs save that do not say: on-stop, never, or a duration between checkpoints")
	fl.Var(span{&f.restart}, "restart-cost", "time that a start spends on restarting, of jobs that do not say")
	fl.IntVar(&f.limits.UserAlive, "user-jobs", 100_000, "how many jobs of one user may wait and run at once; 0 = any number")
	fl.IntVar(&f.limits.Alive, "jobs", 1_000_000, "how many jobs may wait and run at once; 0 = any number")
	fl.IntVar(&f.limits.UserGPUs, "user-gpus", 0, "how many GPUs jobs of one user may use at once; what is beyond is held; 0 = any number")
	f.observe.add(fl)
	f.world = worldLocal
	fl.Var(newChoice(&f.world, worldLocal, worldSlurm), "world", "what is scheduled: local, this machine; slurm, the cluster that Slurm's tools here talk to, in shadow unless --enforce. docs/slurm.md")
	fl.StringSliceVar(&f.slurm.Partitions, "partition", nil, "with --world slurm: `partitions` that are given to escala; jobs of others are left to Slurm")
	fl.DurationVar(&f.slurm.Lease, "lease", 0, "with --world slurm: how long waiting jobs stay kept back once escala is gone (default 12m)")
	fl.StringArrayVar(&f.slurm.LeaseArgs, "lease-arg", nil, "with --world slurm: an `argument` of sbatch for the lease, such as --account=ops")
	fl.StringVar(&f.slurm.Conf, "slurm-conf", "", "with --world slurm: `path` of slurm.conf (default: where Slurm's tools look)")
	fl.StringVar(&f.slurm.Read, "slurm-read", "text", "with --world slurm: how it is read: text, json, or unix:`PATH`, the socket of slurmrestd")
	fl.StringVar(&f.slurm.TokenFile, "slurm-token", "", "with --slurm-read unix:PATH: `file` with a token (default: slurmctld is asked for one)")
	fl.StringVar(&f.contracts, "contracts", "", "with --world slurm: `file` of contracts by partition and QOS, of jobs that do not say. docs/slurm.md")
	fl.IntVar(&f.slurm.Calls, "slurm-calls", 0, "with --world slurm: calls a second to slurmctld, at most (default 30)")
	return c
}

func (f *serveFlags) run(cmd *cobra.Command, s *State) error {
	file, err := f.load(cmd, s)
	if err != nil {
		return err
	}
	if f.demo && f.gpus == 0 && f.cluster == "" {
		f.gpus = demoGPUs
	}
	if err := f.slurmMode(); err != nil {
		return err
	}
	if f.contracts != "" {
		if f.slurm.Contracts, _, err = s.loadContracts(f.contracts); err != nil {
			return err
		}
	}
	if f.gpus < 0 || f.gpus > 64 {
		return badUsage("--gpus 8", "--gpus %d: want 1 to 64 on one machine", f.gpus)
	}
	if err := f.mode(); err != nil {
		return err
	}
	dir, err := s.stateDir(f.state)
	if err != nil {
		return err
	}
	if f.demo && f.state == "" {
		dir = filepath.Join(dir, "demo")
	}
	p, err := resolveOne(f.policy)
	if err != nil {
		return err
	}
	o := daemon.Options{State: dir, Journal: f.journal, CertFile: f.cert, KeyFile: f.key, SocketGroup: f.group, Pretend: f.gpus, Policy: p, Shadow: f.shadow,
		AllowRoot: f.allowRoot, Limits: f.limits, Version: s.Build.name(), Now: time.Now, Log: f.logger(s),
		Assume: sim.Assumptions{Checkpoint: f.checkpoint, RestartCost: f.restart, Grace: f.grace, StartLatency: startLatency}}
	if f.world == worldSlurm {
		o.Slurm = &f.slurm
	}
	for _, l := range f.listen {
		if l != "none" && l != "" {
			o.Listen = append(o.Listen, l)
		}
	}
	if f.cluster != "" {
		if o.Cluster, err = s.readCluster(f.cluster); err != nil {
			return err
		}
	}
	o.Keep = daemon.DefaultKeep()
	if err := file.Apply(&o); err != nil {
		return badInput(err, "docs/serve.md has every key of "+f.config)
	}
	if f.budgets != "" {
		if o.Budgets, err = s.loadBudgets(f.budgets, nil); err != nil {
			return err
		}
	}
	if f.demo {
		if err := f.demonstrate(&o); err != nil {
			return err
		}
	}
	if o.Observe, err = f.observe.options(s); err != nil {
		return err
	}
	o.Ready = func(i *daemon.Info) { s.greet(i, f) }
	err = daemon.Run(cmd.Context(), o)
	var wrong *daemon.Misconfigured
	if errors.As(err, &wrong) {
		return badInput(err, "escala serve --help")
	}
	return err
}

// Worlds.
const (
	worldLocal = "local"
	worldSlurm = "slurm"
)

// slurmMode holds that a Slurm cluster is only changed where that was asked for, and only in part.
func (f *serveFlags) slurmMode() error {
	switch {
	case f.world != worldSlurm && f.contracts != "":
		return badUsage("--world slurm", "--contracts is of partitions and QOS of a Slurm")
	case f.world != worldSlurm:
		return nil
	case f.demo || f.gpus != 0 || f.cluster != "":
		return badUsage("escala serve --world slurm", "with --world slurm Slurm says what there is: no --gpus, --cluster or --demo")
	case f.enforce && len(f.slurm.Partitions) == 0:
		return badUsage("--partition NAME, or --partition a,b", "--enforce needs the partitions that are given to escala: all others stay Slurm's")
	case f.slurm.Calls < 0:
		return badUsage("--slurm-calls 30", "--slurm-calls %d: want 1 or more calls a second", f.slurm.Calls)
	case f.slurm.TokenFile != "" && !strings.HasPrefix(f.slurm.Read, "unix:"):
		return badUsage("--slurm-read unix:PATH --slurm-token FILE", "--slurm-token is for slurmrestd, and --slurm-read says %s", f.slurm.Read)
	case f.slurm.Lease < 0 || f.slurm.Lease > 0 && f.slurm.Lease < time.Minute || f.slurm.Lease > 17*time.Minute:
		return badUsage("--lease 12m", "--lease %s: want 1 to 17 minutes, so that the queue is Slurm's own within 20", f.slurm.Lease)
	}
	f.shadow = !f.enforce
	return nil
}

// mode holds that it is clear whether anything is to be done.
func (f *serveFlags) mode() error {
	switch {
	case f.shadow && f.enforce:
		return badUsage("one of them", "--shadow does nothing, --enforce does what is decided")
	case f.cluster != "" && !f.shadow:
		return badUsage("--shadow --cluster "+f.cluster, "--cluster is on paper: jobs can be run on this machine alone")
	case f.cluster != "" && f.gpus != 0:
		return badUsage("--cluster "+f.cluster+" alone", "--cluster says what GPUs there are, and so does --gpus")
	}
	return nil
}

// startLatency is how long the start of a process may take before it is asked again.
const startLatency = 30 * workload.Second

// greet says what is served, and what to try next.
func (s *State) greet(i *daemon.Info, f *serveFlags) {
	what := "schedules this machine"
	switch {
	case f.shadow:
		what = "decides beside another scheduler, and does nothing"
	case f.world == worldSlurm:
		what = "decides what Slurm may start"
	}
	s.say("escala %s %s.\n", s.Build.name(), what)
	for n, part := range strings.Split(strings.TrimSuffix(i.World, "."), "; ") {
		s.say("  %-8s %s\n", map[bool]string{true: "world"}[n == 0], part)
	}
	s.say("  policy   %s\n  journal  %s\n  socket   %s\n", i.Policy, i.Journal, i.Socket)
	for _, a := range i.Addresses {
		s.say("  API      http://%s (token in %s)\n", a, i.TokenFile)
	}
	server := ""
	if dir, err := s.stateDir(""); err != nil || filepath.Join(dir, daemon.SocketName) != i.Socket {
		server = " --server unix:" + i.Socket
	}
	if f.demo {
		s.say("A made-up lab submits jobs. In another terminal: escala top%s\n", server)
		return
	}
	if f.shadow {
		s.say("In another terminal: escala shadow%s\n", server)
		return
	}
	if f.world == worldSlurm {
		s.say("In another terminal: escala queue%s; to give everything back to Slurm: escala release-control\n", server)
		return
	}
	s.say("In another terminal: escala submit%s --gpus 1 -- sleep 60\n", server)
}

// logger logs to standard error: for people on a terminal, else as JSON.
func (f *serveFlags) logger(s *State) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[f.logLevel]
	if f.logFormat == "json" || f.logFormat == "auto" && !s.Stderr.TTY {
		return slog.New(slog.NewJSONHandler(s.Stderr, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(s.Stderr, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !s.colored(s.Stderr)}))
}

const stateDirText = "$XDG_STATE_HOME/escala, else ~/.local/state/escala; of root /var/lib/escala"

// stateDir is where the daemon of this user keeps its state.
func (s *State) stateDir(named string) (string, error) {
	switch {
	case named != "":
		return filepath.Abs(named)
	case s.Getenv("XDG_STATE_HOME") != "":
		return filepath.Join(s.Getenv("XDG_STATE_HOME"), "escala"), nil
	case os.Getuid() == 0:
		return "/var/lib/escala", nil
	case s.Getenv("HOME") != "":
		return filepath.Join(s.Getenv("HOME"), ".local", "state", "escala"), nil
	}
	return "", badUsage("--state DIRECTORY", "there is neither XDG_STATE_HOME nor HOME to find the state directory by")
}
