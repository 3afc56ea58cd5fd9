package auth

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// Whatever is formatted in whatever way, no secret comes out; nor does a digest of one out
// of what other packages can hold.
func TestNothingSecretIsFormatted(t *testing.T) {
	k := edKey("k")
	const clientSecret = "hush-hush-client"
	f, s := withIssuer(t, func(_ *Config, i *Issuer) {
		i.RedirectURL, i.ClientSecret = "https://escala.lab/callback", NewSecret(clientSecret)
	}, k)
	token := f.token(NewToken{Name: "ci", User: "ann", Grant: &Grant{Manager, "vision"}})
	id := f.who1(token)
	code, _, err := f.OneTime(id)
	if err != nil {
		t.Fatal(err)
	}
	cookie := f.login(id, "https://escala.lab/login")
	r := httptest.NewRequest(http.MethodGet, "https://escala.lab/api", nil)
	r.AddCookie(cookie)
	inSession, err := f.Authenticate(r)
	if err != nil {
		t.Fatal(err)
	}
	jwt := s.sign(k, s.claims(nil))
	oidcID, err := f.bearer(t.Context(), NewSecret(jwt))
	if err != nil {
		t.Fatal(err)
	}
	_, errWrong := f.bearer(t.Context(), NewSecret("esc_"+strings.Repeat("ab", 32)))
	_, errJWT := f.bearer(t.Context(), NewSecret(jwt[:len(jwt)-4]+"AAAA"))
	l := &login{draw(""), s.srv.URL, "/"}

	secrets := []string{token.Reveal()[len(TokenPrefix):], code.Reveal(), cookie.Value, csrfOf(NewSecret(cookie.Value)), clientSecret, l.secret.Reveal(), strings.Repeat("ab", 32)}
	secrets = append(secrets, strings.Split(jwt, ".")...)
	d := digestOf(token.Reveal())
	var digests []string
	for _, x := range []string{token.Reveal(), code.Reveal(), cookie.Value} {
		d := digestOf(x)
		gs := fmt.Sprintf("%#v", [32]byte(d))
		digests = append(digests, hexOf(d), strings.Trim(fmt.Sprint([32]byte(d)), "[]")[:40], gs[strings.IndexByte(gs, '{')+1:][:40])
	}

	list, err := f.cfg.Tokens.List()
	if err != nil {
		t.Fatal(err)
	}
	type outer struct {
		Public  any
		private any
	}
	exported := []any{
		token, &token, code, f.Auth, f.cfg, &f.cfg, f.cfg.Tokens, list, list[0], id, *id, inSession, *inSession, oidcID, *oidcID,
		f.cfg.Issuers[0], &f.cfg.Issuers[0], f.Issuers(), errWrong, errJWT, &Forbidden{Action: Cancel, User: "x"}, Can(id, Drain, Object{}),
		Object{}, Grant{}, NewToken{}, f.cfg.Roles, Process("x"), Problem{},
	}
	inner := []any{l, *l, f.cfg.Tokens.list[0], &f.cfg.Tokens.list[0], f.issuers[0], f.sessions, inSession.session, f.codes, f.failed, f.people, &d}
	var log strings.Builder
	text, js := slog.New(slog.NewTextHandler(&log, nil)), slog.New(slog.NewJSONHandler(&log, nil))
	check := func(how string, v any, out string, secrets ...string) {
		t.Helper()
		for _, x := range secrets {
			if len(x) > 6 && strings.Contains(out, x) {
				t.Errorf("%s of %T shows a secret: %.300s", how, v, out)
				return
			}
		}
	}
	for n, v := range append(exported, inner...) {
		for i, v := range []any{v, []any{v}, map[string]any{"x": v}, outer{v, nil}, outer{v, v}, &outer{v, v}} {
			hide := secrets
			if n < len(exported) && i < 4 {
				hide = append(hide, digests...)
			}
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				check(verb, v, fmt.Sprintf(verb, v), hide...)
			}
			log.Reset()
			text.Info("x", "v", v)
			check("log", v, log.String(), hide...)
			js.Info("x", "v", v)
			out, _ := json.Marshal(v)
			check("JSON", v, log.String()+string(out), secrets...)
		}
	}
	if out, err := yaml.Marshal(f.cfg.Issuers[0]); err != nil {
		t.Error(err)
	} else {
		check("YAML", f.cfg.Issuers[0], string(out), secrets...)
	}
	check("the log", "", f.log.String(), append(secrets, digests...)...)
}

func TestConfigFromYAML(t *testing.T) {
	var c struct {
		Roles   Roles    `yaml:"roles"`
		Issuers []Issuer `yaml:"issuers"`
	}
	err := yaml.Unmarshal([]byte(`
roles:
  default: viewer
  rules:
    - {role: operator, groups: ["oidc:sre"]}
    - {role: manager, path: language, users: [ana]}
issuers:
  - issuer: https://sso.lab.org
    client_id: escala
    client_secret: hush
    groups_prefix: ""
`), &c)
	if err != nil {
		t.Fatal(err)
	}
	if *c.Roles.Default != Viewer || c.Roles.Rules[1].Path != "language" || c.Issuers[0].ClientSecret.Reveal() != "hush" || c.Issuers[0].GroupsPrefix == nil {
		t.Errorf("%+v", c)
	}
	for _, bad := range []Roles{
		{Rules: []RoleRule{{Role: Manager, Users: []string{"x"}}}},
		{Rules: []RoleRule{{Role: Operator, Path: "/", Users: []string{"x"}}}},
		{Rules: []RoleRule{{Role: Operator}}},
		{Rules: []RoleRule{{Users: []string{"x"}}}},
	} {
		if _, err := New(Config{Now: time.Now, Roles: bad}); err == nil {
			t.Errorf("%+v", bad)
		}
	}
	if _, err := New(Config{Now: time.Now, SubmitTo: "x"}); err == nil {
		t.Error("submit_to")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("no clock")
	}
	var r Role
	if r.UnmarshalText([]byte("king")) == nil {
		t.Error("king")
	}
}
