package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/daemon"
)

// load reads the configuration file, and gives what it says to options that were not set.
func (f *serveFlags) load(cmd *cobra.Command, s *State) (*daemon.File, error) {
	file := &daemon.File{}
	if f.config == "" {
		return file, nil
	}
	data, err := s.ReadFile(f.config)
	if err != nil {
		return nil, badInput(fmt.Errorf("configuration %w", noFile(err)), "the path of a configuration file; docs/serve.md has every key")
	}
	if file, err = daemon.ParseFile(f.config, data); err != nil {
		return nil, badInput(err, "docs/serve.md has every key")
	}
	// Of what contradicts each other the command line's holds.
	mode := cmd.Flags().Changed("shadow") || cmd.Flags().Changed("enforce")
	for _, x := range settings(file) {
		if x.value == "" || cmd.Flags().Changed(x.option) || mode && (x.option == "shadow" || x.option == "enforce") {
			continue
		}
		if err := cmd.Flags().Set(x.option, x.value); err != nil {
			return nil, badUsage("docs/serve.md has every key", "%s: %s %q: %s", f.config, x.key, x.value, rootCause(err))
		}
	}
	if len(file.Slurm.LeaseArgs) > 0 && !cmd.Flags().Changed("lease-arg") {
		f.slurm.LeaseArgs = file.Slurm.LeaseArgs
	}
	if len(file.Listen) > 0 && !cmd.Flags().Changed("listen") {
		f.listen = file.Listen
	}
	return file, nil
}

// setting is a key of the file that has an option.
type setting struct{ key, option, value string }

func settings(c *daemon.File) []setting {
	return []setting{
		{"state", "state", c.State}, {"journal", "journal", c.Journal}, {"tls.cert", "tls-cert", c.TLS.Cert}, {"tls.key", "tls-key", c.TLS.Key},
		{"socketGroup", "socket-group", c.SocketGroup}, {"gpus", "gpus", number(c.GPUs)}, {"allowRoot", "allow-root", yes(c.AllowRoot)},
		{"policy", "policy", c.Policy}, {"budgets", "budgets", c.Budgets}, {"shadow", "shadow", yes(c.Shadow)}, {"enforce", "enforce", yes(c.Enforce)}, {"cluster", "cluster", c.Cluster},
		{"world", "world", c.World}, {"slurm.partitions", "partition", strings.Join(c.Slurm.Partitions, ",")}, {"slurm.lease", "lease", text(c.Slurm.Lease)},
		{"slurm.conf", "slurm-conf", c.Slurm.Conf}, {"slurm.callsPerSecond", "slurm-calls", number(c.Slurm.CallsPerSecond)},
		{"slurm.contracts", "contracts", c.Slurm.Contracts}, {"slurm.read", "slurm-read", c.Slurm.Read}, {"slurm.tokenFile", "slurm-token", c.Slurm.TokenFile},
		{"assume.checkpoint", "checkpoint", c.Assume.Checkpoint}, {"assume.restartCost", "restart-cost", text(c.Assume.RestartCost)}, {"assume.grace", "grace", text(c.Assume.Grace)},
		{"limits.userJobs", "user-jobs", number(c.Limits.UserJobs)}, {"limits.jobs", "jobs", number(c.Limits.Jobs)}, {"limits.userGPUs", "user-gpus", number(c.Limits.UserGPUs)},
		{"log.format", "log-format", c.Log.Format}, {"log.level", "log-level", c.Log.Level},
		{"observe.metricsListen", "metrics-listen", c.Observe.MetricsListen}, {"observe.webhooks", "webhook", c.Observe.Webhooks}, {"observe.otlp", "otlp", c.Observe.OTLP},
	}
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func yes(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func text[T fmt.Stringer](v *T) string {
	if v == nil {
		return ""
	}
	return (*v).String()
}
