package server

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
)

// A user who asks for too much is told when to come back, and others are served.
func TestRates(t *testing.T) {
	r := newRig(t, func(r *rig) { r.rates = Rates{Requests: 2, Jobs: 10, Streams: 2} })
	for i := range 30 {
		w := r.call("ana", auth.User, http.MethodGet, "/status", nil)
		if i < 2*burst && w.Code != http.StatusOK {
			t.Errorf("request %d: %d", i, w.Code)
		}
		if i > 3*burst {
			r.problem(w, http.StatusTooManyRequests, "more than 2 requests a second")
			if w.Header().Get("Retry-After") != "1" {
				t.Errorf("Retry-After: %q", w.Header().Get("Retry-After"))
			}
		}
	}
	if w := r.call("eva", auth.User, http.MethodGet, "/status", nil); w.Code != http.StatusOK {
		t.Errorf("another user: %d", w.Code)
	}
	big := &api.Submit{Need: api.Need{GPUs: 1}}
	for i := range int32(10 * burst) {
		big.Indices = append(big.Indices, i)
	}
	if w := r.call("ida", auth.User, http.MethodPost, "/jobs", big); w.Code != http.StatusCreated {
		t.Errorf("an array within the rate: %d %s", w.Code, w.Body)
	}
	w := r.call("ida", auth.User, http.MethodPost, "/jobs", big)
	r.problem(w, http.StatusTooManyRequests, "more than 10 jobs a second")
	w = r.call("ida", auth.User, http.MethodPost, "/jobs/batch", api.Batch{Jobs: []api.Submit{*big}})
	r.problem(w, http.StatusTooManyRequests, "more than 10 jobs a second")
}

func TestStreamsAreCounted(t *testing.T) {
	r := newRig(t, func(r *rig) { r.rates = Rates{Streams: 2} })
	s := r.listen(auth.User)
	ctx, cancel := context.WithCancel(t.Context())
	open := func(user string) int {
		q, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/events", nil)
		q.Header.Set("User", user)
		resp, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	if a, b, c, d := open("ana"), open("ana"), open("ana"), open("eva"); a != 200 || b != 200 || c != 429 || d != 200 {
		t.Error(a, b, c, d)
	}
	cancel()
	for range 200 { // both are gone
		if time.Sleep(10 * time.Millisecond); r.d.Events().Listeners() == 0 {
			break
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	if a := open("ana"); a != 200 {
		t.Error(a)
	}
	cancel()
}

// Users are forgotten before they are too many, and those who follow something are not.
func TestTheLimiterIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLimiter(DefaultRates(), func() time.Time { return now })
	if _, ok := l.stream("follower"); !ok {
		t.Fatal("no stream")
	}
	for i := range 3 * mostUsers {
		if wait := l.request(fmt.Sprint("u", i)); wait > 0 {
			t.Fatal(wait)
		}
	}
	if n := len(l.users); n > mostUsers {
		t.Errorf("%d users are remembered", n)
	}
	if l.users["follower"].streams != 1 {
		t.Error("a stream was forgotten")
	}
}

func TestNoSuchPath(t *testing.T) {
	r := newRig(t, nil)
	r.problem(r.call("ana", auth.User, http.MethodGet, "/nowhere", nil), http.StatusNotFound, "below /api/v1")
	w := r.call("ana", auth.User, http.MethodDelete, "/jobs", nil)
	r.problem(w, http.StatusMethodNotAllowed, "see Allow")
	if w.Header().Get("Allow") == "" {
		t.Error("Allow is missing")
	}
}
