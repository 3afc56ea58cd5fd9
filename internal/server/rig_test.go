package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/policy/celexpr"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func TestMain(m *testing.M) {
	policy.CompileExpr = celexpr.Compile
	goleak.VerifyTestMain(m)
}

// rig is a server before a daemon and a machine of pretended runs.
type rig struct {
	t       testing.TB
	dir     string
	machine *simworld.Machine
	cfg     live.Config
	rates   Rates
	d       *live.Daemon
	s       *Server
	auth    *auth.Auth
	stop    func()
}

func newRig(t testing.TB, edit func(*rig)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "escala-server")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := policy.Resolve("contract")
	if err != nil {
		t.Fatal(err)
	}
	behave := func(o *world.Order) simworld.Behaviour {
		return simworld.Behaviour{Duration: time.Duration(o.Job%7) * 50 * time.Millisecond}
	}
	r := &rig{t: t, dir: dir, machine: simworld.New(cluster.Uniform("rig", 2, 8), simworld.Options{Behave: behave, Now: time.Now})}
	r.cfg = live.Config{Policy: p, Version: "test", Holder: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Assume: sim.Assumptions{Checkpoint: -1, Grace: workload.Second, StartLatency: 30 * workload.Second}}
	if edit != nil {
		edit(r)
	}
	if r.auth, err = auth.New(auth.Config{Now: time.Now, SubmitTo: auth.SubmitOpen}); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start opens a daemon over what the store has.
func (r *rig) start() {
	r.t.Helper()
	st, err := store.Open(context.Background(), filepath.Join(r.dir, "journal.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Store, r.cfg.World = st, r.machine.Open()
	if r.d, err = live.Open(context.Background(), r.cfg); err != nil {
		r.t.Fatal(err)
	}
	r.s = New(Config{Daemon: r.d, World: r.cfg.World, WorldText: "pretended", Auth: r.auth, Rates: r.rates, Version: "test", Log: r.cfg.Log})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- r.d.Run(ctx) }()
	go func() { r.d.Foresee(ctx); ended <- nil }()
	r.stop = func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
		if err := st.Close(); err != nil {
			r.t.Error(err)
		}
	}
	for ok := false; !ok; ok, _ = r.d.Ready() {
		time.Sleep(time.Millisecond)
	}
}

// as has whoever asks be somebody.
func as(user string, role auth.Role, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := &auth.Identity{User: user, UID: -1, GID: -1, Via: auth.ViaToken, Roles: []auth.Grant{{Role: role}}}
		h.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), id)))
	})
}

// byHeader is a server on TCP where who asks is what the header User says.
func (r *rig) listen(role auth.Role) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		user := q.Header.Get("User")
		if user == "" {
			user = "ana"
		}
		as(user, role, r.s.Handler()).ServeHTTP(w, q)
	}))
	r.t.Cleanup(s.Close)
	return s
}

// call makes a request and returns the answer.
func (r *rig) call(user string, role auth.Role, method, path string, body any) *httptest.ResponseRecorder {
	r.t.Helper()
	var in []byte
	switch b := body.(type) {
	case nil:
	case string:
		in = []byte(b)
	default:
		var err error
		if in, err = json.Marshal(b); err != nil {
			r.t.Fatal(err)
		}
	}
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/api") && !strings.HasSuffix(path, "z") && path != "/" {
		path = "/api/v1" + path
	}
	q := httptest.NewRequest(method, path, bytes.NewReader(in))
	if in != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	as(user, role, r.s.Handler()).ServeHTTP(w, q)
	return w
}

// problem holds that an answer is an error of a kind, in the form of all errors.
func (r *rig) problem(w *httptest.ResponseRecorder, code int, word string) {
	r.t.Helper()
	var p auth.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != code || p.Status != code || !strings.Contains(w.Body.String(), word) || w.Header().Get("Content-Type") != "application/problem+json" {
		r.t.Errorf("answered %d %s %q, want %d and %q: %v", w.Code, w.Header().Get("Content-Type"), w.Body.String(), code, word, err)
	}
}

func gpus(n int32) *api.Submit { return &api.Submit{Need: api.Need{GPUs: n}} }
