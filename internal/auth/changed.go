package auth

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/escala-sched/escala/budget"
)

// ChangedPaths compares two trees of budgets and lists the accounts that have to agree to the
// difference, sorted: a manager must manage each of them.
//
// What an account is given is decided above it: a change of its share, its hard budget, its
// credits, its managers or its name needs the account above, and so does one that comes or goes. Its
// own are the accounts below it and, of a leaf, whose jobs it takes. So a manager of X decides
// about the accounts below X, and not about X's own share or budget. What belongs to the root or to
// the whole file is decided by operators: it is listed as "", which nobody manages.
//
// What a name means to jobs counts too: an account that takes the name of another needs the
// agreement of those who decide about that one. No trees at all are two that need "".
func ChangedPaths(before, after *budget.Tree) []string {
	if before == nil || after == nil {
		if before == after {
			return nil
		}
		return []string{""}
	}
	c := comparison{before, after, map[string]bool{}}
	c.file()
	c.accounts(0, 0)
	c.credits()
	c.names()
	paths := make([]string, 0, len(c.found))
	for p := range c.found {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

type comparison struct {
	before, after *budget.Tree
	found         map[string]bool
}

// file compares what is said once.
func (c *comparison) file() {
	b, a := c.before, c.after
	if b.Name != a.Name || !slices.Equal(b.Levels, a.Levels) || !slices.Equal(b.Pools, a.Pools) || reportLevel(b) != reportLevel(a) {
		c.found[""] = true
	}
}

// reportLevel is what the file says of it, which the tree does not keep.
func reportLevel(t *budget.Tree) string {
	var f struct {
		ReportLevel any `yaml:"reportLevel"`
	}
	if yaml.Unmarshal(t.YAML(), &f) != nil {
		return string(t.YAML()) // it was read before; if not, only the same text is the same
	}
	return fmt.Sprint(f.ReportLevel)
}

// accounts compares two accounts of the same path and all below them.
func (c *comparison) accounts(i, k int32) {
	b, a := &c.before.Nodes[i], &c.after.Nodes[k]
	if c.given(i, k) {
		c.found[above(b.Path)] = true
	}
	if b.Leaf() && a.Leaf() && !b.Person && !equalSets(b.Users, a.Users) {
		c.found[b.Path] = true
	}
	if !slices.EqualFunc(b.Children, a.Children, func(x, y int32) bool { return c.before.Nodes[x].Name == c.after.Nodes[y].Name }) {
		c.found[b.Path] = true // their order decides between equals
	}
	for _, x := range b.Children {
		for _, y := range a.Children {
			if c.before.Nodes[x].Name == c.after.Nodes[y].Name {
				c.accounts(x, y)
			}
		}
	}
}

// given tells whether something differs that is decided above an account.
func (c *comparison) given(i, k int32) bool {
	b, a := &c.before.Nodes[i], &c.after.Nodes[k]
	if b.Person != a.Person || !equalSets(b.Managers, a.Managers) || !equalHard(b.Budget, a.Budget) {
		return true
	}
	if i == 0 {
		return false // the root has no share
	}
	for p := range max(len(c.before.Pools), 1) {
		if p < max(len(c.after.Pools), 1) && c.before.In(p).Nodes[i].Share != c.after.In(p).Nodes[k].Share {
			return true
		}
	}
	return false
}

func equalHard(b, a *budget.Hard) bool {
	if b == nil || a == nil {
		return b == a
	}
	return *b == *a
}

// equalSets compares lists whose order says nothing.
func equalSets(b, a []string) bool {
	b, a = slices.Sorted(slices.Values(b)), slices.Sorted(slices.Values(a))
	return slices.Equal(slices.Compact(b), slices.Compact(a))
}

// credit is one, by the path of its account.
type credit struct {
	path string
	budget.Credit
}

// credits compares them as sets that may hold one several times.
func (c *comparison) credits() {
	left := map[credit]int{}
	count := func(t *budget.Tree, by int) {
		for _, x := range t.Credits {
			k := credit{t.Nodes[x.Account].Path, x}
			k.Account = 0 // the number of a path differs between trees
			left[k] += by
		}
	}
	count(c.before, 1)
	count(c.after, -1)
	for k, n := range left {
		if n != 0 {
			c.found[above(k.path)] = true
		}
	}
}

// names finds those that mean another account than before, although that one is still there.
func (c *comparison) names() {
	for i := range c.before.Nodes {
		b := &c.before.Nodes[i]
		if i == 0 || b.Person {
			continue
		}
		was, ok := c.before.Find(b.Name)
		if !ok || was != int32(i) {
			continue
		}
		if _, there := c.after.Find(rooted(b.Path)); !there {
			continue
		}
		if is, ok := c.after.Find(b.Name); !ok || c.after.Nodes[is].Path != b.Path {
			c.found[above(b.Path)] = true
		}
	}
}

// NewCredits lists the credits that the second tree has and the first has not, so that whoever
// sends them can be held to By.
func NewCredits(before, after *budget.Tree) []budget.Credit {
	had := map[credit]int{}
	if before != nil {
		for _, x := range before.Credits {
			k := credit{before.Nodes[x.Account].Path, x}
			k.Account = 0
			had[k]++
		}
	}
	var out []budget.Credit
	for _, x := range after.Credits {
		k := credit{after.Nodes[x.Account].Path, x}
		if k.Account = 0; had[k] > 0 {
			had[k]--
			continue
		}
		out = append(out, x)
	}
	return out
}
