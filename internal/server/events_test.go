package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/client"
)

// told is one server-sent event.
type told struct {
	ID   int64
	Type string
	Data struct {
		ID, State string
		Why       string
	}
}

// follow listens until the context ends or fn says no.
func follow(ctx context.Context, t testing.TB, url, last string, fn func(told) bool) {
	q, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/events", nil)
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	defer resp.Body.Close()
	e := told{}
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		key, value, _ := strings.Cut(in.Text(), ": ")
		switch key {
		case "id":
			e.ID, _ = strconv.ParseInt(value, 10, 64)
		case "event":
			e.Type = value
		case "data":
			_ = json.Unmarshal([]byte(value), &e.Data)
		case "":
			if !fn(e) {
				return
			}
			e = told{}
		}
	}
}

// hear collects so many events.
func hear(t testing.TB, url, last string, n int, begun func()) (out []told) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	follow(ctx, t, url, last, func(e told) bool {
		if len(out) == 0 && begun != nil {
			begun()
		}
		out = append(out, e)
		return len(out) < n
	})
	if len(out) < n {
		t.Fatalf("%d events came, want %d", len(out), n)
	}
	return out
}

// Who comes back misses nothing, or is told so: also where nothing had happened yet, and after a restart.
func TestEventsGoOn(t *testing.T) {
	r := newRig(t, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		as("ana", auth.User, r.s.Handler()).ServeHTTP(w, q)
	}))
	defer h.Close()
	submit := func() {
		if w := r.call("ana", auth.User, http.MethodPost, "/jobs", &api.Submit{Need: api.Need{GPUs: 16}, Hold: true}); w.Code != http.StatusCreated {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	first := hear(t, h.URL, "", 1, nil)
	if first[0].Type != "beat" || first[0].ID == 0 {
		t.Fatalf("a listener is not told where it begins: %+v", first[0])
	}
	id := strconv.FormatInt(first[0].ID, 10)
	submit()
	submit()
	then := hear(t, h.URL, id, 2, nil) // it heard nothing but the beat, and was away
	if then[0].Type != "change" || then[0].ID != first[0].ID+1 || then[1].ID != first[0].ID+2 {
		t.Errorf("%+v", then)
	}
	id = strconv.FormatInt(then[0].ID, 10)
	if again := hear(t, h.URL, id, 1, nil); again[0].ID != then[1].ID || again[0].Data.ID != then[1].Data.ID {
		t.Errorf("%+v", again)
	}
	for _, id := range []string{id, strconv.FormatInt(then[1].ID, 10)} { // also who missed nothing before it
		r.stop()
		r.start()
		for range 3 {
			submit()
		}
		again := hear(t, h.URL, id, 2, nil)
		if again[0].Type != "reset" || again[1].Type != "beat" || again[1].ID <= then[1].ID {
			t.Errorf("after a restart: %+v", again)
		}
	}
	for _, odd := range []string{"x", "-1", "99999999999999999999", "9223372036854775807"} {
		if again := hear(t, h.URL, odd, 1, nil); again[0].Type != "beat" && again[0].Type != "reset" {
			t.Errorf("Last-Event-ID %q: %+v", odd, again)
		}
	}
}

// A hundred listen, one of whom never reads: that one is dropped, and the others hear all of it in time.
func TestAHundredListen(t *testing.T) {
	r := newRig(t, nil)
	h := httptest.NewUnstartedServer(as("ana", auth.User, r.s.Handler()))
	h.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4096) // so that it is soon seen who does not read
		return ctx
	}
	h.Start()
	defer h.Close()
	const readers = 99
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var begun, late atomic.Int64
	var mu sync.Mutex
	sent := map[string]time.Time{}
	var ends [readers]atomic.Int64
	heard := make([][]int64, readers)
	for i := range readers {
		wg.Go(func() {
			c, err := client.New(h.URL, "")
			if err != nil {
				t.Error(err)
				return
			}
			begin := sync.OnceFunc(func() { begun.Add(1) })
			_ = c.Events(ctx, nil, func(e client.Event) bool {
				begin()
				n, _ := strconv.ParseInt(e.ID, 10, 64)
				ends[i].Store(max(n, ends[i].Load()))
				switch e.Type {
				case "change":
					heard[i] = append(heard[i], n)
					var x struct{ ID string }
					_ = json.Unmarshal(e.Data, &x)
					mu.Lock()
					at, ok := sent[x.ID]
					mu.Unlock()
					if ok && time.Since(at) > time.Duration(late.Load()) {
						late.Store(int64(time.Since(at)))
					}
				case "reset":
					if !strings.Contains(string(e.Data), "too slow") { // it comes back, and catches up
						t.Errorf("listener %d: %s", i, e.Data)
					}
				}
				return true
			})
		})
	}
	stuck, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	_ = stuck.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(stuck, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
	for begun.Load() < readers || r.d.Events().Listeners() < readers+1 {
		time.Sleep(5 * time.Millisecond)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const jobs = 1500
	for i := 0; i < jobs; i += 50 {
		b := api.Batch{Jobs: make([]api.Submit, 50)}
		for k := range b.Jobs {
			b.Jobs[k] = *gpus(1)
		}
		w := r.call("ana", auth.User, http.MethodPost, "/jobs/batch", &b)
		var out api.BatchResult
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
		mu.Lock()
		for _, x := range out.Results {
			sent[x.ID] = time.Now()
		}
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
	wait := time.Now()
	for _, l := r.d.Events(), 0; r.d.Events().Listeners() > readers; {
		if time.Sleep(10 * time.Millisecond); time.Since(wait) > 10*time.Second {
			t.Fatalf("%d still listen", r.d.Events().Listeners()+l)
		}
	}
	last := hear(t, h.URL, "", 1, nil)[0].ID // where everybody has to come
	for n := 0; n < readers; time.Sleep(20 * time.Millisecond) {
		n = 0
		for i := range ends {
			if ends[i].Load() >= last {
				n++
			}
		}
		if time.Since(wait) > 30*time.Second {
			t.Fatalf("only %d of %d have come to the end", n, readers)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	cancel()
	wg.Wait()
	for i, list := range heard {
		if len(list) < jobs {
			t.Fatalf("listener %d heard %d events of %d jobs", i, len(list), jobs)
		}
		for k := 1; k < len(list); k++ {
			if list[k] != list[k-1]+1 {
				t.Fatalf("listener %d heard event %d after %d", i, list[k], list[k-1])
			}
		}
	}
	grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	if grown > 64 {
		t.Errorf("%d MiB more are in use", grown)
	}
	t.Logf("%d listeners heard %d events each, and of a job within %v of its answer; %d MiB more were in use", readers, len(heard[0]), time.Duration(late.Load()).Round(time.Millisecond), grown)
}

// Ten thousand submissions of 200 clients at once.
func TestBurst(t *testing.T) {
	if testing.Short() {
		t.Skip("ten thousand commits' worth")
	}
	r := newRig(t, nil)
	h := r.listen(auth.User)
	const clients, each = 200, 50
	tr := &http.Transport{MaxIdleConnsPerHost: clients}
	defer tr.CloseIdleConnections()
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	var took []time.Duration
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				q, _ := http.NewRequest(http.MethodPost, h.URL+"/api/v1/jobs", strings.NewReader(`{"need":{"gpus":1}}`))
				q.Header.Set("Content-Type", "application/json")
				q.Header.Set("User", fmt.Sprint("u", c%20))
				q.Header.Set("Idempotency-Key", fmt.Sprint(c, "-", i))
				at := time.Now()
				resp, err := tr.RoundTrip(q)
				if err != nil {
					t.Error(err)
					return
				}
				var out api.Submitted
				err = json.NewDecoder(resp.Body).Decode(&out)
				resp.Body.Close()
				mu.Lock()
				if err != nil || resp.StatusCode != http.StatusCreated || seen[out.ID] {
					t.Errorf("%d %v %v", resp.StatusCode, err, out)
				}
				seen[out.ID] = true
				took = append(took, time.Since(at))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	all := time.Since(began)
	slices.Sort(took)
	if len(seen) != clients*each {
		t.Errorf("%d jobs were taken, want %d", len(seen), clients*each)
	}
	t.Logf("%d submissions of %d clients in %v; half within %v, 99 %% within %v", len(seen), clients, all.Round(time.Millisecond), took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond))
}
