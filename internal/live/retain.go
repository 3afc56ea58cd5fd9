package live

import (
	"context"
	"time"

	"github.com/escala-sched/escala/workload"
)

// Retention says how long things are kept; 0 = for ever.
type Retention struct {
	// Journal is how long every line is kept. What-if and replay reach back as far. What is older
	// goes segment by segment; the ledger by hour stays.
	Journal time.Duration
	// History is how long ended jobs can be looked up.
	History time.Duration
}

// retainEvery is how often it is looked for what is too old.
const retainEvery = time.Hour

// Retain drops what is older than it has to be kept, until the context ends. A segment is dropped
// once all of it is too old, and never the last one: the state rests on that.
func (d *Daemon) Retain(ctx context.Context, keep Retention) {
	for {
		if err := d.retain(ctx, keep); err != nil && ctx.Err() == nil {
			d.log.Error("dropping what is too old failed; it is tried again in an hour", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.done:
			return
		case <-time.After(retainEvery):
		}
	}
}

func (d *Daemon) retain(ctx context.Context, keep Retention) error {
	now := d.clock.of(d.cfg.Now())
	before := func(k time.Duration) workload.Time { return now - k.Milliseconds() }
	if keep.Journal > 0 {
		list, err := d.cfg.Store.Segments(ctx)
		if err != nil {
			return err
		}
		var first int64
		for _, g := range list {
			if first = g.First; g.Open || g.To >= before(keep.Journal) {
				break
			}
		}
		if len(list) > 0 && first > list[0].First {
			if err := d.cfg.Store.Drop(ctx, first, nil); err != nil {
				return err
			}
			if err := d.lookSince(ctx); err != nil {
				return err
			}
			d.log.Info("old segments of the journal were dropped; the ledger by hour keeps what they come to", "first_batch", first)
		}
	}
	if keep.History > 0 {
		n, err := d.cfg.Store.DropEnded(ctx, before(keep.History))
		if err != nil {
			return err
		}
		if n > 0 {
			d.log.Info("jobs that ended long ago were forgotten", "jobs", n)
		}
	}
	_, err := d.cfg.Store.DropKeys(ctx, now-keyFor)
	return err
}
