package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// login redeems a link of somebody, and returns the cookie.
func (f *fixture) login(id *Identity, url string) *http.Cookie {
	f.t.Helper()
	s, _, err := f.OneTime(id)
	if err != nil {
		f.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if _, err := f.Redeem(w, httptest.NewRequest(http.MethodPost, url, nil), s); err != nil {
		f.t.Fatal(err)
	}
	return w.Result().Cookies()[0]
}

func (f *fixture) with(c *http.Cookie, method string, headers ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(method, "https://escala.lab/api", nil)
	r.AddCookie(c)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return f.send(r)
}

func (f *fixture) who1(s Secret) *Identity {
	f.t.Helper()
	id, err := f.bearer(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

func TestOneTimeLink(t *testing.T) {
	f := newFixture(t, nil)
	id := f.who1(f.token(NewToken{Name: "a", User: "ana"}))
	s, end, err := f.OneTime(id)
	if err != nil || !end.Equal(f.clock.now().Add(time.Minute)) {
		t.Fatal(end, err)
	}
	r := httptest.NewRequest(http.MethodPost, "https://escala.lab/login", nil)
	w := httptest.NewRecorder()
	got, err := f.Redeem(w, r, s)
	if err != nil || got.User != "ana" || got.Role() != User {
		t.Fatal(got, err)
	}
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Name != "__Host-escala-session" || len(c.Value) != 64 {
		t.Errorf("%+v", c)
	}
	if _, err := f.Redeem(httptest.NewRecorder(), r, s); Status(err) != 401 {
		t.Error("a link was used twice", err)
	}
	s, _, _ = f.OneTime(id)
	f.clock.add(time.Minute)
	if _, err := f.Redeem(httptest.NewRecorder(), r, s); Status(err) != 401 {
		t.Error("a link of a minute ago", err)
	}
	for range codesOfUser {
		if _, _, err := f.OneTime(id); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := f.OneTime(id); Status(err) != 429 {
		t.Error(err)
	}
	f.clock.add(time.Minute)
	f.codes.prune()
	if len(f.codes.by) != 0 {
		t.Error("codes stay in memory")
	}
	for range failBurst {
		f.Redeem(httptest.NewRecorder(), r, NewSecret("x"))
	}
	if _, err := f.Redeem(httptest.NewRecorder(), r, NewSecret("x")); Status(err) != 429 {
		t.Error(err)
	}
	if _, _, err := f.OneTime(nil); Status(err) != 403 {
		t.Error(err)
	}
	// A token that is revoked within the minute takes its links with it.
	s, _, _ = f.OneTime(id)
	f.cfg.Tokens.Revoke("a")
	if _, err := f.Redeem(httptest.NewRecorder(), r, s); Status(err) != 401 {
		t.Error(err)
	}
}

func TestSession(t *testing.T) {
	f := newFixture(t, nil)
	id := f.who1(f.token(NewToken{Name: "a", User: "ana"}))
	c := f.login(id, "https://escala.lab/login")
	want(t, f.with(c, "GET"), 200, "ana via token a, user")

	// Roles are those of now.
	f.tree = tree(t, labYAML)
	want(t, f.with(c, "GET"), 200, "manager of language")

	var csrf string
	var seen *Identity
	h := f.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { csrf, seen = f.CSRF(r), FromContext(r.Context()) }))
	r := httptest.NewRequest(http.MethodGet, "https://escala.lab/api", nil)
	r.AddCookie(c)
	h.ServeHTTP(httptest.NewRecorder(), r)
	if len(csrf) != 64 || !seen.Session || f.Still(seen) != nil {
		t.Fatal(csrf, seen)
	}
	for _, m := range []string{"POST", "PUT", "PATCH", "DELETE", "BREW"} {
		want(t, f.with(c, m), 403, CSRFHeader)
		want(t, f.with(c, m, CSRFHeader, "x"), 403, CSRFHeader)
		want(t, f.with(c, m, CSRFHeader, csrf), 200, "ana")
	}
	other := f.login(id, "https://escala.lab/login")
	want(t, f.with(other, "POST", CSRFHeader, csrf), 403, CSRFHeader)
	want(t, f.with(c, "POST", "Authorization", "Bearer esc_0"), 401, "not known") // a token counts alone
	if _, _, err := f.OneTime(seen); err == nil {
		t.Error("a session makes sessions")
	}

	// Nothing but the cookie's digest is kept.
	for k := range f.sessions.by {
		if hexOf(k) == c.Value {
			t.Error("the cookie is kept")
		}
	}
	f.clock.add(sessionIdle - 1)
	want(t, f.with(c, "GET"), 200, "ana")
	f.clock.add(sessionIdle - 1)
	want(t, f.with(c, "GET"), 200, "ana")
	f.clock.add(sessionIdle)
	want(t, f.with(c, "GET"), 401, "over")
	if f.Still(seen) == nil {
		t.Error("a stream goes on after its session")
	}

	c = f.login(id, "https://escala.lab/login")
	for range 14 { // twelve hours less one minute, again and again
		f.clock.add(sessionIdle - time.Minute)
		f.with(c, "GET")
	}
	f.clock.add(time.Hour)
	want(t, f.with(c, "GET"), 401, "over")

	c = f.login(id, "https://escala.lab/login")
	w := httptest.NewRecorder()
	r = httptest.NewRequest(http.MethodPost, "https://escala.lab/logout", nil)
	r.AddCookie(c)
	f.End(w, r)
	if out := w.Result().Cookies()[0]; out.MaxAge >= 0 || out.Value != "" {
		t.Errorf("%+v", out)
	}
	want(t, f.with(c, "GET"), 401, "over")

	c = f.login(id, "https://escala.lab/login")
	f.cfg.Tokens.Revoke("a")
	for range 2 * failBurst { // a page that asks again and again is no attack
		want(t, f.with(c, "GET"), 401, "revoked")
	}

	f.clock.add(100 * time.Hour)
	f.sessions.prune()
	if len(f.sessions.by) != 0 {
		t.Error("sessions stay in memory")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	f := newFixture(t, nil)
	id := f.who1(f.token(NewToken{Name: "a", User: "ana"}))
	first := f.sessions.begin(id)
	for range sessionsOfUser {
		f.clock.add(time.Second)
		f.sessions.begin(id)
	}
	if len(f.sessions.by) != sessionsOfUser || f.sessions.find(first) != nil {
		t.Error(len(f.sessions.by))
	}
}

func TestCookiesOfHTTP(t *testing.T) {
	f := newFixture(t, nil)
	id := f.who1(f.token(NewToken{Name: "a", User: "ana"}))
	c := f.login(id, "http://escala.lab/login")
	if c.Secure || !strings.HasPrefix(c.Name, "escala-session-") {
		t.Errorf("%+v", c)
	}
	r := httptest.NewRequest(http.MethodGet, "http://escala.lab/api", nil)
	r.AddCookie(c)
	want(t, f.send(r), 200, "ana")
	r.AddCookie(&http.Cookie{Name: c.Name, Value: "planted"})
	want(t, f.send(r), 401, "say who you are")

	f = newFixture(t, func(c *Config) { c.SecureCookies = true })
	if c := f.login(f.who1(f.token(NewToken{Name: "a", User: "ana"})), "http://escala.lab/login"); !c.Secure {
		t.Errorf("behind a proxy: %+v", c)
	}
}

// A login replaces the session that was there: an attacker's cannot be kept.
func TestLoginReplacesSession(t *testing.T) {
	f := newFixture(t, nil)
	id := f.who1(f.token(NewToken{Name: "a", User: "ana"}))
	old := f.login(id, "https://escala.lab/login")
	s, _, _ := f.OneTime(id)
	r := httptest.NewRequest(http.MethodPost, "https://escala.lab/login", nil)
	r.AddCookie(old)
	if _, err := f.Redeem(httptest.NewRecorder(), r, s); err != nil {
		t.Fatal(err)
	}
	want(t, f.with(old, "GET"), 401, "over")
}
