package auth

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/budget"
)

// TestMain also is the client of a socket, where a test starts it as another user.
func TestMain(m *testing.M) {
	if path := os.Getenv("ESCALA_TEST_SOCKET"); path != "" {
		c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}}
		resp, err := c.Get("http://escala/who")
		if err != nil {
			os.Stdout.WriteString("error: " + err.Error())
			os.Exit(0)
		}
		io.Copy(os.Stdout, resp.Body)
		resp.Body.Close()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		os.Exit(code)
	}))
}

// testClock is a clock that tests set.
type testClock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *testClock { return &testClock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// testLog keeps what is logged.
type testLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *testLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// fixture is an Auth with tokens, known as escala.lab.
type fixture struct {
	*Auth
	t     *testing.T
	clock *testClock
	log   *testLog
	tree  *budget.Tree
}

func newFixture(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: newClock(), log: &testLog{}}
	tok, err := OpenTokens(t.TempDir(), f.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Now: f.clock.now, Log: f.log.logger(), Tokens: tok, Hosts: []string{"escala.lab"}, Budgets: func() *budget.Tree { return f.tree }}
	if change != nil {
		change(&cfg)
	}
	if f.Auth, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return f
}

// token makes a token.
func (f *fixture) token(n NewToken) Secret {
	f.t.Helper()
	s, _, err := f.cfg.Tokens.Create(n)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// ask sends a request through the middleware, to a handler that says who is asking.
func (f *fixture) ask(method, url string, headers ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return f.send(r)
}

func (f *fixture) send(r *http.Request) *httptest.ResponseRecorder {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.Middleware(f.who()).ServeHTTP(w, r)
	for k := range w.Header() {
		if strings.HasPrefix(k, "Access-Control-") {
			f.t.Errorf("a CORS header: %s", k)
		}
	}
	return w
}

func (f *fixture) who() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := FromContext(r.Context())
		io.WriteString(w, id.String())
		for _, g := range id.roles() {
			io.WriteString(w, ", "+g.String())
		}
	})
}

func (id *Identity) roles() []Grant {
	if id == nil {
		return nil
	}
	return id.Roles
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, status, text)
	}
}

func tree(t testing.TB, yaml string) *budget.Tree {
	t.Helper()
	b, err := budget.Parse("budgets.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const labYAML = `
name: lab
managers: [dora]
children:
  - name: language
    share: 60
    managers: [ana, ben]
    children:
      - name: pretraining
        share: 70
        budget: {gpuHours: 20000, per: month, carryOver: 50%, onExhaustion: truncate}
        children:
          - {user: eve, share: 50}
          - {user: fay, share: 30}
          - {name: guests, share: 20}
      - {name: alignment, share: 30, managers: [gus], users: [gus, hal]}
  - name: vision
    share: 40
    users: [gus, ida]
credits:
  - {at: 2026-03-01T12:00, account: pretraining, gpuHours: 500, by: dora, reason: a deadline}
`
