package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/slurmhist"
)

func budgetExportCommand(s *State) *cobra.Command {
	c := group("export", "Have another scheduler's shares be those of budgets",
		"Tells how the shares that another scheduler goes by become those of a budgets file.",
		`  escala budget export slurm budgets.yaml > changes.sh`,
		budgetExportSlurmCommand(s))
	c.GroupID = ""
	return c
}

func budgetExportSlurmCommand(s *State) *cobra.Command {
	var which, assoc string
	var check bool
	c := &cobra.Command{
		Use:   "slurm BUDGETS",
		Short: "Have Slurm's associations say what budgets say",
		Long: `Compares a budgets file with Slurm's tree of accounts and prints the sacctmgr commands that
make Slurm's fair shares those of the file, as a script for a shell. It changes nothing itself:
read the script, then run it as an administrator of Slurm. What is right is left as it is: shares
that are to each other as in the file need not be the same numbers. Nothing is deleted: accounts
and users beyond those of the file are told on standard error, with what Slurm has no place for.

--check prints the differences instead, and ends with code 1 if there are any.

Without --assoc it asks sacctmgr; FILE is what "sacctmgr -P show assoc tree" printed. The way
back is "escala budget import slurm". docs/slurm-history.md says what becomes what.`,
		Example: `  escala budget export slurm budgets.yaml > changes.sh
  escala budget export slurm budgets.yaml --check
  escala budget export slurm budgets.yaml --assoc assoc.txt --slurm-cluster gpu`,
		Args: argCount(1, 1, "one budgets file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			batch(s)
			t, err := s.loadBudgets(args[0], nil)
			if err != nil {
				return err
			}
			var from []string
			if assoc != "" {
				from = []string{assoc}
			}
			name, data, err := s.readAssoc(cmd.Context(), from)
			if err != nil {
				return err
			}
			x, err := slurmhist.ExportBudgets(args[0], t, name, data, which)
			if err != nil {
				return badInput(err, "docs/slurm-history.md says what becomes what")
			}
			for _, n := range x.Notes {
				s.say("note: %s\n", n)
			}
			if check {
				return s.tellDifferences(x)
			}
			for _, d := range x.Left {
				s.say("left: %s\n", d)
			}
			return s.printExport(x)
		},
	}
	c.Flags().StringVar(&assoc, "assoc", "", "`file` of sacctmgr -P show assoc tree (default: sacctmgr is asked)")
	c.Flags().StringVar(&which, "slurm-cluster", "", "`name` of the cluster, where there are several")
	c.Flags().BoolVar(&check, "check", false, "print the differences, and end with code 1 if there are any")
	return c
}

// tellDifferences is --check.
func (s *State) tellDifferences(x *slurmhist.Export) error {
	all := append(append([]string{}, x.Differences...), x.Left...)
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.Stdout, "Slurm's associations say what the budgets say.")
		return err
	}
	if _, err := fmt.Fprintln(s.Stdout, strings.Join(all, "\n")); err != nil {
		return err
	}
	return &ended{exitInternal}
}

// printExport prints the script.
func (s *State) printExport(x *slurmhist.Export) error {
	text := "#!/bin/sh\n# Has Slurm's associations say what the budgets say. Made by escala budget export slurm.\nset -e\n"
	if len(x.Commands) == 0 {
		text = "# Nothing is to be changed.\n"
	}
	for _, c := range x.Commands {
		text += c + "\n"
	}
	_, err := s.Stdout.Write([]byte(text))
	return err
}
