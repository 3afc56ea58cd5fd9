package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/policy"
)

func policyCommand(s *State) *cobra.Command {
	return group("policy", "List, show and check scheduling policies",
		`A policy says in which order jobs go, what a job that does not fit does to those
behind it, where jobs are put, and who may be stopped for whom. It is a YAML file;
the shipped ones are such files too. docs/policies.md has every key.
show without a name and set are of a live scheduler.`,
		`  escala policy list
  escala policy show easy > my-policy.yaml
  escala policy check my-policy.yaml
  escala policy set my-policy.yaml --dry-run`,
		policyListCommand(s), policyShowCommand(s), policyCheckCommand(s), policySetCommand(s))
}

func policyListCommand(s *State) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the shipped policies",
		Example: "  escala policy list",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			t := table{header: []string{"NAME", "WHAT IT DOES", "SOURCE"}}
			for _, name := range policy.Names() {
				p, _ := policy.Shipped(name)
				t.add(p.Name, p.Description, p.Source)
			}
			return s.showTable(&t)
		},
	}
}

func policyShowCommand(s *State) *cobra.Command {
	var live liveFlags
	c := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Print a shipped policy as the file it is, or the one in force",
		Long:  "Prints a shipped policy; without a NAME the one that decides at a live scheduler.",
		Example: `  escala policy show easy
  escala policy show sjf > my-sjf.yaml`,
		Args: argCount(0, 1, "the name of a policy, or nothing"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			list, _ := completePolicies(cmd, nil, "")
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return live.ask(s, func(ctx context.Context, c *conn, _ []string) error { return s.showPolicy(ctx, c, live.output) })(cmd, args)
			}
			if live.output == "json" || live.server != "" || live.tokenFile != "" {
				return badUsage("escala policy show", "--output json and --server are for the policy in force, and one is named")
			}
			src, ok := policy.ShippedSource(args[0])
			if !ok {
				return badUsage("escala policy list", "no policy %q is shipped; %s", args[0], yamlx.Choice(args[0], policy.Names()))
			}
			return s.print("%s", src)
		},
	}
	live.add(c)
	return c
}

func policyCheckCommand(s *State) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Check policy files, as they are checked when they are used",
		Long: `Reads each file as compare and simulate do. A file that is right gives a line on
standard output; one that is not gives its error with line, column and what would
be right, and the exit code 2.`,
		Example: `  escala policy check my-policy.yaml
  escala policy check policies/*.yaml`,
		Args: argCount(1, -1, "policy files"),
		RunE: func(_ *cobra.Command, args []string) error {
			var broken []error
			for _, ref := range args {
				p, err := resolveOne(ref)
				if err != nil {
					broken = append(broken, err)
					continue
				}
				if err := s.print("%s: ok: %s\n", ref, outline(p)); err != nil {
					return err
				}
			}
			return allBroken(broken, "docs/policies.md has every key")
		},
	}
}

// outline says in a few words what a policy does.
func outline(p *policy.Policy) string {
	var order []string
	for _, t := range p.Order {
		order = append(order, t.Kind.String())
	}
	text := p.Name + ", order " + strings.Join(order, " > ") + ", blocking " + p.Blocking.String() + ", placement " + p.Placement.By.String()
	if p.Preemption.By != policy.PreemptNone {
		text += ", preemption " + p.Preemption.By.String()
	}
	return text + ", estimates " + estimatesText(p.Estimates)
}
