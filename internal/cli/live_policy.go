package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

// showPolicy prints the policy that a daemon goes by.
func (s *State) showPolicy(ctx context.Context, c *conn, output string) error {
	r, err := getRules(ctx, c, "/policy")
	switch {
	case err != nil:
		return err
	case output == "json":
		return s.printRaw(r.raw)
	}
	if r.text.By != "" {
		s.say("Policy %s, set by %s.\n", r.text.Name, r.text.By)
	}
	return s.print("%s", r.text.YAML)
}

func policySetCommand(s *State) *cobra.Command {
	f := &setFlags{}
	var dry bool
	c := &cobra.Command{
		Use:   "set NAME|FILE",
		Short: "Have another policy decide at a live scheduler",
		Long: `Asks the scheduler what the policy would do at once, shows it, asks, and sets it. What
runs keeps its place until the new policy says otherwise. --dry-run stops after showing.`,
		Example: `  escala policy set easy --dry-run
  escala policy set my-policy.yaml`,
		Args: argCount(1, 1, "the name of a policy, or a file"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			list, _ := completePolicies(cmd, nil, "")
			return list, cobra.ShellCompDirectiveDefault
		},
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error { return f.setPolicy(ctx, s, c, args[0], dry) }),
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would happen, and change nothing")
	f.add(c, "the policy was")
	return c
}

func (f *setFlags) setPolicy(ctx context.Context, s *State, c *conn, ref string, dry bool) error {
	p, err := resolveOne(ref)
	if err != nil {
		return err
	}
	text := api.Text{Name: p.Name, YAML: string(p.YAML())}
	old, err := getRules(ctx, c, "/policy")
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if _, err := c.Call(ctx, http.MethodPost, "/policy/try", text, &raw, nil); err != nil {
		return err
	}
	var t api.Trial
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	if f.output != "json" {
		if err := s.print("%s", trialText(&t, old.text.Name, s.wall())); err != nil {
			return err
		}
	}
	if dry {
		if f.output == "json" {
			return s.printRaw(raw)
		}
		return nil
	}
	if err := s.confirm(f.yes, fmt.Sprintf("Have policy %s decide?", p.Name)); err != nil {
		return err
	}
	tag := old.tag
	if f.force {
		tag = ""
	}
	now, err := putRules(ctx, c, "/policy", tag, text)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return s.printRaw(now.raw)
	}
	s.say("Policy %s decides.\n", now.text.Name)
	return nil
}

// trialText says what another policy would do now.
func trialText(t *api.Trial, old string, clock wallClock) string {
	var b strings.Builder
	list := func(what string, actions []api.TrialAction) {
		const most = 10
		fmt.Fprintf(&b, "%s at once: %s\n", what, pick(len(actions) == 0, "nothing", plural(len(actions), "job")))
		for i, a := range actions {
			if i == most {
				fmt.Fprintf(&b, "  and %d more\n", len(actions)-most)
				break
			}
			fmt.Fprintf(&b, "  job %s: %s\n", a.Job, clock.local(a.Why))
		}
	}
	list("Starts", t.Starts)
	list("Stops", t.Stops)
	if len(t.Before)+len(t.After) == 0 {
		return b.String() + "Nothing waits.\n"
	}
	before, after := strings.Join(t.Before, " "), strings.Join(t.After, " ")
	if before == after {
		fmt.Fprintf(&b, "First in line, of %s: %s, as now\n", plural(t.Waiting, "job"), after)
		return b.String()
	}
	width := max(len(old), len(t.Policy))
	fmt.Fprintf(&b, "First in line, of %s:\n  now, %s  %s\n  then, %s %s\n", plural(t.Waiting, "job"), pad(old, width), before, pad(t.Policy, width), after)
	return b.String()
}
