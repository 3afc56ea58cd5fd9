package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Issuer is an OIDC issuer whose tokens are taken.
type Issuer struct {
	// URL as in the tokens' claim iss. It must be https, or on this machine.
	URL string `json:"issuer" yaml:"issuer"`
	// Audiences that tokens may be for; none = ClientID.
	Audiences []string `json:"audiences,omitempty" yaml:"audiences,omitempty"`
	// UserClaim names people; "" = preferred_username, else email if it is verified, else sub.
	UserClaim string `json:"user_claim,omitempty" yaml:"user_claim,omitempty"`
	// UserPrefix is put before the names of users, so that they are other people than those of
	// the same name on this machine.
	UserPrefix string `json:"user_prefix,omitempty" yaml:"user_prefix,omitempty"`
	// GroupsClaim lists groups; "" = groups. They are known as GroupsPrefix + name; nil = "oidc:",
	// so that no issuer can put anybody into a group of this machine.
	GroupsClaim  string  `json:"groups_claim,omitempty" yaml:"groups_claim,omitempty"`
	GroupsPrefix *string `json:"groups_prefix,omitempty" yaml:"groups_prefix,omitempty"`

	// ClientID and what follows are for logins of browsers. Without RedirectURL there are none.
	ClientID     string   `json:"client_id,omitempty" yaml:"client_id,omitempty"`
	ClientSecret Secret   `json:"client_secret,omitzero" yaml:"client_secret,omitempty"`
	RedirectURL  string   `json:"redirect_url,omitempty" yaml:"redirect_url,omitempty"`
	Scopes       []string `json:"scopes,omitempty" yaml:"scopes,omitempty"`
}

func (s *Issuer) audiences() []string {
	if len(s.Audiences) > 0 {
		return s.Audiences
	}
	return []string{s.ClientID}
}

func (s *Issuer) check() error {
	if err := checkURL(s.URL); err != nil {
		return fmt.Errorf("issuer %q: %w", s.URL, err)
	}
	if slices.Contains(s.audiences(), "") {
		return fmt.Errorf("issuer %s: name the audiences that tokens must be for, or a client_id: tokens made for other services must not be taken", s.URL)
	}
	if s.RedirectURL != "" {
		if s.ClientID == "" {
			return fmt.Errorf("issuer %s: a login needs a client_id", s.URL)
		}
		if err := checkURL(s.RedirectURL); err != nil {
			return fmt.Errorf("issuer %s: redirect_url %q: %w", s.URL, s.RedirectURL, err)
		}
	}
	if s.UserPrefix != "" {
		if err := CheckUser(s.UserPrefix + "x"); err != nil || strings.HasPrefix(s.UserPrefix, uidPrefix) {
			return fmt.Errorf("issuer %s: user_prefix %q cannot begin the name of a user", s.URL, s.UserPrefix)
		}
	}
	return nil
}

// checkURL wants what nobody on the way can change.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return errors.New("want an https URL")
	}
	switch u.Scheme {
	case "https":
		return nil
	case "http":
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
			return nil
		}
	}
	return errors.New("want https: what comes by http could be anybody's")
}
