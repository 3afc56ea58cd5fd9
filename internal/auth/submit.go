package auth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/yamlx"
)

// SubmitTo says which teams people may submit for. Team and contract of a job are claims: what is
// checked here is only who may make them.
type SubmitTo string

// Values of SubmitTo; "" is listed.
const (
	// SubmitListed: teams whose accounts take the user's jobs; any if the budgets name nobody.
	SubmitListed SubmitTo = "listed"
	// SubmitOpen: any team.
	SubmitOpen SubmitTo = "open"
)

func (s SubmitTo) check() error {
	switch s {
	case "", SubmitListed, SubmitOpen:
		return nil
	}
	return fmt.Errorf("submit_to is %q; want listed or open", string(s))
}

// CanSubmit decides whether somebody may submit for a user and a team: for themselves, operators
// for anybody, and for teams that take the user's jobs.
func (a *Auth) CanSubmit(id *Identity, user, team string) error {
	if err := Can(id, Submit, Object{Owner: user}); err != nil {
		return err
	}
	return CanClaim(a.budgets(), a.cfg.SubmitTo, user, team)
}

// CanClaim decides whether a user's jobs may be of a team.
func CanClaim(t *budget.Tree, to SubmitTo, user, team string) error {
	if to == SubmitOpen || !namesUsers(t) {
		return nil
	}
	if _, ok := t.Leaf(team, user); ok {
		return nil
	}
	no := &Forbidden{Action: Submit, User: user, What: "submit for team " + team}
	may, _ := TeamsOf(t, to, user)
	known := TeamNames(t)
	switch {
	case len(may) == 0:
		no.What = "submit for any team"
		no.Want = fmt.Sprintf("an account in the budgets that lists %s, or that lists nobody: ask %s to put %s into one of the teams %s", user, whoSetsUsers(t), user, list(known))
	case team == "":
		no.What = "submit without naming a team"
		no.Want = "a team: name one of " + list(shortened(t, may, user))
	case !exists(t, team):
		no.Want = fmt.Sprintf("a team of the budgets, and %s is none%s %s may name %s", team, didYouMean(team, known), user, list(shortened(t, may, user)))
	default:
		no.Want = fmt.Sprintf("an account of it in the budgets that lists %s, or that lists nobody; %s may name %s", user, user, list(shortened(t, may, user)))
	}
	return no
}

// exists tells whether some account is called so.
func exists(t *budget.Tree, team string) bool {
	if _, ok := t.Find(team); ok {
		return true
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Name == team || n.Path == strings.TrimPrefix(team, "/") {
			return true
		}
	}
	return false
}

// whoSetsUsers are the people who can change whose jobs an account takes.
func whoSetsUsers(t *budget.Tree) string {
	var who []string
	for i := range t.Nodes {
		for _, m := range t.Nodes[i].Managers {
			if !slices.Contains(who, m) {
				who = append(who, m)
			}
		}
	}
	if len(who) == 0 {
		return "an operator"
	}
	return "an operator, or a manager of the budgets (" + list(who) + "),"
}

// TeamNames are the teams of budgets by the shortest names that mean them.
func TeamNames(t *budget.Tree) []string {
	var out []string
	for i := range t.Nodes {
		if n := &t.Nodes[i]; i > 0 && isTeam(t, n) {
			out = append(out, n.Path)
			if k, ok := t.Find(n.Name); ok && int(k) == i {
				out[len(out)-1] = n.Name
			}
		}
	}
	return out
}

// shortened calls teams by their names, where a job of that user finds the same account by it.
func shortened(t *budget.Tree, paths []string, user string) []string {
	out := slices.Clone(paths)
	for i, p := range paths {
		name := p[strings.LastIndex(p, "/")+1:]
		a, ok := t.Leaf(name, user)
		if b, _ := t.Leaf(rooted(p), user); ok && a == b {
			out[i] = name
		}
	}
	return slices.Compact(out)
}

// didYouMean offers the name that is nearest to one that is none, if one is near.
func didYouMean(name string, known []string) string {
	if near := yamlx.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ";"
}

// list writes the first few of many.
func list(words []string) string {
	const few = 12
	if len(words) > few {
		return strings.Join(words[:few], ", ") + fmt.Sprintf(" and %d more", len(words)-few)
	}
	return strings.Join(words, ", ")
}

// Teams lists the teams that a user may submit for, by their paths; nil with any = true where
// every team will do.
func (a *Auth) Teams(user string) (paths []string, any bool) {
	return TeamsOf(a.budgets(), a.cfg.SubmitTo, user)
}

// TeamsOf is Teams of a tree.
func TeamsOf(t *budget.Tree, to SubmitTo, user string) (paths []string, any bool) {
	if to == SubmitOpen || !namesUsers(t) {
		return nil, true
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if !isTeam(t, n) {
			continue
		}
		if _, ok := t.Leaf(rooted(n.Path), user); ok {
			paths = append(paths, n.Path)
		}
	}
	return paths, false
}

// rooted is a path that cannot be taken for the name of a team.
func rooted(path string) string {
	if path == "/" {
		return path
	}
	return "/" + path
}

// isTeam tells whether jobs name the account as their team: a leaf that is not a person's, or the
// account of people.
func isTeam(t *budget.Tree, n *budget.Node) bool {
	if n.Leaf() {
		return !n.Person
	}
	for _, c := range n.Children {
		if t.Nodes[c].Person {
			return true
		}
	}
	return false
}

func namesUsers(t *budget.Tree) bool {
	if t == nil {
		return false
	}
	for i := range t.Nodes {
		if len(t.Nodes[i].Users) > 0 {
			return true
		}
	}
	return false
}

// Job is what [Can] has to know of a job: whose it is, and which account it is charged to.
func (a *Auth) Job(user, team string) Object {
	o := Object{Owner: user}
	if t := a.budgets(); t != nil {
		if leaf, ok := t.Leaf(team, user); ok {
			o.Account = t.Nodes[leaf].Path
		}
	}
	return o
}
