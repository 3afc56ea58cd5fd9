package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/daemon"
	"github.com/escala-sched/escala/internal/world/slurmworld"
)

// releaseCommand gives a Slurm queue back.
func releaseCommand(s *State) *cobra.Command {
	var o daemon.SlurmOptions
	var output, heartbeat string
	var silent time.Duration
	c := &cobra.Command{
		Use:     "release-control",
		GroupID: groupLive,
		Short:   "Give a Slurm cluster's queue back to Slurm",
		Long: `Takes away what keeps waiting jobs back, and cancels the lease they depend on. It talks to
Slurm alone and needs no daemon; one that runs with --enforce would take the queue again, so
end it first. If nobody does anything, the lease runs out within 20 minutes and the queue is
Slurm's own as well.

With --if-silent it does so only if the daemon has not seen its Slurm for that long, by the
heartbeat in its state directory: a timer can run it, see deploy/systemd/escala-release.timer.
Where the heartbeat cannot be read nothing is released.`,
		Example: `  escala release-control
  escala release-control --if-silent 15m --heartbeat /shared/escala/slurm.heartbeat`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x := releasedJSON{SchemaVersion: 1, Leases: []string{}, Jobs: []string{}}
			if cmd.Flags().Changed("if-silent") {
				since, err := s.silence(heartbeat, silent)
				if err != nil {
					return err
				}
				x.SilentSeconds = new(int64(since.Seconds()))
				if since < silent {
					return s.tellReleased(&x, output, fmt.Sprintf("Nothing is released: escala saw its Slurm %s ago.", since.Round(time.Second)))
				}
			} else if heartbeat != "" {
				return badUsage("--if-silent 15m --heartbeat "+heartbeat, "--heartbeat is for --if-silent: without that everything is released at once")
			}
			r, err := slurmworld.Release(cmd.Context(), o.Client(), "")
			if err != nil {
				return err
			}
			x.Released, x.Leases, x.Jobs = true, append(x.Leases, r.Leases...), append(x.Jobs, r.Jobs...)
			return s.tellReleased(&x, output, fmt.Sprintf("%d waiting jobs are Slurm's again; %d leases were cancelled.", len(r.Jobs), len(r.Leases)))
		},
	}
	c.Flags().StringVar(&o.Conf, "slurm-conf", "", "`path` of slurm.conf (default: where Slurm's tools look)")
	c.Flags().DurationVar(&silent, "if-silent", 0, "only if the daemon has been silent for so long, such as 15m")
	c.Flags().StringVar(&heartbeat, "heartbeat", "", "with --if-silent: `path` of the daemon's heartbeat (default: "+slurmworld.HeartbeatName+" in the state directory)")
	c.Flags().VarP(newChoice(&output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	return c
}

// releasedJSON is what was done, for scripts.
type releasedJSON struct {
	SchemaVersion int `json:"schemaVersion"`
	// Released: control was given back. SilentSeconds is how long the daemon had been silent, where that was asked.
	Released      bool     `json:"released"`
	SilentSeconds *int64   `json:"silentSeconds,omitempty"`
	Leases        []string `json:"leases"`
	Jobs          []string `json:"jobs"`
}

// leastSilence keeps a daemon from being taken for dead that only waits for an answer: of that a call may take half
// a minute.
const leastSilence = 2 * time.Minute

// silence is how long a daemon has been silent.
func (s *State) silence(heartbeat string, most time.Duration) (time.Duration, error) {
	if most < leastSilence {
		return 0, badUsage("--if-silent 15m", "--if-silent %s: want 2m or more, since a daemon that waits for a slow slurmctld is silent, too", most)
	}
	if heartbeat == "" {
		dir, err := s.stateDir("")
		if err != nil {
			return 0, err
		}
		heartbeat = filepath.Join(dir, slurmworld.HeartbeatName)
	}
	since, err := slurmworld.Silent(heartbeat, s.wall().now)
	if err != nil {
		return 0, badInput(err, "--heartbeat PATH, by which this host reaches the daemon's state directory")
	}
	return since, nil
}

// tellReleased says what was done in one line.
func (s *State) tellReleased(x *releasedJSON, output, text string) error {
	if output == "json" {
		return s.printJSON(x)
	}
	s.say("%s\n", text)
	return nil
}
