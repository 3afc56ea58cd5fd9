package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxGroups bounds how many groups of a token are looked at.
const maxGroups = 1000

// defaultGroupsPrefix keeps groups of issuers apart from those of this machine.
const defaultGroupsPrefix = "oidc:"

// claims are those of a token.
type claims map[string]json.RawMessage

// text is a claim that is a text, "" for others.
func (c claims) text(name string) string {
	var s string
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// verified tells whether the issuer has seen that the address is theirs.
func (c claims) verified() bool {
	var b bool
	return json.Unmarshal(c["email_verified"], &b) == nil && b || c.text("email_verified") == "true"
}

// user is the name of whom the token is about.
func (c claims) user(cfg *Issuer, subject string) (string, error) {
	var name string
	switch cfg.UserClaim {
	case "":
		if name = c.text("preferred_username"); name == "" && c.verified() {
			name = c.text("email")
		}
		if name == "" {
			name = subject
		}
	case "email":
		if !c.verified() {
			return "", errors.New("the issuer has not verified the e-mail address (claim email_verified)")
		}
		name = c.text("email")
	case "sub":
		name = subject
	default:
		name = c.text(cfg.UserClaim)
	}
	if name == "" {
		return "", fmt.Errorf("it has no claim %s", cfg.UserClaim)
	}
	name = cfg.UserPrefix + name
	if strings.HasPrefix(name, uidPrefix) {
		return "", fmt.Errorf("names that begin with %s are those of this machine", uidPrefix)
	}
	if name == "root" { // jobs may run as the user of that name
		return "", errors.New("root is a user of this machine alone")
	}
	return name, CheckUser(name)
}

// groups are those that the token names; one may be a text alone.
func (c claims) groups(cfg *Issuer) []string {
	claim, prefix := cfg.GroupsClaim, defaultGroupsPrefix
	if claim == "" {
		claim = "groups"
	}
	if cfg.GroupsPrefix != nil {
		prefix = *cfg.GroupsPrefix
	}
	var raw []json.RawMessage
	if json.Unmarshal(c[claim], &raw) != nil {
		raw = []json.RawMessage{c[claim]}
	}
	var out []string
	for _, r := range raw[:min(len(raw), maxGroups)] {
		var g string
		if json.Unmarshal(r, &g) == nil && g != "" {
			out = append(out, prefix+g)
		}
	}
	return out
}

// before tells whether the token begins after a time.
func (c claims) before(now time.Time) bool {
	for _, name := range []string{"nbf", "iat"} {
		raw, ok := c[name]
		if !ok {
			continue
		}
		var at float64
		if json.Unmarshal(raw, &at) != nil || at > float64(now.Unix()) {
			return true
		}
	}
	return false
}

// logout tells a token that says that a session has ended.
func (c claims) logout() bool {
	return strings.Contains(string(c["events"]), "backchannel-logout")
}
