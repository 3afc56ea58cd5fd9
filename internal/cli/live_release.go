package cli

import (
	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/daemon"
	"github.com/escala-sched/escala/internal/world/slurmworld"
)

// releaseCommand gives a Slurm queue back.
func releaseCommand(s *State) *cobra.Command {
	var o daemon.SlurmOptions
	var output string
	c := &cobra.Command{
		Use:     "release-control",
		GroupID: groupLive,
		Short:   "Give a Slurm cluster's queue back to Slurm",
		Long: `Takes away what keeps waiting jobs back, and cancels the lease they depend on. It talks to
Slurm alone and needs no daemon; one that runs with --enforce would take the queue again, so
end it first. If nobody does anything, the lease runs out within 20 minutes and the queue is
Slurm's own as well.`,
		Example: `  escala release-control`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := slurmworld.Release(cmd.Context(), o.Client(), "")
			if err != nil {
				return err
			}
			if output == "json" {
				return s.printJSON(struct {
					SchemaVersion int      `json:"schemaVersion"`
					Leases        []string `json:"leases"`
					Jobs          []string `json:"jobs"`
				}{1, append([]string{}, r.Leases...), append([]string{}, r.Jobs...)})
			}
			s.say("%d waiting jobs are Slurm's again; %d leases were cancelled.\n", len(r.Jobs), len(r.Leases))
			return nil
		},
	}
	c.Flags().StringVar(&o.Conf, "slurm-conf", "", "`path` of slurm.conf (default: where Slurm's tools look)")
	c.Flags().VarP(newChoice(&output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	return c
}
