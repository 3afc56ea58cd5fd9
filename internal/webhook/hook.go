package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
)

const (
	// gather is how long events are gathered before the journal is looked at.
	gather = 200 * time.Millisecond
	// saveEvery is how often the position is written while events go out; every saveAfter batches it
	// is, too.
	saveEvery, saveAfter = 2 * time.Second, 1000
	// atOnce is how many lines are taken from the journal at once, and the rest of their batch.
	atOnce = 256
)

// hook is a receiver at work.
type hook struct {
	Hook
	s      *Sender
	client *http.Client
	now    func() time.Time
	log    *slog.Logger
	agent  string
	bell   chan struct{}

	delivered, failed, dropped atomic.Int64
	// at is the last batch of which everything was told.
	at atomic.Int64
	// version of the document that says so, saved what it says and since when.
	version, saved int64
	savedAt        time.Time
	// failing: the last delivery did not work.
	failing bool
}

// position is what the store keeps of a hook.
type position struct {
	Batch int64 `json:"batch"`
}

func (h *hook) doc() string { return "webhook/" + h.Name }

// run tells everything from the remembered position on, until the context ends.
func (h *hook) run(ctx context.Context, d *live.Daemon, at *site) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := h.load(ctx, d)
		if err == nil {
			break
		}
		h.log.Error("where a webhook was cannot be read; trying again", "err", err)
		if !sleep(ctx, wait) {
			return
		}
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		h.save(last, d)
	}()
	for wait := time.Second; ; {
		more, err := h.step(ctx, d, at)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.log.Error("the journal cannot be read for a webhook; trying again", "err", err)
			if !sleep(ctx, wait) {
				return
			}
			wait = min(2*wait, time.Minute)
			continue
		}
		if wait = time.Second; more {
			continue
		}
		idle := time.NewTimer(saveEvery)
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-h.bell:
			idle.Stop()
			if !sleep(ctx, gather) {
				return
			}
		case <-idle.C:
			if h.at.Load() != h.saved {
				h.save(ctx, d)
			} else if !h.quiet(ctx) {
				return
			}
		}
	}
}

// quiet waits for the bell; false = the context ended.
func (h *hook) quiet(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-h.bell:
		return sleep(ctx, gather)
	}
}

// step takes some lines of the journal and tells their events; more = there are others.
func (h *hook) step(ctx context.Context, d *live.Daemon, at *site) (more bool, err error) {
	lines, last, err := h.take(ctx, d)
	if err != nil {
		return false, err
	}
	for i := range lines {
		j, err := d.Find(ctx, lines[i].Job)
		if errors.Is(err, store.ErrNotFound) { // so old that nobody knows it any more
			h.dropped.Add(1)
			continue
		}
		if err != nil {
			return false, err
		}
		kind, e := at.eventOf(&lines[i], &j)
		if e == nil || !h.wants(kind, e.Data.Team) {
			continue
		}
		body, err := json.Marshal(e)
		if err != nil {
			return false, err
		}
		if !h.deliver(ctx, e, body) {
			return false, ctx.Err()
		}
	}
	more = last > h.at.Load()
	h.at.Store(last)
	if now := h.now(); last-h.saved >= saveAfter || len(lines) > 0 && now.Sub(h.savedAt) >= saveEvery {
		h.save(ctx, d)
	}
	return more, nil
}

// errFull ends a reading of the journal early.
var errFull = errors.New("that is enough")

// take reads lines behind the position, and tells the last batch that was looked at.
func (h *hook) take(ctx context.Context, d *live.Daemon) (lines []entryLine, last int64, err error) {
	last = h.at.Load()
	err = d.Store().Read(ctx, last+1, func(b *store.Batch) error {
		list, err := linesOf(b)
		if err != nil {
			return err
		}
		lines, last = append(lines, list...), b.Seq
		if len(lines) >= atOnce {
			return errFull
		}
		return nil
	})
	switch {
	case errors.Is(err, errFull):
		err = nil
	case errors.Is(err, store.ErrDropped):
		list, err := d.Store().Segments(ctx)
		if err != nil || len(list) == 0 {
			return nil, last, err
		}
		h.log.Warn("events of a webhook are lost: the journal was shortened before they were told", "from", last+1, "to", list[0].First-1)
		h.dropped.Add(1)
		return nil, list[0].First - 1, nil
	}
	return lines, last, err
}

func (h *hook) wants(kind, team string) bool {
	return (len(h.Types) == 0 || slices.Contains(h.Types, kind)) && (len(h.Teams) == 0 || slices.Contains(h.Teams, team))
}

// load reads the position; a hook that is new begins with what comes.
func (h *hook) load(ctx context.Context, d *live.Daemon) error {
	version, body, err := d.Store().Doc(ctx, h.doc())
	if err != nil {
		return err
	}
	var p position
	if h.version = version; version > 0 {
		err = json.Unmarshal(body, &p)
	} else {
		var head store.Head
		head, err = d.Head(ctx)
		p.Batch = head.Seq
	}
	if err != nil {
		return err
	}
	h.at.Store(p.Batch)
	h.saved, h.savedAt = p.Batch, h.now()
	if version == 0 {
		h.saved = -1
		h.save(ctx, d)
	}
	return nil
}

// save writes the position.
func (h *hook) save(ctx context.Context, d *live.Daemon) {
	at := h.at.Load()
	if at == h.saved {
		return
	}
	body, _ := json.Marshal(position{at})
	v, err := d.Store().PutDoc(ctx, h.doc(), h.version, body)
	if errors.Is(err, store.ErrConflict) {
		if h.version, _, err = d.Store().Doc(ctx, h.doc()); err == nil {
			v, err = d.Store().PutDoc(ctx, h.doc(), h.version, body)
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			h.log.Warn("where a webhook is could not be written: its last events may be told again after a restart", "err", err)
		}
		return
	}
	h.version, h.saved, h.savedAt = v, at, h.now()
}

// sleep waits; false = the context ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
