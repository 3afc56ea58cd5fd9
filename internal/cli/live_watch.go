package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
)

// Between looks at a job when no event tells of it, and between tries to reach a daemon that
// went away.
const (
	lookEvery  = 2 * time.Second
	retryEvery = time.Second
)

// watch tells on a channel that something happened to jobs, from the event stream; where that
// breaks off whoever listens looks from time to time.
func watch(ctx context.Context, c *conn, concerns func(id string) bool) <-chan struct{} {
	ch := make(chan struct{}, 1)
	ring := func() {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	go func() {
		for ctx.Err() == nil {
			_ = c.Events(ctx, ring, func(e client.Event) bool {
				var x struct{ ID string }
				if json.Unmarshal(e.Data, &x) != nil || x.ID == "" || concerns(x.ID) {
					ring()
				}
				return true
			})
			pause(ctx, retryEvery)
		}
	}()
	return ch
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// getJob asks for a job. A daemon that went away is waited for: what runs goes on without it.
func (s *State) getJob(ctx context.Context, c *conn, id string, seen bool) (*api.Job, error) {
	said := false
	for {
		var j api.Job
		_, err := fetch(ctx, c, "/jobs/"+url.PathEscape(id), nil, &j)
		if err == nil || !seen || !away(err) {
			return &j, err
		}
		if !said {
			said = true
			s.say("The scheduler does not answer; waiting for it. Jobs go on without it.\n")
		}
		if pause(ctx, retryEvery); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// away tells whether an error is of a daemon that is gone for a while.
func away(err error) bool {
	var gone *client.Unreachable
	var p *client.Problem
	return errors.As(err, &gone) || errors.As(err, &p) && p.Status == http.StatusServiceUnavailable
}

// notFound tells whether an error is of something that does not exist.
func notFound(err error) bool {
	var p *client.Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// over tells whether a job has come to its end.
func over(j *api.Job) bool { return j.Ended != nil || j.State == "refused" }

// jobCode is the exit code that stands for the end of a job: its own where it has one that
// says that it did not complete.
func jobCode(j *api.Job) int {
	switch {
	case j.State == "completed":
		return exitOK
	case j.State == "timeout":
		return exitTimeout
	case j.Exit != nil && *j.Exit > 0 && *j.Exit < 256:
		return int(*j.Exit)
	case j.State == "cancelled":
		return exitInterrupted
	case j.State == "refused":
		return exitBadInput
	}
	return exitInternal
}
