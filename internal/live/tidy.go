package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/escala-sched/escala/workload"
)

const (
	// tidyAfter is how long ends are gathered before what they leave in the spool is deleted: one
	// deletion costs about as much as hundreds.
	tidyAfter = 2 * time.Second
	// tidyAtOnce bounds a deletion, for which submissions have to wait.
	tidyAtOnce = 500
	// tidyMost is how many ends are remembered while the spool cannot be written; beyond that
	// all of it is looked through later.
	tidyMost = 100_000
)

// tidier deletes from the spool what jobs were to run once they have ended, beside the loop.
type tidier struct {
	mu    sync.Mutex
	ended []int32
	// sweep: there is more to delete than is remembered.
	sweep bool
	bell  chan struct{}
}

// add notes jobs whose end is on disk.
func (w *tidier) add(jobs ...int32) {
	if len(jobs) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ended)+len(jobs) > tidyMost {
		w.ended, w.sweep = nil, true
	} else {
		w.ended = append(w.ended, jobs...)
	}
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// take returns some of what is to be deleted.
func (w *tidier) take() (jobs []int32, sweep bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.ended), tidyAtOnce)
	jobs = slices.Clone(w.ended[:n])
	if w.ended = w.ended[n:]; len(w.ended) == 0 {
		w.ended = nil
	}
	sweep, w.sweep = w.sweep, false
	return jobs, sweep
}

// tidy runs until the context ends. What is left then the next start sweeps away.
func (d *Daemon) tidy(ctx context.Context) {
	w := &d.tidier
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-w.bell:
		}
		for wait := tidyAfter; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			jobs, sweep := w.take()
			if len(jobs) == 0 && !sweep {
				break
			}
			err := d.untidy(ctx, jobs, sweep)
			switch {
			case err == nil:
				failed, wait = false, 10*time.Millisecond // submissions go in between
				continue
			case ctx.Err() != nil:
				return
			case !failed:
				d.log.Error("what ended jobs left in the spool cannot be deleted; trying again", "err", err)
			}
			failed, wait = true, min(2*wait, time.Minute)
			w.add(jobs...)
			w.mu.Lock()
			w.sweep = w.sweep || sweep
			w.mu.Unlock()
		}
	}
}

func (d *Daemon) untidy(ctx context.Context, jobs []int32, sweep bool) error {
	if len(jobs) > 0 {
		if err := d.cfg.Spool.Delete(ctx, jobs...); err != nil {
			return err
		}
	}
	if !sweep {
		return nil
	}
	d.book.mu.RLock()
	next, now := d.book.next, d.book.now
	d.book.mu.RUnlock()
	if err := d.Ping(ctx); err != nil { // ends up to now are on disk once the loop has come round
		return err
	}
	_, err := d.cfg.Spool.Sweep(ctx, func(n int32) bool { return n >= next || d.needed(n, now) })
	return err
}

// needed tells whether something may still start a job, unless its end up to then is on disk.
func (d *Daemon) needed(n int32, until workload.Time) bool {
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	j := d.book.jobs[n]
	return j != nil && (j.Phase.Alive() || j.Ended > until)
}

// sweep deletes what a crash left in the spool: of submissions that never got into the journal,
// whose numbers will be those of others, and of jobs that have ended.
func (d *Daemon) sweep(ctx context.Context) {
	n, err := d.cfg.Spool.Sweep(ctx, func(n int32) bool { return d.needed(n, workload.Never) })
	if err != nil {
		d.log.Error("the spool cannot be swept; trying again", "err", err)
		d.tidier.sweep = true
		d.tidier.bell <- struct{}{}
		return
	}
	if n > 0 {
		d.log.Info("what jobs that are gone left in the spool was deleted", "jobs", n)
	}
}
