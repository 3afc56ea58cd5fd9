package auth

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Token is what is known of a token, without anything that it could be made of.
type Token struct {
	// ID is drawn; Name is what people call it, no two alike.
	ID, Name string
	// User is whose it is.
	User string
	// Grant is the one role that it has; nil = those of its user, as they are at the time.
	Grant *Grant
	// Created, Expires and LastUsed; zero = never.
	Created, Expires, LastUsed time.Time
}

// NewToken says which token is to be made.
type NewToken struct {
	Name, User string
	Grant      *Grant
	Expires    time.Time
}

// Tokens are those of the daemon, in a file of its state directory. Several processes may have it
// open: what one changes the others see at the next look.
type Tokens struct {
	dir string
	now func() time.Time
	mu  sync.Mutex
	// list is what the file said when it was seen.
	list []record
	seen fs.FileInfo
	err  error
	// used are the uses that the file does not know yet.
	used map[string]time.Time
}

// OpenTokens opens the tokens of a state directory. There need not be any.
func OpenTokens(dir string, now func() time.Time) (*Tokens, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	t := &Tokens{dir: dir, now: now, used: map[string]time.Time{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	return t, t.err
}

func (t *Tokens) path() string { return filepath.Join(t.dir, tokensName) }

// String says where the tokens are.
func (t *Tokens) String() string { return "tokens of " + t.dir }

// Format is String: fmt would else print digests.
func (t *Tokens) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// LogValue is String.
func (t *Tokens) LogValue() slog.Value { return slog.StringValue(t.String()) }

// load reads the file anew.
func (t *Tokens) load() {
	list, info, err := readTokens(t.path())
	t.list, t.seen, t.err = list, info, err
}

// look reads the file if it has changed. Where it cannot be used, no token is taken.
func (t *Tokens) look() error {
	info, err := os.Stat(t.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.list, t.seen, t.err = nil, nil, nil
	case err != nil:
		t.list, t.seen, t.err = nil, nil, err
	case t.seen == nil || !os.SameFile(info, t.seen) || info.Size() != t.seen.Size() || !info.ModTime().Equal(t.seen.ModTime()) || info.Mode() != t.seen.Mode():
		t.load()
	}
	if t.err != nil {
		return &Refusal{Status: http.StatusServiceUnavailable, Why: "the token file cannot be used: the log of the server says why", After: time.Minute}
	}
	return nil
}

// Trouble is what keeps tokens from being taken, nil if nothing does.
func (t *Tokens) Trouble() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.look()
	return t.err
}

// identify knows whose token it is.
func (t *Tokens) identify(s Secret) (*Identity, error) {
	want := digestOf(s.Reveal())
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.look(); err != nil {
		return nil, err
	}
	at := -1
	for i := range t.list { // all of them, so that the time it takes says nothing
		if t.list[i].SHA256.is(&want) {
			at = i
		}
	}
	if at < 0 {
		return nil, wrong("this token is not known")
	}
	r, now := &t.list[at], t.now()
	if r.expired(now) {
		return nil, wrong(fmt.Sprintf("the token %s has expired", r.Name))
	}
	t.used[r.ID] = now
	id := &Identity{User: r.User, UID: -1, GID: -1, Via: ViaToken, Token: r.Name, tokenID: r.ID, until: r.Expires}
	if r.Grant != nil {
		id.Roles, id.fixed = []Grant{*r.Grant}, true
	}
	return id, nil
}

func (r *record) expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// still tells whether a token is still good.
func (t *Tokens) still(id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.look(); err != nil {
		return err
	}
	i := slices.IndexFunc(t.list, func(r record) bool { return r.ID == id })
	if i < 0 || t.list[i].expired(t.now()) {
		return wrong("the token was revoked or has expired")
	}
	return nil
}

// change reads the file, has it changed and writes it, while no other process does.
func (t *Tokens) change(f func(list []record) ([]record, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	unlock, err := lockFile(filepath.Join(t.dir, lockName))
	if err != nil {
		return err
	}
	defer unlock()
	if t.load(); t.err != nil {
		return t.err
	}
	list, err := f(slices.Clone(t.list))
	if err != nil {
		return err
	}
	for i := range list {
		if at, ok := t.used[list[i].ID]; ok && at.After(list[i].LastUsed) {
			list[i].LastUsed = at.UTC()
		}
	}
	if err := writeTokens(t.path(), list); err != nil {
		return err
	}
	clear(t.used)
	t.load()
	return t.err
}

// Create makes a token. The secret is told this once.
func (t *Tokens) Create(n NewToken) (Secret, Token, error) {
	s, rec, err := t.draw(n)
	if err != nil {
		return Secret{}, Token{}, err
	}
	err = t.change(func(list []record) ([]record, error) {
		now := t.now()
		list = slices.DeleteFunc(list, func(r record) bool { return r.Name == n.Name && r.expired(now) })
		if slices.ContainsFunc(list, func(r record) bool { return r.Name == n.Name }) {
			return nil, fmt.Errorf("there is a token called %s: give this one another name, or revoke that one first", n.Name)
		}
		if len(list) >= maxTokens {
			return nil, fmt.Errorf("there are %d tokens: revoke some first", len(list))
		}
		return append(list, rec), nil
	})
	if err != nil {
		return Secret{}, Token{}, err
	}
	return s, rec.token(), nil
}

func (t *Tokens) draw(n NewToken) (Secret, record, error) {
	now := t.now().UTC().Truncate(time.Second)
	if err := checkTokenName(n.Name); err != nil {
		return Secret{}, record{}, err
	}
	if err := CheckUser(n.User); err != nil {
		return Secret{}, record{}, err
	}
	if n.Grant != nil {
		if err := n.Grant.check(); err != nil {
			return Secret{}, record{}, err
		}
	}
	if !n.Expires.IsZero() && !now.Before(n.Expires) {
		return Secret{}, record{}, errors.New("the token would have expired already")
	}
	var id [8]byte
	_, _ = rand.Read(id[:])
	s := draw(TokenPrefix)
	r := record{ID: hex.EncodeToString(id[:]), Name: n.Name, SHA256: digestOf(s.Reveal()), User: n.User, Grant: n.Grant, Created: now}
	if !n.Expires.IsZero() {
		r.Expires = n.Expires.UTC()
	}
	return s, r, nil
}

// checkTokenName refuses names that could hide in a list, or that are tokens.
func checkTokenName(name string) error {
	if strings.Contains(name, TokenPrefix) {
		return errors.New("the name of a token cannot look like a token")
	}
	if CheckUser(name) != nil {
		return fmt.Errorf("%q cannot be the name of a token: want letters, digits and _ - . @ +, 100 at most", name)
	}
	return nil
}

func (r *record) token() Token {
	t := Token{ID: r.ID, Name: r.Name, User: r.User, Created: r.Created, Expires: r.Expires, LastUsed: r.LastUsed}
	if r.Grant != nil {
		g := *r.Grant
		t.Grant = &g
	}
	return t
}

// List is what is known of all tokens, in the order in which they were made.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.look(); err != nil {
		return nil, t.err
	}
	out := make([]Token, len(t.list))
	for i := range t.list {
		out[i] = t.list[i].token()
		if at, ok := t.used[out[i].ID]; ok && at.After(out[i].LastUsed) {
			out[i].LastUsed = at
		}
	}
	return out, nil
}

// ErrNoToken says that there is no token of that name.
var ErrNoToken = errors.New("there is no such token")

// Revoke ends a token by its name or its ID, and the sessions that were begun with it.
func (t *Tokens) Revoke(name string) error {
	return t.change(func(list []record) ([]record, error) {
		i := slices.IndexFunc(list, func(r record) bool { return r.Name == name })
		if i < 0 {
			i = slices.IndexFunc(list, func(r record) bool { return r.ID == name })
		}
		if i < 0 {
			return nil, ErrNoToken
		}
		return slices.Delete(list, i, i+1), nil
	})
}

// Flush writes when tokens were last used, if that is not known yet.
func (t *Tokens) Flush() error {
	t.mu.Lock()
	n := len(t.used)
	t.mu.Unlock()
	if n == 0 {
		return nil
	}
	return t.change(func(list []record) ([]record, error) { return list, nil })
}

// FirstToken is where EnsureFirst puts the token of the command line.
func FirstToken(dir string) string { return filepath.Join(dir, firstName) }

// EnsureFirst makes an operator's token for the daemon's user where there is no token file yet,
// and writes it to the file that [FirstToken] names, for the command line on this machine.
func (t *Tokens) EnsureFirst(user string) (made bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	unlock, err := lockFile(filepath.Join(t.dir, lockName))
	if err != nil {
		return false, err
	}
	defer unlock()
	if t.load(); t.err != nil || t.seen != nil {
		return false, t.err
	}
	s, rec, err := t.draw(NewToken{Name: "first", User: user, Grant: &Grant{Role: Operator}})
	if err != nil {
		return false, err
	}
	// The plain one first: without it the other would be of no use, and is not made again.
	if err := writeOwn(FirstToken(t.dir), []byte(s.Reveal()+"\n")); err != nil {
		return false, err
	}
	if err := writeTokens(t.path(), []record{rec}); err != nil {
		return false, err
	}
	t.load()
	return true, t.err
}
