package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
	"github.com/escala-sched/escala/internal/store/pgtest"
)

// newVictim is a daemon that is not started yet, with the file to which its jobs write that they began.
func newVictim(t *testing.T, dir, dsn string) (v *victim, began string) {
	v = &victim{t: t, dir: filepath.Join(dir, "state"), journal: dsn}
	c, err := client.New("unix:"+filepath.Join(v.dir, SocketName), "")
	if err != nil {
		t.Fatal(err)
	}
	v.c = c
	return v, filepath.Join(t.TempDir(), "began")
}

// readyz is what /readyz says.
func (v *victim) readyz() (int, string) {
	var d net.Dialer
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", filepath.Join(v.dir, SocketName))
	}}}
	resp, err := c.Get("http://localhost/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// eventually waits until something is so.
func eventually(t testing.TB, most time.Duration, what string, so func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !so() {
		if time.Since(began) > most {
			t.Fatalf("not within %v: %s", most, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// once submits without trying again.
func (v *victim) once(i int, began string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out api.Submitted
	_, err := v.c.Call(ctx, http.MethodPost, "/jobs", v.body(i, began), &out, http.Header{"Idempotency-Key": {key(i)}})
	return out.ID, err
}

// troubled holds how a daemon behaves whose journal cannot be written.
func (v *victim) troubled(began, word string) {
	t := v.t
	t.Helper()
	for i := range 3 {
		at := time.Now()
		_, err := v.once(1_000_000+i, began)
		var p *client.Problem
		if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || !strings.Contains(p.Error(), word) {
			t.Errorf("a submission is answered %v, want 503 and %q", err, word)
		}
		if took := time.Since(at); took > 8*time.Second {
			t.Errorf("a submission is answered after %v", took)
		}
	}
	for _, path := range []string{"/status", "/jobs", "/queue", "/nodes", "/budgets", "/policy"} {
		at := time.Now()
		var any map[string]any
		if err := v.c.Get(context.Background(), path, &any); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if took := time.Since(at); took > time.Second {
			t.Errorf("%s is answered after %v", path, took)
		}
	}
	if code, text := v.readyz(); code != http.StatusServiceUnavailable || !strings.Contains(text, word) {
		t.Errorf("/readyz says %d: %s", code, text)
	}
}

// The disk under all of its state is full: it says so, what runs goes on, and when there is room again
// so does the rest.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system of its own")
	}
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	defer func() { _ = exec.Command("umount", "-l", dir).Run() }()
	v, began := newVictim(t, dir, "")
	v.start()
	defer func() { v.kill() }()
	taken := make(chan string, 100)
	for i := range 6 {
		taken <- v.submit(t.Context(), i, began)
	}
	ballast := filepath.Join(dir, "ballast")
	fill := func() {
		f, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for size := 1 << 20; size >= 512; size /= 2 {
			for {
				if _, err := f.Write(make([]byte, size)); err != nil {
					break
				}
			}
		}
	}
	fill()
	// There may be room in what SQLite has already.
	for i := 100; ; i++ {
		fill()
		id, err := v.once(i, began)
		if err != nil {
			break
		}
		if taken <- id; i > 190 {
			t.Fatal("the disk does not get full")
		}
	}
	v.troubled(began, "disk full")
	time.Sleep(2 * time.Second) // jobs end meanwhile
	v.troubled(began, "disk full")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	took := eventually(t, 15*time.Second, "ready again", func() bool { code, _ := v.readyz(); return code == http.StatusOK })
	t.Logf("ready %v after there was room", took.Round(10*time.Millisecond))
	for i := range 6 {
		taken <- v.submit(t.Context(), 200+i, began)
	}
	close(taken)
	v.settle(taken, began)
}

// PostgreSQL is killed under load and comes back.
func TestPostgresGone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	p := pgtest.New("")
	if p.Why != "" {
		t.Skip("no PostgreSQL for the tests: " + p.Why)
	}
	defer func() {
		if err := p.Remove(); err != nil {
			t.Error(err)
		}
	}()
	v, began := newVictim(t, t.TempDir(), p.Schema(t))
	v.start()
	defer func() { v.kill() }()
	rounds, away := 1, 4*time.Second
	if soak() > 1 {
		rounds, away = 3, time.Minute
	}
	ctx, cancel := context.WithCancel(t.Context())
	taken, stopped := make(chan string, 1<<16), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ctx.Err() == nil; i++ {
			if id := v.submit(ctx, i, began); id != "" {
				taken <- id
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for range rounds {
		time.Sleep(time.Second)
		p.Kill(syscall.SIGKILL)
		eventually(t, 10*time.Second, "it says that the database is away", func() bool { code, _ := v.readyz(); return code == http.StatusServiceUnavailable })
		v.troubled(began, "database cannot be reached")
		time.Sleep(away)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		took := eventually(t, 15*time.Second, "ready again", func() bool { code, _ := v.readyz(); return code == http.StatusOK })
		t.Logf("ready %v after the database was", took.Round(10*time.Millisecond))
	}
	time.Sleep(time.Second)
	cancel()
	<-stopped
	close(taken)
	v.settle(taken, began)
}
