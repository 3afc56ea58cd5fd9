package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// owedFlags are the options of escala budget owed.
type owedFlags struct{ budgets, window, output string }

func budgetOwedCommand(s *State) *cobra.Command {
	f := &owedFlags{}
	c := &cobra.Command{
		Use:   "owed JOURNAL",
		Short: "Show what each account was owed in a run, and what it got",
		Long: `Reads the journal of a run and shows for each reported account what it asked for,
what it was owed (hour by hour its share of usable capacity, but no more than it asked
for), what it was charged, and how much of what it was owed it got, over --window or
the seven days up to the last submission. With pools, first over all of
them and then in each. The budgets are the last ones in the journal, or --budgets. Jobs that no account takes are listed.

A journal does not tell how long jobs really run. So what a waiting job asks for is
bounded by its estimate or limit here, and by its true run time in compare.`,
		Example: `  escala budget owed run1/journal.jsonl
  escala budget owed run1/journal.jsonl --budgets budgets.yaml --window 7d..14d
  escala budget owed run1/journal.jsonl --output json`,
		Args: argCount(1, 1, "a journal"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			return f.run(s, args[0])
		},
	}
	c.Flags().StringVar(&f.budgets, "budgets", "", "tree of shares, a `file`, in place of the journal's")
	c.Flags().StringVar(&f.window, "window", "", "what was owed in this window, `FROM..TO`: seconds, durations since the workload's zero, or dates; either end may be left out (default: the 7 days up to the last submission)")
	c.Flags().VarP(newChoice(&f.output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	return c
}

func (f *owedFlags) run(s *State, path string) error {
	const hint = "a journal that escala simulate wrote: --journal run.jsonl"
	data, err := s.readInput(path)
	if err == nil {
		data, err = trace.Unpack(path, data)
	}
	if err != nil {
		return badInput(err, hint)
	}
	if !journal.Is(data) {
		return badUsage("escala simulate WORKLOAD --policy P --cluster C --journal run.jsonl", "%s is no journal: what accounts got depends on how jobs were scheduled", path)
	}
	seen, err := glance(path, data)
	if err != nil {
		return broken(err, hint)
	}
	tree := seen.tree
	if f.budgets != "" {
		if tree, err = s.loadBudgets(f.budgets, nil); err != nil {
			return err
		}
	}
	if tree == nil {
		return badUsage("--budgets budgets.yaml", "%s tells no budgets, and --budgets is missing", path)
	}
	win := seen.lately()
	if f.window != "" {
		if win, err = parseBounds(f.window, seen.clock()); err != nil {
			return err
		}
	}
	if win.To <= win.From || win.From >= seen.last {
		return badUsage("--window, see escala budget owed --help", "the window holds nothing of the run, which goes from %s to %s", report.Moment(seen.first, seen.clock().Epoch), report.Moment(seen.last, seen.clock().Epoch))
	}
	r, err := journal.NewReader(path, bytes.NewReader(data))
	if err != nil {
		return broken(err, hint)
	}
	h := r.Header()
	var absent []string
	if f.budgets != "" { // those of the journal were accepted by the run
		if absent, err = poolsFit(f.budgets, tree, h.Cluster); err != nil {
			return err
		}
	}
	cfg := metrics.Config{Cluster: h.Cluster, Window: win, Budgets: tree}
	if h.Policy.Sharing != nil {
		cfg.ShareWindow = h.Policy.Sharing.Window
	}
	col := metrics.NewCollector(cfg)
	if _, err := journal.Observe(r, []sim.Observer{col}...); err != nil {
		return broken(err, hint)
	}
	out := owedReport{BudgetUse: col.Budget(seen.last), Policy: h.Policy.Name, From: float64(win.From) / 1000, To: float64(min(win.To, seen.last)) / 1000}
	out.Notes = append(out.Notes, owedByEstimates)
	if len(absent) > 0 {
		out.Notes = append(out.Notes, "Empty pools: "+absentText(absent, h.Cluster)+".")
	}
	if f.budgets == "" && seen.trees > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("The journal changes its budgets %d times; these are the last ones, for all of the window.", seen.trees-1))
	}
	for _, u := range tree.CheckWorkload(&workload.Workload{Jobs: seen.jobs}) {
		out.Unmatched = append(out.Unmatched, report.Unbudgeted{Jobs: u.Jobs, Team: u.Team, Why: u.Why, First: u.First})
	}
	if f.output == "json" {
		return s.printJSON(out)
	}
	return out.show(s, tree, seen.clock())
}

// owedByEstimates is why figures differ from those of compare.
const owedByEstimates = "A journal does not tell how long jobs really run, so what a waiting job asks for is bounded by its estimate or limit, not by its true run time as in compare: what is owed may differ from there."

// lately is the window by default: seven days up to the last submission, since what
// comes after it is the tail of a simulation.
func (g *glanced) lately() metrics.Window {
	to := g.last
	if g.submitted > g.first {
		to = g.submitted
	}
	return metrics.Window{From: max(g.first, to-7*workload.Day), To: to}
}

// glanced is what a journal tells before it is folded.
type glanced struct {
	header      *journal.Header
	first, last workload.Time
	// submitted is the time of the last submission, jobs what has a team and a user.
	submitted workload.Time
	jobs      []workload.Job
	// tree is the last one told, of so many.
	tree  *budget.Tree
	trees int
}

// glance reads a journal without folding it.
func glance(path string, data []byte) (*glanced, error) {
	r, err := journal.NewReader(path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	g := &glanced{header: r.Header(), first: workload.Unknown, last: workload.Unknown, submitted: workload.Unknown}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return g, nil
		}
		if err != nil {
			return nil, err
		}
		if g.first == workload.Unknown {
			g.first = e.At
		}
		g.last = e.At
		if e.Fact == nil {
			continue
		}
		switch e.Fact.Kind {
		case fact.BudgetsChanged:
			g.tree = e.Fact.Budgets
			g.trees++
		case fact.JobSubmitted:
			j := e.Fact.Submitted
			g.submitted = e.At
			g.jobs = append(g.jobs, workload.Job{ID: j.ID, Team: j.Team, User: j.User})
		}
	}
}

// clock is the clock of the journal, with its ends.
func (g *glanced) clock() *workload.Workload {
	return &workload.Workload{Epoch: g.header.Workload.Epoch, Jobs: []workload.Job{{Submit: g.first}, {Submit: g.last}}}
}

// owedReport is what owed prints as JSON.
type owedReport struct {
	Policy string `json:"policy"`
	// From and To in seconds of the workload's clock.
	From  float64  `json:"from"`
	To    float64  `json:"to"`
	Notes []string `json:"notes,omitempty"`
	// Unmatched are the jobs of the journal that no account takes.
	Unmatched []report.Unbudgeted `json:"unmatched,omitempty"`
	*metrics.BudgetUse
}

// show prints the accounts as a tree: those above reported ones only with their names.
func (r *owedReport) show(s *State, tree *budget.Tree, clock *workload.Workload) error {
	from, to := workload.Time(r.From*1000), workload.Time(r.To*1000)
	err := s.print("%s under %s\nWindow        %s to %s (%s)\n", r.Name, r.Policy, report.Moment(from, clock.Epoch), report.Moment(to, clock.Epoch), report.Duration(r.To-r.From))
	for i := range r.Unmatched {
		if err == nil {
			err = s.print("No account    %s\n", r.Unmatched[i].Text())
		}
	}
	if err == nil {
		err = s.print("\n")
	}
	if err != nil {
		return err
	}
	all := metrics.AccountUse{Share: 1, Demand: r.Demand, Owed: r.Owed, Charged: r.Charged, Delivered: r.Delivered, DeliveredOfOwed: r.DeliveredOfOwed, StrictOfOwed: r.StrictOfOwed}
	if err := s.showTable(owedTable(tree, &all, r.Reported)); err != nil {
		return err
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		if err := s.print("\nPool %s\n\n", p.Pool); err != nil {
			return err
		}
		if err := s.showTable(owedTable(tree, &p.All, p.Reported)); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("\nGPU-hours. Owed is %s of usable capacity. %d of %s got at least 95 %% of it", percent(r.OwedOfCapacity), r.Got95, plural(r.Accounts, "account"))
	if r.WorstOfOwed != nil && *r.WorstOfOwed < 1 {
		text += fmt.Sprintf("; the least: %s, %s", r.Worst, partText(r.WorstOfOwed))
	}
	text += "."
	if len(r.Pools) > 0 {
		text += "\nFigures of the first table are sums over the pools; its shares are those of the pools, weighted by the GPUs they have."
	}
	for _, n := range r.Notes {
		text += "\n" + n
	}
	return s.print("%s\n", text)
}

// owedTable lists what came of all and of each reported account.
func owedTable(tree *budget.Tree, all *metrics.AccountUse, use []metrics.AccountUse) *table {
	out := &table{header: []string{"ACCOUNT", "SHARE", "ASKED", "OWED", "CHARGED", "DELIVERED", "OF OWED", "STRICT"}}
	row := func(name string, a *metrics.AccountUse) {
		out.add(name, percent(a.Share), hours(a.Demand), hours(a.Owed), hours(a.Charged), hours(a.Delivered), partText(a.DeliveredOfOwed), partText(a.StrictOfOwed))
	}
	reported := map[int32]int{}
	for i, n := range tree.Reported {
		reported[n] = i
	}
	below := int32(-1) // the last node below a reported one
	for i := range tree.Nodes {
		n := &tree.Nodes[i]
		k, ok := reported[int32(i)]
		switch {
		case ok:
			row(indented(n), &use[k])
			below = n.Last
		case i == 0:
			row(n.Name, all)
		case int32(i) > below:
			out.add(indented(n), "", "", "", "", "", "", "")
		}
	}
	out.alignRight(1)
	return out
}

func indented(n *budget.Node) string {
	return pad("", 2*int(n.Depth)) + n.Name
}

func partText(p *float64) string {
	if p == nil {
		return "-"
	}
	return trimNumber(*p*100, 1) + " %"
}
