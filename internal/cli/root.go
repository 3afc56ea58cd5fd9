package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/policy/celexpr"
)

const (
	groupLive   = "live"
	groupRun    = "run"
	groupInputs = "inputs"
)

// usage is how commands explain themselves; lines are short enough for any terminal.
const usage = `Usage:
{{- if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- if .HasAvailableSubCommands}}{{$all := .Commands}}{{$groups := .Groups}}
{{- range $group := $groups}}

{{.Title}}{{range $all}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}

{{if $groups}}Other commands:{{else}}Commands:{{end}}
{{- range $all}}{{if and (or (eq .GroupID "") (not $groups)) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Options:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableInheritedFlags}}

Options of all commands:
{{.InheritedFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableSubCommands}}

"{{.CommandPath}} [command] --help" says more about a command.{{end}}
`

// Run carries out the command line of s and returns the exit code.
func Run(ctx context.Context, s *State) int {
	root := newRoot(s)
	root.SetArgs(s.Args)
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		s.showError(err)
	}
	return exitCode(err)
}

func newRoot(s *State) *cobra.Command {
	root := &cobra.Command{
		Use:   "escala",
		Short: "Schedule the jobs of GPUs, and replay them under other policies",
		Long: `escala schedules jobs on GPUs, and replays the jobs of a cluster under several policies
to show what the order alone changes: waits, completion times, idle GPUs, money.

"escala serve" schedules this machine, "escala submit" gives it jobs. Without any input,
"escala compare" replays a real trace that it carries.`,
		Example: `  escala compare
  escala compare jobs.csv --cluster 16x8 --policy fifo,easy,sjf
  escala simulate jobs.csv --cluster 16x8 --policy easy --out run1
  escala policy list
  escala serve --demo
  escala submit --gpus 1 -- python train.py`,
		Version:       s.Build.name(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			policy.CompileExpr = celexpr.Compile
		},
	}
	root.SetUsageTemplate(usage)
	root.SetVersionTemplate("escala {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.PersistentFlags().Var(newChoice(&s.color, "auto", "always", "never"), "color", "when to use colour: auto, always, never")
	_ = root.RegisterFlagCompletionFunc("color", words("auto", "always", "never"))
	root.AddGroup(&cobra.Group{ID: groupLive, Title: "Schedule a cluster:"}, &cobra.Group{ID: groupRun, Title: "Replay a cluster's history:"}, &cobra.Group{ID: groupInputs, Title: "Policies and workloads:"})
	root.AddCommand(submitCommand(s), runCommand(s), queueCommand(s), statusCommand(s), historyCommand(s), logsCommand(s), waitCommand(s), nodesCommand(s), topCommand(s), journalCommand(s), bundleCommand(s), docsCommand(s))
	root.AddCommand(jobCommands(s)...)
	root.AddCommand(nodeCommands(s)...)
	root.AddCommand(shadowCommand(s), observedCommand(s))
	root.AddCommand(serveCommand(s), releaseCommand(s), tokenCommand(s), compareCommand(s), simulateCommand(s), replayCommand(s), whatIfCommand(s), explainCommand(s), planCommand(s), policyCommand(s), budgetCommand(s), workloadCommand(s), versionCommand(s))
	return root
}

// group is a command that only holds others.
func group(use, short, long, example string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Example: example, GroupID: groupInputs, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(children...)
	return c
}

// noArgs refuses arguments: of a group they are commands that do not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		return badUsage(cmd.CommandPath()+" --help", "%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	hint := cmd.CommandPath() + " --help"
	if near := yamlx.Nearest(args[0], known); near != "" {
		hint = cmd.CommandPath() + " " + near
	}
	return badUsage(hint, "unknown command %q for %q; want one of %s", args[0], cmd.CommandPath(), strings.Join(known, ", "))
}

// argCount wants between lo and hi arguments; hi < 0 = any number.
func argCount(lo, hi int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= lo && (hi < 0 || len(args) <= hi) {
			return nil
		}
		return badUsage(cmd.CommandPath()+" --help", "%s wants %s, but got %s", cmd.CommandPath(), want, plural(len(args), "argument"))
	}
}

// flagError explains an option that cannot be read.
func flagError(cmd *cobra.Command, err error) error {
	hint := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var known []string
		add := func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		}
		cmd.Flags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
		name := unknown.GetSpecifiedName()
		if near := yamlx.Nearest(name, known); near != "" {
			hint = "--" + near
		}
		return badUsage(hint, "%s has no option --%s", cmd.CommandPath(), name)
	}
	if text, ok := invalidValue(err); ok {
		return badUsage(hint, "%s", text)
	}
	return badUsage(hint, "%s", err)
}

// invalidValue says what is wrong with the value of an option.
func invalidValue(err error) (text string, ok bool) {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return "", false
	}
	flag, cause := invalid.GetFlag(), rootCause(invalid).Error()
	switch flag.Value.Type() {
	case "int", "int32", "int64":
		cause = "want a whole number"
	case "uint64":
		cause = "want a whole number of 0 or more"
	case "float64":
		cause = "want a number"
	case "bool":
		cause = "want true or false"
	}
	return fmt.Sprintf("--%s %q: %s", flag.Name, invalid.GetValue(), cause), true
}

// rootCause is the innermost error: what the option itself had to say.
func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
