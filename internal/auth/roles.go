package auth

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
)

// Roles is the part of the configuration that says who is what.
type Roles struct {
	// Default is the role of whoever is known and in no rule; nil = user, nobody = only those in
	// the rules may do anything.
	Default *Role `json:"default,omitempty" yaml:"default,omitempty"`
	// Rules add up.
	Rules []RoleRule `json:"rules,omitempty" yaml:"rules,omitempty"`
}

// RoleRule gives a role to people and groups.
type RoleRule struct {
	Role   Role     `json:"role" yaml:"role"`
	Path   string   `json:"path,omitempty" yaml:"path,omitempty"`
	Users  []string `json:"users,omitempty" yaml:"users,omitempty"`
	Groups []string `json:"groups,omitempty" yaml:"groups,omitempty"`
}

func (r *Roles) check() error {
	for i := range r.Rules {
		u := &r.Rules[i]
		if err := (Grant{u.Role, u.Path}).check(); err != nil {
			return fmt.Errorf("rule %d of roles: %w", i+1, err)
		}
		if len(u.Users)+len(u.Groups) == 0 {
			return fmt.Errorf("rule %d of roles (%s) names no users and no groups", i+1, u.Role)
		}
	}
	return nil
}

// resolve returns the identity with what it may do by now: configuration and budgets can change
// while a session lasts.
func (a *Auth) resolve(base *Identity) *Identity {
	id := *base
	if id.fixed {
		return &id
	}
	id.Roles = nil
	add := func(g Grant) {
		if g.Role != Nobody && !slices.Contains(id.Roles, g) {
			id.Roles = append(id.Roles, g)
		}
	}
	if id.Via == ViaSocket && (id.UID == 0 || id.UID == a.uid) {
		add(Grant{Role: Operator})
	}
	def := User
	if a.cfg.Roles.Default != nil {
		def = *a.cfg.Roles.Default
	}
	add(Grant{Role: def})
	for i := range a.cfg.Roles.Rules {
		u := &a.cfg.Roles.Rules[i]
		if slices.Contains(u.Users, id.User) || slices.ContainsFunc(u.Groups, func(g string) bool { return slices.Contains(id.Groups, g) }) {
			add(Grant{u.Role, u.Path})
		}
	}
	for _, path := range ManagedBy(a.budgets(), id.User) {
		add(Grant{Manager, path})
	}
	return &id
}

func (a *Auth) budgets() *budget.Tree {
	if a.cfg.Budgets == nil {
		return nil
	}
	return a.cfg.Budgets()
}

// ManagedBy lists the paths of the accounts whose managers a tree says a user to be.
func ManagedBy(t *budget.Tree, user string) []string {
	var paths []string
	if t == nil || user == "" {
		return nil
	}
	for i := range t.Nodes {
		if slices.Contains(t.Nodes[i].Managers, user) {
			paths = append(paths, t.Nodes[i].Path)
		}
	}
	return paths
}
