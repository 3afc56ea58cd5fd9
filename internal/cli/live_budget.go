package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/yamlx"
)

// showInForce shows the budgets that a daemon goes by.
func (s *State) showInForce(ctx context.Context, c *conn, output string, yaml bool) error {
	b, err := inForce(ctx, c)
	switch {
	case err != nil:
		return err
	case yaml:
		return s.print("%s", b.tagged())
	case output == "json":
		return s.printRaw(b.raw)
	}
	var had api.Accounts
	if _, err := fetch(ctx, c, "/accounts", nil, &had); err != nil {
		return err
	}
	if b.text.By != "" {
		s.say("Budgets %s, set by %s.\n", b.text.Name, b.text.By)
	}
	if err := s.showTable(newBudgetReport(b.tree).table(b.tree, false)); err != nil {
		return err
	}
	for i := range had.Accounts {
		a := &had.Accounts[i]
		if err := s.print("\n%s at %s, in GPU-hours:\n", "What they had in the window of the policy"+pick(a.Pool == "", "", ", in pool "+a.Pool), s.wall().text(a.AsOf)); err != nil {
			return err
		}
		if err := s.showList(accountList(a.Levels)); err != nil {
			return err
		}
	}
	return nil
}

// accountList is accounts with what they had.
func accountList(levels []api.Level) *list {
	l := &list{columns: []column{{title: "ACCOUNT"}, {title: "SHARE", right: true}, {title: "CHARGED", right: true}, {title: "OUTSTANDING", right: true, wide: 80}, {title: "UNALLOCATED", right: true, wide: 90},
		{title: "FAIR SHARE", right: true}, {title: "USED OF IT", right: true}, {title: "PLACE"}}}
	for i := range levels {
		x := &levels[i]
		place, used := "", ""
		if x.Of > 0 {
			place = fmt.Sprintf("%d of %d", x.Place, x.Of)
		}
		if x.Fair > 0 {
			used = fmt.Sprintf("%.0f %%", (x.Charged+x.Outstanding)*100/x.Fair)
		}
		l.add(cell{x.Account, styleBold}, cell{percent(x.Share), ""}, cell{hours(x.Charged), ""}, cell{hours(x.Outstanding), ""}, cell{hours(x.Unallocated), ""}, cell{hours(x.Fair), ""}, cell{used, ""}, cell{place, ""})
	}
	return l
}

// setFlags are the options of commands that change budgets or the policy.
type setFlags struct {
	liveFlags
	yes, force bool
}

func (f *setFlags) add(c *cobra.Command, what string) {
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	if what != "" {
		c.Flags().BoolVar(&f.force, "force", false, "also if "+what+" changed in the meantime")
	}
	f.liveFlags.add(c)
}

func budgetSetCommand(s *State) *cobra.Command {
	f := &setFlags{}
	c := &cobra.Command{
		Use:   "set FILE",
		Short: "Have other budgets hold at a live scheduler",
		Long: `Shows what the file changes, account by account, asks, and sets it. A file that "budget
show --yaml" printed tells in its first line what it was made from: if that is not in
force any more, nothing is set, unless --force says so.`,
		Example: `  escala budget show --yaml > budgets.yaml
  escala budget set budgets.yaml
  escala budget set budgets.yaml --yes`,
		Args: argCount(1, 1, "a budgets file"),
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			data, err := s.ReadFile(args[0])
			if err != nil {
				return badInput(fmt.Errorf("budgets %w", noFile(err)), "the path of a budgets file")
			}
			return f.set(ctx, s, c, args[0], string(data))
		}),
	}
	f.add(c, "the budgets were")
	return c
}

// set has a text hold.
func (f *setFlags) set(ctx context.Context, s *State, c *conn, path, text string) error {
	from, text := untagged(text)
	tree, err := budget.Parse(path, []byte(text))
	if err != nil {
		return badInput(err, "docs/budgets.md has every key, with examples")
	}
	old, err := inForce(ctx, c)
	if err != nil {
		return err
	}
	if from != "" && from != old.text.Tag && !f.force {
		return badUsage("escala budget show --yaml, and the change again; or --force", "the budgets were changed%s since %s was made of them", pick(old.text.By == "", "", " by "+old.text.By), path)
	}
	l := budgetChanges(old.tree, tree)
	if len(l.rows) == 0 && text == old.text.YAML {
		s.say("These budgets are in force already.\n")
		return nil
	}
	if f.output != "json" {
		if len(l.rows) == 0 {
			s.say("No account changes, only the text does.\n")
		} else if err := s.showList(l); err != nil {
			return err
		}
	}
	if err := s.confirm(f.yes, "Have these budgets hold?"); err != nil {
		return err
	}
	tag := old.tag
	if f.force {
		tag = ""
	}
	now, err := putRules(ctx, c, "/budgets", tag, api.Text{Name: tree.Name, YAML: text})
	if err != nil {
		return err
	}
	if f.output == "json" {
		return s.printRaw(now.raw)
	}
	s.say("Budgets %s hold.\n", now.text.Name)
	return nil
}

// budgetChanges lists the accounts that differ.
func budgetChanges(old, now *budget.Tree) *list {
	l := &list{columns: []column{{title: "ACCOUNT"}, {title: "WHAT"}, {title: "BEFORE", rest: true}, {title: "AFTER", rest: true}}}
	before, after := newBudgetReport(old), newBudgetReport(now)
	find := func(r *budgetReport, path string) *budgetAccount {
		if i := slices.IndexFunc(r.Accounts, func(a budgetAccount) bool { return a.Path == path }); i >= 0 {
			return &r.Accounts[i]
		}
		return nil
	}
	row := func(account, what, a, b string) {
		if a != b {
			l.add(cell{account, styleBold}, cell{what, ""}, cell{a, styleFaint}, cell{b, ""})
		}
	}
	differ := func(path string, a, b *budgetAccount) {
		switch {
		case a == nil:
			row(path, "new account", "", shareText(b))
		case b == nil:
			row(path, "no account any more", shareText(a), "")
			return
		default:
			row(path, "share of everything", shareText(a), shareText(b))
		}
		empty := &budgetAccount{}
		if a == nil {
			a = empty
		}
		row(path, "budget", hardText(a.Budget), hardText(b.Budget))
		row(path, "users", strings.Join(a.Users, ", "), strings.Join(b.Users, ", "))
		row(path, "managers", strings.Join(a.Managers, ", "), strings.Join(b.Managers, ", "))
	}
	for i := range after.Accounts {
		b := &after.Accounts[i]
		differ(b.Path, find(before, b.Path), b)
	}
	for i := range before.Accounts {
		if a := &before.Accounts[i]; find(after, a.Path) == nil {
			differ(a.Path, a, nil)
		}
	}
	creditChanges(old, now, row)
	return l
}

// shareText is the share of everything, in each pool.
func shareText(a *budgetAccount) string {
	var out []string
	for i := range a.shares {
		out = append(out, strings.TrimSpace(a.shares[i].Pool+" "+percent(a.shares[i].ShareOfAll)))
	}
	return strings.Join(out, ", ")
}

// creditChanges tells of credits that come or go.
func creditChanges(old, now *budget.Tree, row func(account, what, a, b string)) {
	texts := func(t *budget.Tree) (out [][2]string) {
		for i := range t.Credits {
			c := &t.Credits[i]
			out = append(out, [2]string{t.Nodes[c.Account].Path, strings.TrimSpace(fmt.Sprintf("%s GPU-h by %s %s", hours(gpuHoursOf(c.GPUTime)), c.By, c.Reason))})
		}
		return out
	}
	a, b := texts(old), texts(now)
	for _, x := range b {
		if i := slices.Index(a, x); i >= 0 {
			a = slices.Delete(a, i, i+1)
			continue
		}
		row(x[0], "credit", "", x[1])
	}
	for _, x := range a {
		row(x[0], "credit", x[1], "")
	}
}

func budgetCreditCommand(s *State) *cobra.Command {
	f := &setFlags{}
	var reason, by string
	c := &cobra.Command{
		Use:   "credit ACCOUNT GPU-HOURS",
		Short: "Add GPU-hours to the hard budget of an account, or take some away",
		Long: `Adds a credit of now to the text of the budgets in force, and sets it. Below 0 it takes
away: escala budget credit pretraining -- -500.`,
		Example: `  escala budget credit pretraining 500 --reason 'a deadline'`,
		Args:    argCount(2, 2, "an account and a number of GPU-hours"),
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			if by == "" {
				by = s.me()
			}
			old, err := inForce(ctx, c)
			if err != nil {
				return err
			}
			text, err := withCredit(old.text.YAML, old.text.Name, s.wall(), args[0], args[1], by, reason)
			if err != nil {
				return err
			}
			return f.set(ctx, s, c, old.text.Name+".yaml", tagLine+old.text.Tag+"\n"+text)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for others to read")
	c.Flags().StringVar(&by, "by", "", "`user` that the scheduler knows you by (default: your name on this machine)")
	f.add(c, "the budgets were")
	c.ValidArgsFunction = f.completeAccounts(s, func(n *budget.Node) bool { return n.Budget != nil })
	return c
}

// withCredit adds an entry to the credits of a text.
func withCredit(text, name string, clock wallClock, account, amount, by, reason string) (string, error) {
	if v, err := parseNumber(strings.TrimPrefix(amount, "-")); err != nil || v == 0 {
		return "", badUsage("escala budget credit "+account+" 500", "GPU-HOURS %q: no number of GPU-hours", amount)
	}
	old, err := budget.Parse(name+".yaml", []byte(text))
	if err != nil {
		return "", badInput(err, "escala budget edit changes the text by hand")
	}
	if err := mayCredit(old, account); err != nil {
		return "", err
	}
	entry := fmt.Sprintf("{at: %s, account: %s, gpuHours: %s, by: %s", clock.now.UTC().Format("2006-01-02T15:04:05Z"), yamlx.Quote(account), amount, yamlx.Quote(by))
	if reason != "" {
		entry += ", reason: " + yamlx.Quote(reason)
	}
	out := addItem(text, "credits", entry+"}")
	t, err := budget.Parse(name+".yaml", []byte(out))
	var bad *yamlx.Error
	switch {
	case errors.As(err, &bad): // of a text that nobody here wrote: the arguments are what is wrong
		return "", badUsage("escala budget credit --help", "GPU-HOURS %s: %s; %s", amount, bad.Msg, bad.Want)
	case err != nil:
		return "", err
	case len(t.Credits) != len(old.Credits)+1:
		return "", badUsage("escala budget edit", "the credits of this text are written in a way that cannot be added to")
	}
	return out, nil
}

// mayCredit holds that an account is there and has what can be credited.
func mayCredit(t *budget.Tree, account string) error {
	var all, can []string
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Budget != nil {
			can = append(can, n.Path)
		}
		if i > 0 && !n.Person {
			all = append(all, n.Name, n.Path)
		}
	}
	which := "no account has a hard budget: escala budget edit gives it one"
	if len(can) > 0 {
		which = "with a hard budget: " + strings.Join(can[:min(len(can), 12)], ", ") + pick(len(can) > 12, ", ...", "")
	}
	node, ok := t.Find(account)
	switch {
	case !ok:
		if near := yamlx.Nearest(account, all); near != "" {
			return badUsage(which, "ACCOUNT %q: no account of the budgets is called that; did you mean %s?", account, near)
		}
		return badUsage(which, "ACCOUNT %q: no account of the budgets is called that", account)
	case t.Nodes[node].Budget == nil:
		return badUsage(which, "ACCOUNT %q: it has no budget that could be credited, only a share", account)
	}
	return nil
}

// addItem adds an item to a list of the outermost level of a YAML text, in the style that it has.
func addItem(text, key, item string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, key+":")
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		if in, ok := strings.CutSuffix(rest, "]"); ok && strings.HasPrefix(rest, "[") { // a list on one line
			comma := ", "
			if strings.TrimSpace(in) == "[" {
				comma = ""
			}
			lines[i] = key + ": " + in + comma + item + "]\n"
			return strings.Join(lines, "")
		}
		indent, end := "  ", i+1
		for k := i + 1; k < len(lines); k++ {
			in := strings.TrimLeft(lines[k], " ")
			if in != "" && in != "\n" && in[0] != '#' {
				if in[0] != '-' && in == lines[k] {
					break
				}
				if in[0] == '-' && end == i+1 {
					indent = lines[k][:len(lines[k])-len(in)]
				}
				end = k + 1
			}
		}
		return strings.Join(slices.Insert(lines, end, indent+"- "+item+"\n"), "")
	}
	return text + key + ":\n  - " + item + "\n"
}
