package server

import (
	"encoding/json"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/escala-sched/escala/internal/auth"
)

// writeProblem answers with an error as RFC 9457 has it.
func writeProblem(w http.ResponseWriter, code int, detail string) {
	body, _ := json.Marshal(auth.Problem{Title: http.StatusText(code), Status: code, Detail: detail})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}

// routed answers what nothing is registered for in the form of all other errors.
func (s *Server) routed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := s.mux.Handler(r)
		if pattern != "" {
			next.ServeHTTP(w, r)
			return
		}
		n := &noted{header: http.Header{}}
		h.ServeHTTP(n, r)
		for k, v := range n.header {
			if k == "Allow" || k == "Location" {
				w.Header()[k] = v
			}
		}
		switch n.code {
		case http.StatusMethodNotAllowed:
			writeProblem(w, n.code, r.Method+" is not what can be done with this; see Allow")
		case http.StatusNotFound, 0:
			writeProblem(w, http.StatusNotFound, "there is nothing at this path; the API is below /api/v1")
		default:
			w.WriteHeader(n.code)
		}
	})
}

// noted is an answer of which only its head counts.
type noted struct {
	header http.Header
	code   int
}

func (n *noted) Header() http.Header         { return n.header }
func (n *noted) Write(b []byte) (int, error) { return len(b), nil }
func (n *noted) WriteHeader(code int)        { n.code = code }

// caught answers a request whose handler has a defect, instead of cutting the connection.
func (s *Server) caught(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch x := recover(); x {
			case nil:
			case http.ErrAbortHandler:
				panic(x) // meant to cut it
			default:
				s.cfg.Log.Error("a request made a handler panic", "method", r.Method, "path", r.URL.Path, "panic", x, "stack", string(debug.Stack()))
				writeProblem(w, http.StatusInternalServerError, "something went wrong here; the log of the daemon says what")
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// patience is how long a client may take to read what is written to it. One that never reads would
// else hold a read of the journal open for ever.
const patience = 30 * time.Second

// hurried ends an answer that nobody reads.
func (s *Server) hurried(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&patient{ResponseWriter: w, rc: http.NewResponseController(w), now: s.d.Now}, r)
	})
}

// patient gives each write a time of its own.
type patient struct {
	http.ResponseWriter
	rc  *http.ResponseController
	now func() time.Time
	set time.Time
}

func (p *patient) extend() {
	if now := p.now(); now.Sub(p.set) > patience/10 {
		p.set = now
		_ = p.rc.SetWriteDeadline(now.Add(patience)) // there is none in tests without a connection
	}
}

func (p *patient) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

// Flush sends what was written so far.
func (p *patient) Flush() {
	p.extend()
	_ = p.rc.Flush() // the next write tells
}

// Unwrap is for [http.ResponseController].
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
