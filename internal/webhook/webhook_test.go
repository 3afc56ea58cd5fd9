package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "0123456789abcdef"

// receiver is what a test has instead of a network.
type receiver struct {
	mu sync.Mutex
	// answer is what it says to the n-th request.
	answer func(n int) (*http.Response, error)
	bodies [][]byte
	events []Event
	taken  []Event
}

func says(code int, header ...string) (*http.Response, error) {
	r := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("thank you"))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r, nil
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if got, want := req.Header.Get(SignatureHeader), sign(key, body); got != want {
		return nil, fmt.Errorf("signature %q, want %q", got, want)
	}
	if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/cloudevents+json; charset=UTF-8" {
		return nil, fmt.Errorf("%s of %s", req.Method, req.Header.Get("Content-Type"))
	}
	var e Event
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.events)
	r.bodies, r.events = append(r.bodies, body), append(r.events, e)
	resp, err := says(http.StatusNoContent)
	if r.answer != nil {
		resp, err = r.answer(n)
	}
	if err == nil && resp.StatusCode/100 == 2 {
		r.taken = append(r.taken, e)
	}
	return resp, err
}

// told lists what was taken, as "type subject".
func (r *receiver) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.taken {
		out = append(out, strings.TrimPrefix(e.Type, prefix)+" "+e.Subject)
	}
	return strings.Join(out, ", ")
}

type rig struct {
	t       *testing.T
	machine *simworld.Machine
	cfg     live.Config
	d       *live.Daemon
	r       *receiver
	s       *Sender
	hook    Hook
	log     bytes.Buffer
	stop    func()
}

func inBubble(t *testing.T, edit func(*rig), test func(r *rig)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Resolve("contract")
		if err != nil {
			t.Fatal(err)
		}
		hooks, err := Parse("hooks.yaml", []byte("webhooks:\n  - {name: ci, url: 'https://ci.example/hook?token=in-the-url', secret: "+key+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, machine: simworld.New(cluster.Uniform("rig", 2, 8), simworld.Options{Now: time.Now}), r: &receiver{}, hook: hooks[0]}
		r.cfg = live.Config{Store: st, Policy: p, Version: "test", Holder: "test", Now: time.Now, Assume: sim.Assumptions{Checkpoint: -1, Grace: 10 * workload.Second}}
		if edit != nil {
			edit(r)
		}
		r.start()
		test(r)
		r.stop()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		for _, secret := range []string{key, "in-the-url"} {
			if strings.Contains(r.log.String(), secret) {
				t.Errorf("the log holds a secret: %s", r.log.String())
			}
		}
	})
}

func (r *rig) start() {
	r.t.Helper()
	r.s = New(Config{Hooks: []Hook{r.hook}, Now: time.Now, Log: slog.New(slog.NewJSONHandler(&r.log, nil)), Version: "test", Transport: r.r})
	r.cfg.World, r.cfg.Observers = r.machine.Open(), []live.Observer{r.s}
	d, err := live.Open(r.t.Context(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.d = d
	ctx, cancel := context.WithCancel(r.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := d.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	all.Go(func() { r.s.Run(ctx, d) })
	r.stop = func() {
		cancel()
		all.Wait()
	}
	synctest.Wait()
}

func (r *rig) submit(team string, gpus int32, labels map[string]string) string {
	r.t.Helper()
	done, err := r.d.Submit(r.t.Context(), &live.Submission{By: "ann", Job: workload.Job{User: "ann", Team: team, Need: workload.Need{GPUs: gpus}, Labels: labels}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.pass()
	return done.ID
}

// pass lets the loop and the hook do what there is to do.
func (r *rig) pass() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func (r *rig) end(job int32, attempt int32) {
	r.machine.End(world.Run{Job: job, Attempt: attempt}, 0)
	r.pass()
}

// TestLifeIsTold: a job that runs, is queued again by an operator, runs again and ends; one that is
// withdrawn while it waits; and what events say of it.
func TestLifeIsTold(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := r.submit("vision", 16, map[string]string{"mlflow.run_id": "m1", "wandb.run": "w1", "experiment": "x", "private": "no", "name": "train"})
		b := r.submit("speech", 16, nil)
		if err := r.d.Requeue(r.t.Context(), 0, "op"); err != nil {
			t.Fatal(err)
		}
		r.pass()
		if _, err := r.d.Cancel(r.t.Context(), []int32{1}, "ann", ""); err != nil {
			t.Fatal(err)
		}
		r.pass()
		r.pass()
		r.end(0, 2)
		r.end(0, 3)
		told := r.r.told()
		for _, want := range []string{"started " + a, "preempted " + a, "finished " + a, "finished " + b} {
			if !strings.Contains(told, want) {
				t.Errorf("%q was not told: %s", want, told)
			}
		}
		ids := map[string]bool{}
		for _, e := range r.r.taken {
			if ids[e.ID] {
				t.Errorf("event %s was told twice", e.ID)
			}
			ids[e.ID] = true
			if e.SpecVersion != "1.0" || e.Source != "/escala/rig" || e.Time.IsZero() || e.Data.User != "ann" {
				t.Errorf("event %+v", e)
			}
			if e.Subject == a && (len(e.Data.Labels) != 3 || e.Data.Labels["private"] != "" || e.Data.Name != "train" || len(e.Data.Nodes) != 2) {
				t.Errorf("data %+v", e.Data)
			}
		}
		if first := r.r.taken[0]; first.Data.Started == nil || first.Data.Started.Before(first.Data.Submitted) || first.Data.Ended != nil {
			t.Errorf("data of the start: %+v", first.Data)
		}
		if bytes.Contains(bytes.Join(r.r.bodies, nil), []byte("private")) {
			t.Error("a label that is nobody's business was told")
		}
	})
}

// TestFilters: by type and team.
func TestFilters(t *testing.T) {
	inBubble(t, func(r *rig) { r.hook.Types, r.hook.Teams = []string{Finished}, []string{"vision"} }, func(r *rig) {
		a := r.submit("vision", 1, nil)
		r.submit("speech", 1, nil)
		r.end(0, 1)
		r.end(1, 1)
		if told := r.r.told(); told != "finished "+a {
			t.Errorf("told %s", told)
		}
	})
}

// TestRestartsLoseNothing: what happens while nobody sends, and while the receiver is down, is told
// later; in its order.
func TestRestartsLoseNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		var want []string
		var down atomic.Bool
		r.r.answer = func(int) (*http.Response, error) {
			if down.Load() {
				return nil, io.ErrUnexpectedEOF
			}
			return says(http.StatusOK)
		}
		for n := range int32(12) {
			down.Store(n%4 >= 2)
			id := r.submit("vision", 1, nil)
			r.end(n, 1)
			want = append(want, "started "+id, "finished "+id)
			if n%3 == 2 {
				r.stop()
				r.start()
			}
		}
		down.Store(false)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		seen := map[string]bool{}
		var got []string
		for _, e := range r.r.taken {
			if !seen[e.ID] {
				got = append(got, strings.TrimPrefix(e.Type, prefix)+" "+e.Subject)
			}
			seen[e.ID] = true
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("told %v\nwant %v", got, want)
		}
		c := r.s.Counts()[0]
		if c.Dropped != 0 || c.Behind != 0 || c.Failed == 0 {
			t.Errorf("counts %+v", c)
		}
	})
}

// TestReceiverThatHangs: the loop goes on, whatever a receiver does.
func TestReceiverThatHangs(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.r.answer = func(int) (*http.Response, error) { time.Sleep(time.Hour); return says(http.StatusOK) }
		began := time.Now()
		for range 5 {
			if _, err := r.d.Submit(r.t.Context(), &live.Submission{By: "ann", Job: workload.Job{User: "ann", Team: "a", Need: workload.Need{GPUs: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("five submissions took %s", d)
		}
		r.r.mu.Lock()
		r.r.answer = nil
		r.r.mu.Unlock()
		time.Sleep(2 * time.Hour)
	})
}

// TestAnswers: redirects are not followed and tried again, what is wrong with an event is not, and
// Retry-After holds.
func TestAnswers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		var at []time.Time
		r.r.answer = func(n int) (*http.Response, error) {
			at = append(at, time.Now())
			switch n {
			case 0:
				return says(http.StatusFound, "Location", "http://169.254.169.254/")
			case 1:
				return says(http.StatusServiceUnavailable, "Retry-After", "77")
			case 2:
				return says(http.StatusUnprocessableEntity)
			}
			return says(http.StatusAccepted)
		}
		id := r.submit("vision", 1, nil)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if len(at) != 3 || at[1].Sub(at[0]) > time.Second || at[2].Sub(at[1]) != 77*time.Second {
			t.Errorf("asked at %v", at)
		}
		if c := r.s.Counts()[0]; c.Dropped != 1 || c.Failed != 3 {
			t.Errorf("counts %+v", c)
		}
		r.end(0, 1)
		if told := r.r.told(); told != "finished "+id {
			t.Errorf("told %s", told)
		}
		if !strings.Contains(r.log.String(), `"an event was given up"`) || !strings.Contains(r.log.String(), `"a webhook works again"`) {
			t.Errorf("log: %s", r.log.String())
		}
	})
}

// TestGivenUp: after a day.
func TestGivenUp(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.r.answer = func(int) (*http.Response, error) { return says(http.StatusUnauthorized) }
		r.submit("vision", 1, nil)
		time.Sleep(giveUp - time.Hour)
		if c := r.s.Counts()[0]; c.Dropped != 0 || c.Failed > 400 {
			t.Errorf("counts %+v", c)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if c := r.s.Counts()[0]; c.Dropped != 1 || c.Behind != 0 {
			t.Errorf("counts %+v", c)
		}
	})
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := "webhooks:\n  - name: a\n    url: http://localhost:1/x\n    secretFile: key\n    types: [started]\n    teams: [vision]\n"
	hooks, err := Parse(filepath.Join(dir, "hooks.yaml"), []byte(ok))
	if err != nil || len(hooks) != 1 || hooks[0].Secret.Reveal() != key {
		t.Fatalf("%v, %v", hooks, err)
	}
	if text := fmt.Sprintf("%+v", hooks); strings.Contains(text, key) {
		t.Errorf("the secret shows: %s", text)
	}
	for _, bad := range []string{
		"webhooks: [{name: A, url: 'http://x', secret: 0123456789abcdef}]",
		"webhooks: [{name: a, url: 'ftp://x', secret: 0123456789abcdef}]",
		"webhooks: [{name: a, url: 'http://', secret: 0123456789abcdef}]",
		"webhooks: [{name: a, url: 'http://u:p@x', secret: 0123456789abcdef}]",
		"webhooks: [{name: a, url: 'http://x', secret: short}]",
		"webhooks: [{name: a, url: 'http://x'}]",
		"webhooks: [{name: a, url: 'http://x', secret: 0123456789abcdef, secretFile: key}]",
		"webhooks: [{name: a, url: 'http://x', secret: 0123456789abcdef, types: [began]}]",
		"webhooks: [{name: a, url: 'http://x', secret: 0123456789abcdef}, {name: a, url: 'http://y', secret: 0123456789abcdef}]",
		"webhooks: [{name: a, url: 'http://x', secret: 0123456789abcdef, colour: red}]",
	} {
		if _, err := Parse(filepath.Join(dir, "hooks.yaml"), []byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
