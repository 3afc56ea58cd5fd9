package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// index finds nodes by what jobs and people call them. Its maps are only looked
// up in, never walked.
type index struct {
	// team, path and inner (all other nodes but people) by name.
	team, path, inner map[string]int32
	// leavesOf are the leaves that list a user.
	leavesOf map[string][]int32
	// open is the only leaf without users in each node's subtree.
	open []int32
}

const (
	none    = -1
	several = -2
)

// Find returns the node that a text names: a team by its name, any node by its path
// (which may begin with '/'; "/" is the root), another node by its name where no
// second one has it. A team whose name no account can have goes by that name with
// what it cannot have as %2F, see [Equal].
func (t *Tree) Find(name string) (int32, bool) {
	if !plainName(name) {
		if i, ok := t.index.team[accountName(name)]; ok {
			return i, true
		}
	}
	if i, ok := t.index.team[name]; ok {
		return i, true
	}
	path := name
	if len(path) > 1 {
		path = strings.TrimPrefix(path, "/")
	}
	if i, ok := t.index.path[path]; ok {
		return i, true
	}
	i, ok := t.index.inner[name]
	return i, ok && i >= 0
}

// Leaf returns the leaf that a job is charged to.
//
// The team is found as by [Tree.Find]; a job without a team stands at the account
// "(no team)" where there is one, else at the root. If that node is a leaf it is the answer, provided that it lists the user or nobody.
// Else the answer is the one leaf below it that lists the user; where none does, the
// one leaf below it that lists nobody. Two that would do are none.
func (t *Tree) Leaf(team, user string) (int32, bool) {
	leaf, why := t.leaf(team, user)
	return leaf, why == ""
}

// leaf says why there is none.
func (t *Tree) leaf(team, user string) (leaf int32, why string) {
	var top int32 // the root
	if i, ok := t.index.team[noTeam]; ok && team == "" {
		top = i
	} else if team != "" {
		if top, ok = t.Find(team); !ok {
			return none, "no account has that name; " + t.hint(team)
		}
	}
	leaf = none
	for _, l := range t.index.leavesOf[user] {
		switch {
		case !t.Below(l, top):
		case leaf != none:
			return none, fmt.Sprintf("the user is listed in both %s and %s", t.Nodes[leaf].Path, t.Nodes[l].Path)
		default:
			leaf = l
		}
	}
	if leaf != none {
		return leaf, ""
	}
	switch leaf = t.index.open[top]; leaf {
	case none:
		return none, fmt.Sprintf("no leaf of %s lists the user", t.Nodes[top].Path)
	case several:
		return none, fmt.Sprintf("no leaf of %s lists the user, and several list nobody", t.Nodes[top].Path)
	}
	return leaf, ""
}

// hint says which name may have been meant.
func (t *Tree) hint(name string) string {
	var names []string
	for i := range t.Nodes {
		if n := &t.Nodes[i]; i > 0 && !n.Person {
			names = append(names, n.Name, n.Path)
		}
	}
	if near := yamlx.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "want the name or the path of one, such as " + t.Nodes[len(t.Nodes)-1].teamPath(t)
}

// teamPath is the path of the node or, of a person's, that of the parent.
func (n *Node) teamPath(t *Tree) string {
	if n.Person && n.Parent > 0 {
		return t.Nodes[n.Parent].Path
	}
	return n.Path
}

// Unmatched counts jobs of a team that no leaf takes for one reason.
type Unmatched struct {
	Team string
	Jobs int
	// First is the ID of the first such job, User its user.
	First, User string
	// Why is the reason in words.
	Why string
}

// CheckWorkload lists the jobs that match no leaf, by team and reason, in the order
// in which they first appear.
func (t *Tree) CheckWorkload(w *workload.Workload) []Unmatched {
	var out []Unmatched
	type owner struct{ team, user string }
	known := map[owner]int{} // index in out, -1 where a leaf was found
	for i := range w.Jobs {
		j := &w.Jobs[i]
		key := owner{j.Team, j.User}
		at, ok := known[key]
		if !ok {
			at = -1
			if _, why := t.leaf(j.Team, j.User); why != "" {
				at = slices.IndexFunc(out, func(u Unmatched) bool { return u.Team == j.Team && u.Why == why })
				if at < 0 {
					at = len(out)
					out = append(out, Unmatched{Team: j.Team, First: j.ID, User: j.User, Why: why})
				}
			}
			known[key] = at
		}
		if at >= 0 {
			out[at].Jobs++
		}
	}
	return out
}
