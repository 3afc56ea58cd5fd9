package auth

import (
	"net/http"
	"sync"
	"time"
)

const (
	// codeFor is how long a login link holds.
	codeFor = 60 * time.Second
	// codesOfUser and codesInAll bound memory.
	codesOfUser = 10
	codesInAll  = 1000
)

type code struct {
	id      *Identity
	expires time.Time
}

// codes are those of login links, by their digests.
type codes struct {
	now func() time.Time
	mu  sync.Mutex
	by  map[digest]code
}

func newCodes(now func() time.Time) *codes { return &codes{now: now, by: map[digest]code{}} }

// OneTime makes the code of a link that logs a browser in as the identity: once, within a minute.
// It belongs behind the # of the link, which browsers do not send and servers do not log; the page
// there posts it. A session cannot make one, or it would never end.
func (a *Auth) OneTime(id *Identity) (Secret, time.Time, error) {
	if err := Can(id, Login, Object{}); err != nil {
		return Secret{}, time.Time{}, err
	}
	if id.Session {
		return Secret{}, time.Time{}, &Forbidden{Action: Login, User: id.User, Want: "a socket or a token, not a session of a browser"}
	}
	return a.codes.make(id)
}

func (c *codes) make(id *Identity) (Secret, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	n := 0
	for _, x := range c.by {
		if x.id.User == id.User {
			n++
		}
	}
	if n >= codesOfUser || len(c.by) >= codesInAll {
		return Secret{}, time.Time{}, &Refusal{Status: http.StatusTooManyRequests, Why: "too many login links are open: each ends after a minute", After: codeFor}
	}
	s, end := draw(""), c.now().Add(codeFor)
	c.by[digestOf(s.Reveal())] = code{id, end}
	return s, end, nil
}

// Redeem takes the code of a login link and begins a session: the answer sets its cookie. Failures
// count as attempts of the address.
func (a *Auth) Redeem(w http.ResponseWriter, r *http.Request, s Secret) (*Identity, error) {
	id := a.codes.take(s)
	if id == nil {
		if wait := a.failed.count(r.RemoteAddr); wait > 0 {
			return nil, &Refusal{Status: http.StatusTooManyRequests, Why: "too many attempts failed from this address", After: wait}
		}
		return nil, refuse(http.StatusUnauthorized, "this login link was used, or is older than a minute: make another")
	}
	if err := a.Still(id); err != nil {
		return nil, err
	}
	a.Begin(w, r, id)
	return a.resolve(id), nil
}

func (c *codes) take(s Secret) *Identity {
	key := digestOf(s.Reveal())
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.by[key]
	if !ok {
		return nil
	}
	delete(c.by, key)
	if !c.now().Before(x.expires) {
		return nil
	}
	return x.id
}

func (c *codes) prune() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

func (c *codes) drop() {
	now := c.now()
	for k, x := range c.by {
		if !now.Before(x.expires) {
			delete(c.by, k)
		}
	}
}
