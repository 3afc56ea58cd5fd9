package daemon

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/client"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/webhook"
	"github.com/escala-sched/escala/internal/world/local"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// safeBuffer is a log that several goroutines write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// served is a daemon of this process.
type served struct {
	t       *testing.T
	c       *client.Client
	log     *safeBuffer
	metrics string
	socket  string
}

func serveHere(t *testing.T, edit func(*Options)) *served {
	t.Helper()
	p, err := policy.Resolve("contract")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &served{t: t, log: &safeBuffer{}, metrics: l.Addr().String()}
	_ = l.Close()
	dir, err := os.MkdirTemp("", "escala") // a short path: sockets have no long ones
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ready := make(chan *Info, 1)
	o := Options{State: filepath.Join(dir, "s"), Pretend: 4, Policy: p, AllowRoot: true, Cgroups: local.CgroupsOff, Version: "test", Now: time.Now,
		Assume: sim.Assumptions{Checkpoint: -1, Grace: 2 * workload.Second, StartLatency: 30 * workload.Second}, Observe: Observe{MetricsListen: x.metrics},
		Log: slog.New(slog.NewJSONHandler(x.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Ready: func(i *Info) { ready <- i }}
	if edit != nil {
		edit(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the daemon ended: %v", err)
		}
	})
	select {
	case i := <-ready:
		x.socket = i.Socket
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(30 * time.Second):
		t.Fatal("the daemon is not ready")
	}
	if x.c, err = client.New("unix:"+x.socket, ""); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *served) get(url string, header ...string) (int, string) {
	x.t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	if len(header) == 2 {
		req.Host = header[1]
	}
	var d net.Dialer
	h := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(url, "http://socket/") {
			return d.DialContext(ctx, "unix", x.socket)
		}
		return d.DialContext(ctx, network, addr)
	}}}
	resp, err := h.Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (x *served) stream(path string) []byte {
	x.t.Helper()
	in, _, err := x.c.Stream(x.t.Context(), http.MethodGet, path, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		x.t.Fatal(err)
	}
	return data
}

// finished submits a job and returns it once it has ended.
func (x *served) finished(s *api.Submit) *api.Job {
	x.t.Helper()
	var done api.Submitted
	if _, err := x.c.Call(x.t.Context(), http.MethodPost, "/jobs", s, &done, nil); err != nil {
		x.t.Fatal(err)
	}
	for range 600 {
		var j api.Job
		if err := x.c.Get(x.t.Context(), "/jobs/"+done.ID, &j); err != nil {
			x.t.Fatal(err)
		}
		if j.Ended != nil {
			return &j
		}
		time.Sleep(50 * time.Millisecond)
	}
	x.t.Fatal("the job does not end")
	return nil
}

// files unpacks a bundle.
func files(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[strings.TrimPrefix(h.Name, "escala-bundle/")], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// What a job runs is seen by nobody: not in logs, metrics, the journal, webhooks, the support bundle.
func TestSecretsStaySecret(t *testing.T) {
	const inEnv, inScript, inArgs, key = "xyzzy-of-the-environment", "xyzzy-of-the-script", "xyzzy-of-the-arguments", "key-of-the-webhook"
	told := &safeBuffer{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(told, r.Body) }))
	defer receiver.Close()
	x := serveHere(t, func(o *Options) {
		hooks, err := webhook.Parse("hooks.yaml", []byte("webhooks: [{name: ci, url: '"+receiver.URL+"/?token=token-of-the-url', secret: "+key+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		o.Observe.Webhooks = hooks
	})
	labels := map[string]string{"mlflow.run_id": "run-17"}
	x.finished(&api.Submit{Name: "scripted", Need: api.Need{GPUs: 1}, Labels: labels, Run: &api.Run{Script: "#!/bin/sh\n# " + inScript + "\necho $SECRET\n", Dir: "/", Env: map[string]string{"SECRET": inEnv}}})
	x.finished(&api.Submit{Name: "fails", Need: api.Need{GPUs: 1}, Run: &api.Run{Command: []string{"/bin/sh", "-c", "exit 3", inArgs}, Dir: "/", Env: map[string]string{"SECRET": inEnv}}})
	x.finished(&api.Submit{Name: "no such program", Need: api.Need{GPUs: 1}, Run: &api.Run{Command: []string{"/no/such/program", inArgs}, Dir: "/"}})
	for range 100 {
		if strings.Count(told.String(), "dev.escala.job.finished") == 3 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	bundled := x.stream("/support-bundle")
	_, metrics := x.get("http://" + x.metrics + "/metrics")
	if !strings.Contains(x.log.String(), `"msg":"a job runs"`) {
		t.Error("the log says nothing of jobs")
	}
	places := map[string]string{"the log": x.log.String(), "the journal": string(x.stream("/journal")), "the metrics": metrics, "the webhooks": told.String()}
	for name, text := range files(t, bundled) {
		places["the bundle's "+name] = string(text)
	}
	token, err := os.ReadFile(auth.FirstToken(filepath.Dir(x.socket)))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range places {
		for _, secret := range []string{inEnv, inScript, inArgs, key, "token-of-the-url"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %q", where, secret)
			}
		}
		if strings.Contains(text, strings.TrimSpace(string(token))) {
			t.Errorf("%s shows the daemon's token", where)
		}
	}
	if !strings.Contains(told.String(), "run-17") || !strings.Contains(told.String(), `"outcome":"failed"`) {
		t.Errorf("the webhook was told %s", told.String())
	}
	for _, want := range []string{`escala_jobs_finished_total{outcome="completed",team=`, "escala_build_info", "go_goroutines", `escala_webhook_delivered_total{hook="ci"}`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// The API serves metrics to who may read the cluster; the address for them alone to who calls it
// by its address.
func TestWhoMayReadMetrics(t *testing.T) {
	x := serveHere(t, func(o *Options) { o.Listen = []string{"127.0.0.1:0"} })
	if code, text := x.get("http://socket/metrics"); code != http.StatusOK || !strings.Contains(text, "escala_installed_gpus 4") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := x.get("http://"+x.metrics+"/metrics", "Host", "evil.example"); code != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %d", code)
	}
	if code, _ := x.get("http://" + x.metrics + "/api/v1/status"); code != http.StatusNotFound {
		t.Errorf("the API answers there: %d", code)
	}
}

// A bundle's journal decides again to the same, and an anonymised bundle names nobody.
func TestBundle(t *testing.T) {
	x := serveHere(t, nil)
	for range 3 {
		x.finished(&api.Submit{Name: "named-by-quixote", Team: "team-of-quixote", Need: api.Need{GPUs: 2}, EstimateSeconds: 60, Labels: map[string]string{"experiment": "label-of-quixote"}, Run: &api.Run{Command: []string{"true"}, Dir: "/"}})
	}
	all := files(t, x.stream("/support-bundle?journal_mib=0"))
	r, err := journal.NewReader("journal.jsonl", bytes.NewReader(all["journal.jsonl"]))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := journal.Replay(r, true); err != nil || got.Decisions == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, name := range []string{"README.txt", "version.json", "config.json", "status.json", "nodes.json", "metrics.txt", "goroutine.txt", "heap.pprof"} {
		if len(all[name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
	coded := files(t, x.stream("/support-bundle?anonymize=true"))
	host, _ := os.Hostname()
	for name, text := range coded {
		for _, who := range []string{"quixote", host} {
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(who) + `\b`).Match(text) {
				t.Errorf("%s of the anonymised bundle names %s", name, who)
			}
		}
	}
	format, _ := trace.Lookup("escala")
	w, err := format.Read(&trace.Input{Name: "trace.jsonl", Data: coded["trace.jsonl"]})
	if err != nil || len(w.Jobs) != 3 || w.Jobs[0].Team != w.Jobs[2].Team {
		t.Errorf("%v, %v", w, err)
	}
}

// systemd hears that the daemon is ready, that it answers, and that it ends.
func TestNotify(t *testing.T) {
	dir, err := os.MkdirTemp("", "escala")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "100000")
	heard := func(want string) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		for b := make([]byte, 100); ; {
			n, err := c.Read(b)
			if err != nil {
				t.Fatalf("%s was not heard: %v", want, err)
			}
			if string(b[:n]) == want {
				return
			}
		}
	}
	t.Run("serve", func(t *testing.T) {
		serveHere(t, nil)
		heard("READY=1")
		heard("WATCHDOG=1")
		heard("WATCHDOG=1")
	})
	heard("STOPPING=1")
}
