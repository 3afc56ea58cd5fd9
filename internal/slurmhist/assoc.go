package slurmhist

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/trace"
)

// Budgets says what became of Slurm's associations.
type Budgets struct {
	Accounts int `json:"accounts"`
	Users    int `json:"users"`
	// Notes say what is otherwise than in Slurm.
	Notes []string `json:"notes"`
	// Ignored are limits, as "GrpTRES=gres/gpu=12 of account vision".
	Ignored []string `json:"ignored_limits"`
}

const assocWanted = "the text of sacctmgr -P show assoc tree format=Cluster,Account,ParentName,User,Partition,Share,GrpTRES"

// assocLimits are limits of associations, which budgets do not have.
var assocLimits = []string{"GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpJobs", "GrpSubmit", "GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins", "MaxTRESRunMins",
	"MaxJobs", "MaxSubmit", "MaxWall"}

// account is one of Slurm's with what is below it.
type account struct {
	name     string
	parent   string
	share    share
	children []string
	users    []string
	shares   map[string]share // of users
	there    bool             // it was told of, and not only named as somebody's parent
}

// share is a weight, or the word parent.
type share struct {
	weight int64
	parent bool
}

// importer makes budgets of associations.
type importer struct {
	file     string
	cluster  string // "" = not told
	accounts map[string]*account
	order    []string
	out      Budgets
	// names are codes for those who must not be named, nil = none.
	names *trace.Names
}

// ImportBudgets makes a budgets file of what sacctmgr shows of associations. which is the cluster,
// "" the only one. names, if set, are codes for accounts and users.
func ImportBudgets(file string, data []byte, which string, names *trace.Names) ([]byte, *Budgets, error) {
	im := &importer{file: file, names: names, accounts: map[string]*account{}, out: Budgets{Notes: []string{}, Ignored: []string{}}}
	if err := im.read(data, which); err != nil {
		return nil, nil, err
	}
	text := im.write()
	t, err := budget.Parse(file, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: budgets that were made of it: %w", file, err)
	}
	im.out.Notes = append(im.out.Notes, t.Notes...)
	return text, &im.out, nil
}

// row is an association.
type row struct{ account, parent, user, partition, share string }

func (im *importer) read(data []byte, which string) error {
	clusters := map[string]bool{}
	var path []string // accounts above, by their blanks
	header, _, _ := strings.Cut(string(data), "\n")
	parents := strings.Contains(header, "ParentName") || strings.Contains(header, "Par Name")
	indented := false
	var rows []row
	err := table(im.file, data, []string{"Account", "User", "Share"}, assocWanted, func(line int, get func(string) string) error {
		c := get("Cluster")
		if c != "" && which != "" && c != which {
			return nil
		}
		clusters[c] = true
		name := get("Account")
		depth := len(name) - len(strings.TrimLeft(name, " "))
		x := row{account: strings.TrimSpace(name), parent: cmp.Or(get("ParentName"), get("Par Name")), user: get("User"), partition: get("Partition"), share: get("Share")}
		if x.account == "" {
			return bad(im.file, line, assocWanted, "an association without an account")
		}
		if x.user == "" {
			indented = indented || depth > 0
			path = append(path[:min(depth, len(path))], x.account)
			if !parents && len(path) > 1 {
				x.parent = path[len(path)-2]
			}
		}
		im.code(&x)
		for _, l := range assocLimits {
			if v := get(l); v != "" {
				im.out.Ignored = append(im.out.Ignored, l+"="+v+" of "+im.who(&x))
			}
		}
		rows = append(rows, x)
		return nil
	})
	if err != nil {
		return err
	}
	if len(clusters) > 1 {
		names := slices.Sorted(maps.Keys(clusters))
		return bad(im.file, 0, "--slurm-cluster with one of "+strings.Join(names, ", "), "associations of %d clusters", len(names))
	}
	for c := range clusters {
		im.cluster = c
	}
	if len(rows) == 0 {
		return bad(im.file, 0, assocWanted, "no association of cluster %q", which)
	}
	if !parents && !indented {
		im.note("Nothing tells which account is below which (neither ParentName nor the blanks of show assoc tree): all are below the root.")
	}
	for i := range rows {
		if err := im.add(&rows[i]); err != nil {
			return err
		}
	}
	return im.link()
}

// code hides names.
func (im *importer) code(x *row) {
	if im.names == nil {
		return
	}
	for _, to := range []*string{&x.account, &x.parent} {
		if *to != rootAccount {
			*to = im.names.Team(*to)
		}
	}
	x.user = im.names.User(x.user)
}

func (im *importer) who(x *row) string {
	if x.user != "" {
		return "user " + x.user + " in " + x.account
	}
	return "account " + x.account
}

func (im *importer) note(format string, args ...any) {
	im.out.Notes = append(im.out.Notes, fmt.Sprintf(format, args...))
}

func (im *importer) get(name string) *account {
	a := im.accounts[name]
	if a == nil {
		a = &account{name: name, share: share{weight: 1}, shares: map[string]share{}}
		im.accounts[name] = a
		im.order = append(im.order, name)
	}
	return a
}

func (im *importer) add(x *row) error {
	s := share{weight: 1}
	switch v, err := strconv.ParseInt(x.share, 10, 64); {
	case x.share == "parent":
		s = share{parent: true}
	case err == nil && v >= 0 && v <= math.MaxInt32:
		s.weight = v
	case x.share != "":
		return bad(im.file, 0, "a whole number, or parent", "share %q of %s", x.share, im.who(x))
	}
	a := im.get(x.account)
	if x.user == "" {
		a.share, a.parent, a.there = s, x.parent, true
		return nil
	}
	was, twice := a.shares[x.user]
	if !twice {
		a.users = append(a.users, x.user)
	} else if x.partition != "" && was != s {
		im.note("User %s has several shares in account %s, by partition: the largest holds.", x.user, x.account)
	}
	if !twice || !s.parent && s.weight > was.weight {
		a.shares[x.user] = s
	}
	return nil
}

const rootAccount = "root"

// link hangs accounts below their parents; what has none, or one in a circle, is below the root.
func (im *importer) link() error {
	root := im.get(rootAccount)
	for _, name := range slices.Clone(im.order) {
		a := im.accounts[name]
		if a == root {
			continue
		}
		up := im.accounts[a.parent]
		if up == nil {
			up = root
		}
		if end := im.top(a); end != root && end != nil && end.parent != "" && im.accounts[end.parent] != nil {
			return bad(im.file, 0, assocWanted, "account %s is below itself", end.name)
		}
		up.children = append(up.children, name)
	}
	return nil
}

// top is the end of the way up from an account: the root, one whose parent is not known, or one
// that comes again.
func (im *importer) top(a *account) *account {
	seen := map[*account]bool{}
	for {
		up := im.accounts[a.parent]
		if a.name == rootAccount || up == nil {
			return a
		}
		if seen[a] {
			return a
		}
		seen[a] = true
		a = up
	}
}

func (im *importer) write() []byte {
	var b strings.Builder
	b.WriteString("# Made of Slurm's associations by escala budget import slurm. Shares are Slurm's fair shares.\n")
	b.WriteString("name: root\nchildren:\n")
	body := im.children(im.accounts[rootAccount], 1)
	if body == "" {
		body = "  - {name: everybody, share: 1}\n"
		im.note("There is no account below the root: one takes all.")
	}
	b.WriteString(body)
	return []byte(b.String())
}

// budgetName makes a name that budgets take.
func budgetName(s string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(s) {
		if r == '/' || r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, "%%%02X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// member is what stands below an account: a user, or an account.
type member struct {
	user    string
	account *account
	share   int64
}

// members are what stands below an account. What has fairshare=parent has no level of its own: the
// children of such an account stand where it stood.
func (im *importer) members(a *account) []member {
	var out []member
	for _, name := range a.children {
		c := im.accounts[name]
		if c.share.parent {
			im.note("Account %s has fairshare=parent: what is below it shares with its siblings.", name)
			below := im.members(c)
			if len(below) > 0 {
				out = append(out, below...)
				continue
			}
			c.share = share{weight: 1}
		}
		out = append(out, member{account: c, share: c.share.weight})
	}
	if len(out) > 0 && len(a.users) > 0 {
		return append(out, im.direct(a))
	}
	for _, u := range a.users {
		out = append(out, member{user: u, share: a.shares[u].weight})
	}
	return out
}

// direct makes an account of those who stand beside accounts, so that these remain teams: it has
// what all of them have.
func (im *importer) direct(a *account) member {
	d := &account{name: a.name + directSuffix, users: a.users, shares: maps.Clone(a.shares)}
	var sum int64
	for _, u := range d.users {
		s := d.shares[u]
		if s.parent {
			s = share{weight: 1}
			d.shares[u] = s
			im.note("User %s of account %s has fairshare=parent beside accounts: a share of 1.", u, a.name)
		}
		sum += s.weight
	}
	return member{account: d, share: sum}
}

func (im *importer) children(a *account, depth int) string {
	list := im.members(a)
	none := true
	for _, m := range list {
		none = none && m.share == 0
	}
	if none && len(list) > 0 {
		im.note("All shares below account %s are 0: each counts 1.", a.name)
		for i := range list {
			list[i].share = 1
		}
	}
	var b strings.Builder
	pad := strings.Repeat("  ", depth)
	taken := map[string]bool{}
	for _, m := range list {
		name := m.user
		if m.account != nil {
			name = m.account.name
		}
		name = budgetName(name)
		if taken[name] {
			im.note("%s stands twice below account %s: the second is left out.", name, a.name)
			continue
		}
		taken[name] = true
		if m.user != "" {
			im.out.Users++
			fmt.Fprintf(&b, "%s- {user: %s, share: %d}\n", pad, yamlx.Quote(name), m.share)
			continue
		}
		im.out.Accounts++
		b.WriteString(pad + "- " + im.account(m, name, depth))
	}
	return b.String()
}

// account writes one: a leaf with its users where these share alike, else a tree.
func (im *importer) account(m member, name string, depth int) string {
	a := m.account
	head := fmt.Sprintf("name: %s, share: %d", yamlx.Quote(name), m.share)
	if len(a.children) == 0 {
		alike, parent := true, false
		for _, u := range a.users {
			alike = alike && a.shares[u] == a.shares[a.users[0]]
			parent = parent || a.shares[u].parent
		}
		if parent && !alike {
			im.note("Some users of account %s have fairshare=parent: nobody in it has a share of their own.", a.name)
		}
		if alike || parent || len(a.users) == 0 {
			im.out.Users += len(a.users)
			if len(a.users) == 0 {
				return "{" + head + "}\n"
			}
			users := make([]string, len(a.users))
			for i, u := range a.users {
				users[i] = yamlx.Quote(budgetName(u))
			}
			return "{" + head + ", users: [" + strings.Join(users, ", ") + "]}\n"
		}
	}
	below := im.children(a, depth+2)
	pad := strings.Repeat("  ", depth)
	return fmt.Sprintf("name: %s\n%s  share: %d\n%s  children:\n%s", yamlx.Quote(name), pad, m.share, pad, below)
}
