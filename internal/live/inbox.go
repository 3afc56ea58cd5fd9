package live

import (
	"context"
	"sync"

	"github.com/escala-sched/escala/fact"
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
	// refused is why no requests are taken for now, nil = they are.
	refused error
	// room is how many reports there may be before they are thinned out.
	room int
}

const (
	// mostWaiting bounds the requests that wait for the loop.
	mostWaiting = 1 << 16
	// thinFrom is how many reports may wait before those that later ones make void are left out.
	thinFrom = 4096
)

// request is a change that somebody asked for.
type request struct {
	do func(*tx) (any, error)
	// alone: in a batch of its own.
	alone bool
	// reads: it changes nothing.
	reads bool
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

// ask adds a request, or says why it is not taken.
func (in *inbox) ask(r *request) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		return ErrClosed
	case in.refused != nil:
		return in.refused
	case len(in.requests) >= mostWaiting:
		return &Busy{"too many changes wait to be made"}
	}
	in.requests = append(in.requests, r)
	in.ring()
	return nil
}

// refuse takes no requests from now on, and answers those that wait; nil = take them again.
func (in *inbox) refuse(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.refused = err; err == nil {
		return
	}
	for _, r := range in.requests {
		r.answer(nil, err)
	}
	in.requests = nil
}

// report takes what a world tells.
func (in *inbox) report(rs ...world.Report) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.reports = append(in.reports, rs...)
		if len(in.reports) > max(in.room, thinFrom) {
			in.reports = thin(in.reports)
			in.room = 2 * len(in.reports)
		}
		in.ring()
	}
}

// thin leaves out what later reports make void, and what was told before: while nothing can be
// written reports may pile up, and what is left is no more than a few for each run and node.
func thin(list []world.Report) []world.Report {
	type about struct {
		kind fact.Kind
		run  world.Run
		node int32
		id   string
	}
	state := func(r *world.Report) (about, bool) {
		switch r.Kind {
		case fact.NodeDown, fact.NodeUp:
			return about{kind: fact.NodeDown, node: r.Node}, true
		case fact.NodeDrained, fact.NodeResumed:
			return about{kind: fact.NodeDrained, node: r.Node}, true
		case fact.JobHeld, fact.JobReleased:
			return about{kind: fact.JobHeld, id: r.ID}, true
		case fact.JobAdopted, fact.JobEdited, fact.JobObserved:
			return about{kind: r.Kind, id: r.ID}, true
		case fact.LostSight, fact.Found:
			return about{kind: fact.Found, run: r.Run}, true
		case fact.SessionIdle, fact.SessionActive:
			return about{kind: fact.SessionIdle, run: r.Run}, true
		case fact.JobCheckpointed:
			return about{kind: r.Kind, run: r.Run}, true
		}
		return about{kind: r.Kind, run: r.Run, node: r.Node, id: r.ID}, false
	}
	keep := map[about]int{}
	for i := range list {
		k, last := state(&list[i])
		if _, told := keep[k]; last || !told { // of states the last counts, of all else the first
			keep[k] = i
		}
	}
	out := make([]world.Report, 0, len(keep))
	for i := range list {
		if k, _ := state(&list[i]); keep[k] == i {
			out = append(out, list[i])
		}
	}
	return out
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
		r.answer(nil, err)
	}
	in.requests = nil
}

// answer tells what became of a request. Of several answers the first counts.
func (r *request) answer(value any, err error) {
	select {
	case r.done <- answer{value, err}: // there is room for one
	default:
	}
}

// change has the loop make a change, and returns once it is on disk.
func change[T any](ctx context.Context, d *Daemon, do func(*tx) (T, error)) (T, error) {
	return ask(ctx, d, &request{do: func(t *tx) (any, error) { return do(t) }, done: make(chan answer, 1)}, *new(T))
}

// read has the loop look, and returns what it saw once that is on disk. [ErrUnavailable] as soon as it is known
// that this may take time.
func read[T any](ctx context.Context, d *Daemon, do func() T) (T, error) {
	return ask(ctx, d, &request{reads: true, do: func(*tx) (any, error) { return do(), nil }, done: make(chan answer, 1)}, *new(T))
}

func ask[T any](ctx context.Context, d *Daemon, r *request, none T) (T, error) {
	if err := d.inbox.ask(r); err != nil {
		return none, err
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
