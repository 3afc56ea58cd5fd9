package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"github.com/escala-sched/escala/internal/auth"
)

// Rates bound what one user may ask for in a time, so that a loop that went wrong does not keep
// others from theirs. 0 = any number.
type Rates struct {
	// Requests and Jobs, which are those submitted, a second. Bursts of some seconds' worth are let through.
	Requests, Jobs float64
	// Streams are events and logs that are followed at once.
	Streams int
}

// DefaultRates are far above what people and their scripts come to.
func DefaultRates() Rates { return Rates{Requests: 1000, Jobs: 10_000, Streams: 100} }

const (
	// burst is how many seconds' worth may come at once.
	burst = 5
	// mostUsers bounds how many users are remembered.
	mostUsers = 4096
)

// limiter counts by user.
type limiter struct {
	rates Rates
	now   func() time.Time
	mu    sync.Mutex
	users map[string]*usage
}

type usage struct {
	requests, jobs *rate.Limiter
	streams        int
}

func newLimiter(r Rates, now func() time.Time) *limiter {
	return &limiter{rates: r, now: now, users: map[string]*usage{}}
}

func bucket(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond*burst), 1))
}

// of is the usage of a user. The caller holds the lock.
func (l *limiter) of(user string) *usage {
	u := l.users[user]
	if u == nil {
		l.room()
		u = &usage{requests: bucket(l.rates.Requests), jobs: bucket(l.rates.Jobs)}
		l.users[user] = u
	}
	return u
}

// room forgets users who have been quiet, and any that have no streams down to three quarters.
func (l *limiter) room() {
	if len(l.users) < mostUsers {
		return
	}
	now := l.now()
	full := func(b *rate.Limiter) bool { return b.Limit() == rate.Inf || b.TokensAt(now) >= float64(b.Burst()) }
	for k, u := range l.users {
		if u.streams == 0 && full(u.requests) && full(u.jobs) {
			delete(l.users, k)
		}
	}
	for k, u := range l.users {
		if len(l.users) <= mostUsers*3/4 {
			return
		}
		if u.streams == 0 {
			delete(l.users, k)
		}
	}
}

// take takes n from a bucket, or returns how long to wait. What is more than ever fits empties it.
func take(b *rate.Limiter, now time.Time, n int) time.Duration {
	if b.Limit() == rate.Inf {
		return 0
	}
	n = min(n, b.Burst())
	if b.AllowN(now, n) {
		return 0
	}
	return time.Duration((float64(n) - b.TokensAt(now)) / float64(b.Limit()) * float64(time.Second))
}

func (l *limiter) request(user string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return take(l.of(user).requests, l.now(), 1)
}

// jobs takes in that a user submits so many.
func (l *limiter) jobs(user string, n int) error {
	l.mu.Lock()
	wait := take(l.of(user).jobs, l.now(), n)
	l.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	text := fmt.Sprintf("user %s submits more than %g jobs a second", user, l.rates.Jobs)
	return huma.ErrorWithHeaders(huma.NewError(http.StatusTooManyRequests, text), http.Header{"Retry-After": {seconds(wait)}})
}

// stream takes a place for one, if there is one.
func (l *limiter) stream(user string) (end func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of(user)
	if l.rates.Streams > 0 && u.streams >= l.rates.Streams {
		return nil, false
	}
	u.streams++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.streams--
	}, true
}

func seconds(d time.Duration) string {
	return strconv.Itoa(max(int(math.Ceil(d.Seconds())), 1))
}

// streams tells whether the answer of a request lasts until somebody ends it.
func streams(r *http.Request) bool {
	return r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/events") || strings.HasSuffix(r.URL.Path, "/log") && r.URL.Query().Get("follow") != "")
}

// limited lets through what is within the rates.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := auth.FromContext(r.Context())
		if who == nil { // what is open to everybody costs nothing
			next.ServeHTTP(w, r)
			return
		}
		if wait := s.limits.request(who.User); wait > 0 {
			w.Header().Set("Retry-After", seconds(wait))
			writeProblem(w, http.StatusTooManyRequests, fmt.Sprintf("user %s makes more than %g requests a second", who.User, s.cfg.Rates.Requests))
			return
		}
		if streams(r) {
			end, ok := s.limits.stream(who.User)
			if !ok {
				w.Header().Set("Retry-After", "30")
				writeProblem(w, http.StatusTooManyRequests, fmt.Sprintf("user %s follows %d events and logs already", who.User, s.cfg.Rates.Streams))
				return
			}
			defer end()
		}
		next.ServeHTTP(w, r)
	})
}
