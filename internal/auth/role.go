package auth

import (
	"fmt"
	"strings"
)

// Role is what somebody is. Each includes what those before may do; a manager is one of a subtree
// of the budgets.
type Role uint8

// Roles, the least first.
const (
	// Nobody may do nothing.
	Nobody Role = iota
	// Viewer reads what everybody may.
	Viewer
	// User has jobs.
	User
	// Manager also decides about the accounts below a node of the budgets.
	Manager
	// Operator decides about nodes, policy, budgets and everybody's jobs.
	Operator
	// Admin also makes and revokes tokens.
	Admin
	roles
)

var roleNames = [roles]string{"nobody", "viewer", "user", "manager", "operator", "admin"}

// String returns the name that configurations use.
func (r Role) String() string {
	if r < roles {
		return roleNames[r]
	}
	return "nobody"
}

// MarshalText is String.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText takes a name.
func (r *Role) UnmarshalText(b []byte) error {
	for i, n := range roleNames {
		if n == string(b) {
			*r = Role(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no role; want one of %s", b, strings.Join(roleNames[:], ", "))
}

// Grant is a role and, of a manager, the path of the account below which it counts: "/" = all.
type Grant struct {
	Role Role   `json:"role" yaml:"role"`
	Path string `json:"path,omitempty" yaml:"path,omitempty"`
}

// String is the role, with its path.
func (g Grant) String() string {
	if g.Path == "" {
		return g.Role.String()
	}
	return g.Role.String() + " of " + g.Path
}

// check says what is wrong with a grant.
func (g Grant) check() error {
	switch {
	case g.Role == Nobody || g.Role >= roles:
		return fmt.Errorf("name a role: %s", strings.Join(roleNames[Viewer:], ", "))
	case g.Role == Manager && g.Path == "":
		return fmt.Errorf("a manager needs the path of an account; / is all of them")
	case g.Role != Manager && g.Path != "":
		return fmt.Errorf("only a manager has a path, %s %s has not", article(g.Role), g.Role)
	}
	return nil
}

func article(r Role) string {
	if strings.ContainsAny(r.String()[:1], "aou") && r != User {
		return "an"
	}
	return "a"
}

// covers tells whether a path of the budgets is the top or below it. "" stands above the root:
// nobody's path covers it.
func covers(top, path string) bool {
	switch {
	case top == "" || path == "":
		return false
	case top == "/" || top == path:
		return true
	}
	return strings.HasPrefix(path, top) && path[len(top)] == '/'
}

// above is the path of the account above, "" above the root.
func above(path string) string {
	switch i := strings.LastIndexByte(path, '/'); {
	case path == "/" || path == "":
		return ""
	case i < 0:
		return "/"
	default:
		return path[:i]
	}
}
