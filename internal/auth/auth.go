package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/escala-sched/escala/budget"
)

// Config says who is known, and how. Only Now is required.
type Config struct {
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
	// Tokens of the daemon; nil = none are taken.
	Tokens *Tokens
	// Roles say who is what, besides the managers that the budgets name.
	Roles Roles
	// Issuers are the OIDC issuers whose tokens are taken.
	Issuers []Issuer
	// Hosts are names by which clients may call the server over TCP, as "name" or "name:port",
	// besides loopback names and the address that they connected to, with its port.
	Hosts []string
	// Open lists what needs no authentication: "/healthz" for GET and HEAD, "POST /login" for
	// another method, "/ui/*" for all below.
	Open []string
	// Budgets are those in force; nil = there are none.
	Budgets func() *budget.Tree
	// SubmitTo says which teams people may submit for.
	SubmitTo SubmitTo
	// SecureCookies: cookies are for TLS only although the server speaks plain HTTP, since a
	// proxy on this machine does the TLS. With TLS here they always are.
	SecureCookies bool
}

// Auth knows who is asking.
type Auth struct {
	cfg      Config
	log      *slog.Logger
	now      func() time.Time
	uid      int
	hosts    []host
	open     []openPath
	people   *people
	failed   *failures
	sessions *sessions
	codes    *codes
	issuers  []*issuer
}

// New checks a configuration. It contacts nobody: [Auth.Run] does.
func New(cfg Config) (*Auth, error) {
	if cfg.Now == nil {
		return nil, errors.New("auth: no clock")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.Roles.check(); err != nil {
		return nil, err
	}
	if err := cfg.SubmitTo.check(); err != nil {
		return nil, err
	}
	a := &Auth{cfg: cfg, log: cfg.Log, now: cfg.Now, uid: os.Getuid()}
	var err error
	if a.hosts, err = parseHosts(cfg.Hosts); err != nil {
		return nil, err
	}
	if a.open, err = parseOpen(cfg.Open); err != nil {
		return nil, err
	}
	if a.issuers, err = newIssuers(cfg.Issuers, cfg.Now, cfg.Log); err != nil {
		return nil, err
	}
	a.people = newPeople(cfg.Now)
	a.failed = newFailures(cfg.Now)
	a.sessions = newSessions(cfg.Now)
	a.codes = newCodes(cfg.Now)
	return a, nil
}

// housekeeping is how often what has expired is thrown away and what was used is written.
const housekeeping = time.Minute

// Run finds the issuers, again and again until they answer, and keeps house until ctx ends. What
// cannot be reached is logged and does not end it.
func (a *Auth) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range a.issuers {
		g.Go(func() error { s.run(ctx); return nil })
	}
	g.Go(func() error {
		t := time.NewTicker(housekeeping)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				a.flush()
				return nil
			case <-t.C:
				a.flush()
				a.sessions.prune()
				a.codes.prune()
			}
		}
	})
	return g.Wait()
}

func (a *Auth) flush() {
	if a.cfg.Tokens == nil {
		return
	}
	if err := a.cfg.Tokens.Flush(); err != nil {
		a.log.Warn("when tokens were last used could not be written", "error", err)
	}
}

// String says nothing of what is inside.
func (a *Auth) String() string { return fmt.Sprintf("auth of %d issuers", len(a.issuers)) }

// Format is String: fmt would else walk through sessions and codes.
func (a *Auth) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(a.String())) }

// LogValue is String.
func (a *Auth) LogValue() slog.Value { return slog.StringValue(a.String()) }

// Authenticate says who sent a request. Errors are [Refusal].
func (a *Auth) Authenticate(r *http.Request) (*Identity, error) {
	if list, ok := r.Header["Authorization"]; ok {
		token, ok := ParseBearer(list)
		if !ok {
			return nil, wrong("the header Authorization has to be one, Bearer and a token")
		}
		return a.bearer(r.Context(), token)
	}
	if p, ok := peerOf(r.Context()); ok {
		return a.socket(r, p)
	}
	return a.cookie(r)
}

// bearer knows whose a token is.
func (a *Auth) bearer(ctx context.Context, token Secret) (*Identity, error) {
	var id *Identity
	var err error
	if isOurs(token) {
		if a.cfg.Tokens == nil {
			return nil, wrong("this server takes no tokens of its own")
		}
		id, err = a.cfg.Tokens.identify(token)
	} else {
		id, err = a.fromIssuer(ctx, token)
	}
	if err != nil {
		return nil, err
	}
	return a.resolve(id), nil
}

// Still tells whether an identity still holds: its token was not revoked and has not expired, its
// session is not over. Long answers, such as streams of events, ask now and then.
func (a *Auth) Still(id *Identity) error {
	switch {
	case id == nil:
		return refuse(http.StatusUnauthorized, "nobody is known")
	case !id.until.IsZero() && !a.now().Before(id.until):
		return wrong("the token has expired")
	case id.session != nil && !a.sessions.alive(id.session):
		return wrong("the session is over")
	case id.tokenID != "" && a.cfg.Tokens == nil:
		return wrong("this server takes no tokens of its own")
	case id.tokenID != "":
		return a.cfg.Tokens.still(id.tokenID)
	}
	return nil
}
