package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// most is how many requests one batch takes: what comes while it is written is the next.
const most = 8192

const (
	// answerAfter is how long those who asked for what is in a batch wait while it cannot be
	// written, before they are told that it may come later.
	answerAfter = 2 * time.Second
	// slow is how long a single attempt may take before the daemon says that it is not ready.
	slow = 10 * time.Second
)

// Run begins the world and serves until the context ends. What runs goes on without it.
func (d *Daemon) Run(ctx context.Context) error {
	defer close(d.done)
	defer d.inbox.close(ErrClosed)
	if err := d.begin(ctx); err != nil {
		return err
	}
	defer func() {
		d.ready.Store(false)
		if err := d.cfg.World.Close(); err != nil {
			d.log.Error("closing the world", "err", err)
		}
	}()
	if d.cfg.Spool != nil {
		var beside sync.WaitGroup
		until, stop := context.WithCancel(ctx)
		beside.Go(func() { d.tidy(until) })
		defer func() {
			stop()
			beside.Wait()
		}()
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.inbox.bell:
		case <-timer.C:
		}
		if err := d.turn(ctx); err != nil {
			if errors.Is(err, context.Canceled) && ctx.Err() != nil {
				return nil
			}
			return err
		}
		timer.Reset(d.clock.until(min(d.wake, d.follow.next(), d.segmentAt)))
	}
}

// begin tells the world what the journal believes, and sends again what it may not have got.
func (d *Daemon) begin(ctx context.Context) error {
	beliefs := d.beliefs()
	d.known()
	if err := d.cfg.World.Begin(ctx, beliefs, d.inbox.report); err != nil {
		return fmt.Errorf("beginning the world: %w", err)
	}
	var again []world.Order
	for i := range beliefs {
		switch b := &beliefs[i]; {
		case b.Stopping:
			again = append(again, d.stopOrder(b.Job))
		case !b.Up:
			again = append(again, b.Order)
		}
	}
	d.cfg.World.Do(again...)
	d.ready.Store(true)
	return nil
}

// turn serves what has come as one instant: facts, a decision, one batch on disk, and only
// then answers and orders.
func (d *Daemon) turn(ctx context.Context) error {
	began := d.cfg.Now()
	requests, reports := d.inbox.take(most)
	now, set := d.clock.next()
	timed := now >= d.wake
	t := &d.tx
	t.begin(now)
	t.asked = requests
	d.book.mu.Lock()
	if set != 0 {
		t.clockStepped(set)
	}
	for i := range reports {
		t.report(&reports[i])
	}
	for _, r := range requests {
		r.value, r.err = r.do(t)
	}
	d.follow.due(t)
	if len(t.facts) > 0 || timed {
		d.decide(t)
	}
	d.book.mu.Unlock()
	if len(t.body) > 0 {
		t.rows.Hours = d.hours.take()
		if err := d.write(ctx, t); err != nil {
			for _, r := range requests {
				if r.err == nil {
					r.err = err
				}
				r.answer(nil, r.err)
			}
			return err
		}
		d.publish(t)
	}
	if t.policy != nil { // it is in force once it is on disk
		if err := d.newSegment(ctx, t.policy); err != nil {
			requests[0].answer(nil, err)
			return err
		}
	}
	for _, r := range requests {
		r.answer(r.value, r.err)
	}
	d.send(t)
	d.timed(Turned, began, t.lines)
	if d.long() {
		return d.newSegment(ctx, nil)
	}
	return nil
}

// decide asks the engine until it has nothing more to say about this instant.
func (d *Daemon) decide(t *tx) {
	began := d.cfg.Now()
	if len(t.facts) == 0 {
		t.timer()
	}
	for range 1000 {
		x := d.engine.Decide(t.now)
		d.stats.Decisions.Add(1)
		d.wake = x.Wake
		for i := range x.Actions {
			t.action(&x.Actions[i])
		}
		if !x.Again {
			break
		}
	}
	d.timed(Decided, began, len(t.actions))
}

// write puts a batch on disk, and goes on trying while the store cannot be reached: what
// was decided stays decided, and nothing is sent before. Meanwhile requests are refused, and what
// the world tells is gathered.
func (d *Daemon) write(ctx context.Context, t *tx) error {
	began := d.cfg.Now()
	d.writing.Store(&began)
	defer func() {
		d.writing.Store(nil)
		d.timed(Appended, began, len(t.body))
	}()
	b := &store.Batch{Seq: d.head.Seq + 1, Segment: d.segment, Epoch: d.epoch, At: t.now, Lines: t.lines, Body: t.body}
	if d.segment == 0 {
		b.Segment, d.segment = b.Seq, b.Seq
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := d.append(ctx, b, t)
		if err == nil {
			break
		}
		if errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: another scheduler writes this journal: %w", ErrClosed, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w with a batch that is not on disk, nothing of which was done: %w", ErrClosed, err)
		}
		text := err.Error()
		if d.trouble.Swap(&text) == nil {
			d.log.Error("the journal cannot be written; trying again", "err", err)
		}
		d.stats.Retries.Add(1)
		away := fmt.Errorf("%w: %w", ErrUnavailable, err)
		d.inbox.refuse(away)
		for _, r := range t.asked {
			if r.reads { // what stood before will do
				r.answer(nil, away)
			}
		}
		if d.cfg.Now().Sub(began) > answerAfter {
			for _, r := range t.asked {
				r.answer(nil, cmp.Or(r.err, error(&Late{err})))
			}
			t.asked = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	if d.trouble.Swap(nil) != nil {
		d.inbox.refuse(nil)
		d.log.Info("the journal can be written again")
	}
	d.head.Seq, d.head.Chain, d.head.At, d.head.Segment = b.Seq, b.Chain, b.At, b.Segment
	head := d.head
	d.headNow.Store(&head)
	d.written += int64(len(b.Body))
	d.stats.Batches.Add(1)
	return nil
}

func (d *Daemon) append(ctx context.Context, b *store.Batch, t *tx) error {
	if err := t.spoolAll(ctx); err != nil {
		return err
	}
	return d.cfg.Store.Append(ctx, b, t.rows)
}

// publish tells observers and listeners what is on disk now.
func (d *Daemon) publish(t *tx) {
	d.stats.Facts.Add(int64(len(t.facts)))
	d.stats.Actions.Add(int64(len(t.actions)))
	if slices.ContainsFunc(t.facts, func(f fact.Fact) bool { return rules(f.Kind) }) {
		d.views.least.Store(d.stats.Facts.Load() + d.stats.Actions.Load())
	}
	for i := range t.facts {
		if d.cfg.Shadow && t.facts[i].Kind == fact.JobFinished {
			continue // how long jobs run is learnt from reality
		}
		d.ahead.fact(d.book, &t.facts[i])
	}
	for i := range t.actions {
		d.ahead.action(&t.actions[i])
	}
	if d.cfg.Spool != nil {
		for i := range t.rows.Ended {
			d.tidier.add(t.rows.Ended[i].Number)
		}
	}
	if len(d.cfg.Observers) > 0 {
		g := d.standing(t.now)
		for _, o := range d.cfg.Observers {
			for i := range t.facts {
				o.Fact(&t.facts[i])
			}
			for i := range t.actions {
				o.Action(&t.actions[i])
			}
			o.Instant(&g)
		}
	}
	d.events.publish(d, t)
}

func (d *Daemon) gauge(now workload.Time) sim.Gauge {
	g := d.engine.Gauge()
	out := sim.Gauge{At: now, Installed: g.Installed, Available: g.Available, Assigned: g.Assigned, Held: g.Held,
		WaitingJobs: g.WaitingJobs, WaitingMilli: g.WaitingMilli, RunningJobs: g.RunningJobs}
	out.Fragmented = g.WaitingJobs > 0 && d.engine.Fragmented()
	return out
}
