package auth

import (
	"crypto/subtle"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// sessionIdle ends a session that is not used, sessionMost any; an issuer may have changed
	// its mind sooner than that.
	sessionIdle       = 12 * time.Hour
	sessionMost       = 7 * 24 * time.Hour
	sessionMostIssuer = 24 * time.Hour
	// sessionsOfUser and sessionsInAll bound memory: the oldest goes.
	sessionsOfUser = 32
	sessionsInAll  = 10_000
	// CSRFHeader has to come with unsafe requests of a session: a page of another site can make a
	// browser send the cookie, but cannot know the value.
	CSRFHeader = "X-Escala-CSRF"
)

// session is a browser that is logged in.
type session struct {
	id *Identity
	// key is a pointer so that fmt, which can get here from an identity, does not print it.
	key  *digest
	made time.Time
	used time.Time
	over bool
}

// sessions are kept in memory alone, by the digest of their cookie: a restart ends them.
type sessions struct {
	now func() time.Time
	mu  sync.Mutex
	by  map[digest]*session
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, by: map[digest]*session{}}
}

// begin makes a session, and returns the value of its cookie.
func (s *sessions) begin(id *Identity) Secret {
	cookie, now := draw(""), s.now()
	base := *id
	base.Session = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room(base.User)
	key := digestOf(cookie.Reveal())
	n := &session{id: &base, key: &key, made: now, used: now}
	base.session = n
	if base.Via == ViaOIDC {
		base.until = time.Time{} // the session has an end of its own
	}
	s.by[key] = n
	return cookie
}

// room ends the oldest session of a user who has too many, or of all.
func (s *sessions) room(user string) {
	var oldest, mine *session
	n := 0
	for _, x := range s.by {
		if oldest == nil || x.made.Before(oldest.made) {
			oldest = x
		}
		if x.id.User == user {
			if n++; mine == nil || x.made.Before(mine.made) {
				mine = x
			}
		}
	}
	switch {
	case n >= sessionsOfUser:
		s.end(mine)
	case len(s.by) >= sessionsInAll:
		s.end(oldest)
	}
}

func (s *sessions) end(x *session) {
	x.over = true
	delete(s.by, *x.key)
}

func (s *sessions) expired(x *session, now time.Time) bool {
	most := sessionMost
	if x.id.Via == ViaOIDC {
		most = sessionMostIssuer
	}
	return now.Sub(x.used) >= sessionIdle || now.Sub(x.made) >= most
}

// find returns whose cookie it is, and counts it as used.
func (s *sessions) find(cookie Secret) *Identity {
	key, now := digestOf(cookie.Reveal()), s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.by[key] // which digest is asked for says nothing of the cookie
	if x == nil || !x.key.is(&key) {
		return nil
	}
	if s.expired(x, now) {
		s.end(x)
		return nil
	}
	x.used = now
	return x.id
}

func (s *sessions) alive(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !x.over && !s.expired(x, s.now())
}

func (s *sessions) close(cookie Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.by[digestOf(cookie.Reveal())]; x != nil {
		s.end(x)
	}
}

func (s *sessions) prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.by {
		if s.expired(x, s.now()) {
			s.end(x)
		}
	}
}

// csrfOf is the value that goes with a cookie. It is made of the cookie, so that nothing has to be
// kept, and the cookie cannot be made of it.
func csrfOf(cookie Secret) string {
	return hexOf(digestOf("csrf\x00" + cookie.Reveal()))
}

// secure tells whether cookies are for TLS alone.
func (a *Auth) secure(r *http.Request) bool { return r.TLS != nil || a.cfg.SecureCookies }

// cookieName differs by port where it can be seen: cookies do not, so that two daemons of one
// machine would take each other's. __Host- binds it to this host and to TLS.
func (a *Auth) cookieName(r *http.Request, kind string) string {
	if a.secure(r) {
		return "__Host-escala-" + kind
	}
	return "escala-" + kind + "-" + strconv.Itoa(int(localAddr(r).Port()))
}

func (a *Auth) setCookie(w http.ResponseWriter, r *http.Request, kind string, value Secret, site http.SameSite, age time.Duration) {
	c := &http.Cookie{Name: a.cookieName(r, kind), Value: value.Reveal(), Path: "/", HttpOnly: true, Secure: a.secure(r), SameSite: site, MaxAge: int(age.Seconds())}
	if age <= 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

func (a *Auth) getCookie(r *http.Request, kind string) (Secret, bool) {
	list := r.CookiesNamed(a.cookieName(r, kind))
	if len(list) != 1 {
		return Secret{}, false // of two, somebody else has set one
	}
	return NewSecret(list[0].Value), true
}

const sessionCookie = "session"

// Begin logs a browser in: the answer sets the cookie of a new session.
func (a *Auth) Begin(w http.ResponseWriter, r *http.Request, id *Identity) {
	if old, ok := a.getCookie(r, sessionCookie); ok {
		a.sessions.close(old)
	}
	a.setCookie(w, r, sessionCookie, a.sessions.begin(id), http.SameSiteStrictMode, sessionMost)
}

// End logs a browser out.
func (a *Auth) End(w http.ResponseWriter, r *http.Request) {
	if c, ok := a.getCookie(r, sessionCookie); ok {
		a.sessions.close(c)
	}
	a.setCookie(w, r, sessionCookie, Secret{}, http.SameSiteStrictMode, 0)
}

// CSRF is what the pages of a session have to send as [CSRFHeader]; "" without a session. It is
// for answers to the session itself, which pages of other sites cannot read.
func (a *Auth) CSRF(r *http.Request) string {
	id := FromContext(r.Context())
	c, ok := a.getCookie(r, sessionCookie)
	if id == nil || !id.Session || !ok {
		return ""
	}
	return csrfOf(c)
}

// cookie knows whose session a request belongs to.
func (a *Auth) cookie(r *http.Request) (*Identity, error) {
	c, ok := a.getCookie(r, sessionCookie)
	if !ok {
		return nil, refuse(http.StatusUnauthorized, "say who you are: send a token as Authorization: Bearer, or log in")
	}
	base := a.sessions.find(c)
	if base == nil {
		// No attempt: after a restart every browser that is open asks like this.
		return nil, refuse(http.StatusUnauthorized, "the session is over: log in again")
	}
	if err := a.Still(base); Status(err) == http.StatusUnauthorized {
		return nil, refuse(http.StatusUnauthorized, err.Error())
	} else if err != nil {
		return nil, err
	}
	if !safe(r.Method) && subtle.ConstantTimeCompare([]byte(r.Header.Get(CSRFHeader)), []byte(csrfOf(c))) != 1 {
		return nil, refuse(http.StatusForbidden, "the header "+CSRFHeader+" of this login is missing or wrong")
	}
	return a.resolve(base), nil
}
