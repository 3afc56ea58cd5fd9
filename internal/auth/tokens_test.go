package auth

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func openTokens(t *testing.T, dir string, c *testClock) *Tokens {
	t.Helper()
	tok, err := OpenTokens(dir, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestTokens(t *testing.T) {
	f := newFixture(t, nil)
	clock := f.clock
	s := f.token(NewToken{Name: "ci", User: "cat", Expires: clock.now().Add(time.Hour)})
	if !regexp.MustCompile(`^esc_[0-9a-f]{64}$`).MatchString(s.Reveal()) {
		t.Error(len(s.Reveal()))
	}
	boss := f.token(NewToken{Name: "boss", User: "olga", Grant: &Grant{Role: Operator}})
	part := f.token(NewToken{Name: "part", User: "olga", Grant: &Grant{Manager, "vision"}})
	want(t, f.bearerOf(s.Reveal()), 200, "cat via token ci, user")
	want(t, f.bearerOf(boss.Reveal()), 200, "olga via token boss, operator")
	want(t, f.bearerOf(part.Reveal()), 200, "olga via token part, manager of vision")
	want(t, f.bearerOf(s.Reveal()+"0"), 401, "not known")
	want(t, f.bearerOf("esc_"+strings.Repeat("0", 64)), 401, "not known")

	path := filepath.Join(f.cfg.Tokens.dir, tokensName)
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	if strings.Contains(string(body), s.Reveal()[4:]) {
		t.Error("the file holds a token")
	}
	if _, _, err := f.cfg.Tokens.Create(NewToken{Name: "ci", User: "x"}); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Error(err)
	}
	for _, bad := range []NewToken{
		{Name: "", User: "x"}, {Name: "a b", User: "x"}, {Name: "n", User: ""}, {Name: "esc_1", User: "x"}, {Name: "n", User: "a\nb"},
		{Name: "n", User: "x", Grant: &Grant{}}, {Name: "n", User: "x", Grant: &Grant{Role: Manager}}, {Name: "n", User: "x", Grant: &Grant{Admin, "/"}},
		{Name: "n", User: "x", Expires: clock.now()},
	} {
		if _, _, err := f.cfg.Tokens.Create(bad); err == nil {
			t.Errorf("%+v", bad)
		}
	}

	clock.add(time.Hour)
	want(t, f.bearerOf(s.Reveal()), 401, "ci has expired")
	s = f.token(NewToken{Name: "ci", User: "dan"}) // the name of one that has expired is free
	want(t, f.bearerOf(s.Reveal()), 200, "dan via")
	if err := f.cfg.Tokens.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	want(t, f.bearerOf(s.Reveal()), 401, "not known")
	if err := f.cfg.Tokens.Revoke("ci"); !errors.Is(err, ErrNoToken) {
		t.Error(err)
	}
	list, err := f.cfg.Tokens.List()
	if err != nil || len(list) != 2 || list[0].Name != "boss" || list[0].Created.IsZero() || !list[0].Expires.IsZero() {
		t.Errorf("%+v %v", list, err)
	}
	if err := f.cfg.Tokens.Revoke(list[0].ID); err != nil {
		t.Error(err)
	}
}

// A manager that the budgets name is one with a token of their own, and not with one that was
// given a role.
func TestTokenFollowsItsUser(t *testing.T) {
	f := newFixture(t, nil)
	s := f.token(NewToken{Name: "a", User: "ana"})
	fixed := f.token(NewToken{Name: "b", User: "ana", Grant: &Grant{Role: Viewer}})
	want(t, f.bearerOf(s.Reveal()), 200, "ana via token a, user")
	f.tree = tree(t, labYAML)
	want(t, f.bearerOf(s.Reveal()), 200, "ana via token a, user, manager of language")
	if w := f.bearerOf(fixed.Reveal()); w.Body.String() != "ana via token b, viewer" {
		t.Error(w.Body)
	}
}

func TestTokensOfTwoProcesses(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	a, b := openTokens(t, dir, clock), openTokens(t, dir, clock)
	s, _, err := a.Create(NewToken{Name: "x", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.identify(s); err != nil {
		t.Error("made by another process:", err)
	}
	if err := a.Revoke("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.identify(s); err == nil {
		t.Error("revoked by another process, and still good")
	}
	// The uses that one knows do not bring back what the other has revoked.
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.identify(s); err == nil {
		t.Error("it is back")
	}
	var wg sync.WaitGroup
	for i, tok := range []*Tokens{a, b} {
		wg.Go(func() {
			for k := range 5 {
				if _, _, err := tok.Create(NewToken{Name: "t" + string(rune('a'+i)) + string(rune('0'+k)), User: "ann"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if list, _ := a.List(); len(list) != 10 {
		t.Errorf("%d tokens of 10", len(list))
	}
	if err := os.Remove(a.path()); err != nil {
		t.Fatal(err)
	}
	if list, err := b.List(); err != nil || len(list) != 0 {
		t.Error("the file is gone, and tokens are still good", list, err)
	}
}

func TestLastUsed(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	a := openTokens(t, dir, clock)
	s, _, err := a.Create(NewToken{Name: "x", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	clock.add(time.Minute)
	if _, err := a.identify(s); err != nil {
		t.Fatal(err)
	}
	last := func(t *Tokens) time.Time { l, _ := t.List(); return l[0].LastUsed }
	if !last(a).Equal(clock.now()) || !last(openTokens(t, dir, clock)).IsZero() {
		t.Error("it is kept in memory at first")
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if !last(openTokens(t, dir, clock)).Equal(clock.now()) {
		t.Error("it was not written")
	}
}

func TestTokenFileOfOthers(t *testing.T) {
	f := newFixture(t, nil)
	s := f.token(NewToken{Name: "x", User: "ann"})
	path, dir := f.cfg.Tokens.path(), f.cfg.Tokens.dir
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o606, 0o644} {
		os.Chmod(path, mode)
		want(t, f.bearerOf(s.Reveal()), 503, "cannot be used")
		if _, err := OpenTokens(dir, f.clock.now); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%04o: %v", mode, err)
		}
		if f.cfg.Tokens.Trouble() == nil {
			t.Error("no trouble")
		}
		if _, _, err := f.cfg.Tokens.Create(NewToken{Name: "y", User: "ann"}); err == nil {
			t.Error("written over")
		}
	}
	os.Chmod(path, 0o600)
	want(t, f.bearerOf(s.Reveal()), 200, "ann")
	if os.Getuid() == 0 {
		os.Chown(path, 12345, -1)
		os.Chmod(path, 0o600)
		if _, err := OpenTokens(dir, f.clock.now); err == nil || !strings.Contains(err.Error(), "uid 12345") {
			t.Error(err)
		}
		os.Chown(path, 0, -1)
	}
	good, _ := os.ReadFile(path)
	for _, bad := range []string{"", "{", `{"version":2}`, strings.Replace(string(good), `"sha256": "`, `"sha256": "00`, 1), strings.Replace(string(good), `"user": "ann"`, `"user": ""`, 1)} {
		os.WriteFile(path, []byte(bad), 0o600)
		want(t, f.bearerOf(s.Reveal()), 503, "cannot be used")
	}
	os.Chmod(dir, 0o770)
	if _, err := OpenTokens(dir, f.clock.now); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Error(err)
	}
}

func TestFirstToken(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	a := openTokens(t, dir, clock)
	made, err := a.EnsureFirst("escala")
	if err != nil || !made {
		t.Fatal(made, err)
	}
	info, err := os.Stat(FirstToken(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	body, _ := os.ReadFile(FirstToken(dir))
	id, err := a.identify(NewSecret(strings.TrimSpace(string(body))))
	if err != nil || id.User != "escala" || !slices.Equal(id.Roles, []Grant{{Role: Operator}}) {
		t.Error(id, err)
	}
	if made, err = openTokens(t, dir, clock).EnsureFirst("escala"); made || err != nil {
		t.Error("made twice", err)
	}
	if err := a.Revoke("first"); err != nil {
		t.Fatal(err)
	}
	if made, _ = a.EnsureFirst("escala"); made {
		t.Error("what was revoked came back")
	}
	var file map[string]any
	body, _ = os.ReadFile(a.path())
	if json.Unmarshal(body, &file) != nil || file["version"] != 1.0 {
		t.Error(string(body))
	}
}
