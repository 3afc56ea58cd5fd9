package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/workload"
)

func budgetCommand(s *State) *cobra.Command {
	return group("budget", "Check and show budgets: who is owed how much",
		`A budgets file is a tree of shares (organisation, programs, projects, researchers),
with hard limits in GPU-hours where they are wanted. docs/budgets.md has every key.
show without a file, set, credit and edit are of a live scheduler.`,
		`  escala budget check budgets.yaml
  escala budget show budgets.yaml --workload jobs.csv
  escala budget owed run1/journal.jsonl
  escala budget import slurm > budgets.yaml
  escala budget export slurm budgets.yaml --check
  escala budget set budgets.yaml`,
		budgetCheckCommand(s), budgetImportCommand(s), budgetExportCommand(s), budgetShowCommand(s), budgetOwedCommand(s), budgetSetCommand(s), budgetCreditCommand(s), budgetEditCommand(s))
}

// budgetFlags are the options of both commands.
type budgetFlags struct {
	read             readFlags
	workload, output string
}

func (f *budgetFlags) add(c *cobra.Command, about string) {
	c.Flags().StringVarP(&f.workload, "workload", "w", "", "`file` of jobs, "+about)
	c.Flags().VarP(newChoice(&f.output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	f.read.add(c)
	f.read.addServices(c)
}

// inputs reads the budgets, and the workload where one is named.
func (f *budgetFlags) inputs(s *State, path string) (*budget.Tree, *workload.Workload, error) {
	if f.workload == "" {
		if f.read.services != "" {
			return nil, nil, badUsage("--workload jobs.csv", "--services adds to a workload, and none is named")
		}
		t, err := s.loadBudgets(path, nil)
		if err != nil {
			return nil, nil, err
		}
		return t, nil, f.read.unused()
	}
	w, err := s.readWorkload(f.workload, &f.read)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.loadBudgets(path, w)
	if err != nil {
		return nil, nil, err
	}
	return t, w, nil
}

func budgetCheckCommand(s *State) *cobra.Command {
	var f budgetFlags
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a budgets file, and that every job has an account",
		Long: `Reads the file as all commands do and prints its outline, with notes on what a
reader may not expect: levels that do not sum to 100, people of several teams. With
--workload also the jobs that no account takes. The exit code is 2 if the file is
wrong or there are such jobs.`,
		Example: `  escala budget check budgets.yaml
  escala budget check budgets.yaml --workload jobs.csv`,
		Args: argCount(1, 1, "a budgets file"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			t, w, err := f.inputs(s, args[0])
			if err != nil {
				return err
			}
			r := newBudgetReport(t)
			if w != nil {
				r.count(t, w)
			}
			if f.output == "json" {
				err = s.printJSON(r)
			} else {
				err = s.print("%s", checkText(args[0], t, w != nil, r))
			}
			if err == nil && len(r.Unmatched) > 0 {
				err = unmatchedError(args[0], r)
			}
			return err
		},
	}
	f.add(c, "whose teams and users must have accounts")
	return c
}

func budgetShowCommand(s *State) *cobra.Command {
	var f budgetFlags
	var live liveFlags
	var window string
	var yaml bool
	c := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show the tree with the share of each account",
		Long: `Prints each account with its share of its level and of everything, its hard budget,
managers and users; with --workload also how many jobs it submitted and how many
GPU-hours they take if each runs once. Where the file has pools, the share of each.
Without a FILE it shows the budgets that hold at a live scheduler, and below them what
each account had in the window of the policy, in GPU-hours:
  CHARGED      what its runs were charged
  OUTSTANDING  what its runs are still protected for: charged if they use it
  UNALLOCATED  what it had charged to nobody
  FAIR SHARE   its share of what the cluster offered; USED OF IT is charged and outstanding
  PLACE        among its siblings that have charged work waiting, 1 is served next; an
               account without such work is in no line and has no place`,
		Example: `  escala budget show budgets.yaml
  escala budget show --yaml > budgets.yaml
  escala budget show budgets.yaml --workload jobs.csv --window 7d..14d
  escala budget show budgets.yaml --workload jobs.csv --output json`,
		Args: argCount(0, 1, "a budgets file, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if f.workload != "" || window != "" {
					return badUsage("escala budget show budgets.yaml --workload jobs.csv", "--workload needs a budgets file")
				}
				return live.ask(s, func(ctx context.Context, c *conn, _ []string) error { return s.showInForce(ctx, c, f.output, yaml) })(cmd, args)
			}
			if yaml || live.server != "" || live.tokenFile != "" {
				return badUsage("escala budget show --yaml", "--yaml and --server are for the budgets in force, and a file is named")
			}
			batch(s)
			if window != "" && f.workload == "" {
				return badUsage("--workload jobs.csv", "--window selects jobs by submission, but no workload is named")
			}
			t, w, err := f.inputs(s, args[0])
			if err != nil {
				return err
			}
			r := newBudgetReport(t)
			if w != nil {
				if w, err = submittedIn(w, window); err != nil {
					return err
				}
				r.count(t, w)
			}
			if f.output == "json" {
				return s.printJSON(r)
			}
			return s.showTable(r.table(t, w != nil))
		},
	}
	f.add(c, "to show what each account asks for")
	live.addServer(c)
	c.Flags().BoolVar(&yaml, "yaml", false, "print the text of the budgets in force")
	c.Flags().StringVar(&window, "window", "", "only jobs submitted in this window, `FROM..TO`: seconds, durations since the workload's zero, or dates; either end may be left out")
	return c
}

// submittedIn is the part of a workload that a window selects; "" selects all.
func submittedIn(w *workload.Workload, window string) (*workload.Workload, error) {
	if window == "" {
		return w, nil
	}
	win, err := parseWindow(window, w)
	if err != nil {
		return nil, err
	}
	out := &workload.Workload{}
	for i := range w.Jobs {
		if win.Contains(w.Jobs[i].Submit) {
			out.Jobs, out.Actual = append(out.Jobs, w.Jobs[i]), append(out.Actual, w.Actual[i])
		}
	}
	return out, nil
}

func (s *State) printJSON(v any) error {
	e := json.NewEncoder(s.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// checkText is what check prints: counts, notes, outline.
func checkText(path string, t *budget.Tree, counted bool, r *budgetReport) string {
	var b strings.Builder
	leaves := 0
	for i := range t.Nodes {
		if t.Nodes[i].Leaf() {
			leaves++
		}
	}
	fmt.Fprintf(&b, "%s: ok: %s, %s, %s; owed is reported for %s\n", path,
		plural(int(t.Depth())+1, "level"), plural(len(t.Nodes), "account"), pick(leaves == 1, "1 leaf", strconv.Itoa(leaves)+" leaves"), reportedText(t))
	if len(t.Pools) > 0 {
		fmt.Fprintf(&b, "  pools with shares of their own: %s\n", strings.Join(t.Pools, ", "))
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	if counted {
		fmt.Fprintf(&b, "  %s of the workload have an account, %s none\n", plural(r.Jobs-r.unmatched(), "job"), grouped(int64(r.unmatched())))
	}
	for i := range t.Nodes {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", int(t.Nodes[i].Depth)+1), t.Nodes[i].Name)
		if i > 0 {
			fmt.Fprintf(&b, " %s", ofLevelText(r.Accounts[i].shares))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ofLevelText is the share of a level, in each pool by its name where they differ.
func ofLevelText(shares []shareReport) string {
	if one := alike(shares, func(s *shareReport) string { return percent(s.ShareOfLevel) }); !strings.Contains(one, "/") {
		return one
	}
	var out []string
	for i := range shares {
		out = append(out, strings.TrimSpace(shares[i].Pool+" "+percent(shares[i].ShareOfLevel)))
	}
	return strings.Join(out, ", ")
}

// reportedText says for which accounts owed is reported.
func reportedText(t *budget.Tree) string {
	level, above := int32(0), false
	for _, n := range t.Reported {
		level = max(level, t.Nodes[n].Depth)
	}
	for _, n := range t.Reported {
		above = above || t.Nodes[n].Depth < level
	}
	name := strconv.Itoa(int(level))
	if int(level) < len(t.Levels) {
		name = t.Levels[level]
	}
	return plural(len(t.Reported), "account") + " of level " + name + pick(above, " and leaves above it", "")
}

// unmatchedError lists the jobs that no account takes.
func unmatchedError(path string, r *budgetReport) error {
	const most = 20
	var lines []string
	for i, u := range r.Unmatched {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more causes (--output json has all)", len(r.Unmatched)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%s of team %q: %s (first: job %q of user %q)", plural(u.Jobs, "job"), u.Team, u.Why, u.FirstJob, u.FirstUser))
	}
	return badInput(errors.New(path+": "+strings.Join(lines, "\n       ")), "add the teams and users to the file, or a leaf without users that takes the rest; docs/budgets.md, How a job finds its leaf")
}
