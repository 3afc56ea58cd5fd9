package auth

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	loginCookie = "login"
	// loginFor is how long somebody may take at the issuer.
	loginFor = 10 * time.Minute
)

// login is a login under way. Nothing of it is kept here: the browser has a secret in a cookie, of
// which state, nonce and the verifier of PKCE are made. So nobody can fill the memory with logins,
// and the answer of the issuer only counts in the browser that asked.
type login struct {
	secret   Secret
	issuer   string
	returnTo string
}

func (l *login) derive(what string) string { return hexOf(digestOf(what + "\x00" + l.secret.Reveal())) }

func (l *login) cookie() Secret {
	enc := base64.RawURLEncoding.EncodeToString
	return NewSecret(l.secret.Reveal() + "." + enc([]byte(l.issuer)) + "." + enc([]byte(l.returnTo)))
}

func readLogin(c Secret) (*login, bool) {
	parts := strings.Split(c.Reveal(), ".")
	if len(parts) != 3 || len(parts[0]) != secretBits/4 {
		return nil, false
	}
	issuer, err1 := base64.RawURLEncoding.DecodeString(parts[1])
	to, err2 := base64.RawURLEncoding.DecodeString(parts[2])
	if errors.Join(err1, err2) != nil {
		return nil, false
	}
	return &login{NewSecret(parts[0]), string(issuer), localPath(string(to))}, true
}

// localPath is a path of this server, "/" for what could be anything else.
func localPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || strings.ContainsAny(s, "\\\r\n\t") || len(s) > 1000 {
		return "/"
	}
	return s
}

func (a *Auth) loginIssuer(name string) (*issuer, error) {
	i := slices.IndexFunc(a.issuers, func(s *issuer) bool { return s.cfg.URL == name && s.cfg.RedirectURL != "" })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "there is no login at this issuer")
	}
	return a.issuers[i], nil
}

func (s *issuer) oauth(p *oidc.Provider) *oauth2.Config {
	scopes := s.cfg.Scopes
	if len(scopes) == 0 {
		scopes = []string{oidc.ScopeProfile, oidc.ScopeEmail}
	}
	if !slices.Contains(scopes, oidc.ScopeOpenID) {
		scopes = append([]string{oidc.ScopeOpenID}, scopes...)
	}
	return &oauth2.Config{ClientID: s.cfg.ClientID, ClientSecret: s.cfg.ClientSecret.Reveal(), Endpoint: p.Endpoint(), RedirectURL: s.cfg.RedirectURL, Scopes: scopes}
}

// LoginURL is where a browser has to go to log in at an issuer, by the code flow with PKCE. The
// answer sets a cookie that [Auth.Callback] needs. returnTo is a path of this server.
func (a *Auth) LoginURL(w http.ResponseWriter, r *http.Request, issuerURL, returnTo string) (string, error) {
	s, err := a.loginIssuer(issuerURL)
	if err != nil {
		return "", err
	}
	p, _, _ := s.known()
	if p == nil {
		return "", s.unreachable()
	}
	l := &login{draw(""), issuerURL, localPath(returnTo)}
	// Lax: the browser comes back from another site.
	a.setCookie(w, r, loginCookie, l.cookie(), http.SameSiteLaxMode, loginFor)
	return s.oauth(p).AuthCodeURL(l.derive("state"), oidc.Nonce(l.derive("nonce")), oauth2.S256ChallengeOption(l.derive("pkce"))), nil
}

// Callback takes the answer of the issuer and begins a session: the answer sets its cookie. Go on
// to returnTo from a page, not by a redirect: browsers do not send a strict cookie with the first
// request that another site has led to.
func (a *Auth) Callback(w http.ResponseWriter, r *http.Request) (id *Identity, returnTo string, err error) {
	c, ok := a.getCookie(r, loginCookie)
	a.setCookie(w, r, loginCookie, Secret{}, http.SameSiteLaxMode, 0)
	if !ok {
		return nil, "", refuse(http.StatusUnauthorized, "no login was begun in this browser, or it took longer than ten minutes")
	}
	l, ok := readLogin(c)
	if !ok {
		return nil, "", refuse(http.StatusUnauthorized, "no login was begun in this browser")
	}
	s, err := a.loginIssuer(l.issuer)
	if err != nil {
		return nil, "", err
	}
	q := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.derive("state"))) != 1 {
		return nil, "", refuse(http.StatusUnauthorized, "this answer belongs to another login: begin again")
	}
	if iss := q.Get("iss"); iss != "" && iss != s.cfg.URL {
		return nil, "", refuse(http.StatusUnauthorized, "this answer is another issuer's: begin again")
	}
	if q.Get("error") != "" || q.Get("code") == "" {
		return nil, "", refuse(http.StatusUnauthorized, "the issuer did not let you in")
	}
	if id, err = s.redeem(r, l, q.Get("code")); err != nil {
		return nil, "", err
	}
	a.Begin(w, r, id)
	return a.resolve(id), l.returnTo, nil
}

// redeem has the issuer say who came with a code.
func (s *issuer) redeem(r *http.Request, l *login, code string) (*Identity, error) {
	p, _, _ := s.known()
	if p == nil {
		return nil, s.unreachable()
	}
	ctx := oidc.ClientContext(r.Context(), s.docs)
	tok, err := s.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(l.derive("pkce")))
	if err != nil { // its words may hold the answer, and so tokens
		var e *oauth2.RetrieveError
		if errors.As(err, &e) && e.Response != nil && e.Response.StatusCode < http.StatusInternalServerError {
			s.log.Warn("an OIDC issuer refused a code", "issuer", s.cfg.URL, "status", e.Response.StatusCode)
			return nil, refuse(http.StatusUnauthorized, "the issuer did not take the code: begin again")
		}
		return nil, s.unreachable()
	}
	raw, _ := tok.Extra("id_token").(string)
	t, c, err := s.verify(ctx, NewSecret(raw), []string{s.cfg.ClientID})
	if err != nil {
		return nil, err
	}
	if azp := c.text("azp"); azp != "" && azp != s.cfg.ClientID {
		return nil, wrong("the token was made for another service (claim azp)")
	}
	if subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(l.derive("nonce"))) != 1 {
		return nil, wrong("the token belongs to another login (claim nonce)")
	}
	return s.identify(t, c)
}
