package live

import (
	"context"
	"sync"

	"github.com/escala-sched/escala/internal/world"
)

// inbox gathers what comes for the loop. Requests wait for their answer, so they are
// bounded by who asks; reports are few and must never block a world.
type inbox struct {
	mu       sync.Mutex
	requests []*request
	reports  []world.Report
	// bell rings when something came.
	bell   chan struct{}
	closed bool
}

// request is a change that somebody asked for.
type request struct {
	do func(*tx) (any, error)
	// before, if set, must be durable before the batch is: it runs once do has succeeded.
	alone bool
	done  chan answer
	value any
	err   error
}

type answer struct {
	value any
	err   error
}

func (in *inbox) init() { in.bell = make(chan struct{}, 1) }

func (in *inbox) ring() {
	select {
	case in.bell <- struct{}{}:
	default:
	}
}

// ask adds a request; false once the loop has gone.
func (in *inbox) ask(r *request) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return false
	}
	in.requests = append(in.requests, r)
	in.ring()
	return true
}

// report takes what a world tells.
func (in *inbox) report(rs ...world.Report) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.reports = append(in.reports, rs...)
		in.ring()
	}
}

// take empties the inbox, of requests no more than most. One that wants to be alone
// comes alone.
func (in *inbox) take(most int) (requests []*request, reports []world.Report) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := min(len(in.requests), most)
	for i := range n {
		if in.requests[i].alone {
			n = max(i, 1)
			break
		}
	}
	requests = in.requests[:n:n]
	if in.requests = in.requests[n:]; len(in.requests) > 0 {
		in.ring()
	} else {
		in.requests = nil
	}
	if n == 1 && requests[0].alone {
		if len(in.reports) > 0 {
			in.ring()
		}
		return requests, nil
	}
	reports, in.reports = in.reports, nil
	return requests, reports
}

// close refuses whatever still waits and whatever comes.
func (in *inbox) close(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	for _, r := range in.requests {
		r.done <- answer{err: err}
	}
	in.requests = nil
}

// change has the loop make a change, and returns once it is on disk.
func change[T any](ctx context.Context, d *Daemon, do func(*tx) (T, error)) (T, error) {
	return ask(ctx, d, &request{do: func(t *tx) (any, error) { return do(t) }, done: make(chan answer, 1)}, *new(T))
}

func ask[T any](ctx context.Context, d *Daemon, r *request, none T) (T, error) {
	if !d.inbox.ask(r) {
		return none, ErrClosed
	}
	select {
	case a := <-r.done:
		if a.err != nil {
			return none, a.err
		}
		return a.value.(T), nil
	case <-ctx.Done():
		return none, ctx.Err() // it may still happen
	}
}
