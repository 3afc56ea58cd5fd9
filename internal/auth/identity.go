package auth

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Ways in which an identity was shown.
const (
	ViaSocket = "socket"
	ViaToken  = "token"
	ViaOIDC   = "oidc"
	// ViaProcess is the daemon itself.
	ViaProcess = "process"
)

// Identity is who is asking. It does not change, and holds no secret.
type Identity struct {
	// User is the name that jobs are submitted and journalled under.
	User string
	// UID and GID are those of the process at the other end of a socket, -1 = unknown.
	UID, GID int
	// Groups by name; those that an issuer tells begin with its prefix.
	Groups []string
	// Via is how it was shown; of a session, how the one who began it was known.
	Via string
	// Token is the name of the token, for the audit; of an issuer its URL.
	Token string
	// Session: it was shown by the cookie of a session.
	Session bool
	// Roles are what it may do, as of this request.
	Roles []Grant

	// fixed roles are not added to by configuration and budgets.
	fixed bool
	// tokenID is the daemon's token that it stands on, and until when it holds; zero = no end.
	tokenID string
	until   time.Time
	// session is what it stands on, nil without.
	session *session
}

// Process is the daemon itself, for what it does without being asked.
func Process(user string) *Identity {
	return &Identity{User: user, UID: -1, GID: -1, Via: ViaProcess, Roles: []Grant{{Role: Operator}}, fixed: true}
}

// Role is the highest role.
func (id *Identity) Role() Role {
	r := Nobody
	if id == nil {
		return r
	}
	for _, g := range id.Roles {
		r = max(r, g.Role)
	}
	return r
}

// Operator tells whether everything but tokens is allowed.
func (id *Identity) Operator() bool { return id.Role() >= Operator }

// Manages tells whether an account of the budgets lies in a subtree that the identity manages,
// its top included. What stands at the top of the subtree is not decided there: see [ChangedPaths].
func (id *Identity) Manages(path string) bool {
	return id != nil && slices.ContainsFunc(id.Roles, func(g Grant) bool { return g.Role == Manager && covers(g.Path, path) })
}

// String says who it is and how that is known.
func (id *Identity) String() string {
	if id == nil {
		return "nobody"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s via %s", id.User, id.Via)
	if id.Token != "" {
		fmt.Fprintf(&b, " %s", id.Token)
	}
	return b.String()
}

// Format is String: fmt would else walk into what the identity stands on.
func (id *Identity) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(id.String())) }

// LogValue is what logs hold of it.
func (id *Identity) LogValue() slog.Value {
	if id == nil {
		return slog.StringValue("nobody")
	}
	list := []slog.Attr{slog.String("user", id.User), slog.String("via", id.Via)}
	if id.Token != "" {
		list = append(list, slog.String("token", id.Token))
	}
	if id.UID >= 0 {
		list = append(list, slog.Int("uid", id.UID))
	}
	return slog.GroupValue(list...)
}

type contextKey int

const (
	identityKey contextKey = iota
	peerKey
)

// NewContext carries an identity.
func NewContext(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey, id)
}

// FromContext is who is asking, nil where nobody was asked to say.
func FromContext(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey).(*Identity)
	return id
}

// CheckUser refuses names that could be mistaken for another, or that hide what follows them in a
// log or a terminal.
func CheckUser(name string) error {
	const most = 100
	switch {
	case name == "":
		return fmt.Errorf("the name of a user is empty")
	case len(name) > most:
		return fmt.Errorf("the name of a user is longer than %d bytes", most)
	}
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		case i > 0 && strings.ContainsRune("-.@+:", r):
		default:
			return fmt.Errorf("%q cannot be the name of a user: want letters of ASCII, digits and _ - . @ + : after the first", name)
		}
	}
	return nil
}
