package auth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestMiddleware(t *testing.T) {
	nobody := Nobody
	f := newFixture(t, func(c *Config) {
		c.Open = []string{"/healthz", "/ui/*", "POST /login", "/"}
		c.Roles = Roles{Default: &nobody, Rules: []RoleRule{{Role: Viewer, Users: []string{"vic"}}}}
	})
	vic, out := f.token(NewToken{Name: "v", User: "vic"}), f.token(NewToken{Name: "o", User: "out"})
	const at = "http://escala.lab"
	for _, p := range []string{"GET /healthz", "HEAD /healthz", "GET /ui/a/b.js", "GET /ui/", "POST /login", "GET /"} {
		m, u, _ := strings.Cut(p, " ")
		want(t, f.ask(m, at+u), 200, "")
	}
	for _, p := range []string{"POST /healthz", "GET /healthz/x", "GET /ui", "GET /login", "POST /ui/x", "GET /api", "GET /ui/../api", "GET /ui/%2e%2e/api", "GET /ui//x", "GET //healthz", "OPTIONS /api", "GET /metrics", "GET /uix"} {
		m, u, _ := strings.Cut(p, " ")
		w := f.ask(m, at+u)
		if w.Code != 401 {
			t.Errorf("%s: %d", p, w.Code)
		}
	}
	w := f.ask("GET", at+"/api")
	var p Problem
	if json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Status != 401 || p.Title != "Unauthorized" || p.Detail == "" ||
		w.Header().Get("WWW-Authenticate") != `Bearer realm="escala"` || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	w = f.bearerOf("esc_1")
	if w.Header().Get("WWW-Authenticate") != `Bearer realm="escala", error="invalid_token"` {
		t.Error(w.Header())
	}
	want(t, f.bearerOf(vic.Reveal()), 200, "vic via token v, viewer")
	want(t, f.bearerOf(out.Reveal()), 403, "out is known, but has no role here")
	want(t, f.ask("GET", at+"/api", "Authorization", "Bearer "+vic.Reveal(), "Authorization", "Bearer "+vic.Reveal()), 401, "has to be one")
	want(t, f.ask("GET", at+"/api", "Authorization", "Basic eDp5"), 401, "has to be one")
	for _, bad := range []string{"healthz", "/*", "*", "/a*", "GET", "/{x}", ""} {
		if _, err := New(Config{Now: f.clock.now, Open: []string{bad}}); err == nil {
			t.Errorf("%q is open", bad)
		}
	}
}

func TestFailuresAreLimited(t *testing.T) {
	f := newFixture(t, nil)
	s := f.token(NewToken{Name: "v", User: "vic"})
	from := func(addr, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, anyURL, nil)
		r.RemoteAddr = addr
		r.Header.Set("Authorization", "Bearer "+token)
		return f.send(r)
	}
	for i := range failBurst + 3 {
		if w := from(fmt.Sprintf("10.0.0.1:%d", i), "esc_1"); (w.Code == 401) != (i < failBurst) {
			t.Errorf("%d: %d", i, w.Code)
		} else if w.Code == 429 && w.Header().Get("Retry-After") == "" {
			t.Error(w.Header())
		}
	}
	if n := strings.Count(f.log.String(), "a credential was refused"); n != failBurst {
		t.Errorf("%d lines in the log", n)
	}
	want(t, from("10.0.0.1:1", s.Reveal()), 200, "vic") // what is good goes on
	want(t, from("10.0.0.2:1", "esc_1"), 401, "")
	f.clock.add(failEvery)
	want(t, from("10.0.0.1:1", "esc_1"), 401, "")
	want(t, from("10.0.0.1:1", "esc_1"), 429, "")
	for i := range failBurst + 1 { // one network of IPv6 is one
		from(fmt.Sprintf("[2001:db8::%x]:1", i), "esc_1")
	}
	want(t, from("[2001:db8::ffff]:1", "esc_1"), 429, "")
	want(t, from("[2001:db8:1::1]:1", "esc_1"), 401, "")
	want(t, f.ask("GET", anyURL), 401, "") // saying nothing is no attempt

	for i := range 3 * failAddresses {
		f.failed.count(fmt.Sprintf("10.%d.%d.1:1", i/256, i%256))
	}
	if n := len(f.failed.by); n > failAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
	f.clock.add(time.Hour)
	for i := range failAddresses {
		f.failed.count(fmt.Sprintf("11.%d.%d.1:1", i/256, i%256))
	}
	for k := range f.failed.by {
		if k.Addr().As4()[0] == 10 {
			t.Fatalf("%s is remembered, which has been quiet", k)
		}
	}
}

func TestWriteErrorOfOthers(t *testing.T) {
	w := httptest.NewRecorder()
	WriteError(w, fmt.Errorf("dial 10.0.0.1: %w", http.ErrServerClosed))
	if w.Code != 500 || strings.Contains(w.Body.String(), "10.0.0.1") {
		t.Error(w.Body)
	}
}

func TestParseBearer(t *testing.T) {
	for s, want := range map[string]string{
		"Bearer abc": "abc", "bearer a.b-c_d~e+f/g==": "a.b-c_d~e+f/g==", "BEARER  x ": "x",
		"": "", "Bearer": "", "Bearer ": "", "Bearer a b": "", "Basic abc": "", "Bearerabc": "", " Bearer abc": "", "Bearer a=b": "", "Bearer =": "", "Bearer a\tb": "", "Bearer é": "", "Bearer a,b": "",
		"Bearer " + strings.Repeat("x", maxToken): "",
	} {
		got, ok := ParseBearer([]string{s})
		if ok != (want != "") || ok && got.Reveal() != want {
			t.Errorf("%.40q: %v", s, ok)
		}
	}
	if _, ok := ParseBearer(nil); ok {
		t.Error("nothing is a token")
	}
}

func FuzzBearer(f *testing.F) {
	for _, s := range []string{"Bearer abc", "bearer  a==", "Basic x", "Bearer a b", "Bearer \x00", "Bearer a.b.c"} {
		f.Add(s)
	}
	a, err := New(Config{Now: newClock().now})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseBearer([]string{s})
		if !ok {
			return
		}
		x := got.Reveal()
		if x == "" || strings.ContainsAny(x, " \t\r\n\x00,;\"") || !strings.Contains(s, x) {
			t.Errorf("%q is %q", s, x)
		}
		if _, err := a.bearer(t.Context(), got); Status(err) != 401 || len(x) > 8 && strings.Contains(err.Error(), x) {
			t.Errorf("%q: %v", s, err)
		}
	})
}
