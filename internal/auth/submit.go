package auth

import (
	"fmt"

	"github.com/escala-sched/escala/budget"
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
	if team == "" {
		return &Forbidden{Action: Submit, User: user, Want: "a team: name one whose account in the budgets takes the jobs of " + user}
	}
	return &Forbidden{Action: Submit, User: user, Want: fmt.Sprintf("an account of team %s in the budgets that lists %s, or that lists nobody", team, user)}
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
