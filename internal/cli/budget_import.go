package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/slurmhist"
	"github.com/escala-sched/escala/trace"
)

func budgetImportCommand(s *State) *cobra.Command {
	c := group("import", "Make budgets of another scheduler's shares",
		"Makes a budgets file of the shares that another scheduler goes by.",
		`  escala budget import slurm > budgets.yaml`,
		budgetImportSlurmCommand(s))
	c.GroupID = ""
	return c
}

func budgetImportSlurmCommand(s *State) *cobra.Command {
	var which string
	c := &cobra.Command{
		Use:   "slurm [FILE]",
		Short: "Make budgets of Slurm's associations",
		Long: `Prints a budgets file made of Slurm's tree of accounts and their fair shares, and on
standard error what is otherwise than in Slurm. Without a FILE it asks sacctmgr; a FILE is
what "sacctmgr -P show assoc tree" printed, with or without a format, "-" is standard input.

Accounts become accounts, fair shares become shares. Users who share alike are the users of
their account; where they have shares of their own each is an account. fairshare=parent
takes a level away: what is below such an account shares with its siblings, and users with
it share their account as one. A share of 0 stays 0: only when no sibling has work. Limits
(GrpTRES and the like) are ignored, and listed. docs/slurm-history.md has an example.`,
		Example: `  escala budget import slurm > budgets.yaml
  escala budget import slurm assoc.txt --slurm-cluster gpu > budgets.yaml`,
		Args: argCount(0, 1, "one file or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			batch(s)
			name, data, err := s.readAssoc(cmd.Context(), args)
			if err != nil {
				return err
			}
			text, r, err := slurmhist.ImportBudgets(name, data, which, nil)
			if err != nil {
				return badInput(err, "sacctmgr -P show assoc tree; docs/slurm-history.md")
			}
			s.say("%s: %s, %s\n", name, plural(r.Accounts, "account"), plural(r.Users, "user"))
			for _, n := range r.Notes {
				s.say("note: %s\n", n)
			}
			for _, l := range r.Ignored {
				s.say("ignored: %s\n", l)
			}
			_, err = s.Stdout.Write(text)
			return err
		},
	}
	c.Flags().StringVar(&which, "slurm-cluster", "", "`name` of the cluster, where there are several")
	return c
}

// readAssoc reads associations from a file, or asks for them.
func (s *State) readAssoc(ctx context.Context, args []string) (string, []byte, error) {
	if len(args) == 0 {
		in, data, err := (&slurmhist.Ask{}).Assoc(ctx)
		if slurmhist.IsNoTool(err) {
			return "", nil, badInput(err, "a machine of the cluster; or the file that sacctmgr -P show assoc tree printed there")
		}
		if err != nil && ctx.Err() == nil {
			err = &hinted{err, "the same command by hand"}
		}
		return in.Name, data, err
	}
	data, err := s.readInput(args[0])
	if err != nil {
		return "", nil, err
	}
	data, err = trace.Unpack(args[0], data)
	return args[0], data, badInput(err, "sacctmgr -P show assoc tree")
}
