package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/budget"
)

func TestChangedPaths(t *testing.T) {
	old := tree(t, labYAML)
	for _, c := range []struct{ from, to, want string }{
		{"# nothing", "", ""},
		{"share: 60", "share: 61", "/"},
		{"share: 70", "share: 7", "language"},
		{"{user: eve, share: 50}", "{user: eve, share: 51}", "language/pretraining"},
		{"managers: [ana, ben]", "managers: [ben, ana]", ""},
		{"managers: [ana, ben]", "managers: [ana]", "/"},
		{"managers: [gus]", "managers: [gus, hal]", "language"},
		{"managers: [dora]", "managers: [dora, ana]", ""}, // "" is listed: see below
		{"gpuHours: 20000", "gpuHours: 20001", "language"},
		{"per: month", "per: week", "language"},
		{"gpuHours: 500", "gpuHours: 600", "language"},
		{"by: dora", "by: ana", "language"},
		{"users: [gus, hal]", "users: [gus]", "language/alignment"},
		{"users: [gus, ida]", "users: [ida, gus]", ""},
		{"name: guests", "name: visitors", "language/pretraining"},
		{"- {user: fay, share: 30}", "- {user: fay, share: 30}\n          - {user: kim, share: 1}", "language/pretraining"},
		{"{user: fay, share: 30}", "{name: fay, share: 30}", "language/pretraining"},
		{"name: alignment, share: 30, managers: [gus], users: [gus, hal]", "name: alignment, share: 30, managers: [gus], children: [{user: gus, share: 1}]", "language/alignment"},
		// A leaf that takes the name of another account takes its jobs.
		{"name: guests", "name: language", "/ language/pretraining"},
	} {
		to := c.to
		if c.from == "# nothing" {
			c.from, to = "\nname: lab", "\n# a comment\nname: lab"
		}
		text := strings.Replace(labYAML, c.from, to, 1)
		if text == labYAML {
			t.Fatalf("%q is not there", c.from)
		}
		got := ChangedPaths(old, tree(t, text))
		if strings.Contains(c.from, "[dora]") {
			if !slices.Equal(got, []string{""}) {
				t.Errorf("managers of the root: %q", got)
			}
			continue
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q -> %q: %q, want %q", c.from, to, got, c.want)
		}
	}
	for _, extra := range []string{"reportLevel: 1\n", "levels: [a, b, c, d]\n", "pools: [H100]\n", "budget: {gpuHours: 1, per: day}\n"} {
		if got := ChangedPaths(old, tree(t, labYAML+extra)); !slices.Contains(got, "") {
			t.Errorf("%q: %q", extra, got)
		}
	}
	if got := ChangedPaths(old, tree(t, strings.Replace(labYAML, "name: lab", "name: lob", 1))); !slices.Equal(got, []string{""}) {
		t.Errorf("another name of the root: %q", got)
	}
	if ChangedPaths(nil, nil) != nil || !slices.Equal(ChangedPaths(nil, old), []string{""}) || !slices.Equal(ChangedPaths(old, nil), []string{""}) {
		t.Error("no trees")
	}
}

func TestChangedPathsOfPools(t *testing.T) {
	const text = "name: lab\npools: [H, A]\nchildren: [{name: x, share: {H: 1, A: 2}}, {name: y, share: 1}]"
	a, b := tree(t, text), tree(t, strings.Replace(text, "A: 2", "A: 3", 1))
	if got := ChangedPaths(a, b); !slices.Equal(got, []string{"/"}) {
		t.Errorf("a share of the second pool: %q", got)
	}
}

func TestNewCredits(t *testing.T) {
	a := tree(t, labYAML)
	b := tree(t, labYAML+"  - {at: 36h, account: pretraining, gpuHours: 1, by: ana}\n  - {at: 2026-03-01T12:00, account: pretraining, gpuHours: 500, by: dora, reason: a deadline}\n")
	got := NewCredits(a, b)
	if len(got) != 2 || got[0].By != "ana" || got[1].By != "dora" || len(NewCredits(a, a)) != 0 || len(NewCredits(nil, b)) != 3 {
		t.Errorf("%+v", got)
	}
}

// account is one of a tree that a test makes up.
type account struct {
	name     string
	person   bool
	share    int
	hours    int // 0 = no hard budget
	managers []string
	users    []string
	children []*account
}

var crowd = []string{"ann", "ben", "cat", "dan"}

func (a *account) yaml(b *strings.Builder, indent string) {
	key := "name"
	if a.person {
		key = "user"
	}
	fmt.Fprintf(b, "%s- %s: %s\n%s  share: %d\n", indent, key, a.name, indent, a.share)
	a.rest(b, indent+"  ")
}

func (a *account) rest(b *strings.Builder, indent string) {
	if len(a.managers) > 0 {
		fmt.Fprintf(b, "%smanagers: [%s]\n", indent, strings.Join(a.managers, ", "))
	}
	if len(a.users) > 0 && len(a.children) == 0 && !a.person {
		fmt.Fprintf(b, "%susers: [%s]\n", indent, strings.Join(a.users, ", "))
	}
	if a.hours > 0 {
		fmt.Fprintf(b, "%sbudget: {gpuHours: %d, per: week}\n", indent, a.hours)
	}
	if len(a.children) > 0 {
		fmt.Fprintf(b, "%schildren:\n", indent)
		for _, c := range a.children {
			c.yaml(b, indent)
		}
	}
}

func (a *account) tree() (*budget.Tree, error) {
	var b strings.Builder
	b.WriteString("name: lab\n")
	a.rest(&b, "")
	return budget.Parse("budgets.yaml", []byte(b.String()))
}

func (a *account) clone() *account {
	c := *a
	c.managers, c.users, c.children = slices.Clone(a.managers), slices.Clone(a.users), nil
	for _, x := range a.children {
		c.children = append(c.children, x.clone())
	}
	return &c
}

// walk visits all accounts with their paths, the one above first.
func (a *account) walk(path string, f func(path string, a, parent *account)) {
	var down func(path string, a, parent *account)
	down = func(path string, a, parent *account) {
		f(path, a, parent)
		for _, c := range a.children {
			p := c.name
			if path != "/" {
				p = path + "/" + c.name
			}
			down(p, c, a)
		}
	}
	down(path, a, nil)
}

func drawAccount(t *rapid.T, depth int, next *int) *account {
	*next++
	a := &account{name: fmt.Sprintf("n%d", *next), share: rapid.IntRange(1, 3).Draw(t, "share")}
	if rapid.IntRange(0, 2).Draw(t, "managed") == 0 {
		a.managers = []string{rapid.SampledFrom(crowd).Draw(t, "manager")}
	}
	if rapid.IntRange(0, 3).Draw(t, "hard") == 0 {
		a.hours = rapid.IntRange(1, 3).Draw(t, "hours")
	}
	if depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "children") {
			a.children = append(a.children, drawAccount(t, depth-1, next))
		}
	}
	if len(a.children) == 0 && rapid.Bool().Draw(t, "listed") {
		a.users = []string{rapid.SampledFrom(crowd).Draw(t, "user")}
	}
	return a
}

func drawLab(t *rapid.T, next *int) *account {
	a := drawAccount(t, 3, next)
	for len(a.children) == 0 {
		a.children = append(a.children, drawAccount(t, 2, next))
	}
	a.users = nil
	return a
}

// edit changes one thing somewhere, and returns who has to agree to it.
func edit(t *rapid.T, lab *account, next *int) string {
	type place struct {
		path      string
		a, parent *account
	}
	var all []place
	lab.walk("/", func(p string, a, parent *account) { all = append(all, place{p, a, parent}) })
	at := rapid.SampledFrom(all).Draw(t, "at")
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0 && at.parent != nil:
		at.a.share++
	case kind == 1:
		at.a.hours++
	case kind == 2:
		at.a.managers = append(at.a.managers, fmt.Sprintf("m%d", len(at.a.managers)))
	case kind == 3 && len(at.a.children) == 0:
		at.a.users = append(slices.Clone(at.a.users), fmt.Sprintf("u%d", len(at.a.users)))
		return at.path
	case kind == 4:
		*next++
		at.a.children = append(at.a.children, &account{name: fmt.Sprintf("n%d", *next), share: 1})
		return at.path
	case kind == 5 && at.parent != nil && len(at.parent.children) > 1:
		at.parent.children = slices.DeleteFunc(at.parent.children, func(c *account) bool { return c == at.a })
	default:
		return "none"
	}
	return above(at.path)
}

// One change needs the agreement of exactly the account that decides about it.
func TestOneChangeIsOnePath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := 0
		lab := drawLab(t, &next)
		before, err := lab.tree()
		if err != nil {
			t.Fatal(err)
		}
		if got := ChangedPaths(before, before); len(got) != 0 {
			t.Fatalf("the same tree: %q", got)
		}
		where := edit(t, lab, &next)
		if where == "none" {
			return
		}
		after, err := lab.tree()
		if err != nil {
			t.Fatal(err)
		}
		if got := ChangedPaths(before, after); !slices.Equal(got, []string{where}) {
			t.Fatalf("%q, want %q\n%s\n%s", got, where, before.YAML(), after.YAML())
		}
		if there, back := ChangedPaths(before, after), ChangedPaths(after, before); !slices.Equal(there, back) {
			t.Fatalf("%q there and %q back", there, back)
		}
	})
}

// fixedAt is what a manager of none of the tops may never change: each account that is not below
// one of them, with its share, budget, managers and siblings.
func fixedAt(lab *account, tops []string) map[string]string {
	out := map[string]string{}
	lab.walk("/", func(p string, a, _ *account) {
		inside := false
		own := false
		for _, top := range tops {
			inside = inside || covers(top, above(p))
			own = own || covers(top, p)
		}
		if inside {
			return
		}
		s := fmt.Sprint(a.share, a.hours, a.managers)
		if !own {
			s += fmt.Sprint(a.users)
			for _, c := range a.children {
				s += " " + c.name
			}
		}
		out[p] = s
	})
	return out
}

// Whatever managers do, one after the other and together, with every edit that they may make: what
// is not below an account that one of them managed at first stays as it was, and none of them
// becomes an operator. In particular nobody can make themselves manager of more.
func TestManagersStayBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := 0
		lab := drawLab(t, &next)
		var tree *budget.Tree
		a, err := New(Config{Now: newClock().now, Budgets: func() *budget.Tree { return tree }})
		if err != nil {
			t.Fatal(err)
		}
		if tree, err = lab.tree(); err != nil {
			t.Fatal(err)
		}
		gang := []string{"ann", "ben", "m0", "m1"} // edits name m0, m1, ... as managers
		var tops []string
		for _, user := range gang {
			tops = append(tops, ManagedBy(tree, user)...)
		}
		was := fixedAt(lab, tops)
		for range 8 {
			trial := lab.clone()
			for range rapid.IntRange(1, 3).Draw(t, "edits") {
				edit(t, trial, &next)
			}
			to, err := trial.tree()
			if err != nil {
				continue
			}
			id := a.resolve(&Identity{User: rapid.SampledFrom(gang).Draw(t, "who"), UID: -1, Via: ViaToken})
			if id.Role() > Manager {
				t.Fatalf("%s became %s", id.User, id.Role())
			}
			for _, act := range operatorActions {
				if Can(id, act, Object{}) == nil {
					t.Fatalf("%s may %s", id.User, act)
				}
			}
			if Can(id, SetBudgets, Object{Paths: ChangedPaths(tree, to)}) == nil {
				lab, tree = trial, to
			}
		}
		is := fixedAt(lab, tops)
		for p, s := range was {
			if is[p] != s {
				t.Fatalf("managers of %q changed %s: %s, was %s", tops, p, is[p], s)
			}
		}
		if len(is) != len(was) {
			t.Fatalf("managers of %q made or removed accounts: %v, was %v", tops, is, was)
		}
	})
}
