package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
)

// hostile are bodies that somebody might send who means no good, or errs.
func hostile() []string {
	return []string{"", "{}", "[]", "null", "0", `"x"`, "{", "\xff\xfe", `{"need":{"gpus":1}}`, `{"need":{"gpus":-1}}`, `{"need":{"gpus":1e99}}`, `{"need":{"gpus":1.5}}`,
		`{"need":{"gpus":"\ud800"}}`, `{"need":null,"contract":null,"after":null,"labels":null,"run":null}`, `{"need":{"gpus":1},"array":[2147483647,-2147483648]}`, `{"need":{"gpus":1},"array":[1,1]}`,
		`{"need":{"tasks":1000000,"gpus":1000000}}`, `{"need":{"gpus":1,"gpu_milli":999,"min_tasks":5,"max_tasks":2}}`, `{"need":{"gpus":1},"deadline":"0001-01-01T00:00:00Z","begin":"9999-12-31T23:59:59Z"}`,
		`{"need":{"gpus":1},"after":[{"job":"1"},{"job":"999999999999"},{"job":"\u0000"}]}`, `{"need":{"gpus":1},"labels":{"escala.retries":"9","":""}}`, `{"need":{"gpus":1},"name":"` + strings.Repeat("\u202e", 100) + `"}`,
		`{"need":{"gpus":1,"within":"nowhere","nodes":["x"],"gpu_types":["|"]}}`, `{"jobs":[]}`, `{"jobs":[{},{"need":{"gpus":1}},null]}`, `{"text":"` + strings.Repeat("x", 100_000) + `"}`,
		`{"name":"x","yaml":"` + strings.Repeat("a: &a [*a]\\n", 50) + `"}`, `{"name":"../../etc/passwd"}`, `{"name":"contract","yaml":"name: x\norder:\n  - expr: \"1/0\"\n"}`, `{"name":"contract"}`,
		`{"yaml":"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"}`,
		strings.Repeat("[", 100_000), strings.Repeat(`{"need":`, 20_000), `{"need":{"gpus":1},"need":{"gpus":2}}`, strings.Repeat(" ", 100_000) + "{}"}
}

// everything is each operation of the API, with places filled in.
func everything(s *Server) (out [][2]string) {
	for path, item := range s.api.OpenAPI().Paths {
		for method, o := range map[string]any{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "DELETE": item.Delete, "PATCH": item.Patch} {
			if fmt.Sprint(o) == "<nil>" {
				continue
			}
			for _, id := range []string{"1", "nothing", "%00", "..%2f..", "rig-0"} {
				p := path
				for i := strings.Index(p, "{"); i >= 0; i = strings.Index(p, "{") {
					p = p[:i] + id + p[i+strings.Index(p[i:], "}")+1:]
				}
				out = append(out, [2]string{method, p})
			}
		}
	}
	return append(out, [2]string{"GET", "/healthz"}, [2]string{"GET", "/readyz"}, [2]string{"GET", "/"}, [2]string{"BREW", "/api/v1/jobs"}, [2]string{"GET", "//api/v1/../v1/jobs"}, [2]string{"OPTIONS", "*"})
}

// thrower makes requests, and holds how they are answered.
type thrower struct {
	*rig
	h http.Handler
}

func newThrower(t testing.TB) *thrower {
	r := newRig(t, func(r *rig) {
		r.rates = Rates{}
		r.cfg.Limits = live.Limits{Alive: 500}
	})
	return &thrower{r, r.s.Handler()}
}

func (x *thrower) throw(t testing.TB, method, target, header, body string) {
	q, err := http.NewRequest(method, "http://localhost", strings.NewReader(body))
	if err != nil {
		return // not one that could be sent
	}
	u, err := q.URL.Parse(target)
	if err != nil {
		return
	}
	q.URL, q.RequestURI = u, target
	q.Header.Set("Content-Type", "application/json")
	for line := range strings.SplitSeq(header, "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok {
			q.Header[http.CanonicalHeaderKey(strings.TrimSpace(k))] = []string{strings.TrimSpace(v)}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond) // streams go on as long as somebody listens
	defer cancel()
	w := httptest.NewRecorder()
	began := time.Now()
	as("ana", auth.Role(len(body)%int(auth.Operator+1)), x.h).ServeHTTP(w, q.WithContext(ctx))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("%s %q was answered after %v", method, target, took)
	}
	switch {
	case w.Code == http.StatusInternalServerError, w.Code < 200, w.Code > 599:
		t.Errorf("%s %q %q: %d %.300s", method, target, body[:min(len(body), 200)], w.Code, w.Body)
	case w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" && !strings.HasSuffix(u.Path, "z"):
		t.Errorf("%s %q is answered %d %s %.200q", method, target, w.Code, w.Header().Get("Content-Type"), w.Body)
	case w.Body.Len() > 32<<20:
		t.Errorf("%s %q is answered with %d bytes", method, target, w.Body.Len())
	}
}

// Whatever is sent to whatever there is: an answer that says what is wrong, soon, and never a 500.
func TestHostileRequests(t *testing.T) {
	x := newThrower(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for _, o := range everything(x.s) {
		if strings.HasSuffix(o[1], "/events") {
			continue // it lasts
		}
		for i, body := range hostile() {
			if o[0] == "GET" && i > 2 {
				break
			}
			query := []string{"", "?limit=-1&cursor=%ff&state=x&since=never", "?limit=1000&state=ended&state=alive&from=9223372036854775807&attempt=99"}[n%3]
			header := []string{"", "If-Match: \"x\"\nIdempotency-Key: " + strings.Repeat("k", 300), "Content-Type: text/plain", "Accept: image/png\nContent-Type: application/cbor", "Content-Encoding: gzip"}[n%5]
			x.throw(t, o[0], o[1]+query, header, body)
			n++
		}
	}
	x.throw(t, "POST", "/api/v1/jobs", "", `{"name":"`+strings.Repeat("x", maxBody)+`"}`)
	x.throw(t, "POST", "/api/v1/jobs/batch", "", `{"jobs":[`+strings.Repeat("{},", 50_000)+`{}]}`)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; grown > 64 {
		t.Errorf("%d MiB more are in use", grown)
	}
	if err := x.d.Ping(t.Context()); err != nil {
		t.Errorf("the loop does not answer: %v", err)
	}
	t.Logf("%d requests", n)
}

func FuzzHandler(f *testing.F) {
	x := newThrower(f)
	for i, o := range everything(x.s) {
		f.Add(o[0], o[1], "", hostile()[i%len(hostile())])
	}
	f.Add("GET", "/api/v1/jobs?limit=5&cursor=7", "Accept: text/html", "")
	f.Add("PUT", "/api/v1/policy", `If-Match: "abc"`, `{"name":"fifo"}`)
	f.Fuzz(func(t *testing.T, method, target, header, body string) { x.throw(t, method, target, header, body) })
}

// On a real connection: what never ends or is no HTTP is cut off, and others are served meanwhile.
func TestHostileConnections(t *testing.T) {
	r := newRig(t, nil)
	h := httptest.NewUnstartedServer(as("ana", auth.User, r.s.Handler()))
	h.Config.ReadHeaderTimeout, h.Config.ReadTimeout, h.Config.MaxHeaderBytes = 300*time.Millisecond, time.Second, 64<<10
	h.Start()
	defer h.Close()
	const each = 50
	gone := make(chan string, 10*each)
	dial := func(what string, write func(c net.Conn)) {
		c, err := net.Dial("tcp", h.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			write(c)
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
				what += " (it is not cut off)"
			}
			gone <- what
		}()
	}
	for range each {
		dial("nothing", func(net.Conn) {})
		dial("slow head", func(c net.Conn) {
			for _, b := range []byte("GET /api/v1/status HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 1000)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		dial("slow body", func(c net.Conn) {
			fmt.Fprintf(c, "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		})
		dial("no HTTP", func(c net.Conn) { fmt.Fprintf(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") })
		dial("long head", func(c net.Conn) {
			fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 1<<20))
		})
		dial("two lengths", func(c net.Conn) {
			fmt.Fprintf(c, "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		})
	}
	for range 20 {
		began := time.Now()
		resp, err := http.Get(h.URL + "/api/v1/status")
		if err != nil || resp.StatusCode != http.StatusOK || time.Since(began) > 2*time.Second {
			t.Fatalf("others are not served: %v after %v", err, time.Since(began))
		}
		resp.Body.Close()
		time.Sleep(20 * time.Millisecond)
	}
	http.DefaultClient.CloseIdleConnections()
	for range 6 * each {
		select {
		case what := <-gone:
			if strings.Contains(what, "not cut off") {
				t.Error(what)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("connections are not cut off")
		}
	}
}
