package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// skew is by how much the clocks of issuer and server may differ.
	skew = 60 * time.Second
	// issuerAgain is how often a known issuer is asked anew, so that keys that it has withdrawn
	// do not stay good here; retryFirst and retryMost are the back-off where it does not answer.
	issuerAgain = time.Hour
	retryFirst  = time.Second
	retryMost   = 5 * time.Minute
)

// algorithms are those taken: none, and what has a shared secret (HS256), never are.
var algorithms = []string{oidc.RS256, oidc.ES256, oidc.EdDSA}

// issuer is an issuer and what is known of it.
type issuer struct {
	cfg  Issuer
	now  func() time.Time
	log  *slog.Logger
	docs *http.Client
	keys *keyFetcher

	mu sync.Mutex
	// provider and verifier are nil until it has been reached; trouble says why.
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	trouble  string
}

func newIssuers(list []Issuer, now func() time.Time, log *slog.Logger) ([]*issuer, error) {
	var out []*issuer
	for _, cfg := range list {
		if err := cfg.check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(s *issuer) bool { return s.cfg.URL == cfg.URL }) {
			return nil, fmt.Errorf("issuer %s appears twice", cfg.URL)
		}
		out = append(out, &issuer{cfg: cfg, now: now, log: log, docs: fetchClient(http.DefaultTransport), keys: newKeyFetcher(now), trouble: "it has not been asked yet"})
	}
	return out, nil
}

// run asks the issuer what it is, until ctx ends.
func (s *issuer) run(ctx context.Context) {
	back := retryFirst
	for {
		wait := issuerAgain
		if err := s.discover(ctx); ctx.Err() != nil {
			return
		} else if err != nil {
			wait, back = back, min(2*back, retryMost)
			s.log.Warn("an OIDC issuer cannot be reached", "issuer", s.cfg.URL, "error", err.Error(), "again_in", wait.String())
		} else {
			back = retryFirst
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// discover asks once. What was known stays where it fails.
func (s *issuer) discover(ctx context.Context) error {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, s.docs), s.cfg.URL)
	var doc struct {
		Keys  string `json:"jwks_uri"`
		Token string `json:"token_endpoint"`
	}
	if err == nil {
		err = p.Claims(&doc)
	}
	if err == nil {
		if err = checkURL(doc.Keys); err != nil {
			err = fmt.Errorf("its jwks_uri: %w", err)
		}
	}
	if err == nil && s.cfg.RedirectURL != "" {
		if err = checkURL(doc.Token); err != nil {
			err = fmt.Errorf("its token_endpoint: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.verifier == nil {
			s.trouble = "it cannot be reached, or is no issuer"
		}
		return err
	}
	if s.verifier == nil {
		s.log.Info("an OIDC issuer was reached", "issuer", s.cfg.URL)
	}
	remote := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), s.keys.client), doc.Keys)
	s.provider, s.trouble = p, ""
	// Audience and times are checked in identify: there by more audiences, and with the skew.
	s.verifier = oidc.NewVerifier(s.cfg.URL, keySet{remote}, &oidc.Config{
		SupportedSigningAlgs: algorithms, SkipClientIDCheck: true, SkipExpiryCheck: true,
	})
	return nil
}

func (s *issuer) known() (*oidc.Provider, *oidc.IDTokenVerifier, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provider, s.verifier, s.trouble
}

// unreachable is the answer while an issuer cannot be asked.
func (s *issuer) unreachable() *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Why: "tokens of " + s.cfg.URL + " cannot be checked now, as the issuer cannot be reached", After: 10 * time.Second}
}

// verify checks a token: signature, issuer, times and that it is for one of the audiences.
func (s *issuer) verify(ctx context.Context, token Secret, audiences []string) (*oidc.IDToken, *claims, error) {
	_, v, _ := s.known()
	if v == nil {
		return nil, nil, s.unreachable()
	}
	bad := func(why string) error { return wrong("the token of " + s.cfg.URL + " is not good: " + why) }
	var why keyTrouble
	t, err := v.Verify(context.WithValue(ctx, keyTroubleKey, &why), token.Reveal())
	switch {
	case err == nil:
	case why.err != nil && s.keys.failed(why.err):
		return nil, nil, s.unreachable()
	default: // the library's words may hold parts of the token
		return nil, nil, bad("its signature is wrong, its algorithm is none of " + strings.Join(algorithms, ", ") + ", or it is no such token")
	}
	if !slices.ContainsFunc(t.Audience, func(aud string) bool { return slices.Contains(audiences, aud) }) {
		return nil, nil, bad("it was made for another service (claim aud)")
	}
	var c claims
	if err := t.Claims(&c); err != nil {
		return nil, nil, bad("its claims cannot be read")
	}
	now := s.now()
	switch {
	case t.Expiry.IsZero():
		return nil, nil, bad("it does not say when it ends (claim exp)")
	case !now.Before(t.Expiry.Add(skew)):
		return nil, nil, bad("it has expired")
	case c.before(now.Add(skew)):
		return nil, nil, bad("it is not good yet (claims nbf, iat)")
	case c.logout():
		return nil, nil, bad("it ends a session, and shows nobody")
	}
	return t, &c, nil
}

// identify knows who a verified token is about.
func (s *issuer) identify(t *oidc.IDToken, c *claims) (*Identity, error) {
	user, err := c.user(&s.cfg, t.Subject)
	if err != nil {
		return nil, wrong("the token of " + s.cfg.URL + " names nobody who could be a user: " + err.Error())
	}
	return &Identity{User: user, UID: -1, GID: -1, Groups: c.groups(&s.cfg), Via: ViaOIDC, Token: s.cfg.URL, until: t.Expiry.Add(skew)}, nil
}

// fromIssuer knows whose a token of an issuer is.
func (a *Auth) fromIssuer(ctx context.Context, token Secret) (*Identity, error) {
	if len(a.issuers) == 0 {
		return nil, wrong("this token is not known")
	}
	name, ok := claimedIssuer(token)
	i := slices.IndexFunc(a.issuers, func(s *issuer) bool { return s.cfg.URL == name })
	if !ok || i < 0 {
		return nil, wrong("this token is not known, or its issuer is none of ours")
	}
	s := a.issuers[i]
	t, c, err := s.verify(ctx, token, s.cfg.audiences())
	if err != nil {
		return nil, err
	}
	return s.identify(t, c)
}

// claimedIssuer is what a token says of its issuer, to know whom to ask. Nothing is believed yet.
func claimedIssuer(token Secret) (string, bool) {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return "", false
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	return c.Issuer, json.Unmarshal(body, &c) == nil && c.Issuer != ""
}

// IssuerStatus is how things stand with an issuer.
type IssuerStatus struct {
	URL string
	// Login: browsers can log in there.
	Login bool
	// Trouble is why its tokens are not taken now, "" if they are.
	Trouble string
}

// Issuers says how things stand with all of them.
func (a *Auth) Issuers() []IssuerStatus {
	var out []IssuerStatus
	for _, s := range a.issuers {
		_, _, trouble := s.known()
		out = append(out, IssuerStatus{s.cfg.URL, s.cfg.RedirectURL != "", trouble})
	}
	return out
}

// keySet notes why keys could not be had: the verifier only passes on the words.
type keySet struct{ remote *oidc.RemoteKeySet }

type keyTrouble struct{ err error }

const keyTroubleKey contextKey = peerKey + 1

func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	body, err := k.remote.VerifySignature(ctx, jwt)
	if t, ok := ctx.Value(keyTroubleKey).(*keyTrouble); ok && err != nil {
		t.err = err
	}
	if err != nil {
		return nil, errors.New("no key of the issuer fits")
	}
	return body, nil
}
