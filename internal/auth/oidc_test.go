package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// testKey is a key of an issuer.
type testKey struct {
	id   string
	alg  jose.SignatureAlgorithm
	priv any
	pub  crypto.PublicKey
}

var rsaKeys = sync.OnceValue(func() []*rsa.PrivateKey {
	var out []*rsa.PrivateKey
	for range 2 {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		out = append(out, k)
	}
	return out
})

func rsaKey(id string, n int) testKey {
	k := rsaKeys()[n]
	return testKey{id, jose.RS256, k, &k.PublicKey}
}

func ecKey(id string) testKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return testKey{id, jose.ES256, k, &k.PublicKey}
}

func edKey(id string) testKey {
	pub, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return testKey{id, jose.EdDSA, k, pub}
}

// testIssuer is an OIDC issuer of a few lines.
type testIssuer struct {
	t     *testing.T
	srv   *httptest.Server
	clock *testClock

	mu     sync.Mutex
	keys   []testKey
	down   bool
	noKeys bool
	fetch  int
	// codes are what the code flow gave out: the claims of the token, and PKCE's challenge.
	codes map[string]testCode
}

type testCode struct {
	claims    map[string]any
	challenge string
}

func newIssuer(t *testing.T, clock *testClock, keys ...testKey) *testIssuer {
	s := &testIssuer{t: t, clock: clock, keys: keys, codes: map[string]testCode{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": s.srv.URL, "jwks_uri": s.srv.URL + "/keys", "authorization_endpoint": s.srv.URL + "/auth", "token_endpoint": s.srv.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fetch++
		if s.noKeys {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		var set jose.JSONWebKeySet
		for _, k := range s.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.pub, KeyID: k.id, Algorithm: string(k.alg), Use: "sig"})
		}
		json.NewEncoder(w).Encode(set)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		c, ok := s.codes[r.FormValue("code")]
		delete(s.codes, r.FormValue("code"))
		k := s.keys[0]
		s.mu.Unlock()
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": s.sign(k, c.claims)})
	})
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		down := s.down
		s.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.srv.Close)
	return s
}

func (s *testIssuer) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// claims are good ones, with some changed; nil takes one away.
func (s *testIssuer) claims(changed map[string]any) map[string]any {
	now := s.clock.now()
	c := map[string]any{"iss": s.srv.URL, "sub": "12345", "aud": "escala", "exp": now.Add(5 * time.Minute).Unix(), "iat": now.Unix(), "preferred_username": "ann"}
	for k, v := range changed {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

func (s *testIssuer) sign(k testKey, claims map[string]any) string {
	s.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.alg, Key: k.priv}, (&jose.SignerOptions{}).WithHeader("kid", k.id))
	if err != nil {
		s.t.Fatal(err)
	}
	body, _ := json.Marshal(claims)
	sig, err := signer.Sign(body)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := sig.CompactSerialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func withIssuer(t *testing.T, change func(*Config, *Issuer), keys ...testKey) (*fixture, *testIssuer) {
	t.Helper()
	var s *testIssuer
	f := newFixture(t, func(c *Config) {
		s = newIssuer(t, nil, keys...)
		cfg := Issuer{URL: s.srv.URL, ClientID: "escala"}
		if change != nil {
			change(c, &cfg)
		}
		c.Issuers = []Issuer{cfg}
	})
	s.clock = f.clock
	if err := f.issuers[0].discover(context.Background()); err != nil {
		t.Fatal(err)
	}
	return f, s
}

const anyURL = "http://escala.lab/api/v1/jobs"

func (f *fixture) bearerOf(token string) *httptest.ResponseRecorder {
	f.t.Helper()
	return f.ask(http.MethodGet, anyURL, "Authorization", "Bearer "+token)
}

func TestOIDC(t *testing.T) {
	k, other := rsaKey("k1", 0), rsaKey("k1", 1)
	f, s := withIssuer(t, func(c *Config, i *Issuer) {
		i.Audiences = []string{"escala", "escala-cli"}
		c.Roles.Rules = []RoleRule{{Role: Operator, Groups: []string{"oidc:sre"}}, {Role: Admin, Groups: []string{"wheel"}}}
	}, k, ecKey("k2"), edKey("k3"))
	now := f.clock.now()
	pub, err := x509.MarshalPKIXPublicKey(k.pub)
	if err != nil {
		t.Fatal(err)
	}
	pubPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
	none := func(c map[string]any) string {
		body, _ := json.Marshal(c)
		enc := base64.RawURLEncoding.EncodeToString
		return enc([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + enc(body) + "."
	}
	type m = map[string]any
	for _, c := range []struct {
		name, token string
		status      int
		text        string
	}{
		{"good", s.sign(k, s.claims(nil)), 200, "ann via oidc " + s.srv.URL + ", user"},
		{"ES256", s.sign(s.keys[1], s.claims(nil)), 200, "ann"},
		{"EdDSA", s.sign(s.keys[2], s.claims(nil)), 200, "ann"},
		{"second audience", s.sign(k, s.claims(m{"aud": []string{"x", "escala-cli"}})), 200, "ann"},
		{"groups", s.sign(k, s.claims(m{"groups": []string{"sre"}})), 200, "operator"},
		{"one group", s.sign(k, s.claims(m{"groups": "sre"})), 200, "operator"},
		{"verified email", s.sign(k, s.claims(m{"preferred_username": nil, "email": "ann@lab.org", "email_verified": true})), 200, "ann@lab.org via"},
		{"unverified email", s.sign(k, s.claims(m{"preferred_username": nil, "email": "root@lab.org", "email_verified": false})), 200, "12345 via"},
		{"email of unknown standing", s.sign(k, s.claims(m{"preferred_username": nil, "email": "root@lab.org"})), 200, "12345 via"},
		{"just expired", s.sign(k, s.claims(m{"exp": now.Add(-59 * time.Second).Unix()})), 200, "ann"},
		{"just begun", s.sign(k, s.claims(m{"nbf": now.Add(59 * time.Second).Unix()})), 200, "ann"},

		{"expired", s.sign(k, s.claims(m{"exp": now.Add(-60 * time.Second).Unix()})), 401, "has expired"},
		{"without end", s.sign(k, s.claims(m{"exp": nil})), 401, "does not say when it ends"},
		{"not yet", s.sign(k, s.claims(m{"nbf": now.Add(62 * time.Second).Unix()})), 401, "not good yet"},
		{"made in the future", s.sign(k, s.claims(m{"iat": now.Add(62 * time.Second).Unix()})), 401, "not good yet"},
		{"wrong audience", s.sign(k, s.claims(m{"aud": "other"})), 401, "another service"},
		{"no audience", s.sign(k, s.claims(m{"aud": nil})), 401, "another service"},
		{"wrong issuer", s.sign(k, s.claims(m{"iss": "https://evil"})), 401, "none of ours"},
		{"wrong key", s.sign(other, s.claims(nil)), 401, "signature"},
		{"alg none", none(s.claims(nil)), 401, "signature"},
		{"HS256 with the public key, DER", s.sign(testKey{"k1", jose.HS256, pub, nil}, s.claims(nil)), 401, "signature"},
		{"HS256 with the public key, PEM", s.sign(testKey{"k1", jose.HS256, pubPEM, nil}, s.claims(nil)), 401, "signature"},
		{"RS512", s.sign(testKey{"k1", jose.RS512, k.priv, nil}, s.claims(nil)), 401, "signature"},
		{"PS256", s.sign(testKey{"k1", jose.PS256, k.priv, nil}, s.claims(nil)), 401, "signature"},
		{"group of the machine", s.sign(k, s.claims(m{"groups": []string{"wheel"}})), 200, ", user"},
		{"a name that hides things", s.sign(k, s.claims(m{"preferred_username": "ann\nroot"})), 401, "cannot be the name"},
		{"uid of the machine", s.sign(k, s.claims(m{"preferred_username": "uid:0"})), 401, "those of this machine"},
		{"root of the machine", s.sign(k, s.claims(m{"preferred_username": "root"})), 401, "of this machine"},
		{"logout token", s.sign(k, s.claims(m{"events": m{"http://schemas.openid.net/event/backchannel-logout": m{}}})), 401, "shows nobody"},
		{"no token", "abc", 401, "not known"},
		{"three dots", "a.b.c", 401, "not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := f.bearerOf(c.token)
			if w.Code == http.StatusTooManyRequests {
				f.failed = newFailures(f.clock.now)
				w = f.bearerOf(c.token)
			}
			want(t, w, c.status, c.text)
			if c.name == "group of the machine" && strings.Contains(w.Body.String(), "admin") {
				t.Error("an issuer put somebody into wheel")
			}
			if c.status == 401 && !strings.Contains(w.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Error("no WWW-Authenticate")
			}
			for _, part := range strings.Split(c.token, ".") {
				if len(part) > 10 && strings.Contains(w.Body.String()+f.log.String(), part) {
					t.Error("a part of the token is in an answer or the log")
				}
			}
		})
	}
}

func TestUserClaim(t *testing.T) {
	k := edKey("k")
	for _, c := range []struct {
		issuer Issuer
		claims map[string]any
		want   string
		status int
	}{
		{Issuer{UserClaim: "email"}, map[string]any{"email": "ann@lab.org", "email_verified": "true"}, "ann@lab.org via", 200},
		{Issuer{UserClaim: "email"}, map[string]any{"email": "ann@lab.org"}, "not verified", 401},
		{Issuer{UserClaim: "upn"}, map[string]any{"upn": "ann"}, "ann via", 200},
		{Issuer{UserClaim: "upn"}, nil, "no claim upn", 401},
		{Issuer{UserClaim: "sub", UserPrefix: "sso-"}, nil, "sso-12345 via", 200},
		{Issuer{GroupsClaim: "teams", GroupsPrefix: new(string)}, map[string]any{"teams": []any{"sre", 1, ""}}, "operator", 200},
	} {
		f, s := withIssuer(t, func(cfg *Config, i *Issuer) {
			c.issuer.URL, c.issuer.ClientID = i.URL, i.ClientID
			*i = c.issuer
			cfg.Roles.Rules = []RoleRule{{Role: Operator, Groups: []string{"sre"}}}
		}, k)
		want(t, f.bearerOf(s.sign(k, s.claims(c.claims))), c.status, c.want)
	}
}

func TestKeyRotation(t *testing.T) {
	k1, k2, stray := edKey("k1"), edKey("k2"), edKey("k3")
	f, s := withIssuer(t, nil, k1)
	want(t, f.bearerOf(s.sign(k1, s.claims(nil))), 200, "ann")
	s.set(func() { s.keys = []testKey{k2} })
	want(t, f.bearerOf(s.sign(k2, s.claims(nil))), 200, "ann") // a new key is fetched at once
	// The library forgets the old ones a moment after it has answered.
	waitFor(t, func() bool { return f.bearerOf(s.sign(k1, s.claims(nil))).Code == 401 })

	// Tokens with made-up keys have the keys fetched, but not without end.
	for range 30 {
		f.bearerOf(s.sign(stray, s.claims(nil)))
	}
	s.set(func() {
		if s.fetch > keysBurst {
			t.Errorf("keys were fetched %d times", s.fetch)
		}
	})
	want(t, f.bearerOf(s.sign(k2, s.claims(nil))), 200, "ann")

	// A key that was withdrawn goes at the latest when the issuer is asked again.
	f2, s2 := withIssuer(t, nil, k1)
	want(t, f2.bearerOf(s2.sign(k1, s2.claims(nil))), 200, "ann")
	s2.set(func() { s2.keys = []testKey{k2} })
	if err := f2.issuers[0].discover(context.Background()); err != nil {
		t.Fatal(err)
	}
	want(t, f2.bearerOf(s2.sign(k1, s2.claims(nil))), 401, "signature")
}

func TestIssuerOutOfReach(t *testing.T) {
	k := edKey("k")
	var s *testIssuer
	f := newFixture(t, func(c *Config) {
		s = newIssuer(t, nil, k)
		s.down = true
		c.Issuers = []Issuer{{URL: s.srv.URL, ClientID: "escala"}}
	})
	s.clock = f.clock
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = f.Run(ctx) }()
	defer func() { cancel(); <-done }()

	token := s.sign(k, s.claims(nil))
	w := f.bearerOf(token)
	want(t, w, 503, "cannot be reached")
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	ours := f.token(NewToken{Name: "ci", User: "cat"})
	want(t, f.bearerOf(ours.Reveal()), 200, "cat") // others go on
	waitFor(t, func() bool {
		return strings.Contains(f.log.String(), "cannot be reached") && f.Issuers()[0].Trouble == "it cannot be reached, or is no issuer"
	})
	s.set(func() { s.down = false })
	waitFor(t, func() bool { return f.bearerOf(token).Code == 200 })
	if f.Issuers()[0].Trouble != "" {
		t.Error(f.Issuers())
	}

	// Known keys do without the issuer, unknown ones do not.
	s.set(func() { s.down = true })
	want(t, f.bearerOf(token), 200, "ann")
	for range 10 {
		want(t, f.bearerOf(s.sign(edKey("new"), s.claims(nil))), 503, "cannot be reached")
	}
}

func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for range 500 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come")
}

func TestKeysOutOfReach(t *testing.T) {
	k := edKey("k")
	f, s := withIssuer(t, nil, k)
	s.set(func() { s.noKeys = true })
	want(t, f.bearerOf(s.sign(k, s.claims(nil))), 503, "cannot be reached")
	s.set(func() { s.noKeys = false })
	want(t, f.bearerOf(s.sign(k, s.claims(nil))), 200, "ann")
}

func TestIssuerConfig(t *testing.T) {
	for _, c := range []struct {
		i    Issuer
		want string
	}{
		{Issuer{URL: "http://sso.lab", ClientID: "x"}, "want https"},
		{Issuer{URL: "https://sso.lab"}, "name the audiences"},
		{Issuer{URL: "https://sso.lab", Audiences: []string{""}}, "name the audiences"},
		{Issuer{URL: "https://u:p@sso.lab", ClientID: "x"}, "want an https URL"},
		{Issuer{URL: "https://sso.lab", ClientID: "x", RedirectURL: "http://escala.lab/"}, "redirect_url"},
		{Issuer{URL: "https://sso.lab", Audiences: []string{"x"}, RedirectURL: "https://escala.lab/"}, "client_id"},
		{Issuer{URL: "https://sso.lab", ClientID: "x", UserPrefix: "uid:"}, "user_prefix"},
		{Issuer{URL: "https://sso.lab", ClientID: "x", UserPrefix: "a b"}, "user_prefix"},
	} {
		if _, err := New(Config{Now: time.Now, Issuers: []Issuer{c.i}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.i, err)
		}
	}
	i := Issuer{URL: "https://sso.lab", ClientID: "x"}
	if _, err := New(Config{Now: time.Now, Issuers: []Issuer{i, i}}); err == nil {
		t.Error("twice the same issuer")
	}
}

func TestLoginByCode(t *testing.T) {
	k := edKey("k")
	f, s := withIssuer(t, func(_ *Config, i *Issuer) {
		i.RedirectURL, i.ClientSecret = "https://escala.lab/callback", NewSecret("hush")
	}, k)
	begin := func(to string) (*http.Cookie, url.Values) {
		w := httptest.NewRecorder()
		u, err := f.LoginURL(w, httptest.NewRequest(http.MethodGet, "https://escala.lab/login", nil), s.srv.URL, to)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := url.Parse(u)
		c := w.Result().Cookies()[0]
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || !strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("%+v", c)
		}
		return c, p.Query()
	}
	// give has the issuer give out a code.
	give := func(q url.Values, changed map[string]any) string {
		if q.Get("code_challenge_method") != "S256" || q.Get("redirect_uri") != "https://escala.lab/callback" {
			t.Errorf("%v", q)
		}
		claims := s.claims(map[string]any{"nonce": q.Get("nonce")})
		for k, v := range changed {
			claims[k] = v
		}
		code := "code-" + q.Get("state")[:8]
		s.set(func() { s.codes[code] = testCode{claims, q.Get("code_challenge")} })
		return code
	}
	back := func(c *http.Cookie, q url.Values) (*Identity, string, *httptest.ResponseRecorder, error) {
		r := httptest.NewRequest(http.MethodGet, "https://escala.lab/callback?"+q.Encode(), nil)
		if c != nil {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		id, to, err := f.Callback(w, r)
		return id, to, w, err
	}

	c, q := begin("/ui/jobs?x=1")
	id, to, w, err := back(c, url.Values{"state": {q.Get("state")}, "code": {give(q, nil)}})
	if err != nil || id.User != "ann" || to != "/ui/jobs?x=1" {
		t.Fatal(id, to, err)
	}
	r := httptest.NewRequest(http.MethodGet, "https://escala.lab/api", nil)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge >= 0 {
			r.AddCookie(c)
		}
	}
	want(t, f.send(r), 200, "ann via oidc")
	f.clock.add(sessionMostIssuer)
	want(t, f.send(r), 401, "over")

	fail := func(name, text string, c *http.Cookie, q url.Values) {
		t.Helper()
		_, _, w, err := back(c, q)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range w.Result().Cookies() {
			if strings.Contains(c.Name, sessionCookie) {
				t.Errorf("%s: a session was begun", name)
			}
		}
	}
	c, q = begin("//evil.org")
	code := give(q, nil)
	fail("no cookie", "no login was begun", nil, url.Values{"state": {q.Get("state")}, "code": {code}})
	fail("wrong state", "another login", c, url.Values{"state": {"x"}, "code": {code}})
	other, q2 := begin("/")
	fail("the cookie of another browser", "another login", other, url.Values{"state": {q.Get("state")}, "code": {code}})
	fail("mixed up", "another issuer's", c, url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {"https://evil"}})
	fail("denied", "did not let you in", c, url.Values{"state": {q.Get("state")}, "error": {"access_denied"}})
	fail("somebody else's code", "did not take the code", other, url.Values{"state": {q2.Get("state")}, "code": {code}})
	code = give(q, nil)
	if _, to, _, err = back(c, url.Values{"state": {q.Get("state")}, "code": {code}}); err != nil || to != "/" {
		t.Error(to, err)
	}
	fail("twice", "did not take the code", c, url.Values{"state": {q.Get("state")}, "code": {code}})
	fail("nonce", "nonce", c, url.Values{"state": {q.Get("state")}, "code": {give(q, map[string]any{"nonce": "x"})}})
	fail("audience", "another service", c, url.Values{"state": {q.Get("state")}, "code": {give(q, map[string]any{"aud": "other"})}})
	fail("azp", "another service", c, url.Values{"state": {q.Get("state")}, "code": {give(q, map[string]any{"azp": "other"})}})
	if _, err := f.LoginURL(httptest.NewRecorder(), r, "https://unknown", "/"); Status(err) != 404 {
		t.Error(err)
	}
}

func TestLocalPath(t *testing.T) {
	for s, want := range map[string]string{"/": "/", "/a?b=c#d": "/a?b=c#d", "": "/", "a": "/", "//x": "/", `/\x`: "/", "https://x/": "/", "/a\r\nb": "/"} {
		if got := localPath(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}
