package observe

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Middleware counts requests, and traces those of which a trace is kept. It stands around a
// [http.ServeMux], whose patterns are the routes, inside of what lets people in.
func (m *Metrics) Middleware(next http.Handler, t *Tracer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := m.cfg.Now()
		a := &answer{ResponseWriter: w, now: m.cfg.Now}
		r, end := t.request(r)
		defer func() { // also where the handler breaks the answer off
			if a.code == 0 {
				a.code, a.at = http.StatusOK, m.cfg.Now()
			}
			route := routeOf(r)
			m.requests.WithLabelValues(route, methodOf(r), strconv.Itoa(a.code)).Inc()
			m.answers.WithLabelValues(route).Observe(a.at.Sub(began).Seconds())
			end(route, a.code)
		}()
		next.ServeHTTP(a, r)
	})
}

// routeOf is the pattern that a request matched, without its method.
func routeOf(r *http.Request) string {
	_, path, ok := strings.Cut(r.Pattern, " ")
	switch {
	case r.Pattern == "":
		return others
	case !ok:
		return r.Pattern
	}
	return path
}

// methodOf is the method, as long as it is one of those that exist.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return others
}

// answer notes when an answer began, and with which code.
type answer struct {
	http.ResponseWriter
	now  func() time.Time
	code int
	at   time.Time
}

func (a *answer) begin(code int) {
	if a.code == 0 && code >= 200 {
		a.code, a.at = code, a.now()
	}
}

func (a *answer) WriteHeader(code int) {
	a.begin(code)
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher]: streams ask for it.
func (a *answer) Flush() {
	a.begin(http.StatusOK)
	if f, ok := a.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
