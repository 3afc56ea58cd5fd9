package slurmhist

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/budget"
)

// Export says how Slurm's associations come to say what budgets say.
type Export struct {
	// Commands of sacctmgr for a shell, in their order.
	Commands []string
	// Differences are what the commands change; Left is what they leave as it is: nothing is ever taken away.
	Differences, Left []string
	// Notes say what of the budgets Slurm has no place for.
	Notes []string
}

// exporter compares what is to be with what there is.
type exporter struct {
	im      *importer
	cluster shell
	wished  map[string]bool
	mayUse  map[[2]string]bool
	open    map[string]bool
	// levels are those who share with each other, by the account whose share that is.
	levels map[string]*level
	out    *Export
}

// ExportBudgets compares budgets with what sacctmgr shows of associations. which is the cluster, "" the only one.
func ExportBudgets(budgetsFile string, t *budget.Tree, file string, data []byte, which string) (*Export, error) {
	list, err := wishes(budgetsFile, t)
	if err != nil {
		return nil, err
	}
	im := &importer{file: file, accounts: map[string]*account{}}
	if err := im.read(data, which); err != nil {
		return nil, err
	}
	x := &exporter{im: im, wished: map[string]bool{}, mayUse: map[[2]string]bool{}, open: map[string]bool{}, levels: map[string]*level{}, out: &Export{}}
	if im.cluster != "" {
		x.cluster = shell(" cluster=" + quoteShell(im.cluster))
	}
	for i := range list {
		if w := &list[i]; w.user == "" {
			x.wished[w.account] = true
			x.open[w.account] = w.open
		} else {
			x.mayUse[[2]string{w.account, w.user}] = true
		}
	}
	for i := range list {
		key := list[i].level()
		if x.levels[key] == nil {
			x.levels[key] = &level{}
		}
		x.levels[key].wishes = append(x.levels[key].wishes, list[i])
	}
	for _, l := range x.levels {
		l.common, l.alike = x.common(l.wishes)
		l.proportional = x.proportional(l.wishes)
	}
	for i := range list {
		x.compare(&list[i], x.levels[list[i].level()])
	}
	x.rest()
	x.notes(t)
	return x.out, nil
}

// level is all who share what one account has.
type level struct {
	wishes []wish
	// common is the share that users have alike; proportional shares are to each other as they are to be.
	common              share
	alike, proportional bool
}

// level is with whom an association shares.
func (w *wish) level() string {
	if w.user == "" {
		return w.parent
	}
	return w.account
}

// now is the share that an association has, nil where it is not there, or elsewhere.
func (x *exporter) now(w *wish) *share {
	a := x.im.accounts[w.account]
	switch {
	case a == nil || !x.told(a):
		return nil
	case w.user != "":
		if s, ok := a.shares[w.user]; ok {
			return &s
		}
		return nil
	case x.above(a) != w.parent:
		return nil
	}
	return &a.share
}

// told tells whether an account is there: what only others name as their parent is not.
func (x *exporter) told(a *account) bool { return a.name == rootAccount || a.there }

// above is the account with whose children one shares: fairshare=parent takes a level away, where the budgets have none.
func (x *exporter) above(a *account) string {
	for range len(x.im.accounts) {
		up := x.im.accounts[a.parent]
		if up == nil {
			return rootAccount
		}
		if a = up; !up.share.parent || x.wished[up.name] || up.name == rootAccount {
			return up.name
		}
	}
	return rootAccount
}

// compare has an association be as it is wished, beside those with whom it shares.
func (x *exporter) compare(w *wish, l *level) {
	is, to := x.now(w), w.share
	if w.share.parent {
		// Users whom the budgets do not tell apart may as well have equal shares.
		if to = l.common; l.alike && is != nil {
			return
		}
	} else if is != nil && l.proportional {
		return
	}
	if is != nil && *is == to {
		return
	}
	x.change(w, is, to)
}

// common is what the users of an account have alike; ok is false where they do not, and then all are to have fairshare=parent.
func (x *exporter) common(list []wish) (s share, ok bool) {
	s = share{parent: true}
	first := true
	for i := range list {
		is := x.now(&list[i])
		if is == nil {
			continue
		}
		if is.parent {
			return share{parent: true}, true
		}
		if !first && *is != s {
			return share{parent: true}, false
		}
		s, first = *is, false
	}
	return s, true
}

// proportional tells whether shares are to each other as they are to be: then they stay as they are.
func (x *exporter) proportional(list []wish) bool {
	var a, b int64 // of the first that is not nought
	for i := range list {
		is, to := x.now(&list[i]), list[i].share.weight
		if is == nil || is.parent || (is.weight == 0) != (to == 0) {
			return false
		}
		if a == 0 {
			a, b = is.weight, to
		}
		if is.weight*b != to*a { // each is below 2^31
			return false
		}
	}
	return true
}

// change tells of a difference, and how it is taken away.
func (x *exporter) change(w *wish, is *share, to share) {
	a := x.im.accounts[w.account]
	switch {
	case w.user != "" && is == nil:
		x.differ("user %s has no association with account %s", w.user, w.account)
		x.command("add user name=%s account=%s%s fairshare=%s", w.user, w.account, x.cluster, to)
	case w.user != "":
		x.differ("user %s has a share of %s in account %s, and is to have %s", w.user, is, w.account, to)
		x.command("modify user where name=%s account=%s%s set fairshare=%s", w.user, w.account, x.cluster, to)
	case a == nil || !x.told(a):
		x.differ("there is no account %s", w.account)
		x.command("add account name=%s parent=%s%s fairshare=%s", w.account, w.parent, x.cluster, to)
	case is == nil:
		x.differ("account %s is below %s, and is to be below %s", w.account, x.above(a), w.parent)
		x.command("modify account where name=%s%s set parent=%s", w.account, x.cluster, w.parent)
		if a.share != to {
			x.command("modify account where name=%s%s set fairshare=%s", w.account, x.cluster, to)
		}
	default:
		x.differ("account %s has a share of %s, and is to have %s", w.account, is, to)
		x.command("modify account where name=%s%s set fairshare=%s", w.account, x.cluster, to)
	}
}

// rest tells of what is there beyond what was wished. It may be of use to somebody, and is not taken away.
func (x *exporter) rest() {
	for _, name := range x.im.order {
		a := x.im.accounts[name]
		if !x.told(a) {
			continue
		}
		if name != rootAccount && !x.wished[name] && !a.share.parent {
			x.left("account %s stands below %s with a share of %d, and the budgets do not have it", name, x.above(a), a.share.weight)
		}
		if x.open[name] || !x.wished[name] && name != rootAccount {
			continue
		}
		for _, u := range a.users {
			if !x.mayUse[[2]string{name, u}] && (name != rootAccount || u != rootAccount) {
				x.left("user %s may use account %s, and by the budgets may not", u, name)
			}
		}
	}
}

// notes say what Slurm has no place for.
func (x *exporter) notes(t *budget.Tree) {
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Budget != nil {
			x.out.Notes = append(x.out.Notes, fmt.Sprintf("Account %s has a budget of GPU-hours: Slurm's fair shares have none.", n.Path))
		}
		if n.Leaf() && !n.Person && len(n.Users) == 0 {
			x.out.Notes = append(x.out.Notes, fmt.Sprintf("Anybody may use account %s: Slurm takes only users who have an association with it.", n.Path))
		}
	}
}

func (x *exporter) differ(format string, args ...any) {
	x.out.Differences = append(x.out.Differences, fmt.Sprintf(format, args...))
}

func (x *exporter) left(format string, args ...any) {
	x.out.Left = append(x.out.Left, fmt.Sprintf(format, args...))
}

// shell is text that stands in a command as it is.
type shell string

// command is one of sacctmgr. Texts are quoted.
func (x *exporter) command(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = quoteShell(text)
		}
	}
	x.out.Commands = append(x.out.Commands, "sacctmgr -i "+fmt.Sprintf(format, args...))
}

// String is the share as sacctmgr takes it.
func (s share) String() string {
	if s.parent {
		return "parent"
	}
	return strconv.FormatInt(s.weight, 10)
}

// quoteShell makes one word for a shell.
func quoteShell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.+@%:/", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
