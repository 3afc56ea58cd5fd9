package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// A segment is a stretch of the journal that can be read by itself: a header, a snapshot of
// all that is known, then lines. One begins when the journal does, when a new version or a
// new policy decides, when the last one has grown long, and once a day.

// segmentEvery is how long one lasts at most, so that old ones can be dropped.
const segmentEvery = workload.Day

// long tells whether the present segment is to end. What follows its snapshot has to be more
// than that, or a scheduler with a long queue would write little else.
func (d *Daemon) long() bool {
	return d.written-d.headBytes >= max(d.cfg.SegmentBytes, d.headBytes) || d.clock.last >= d.segmentAt
}

// liveField is where the snapshot line keeps what the book knows.
const liveField = "live"

// segmentHead is the two lines that begin a segment: header and snapshot.
func (d *Daemon) segmentHead(h *journal.Header) ([]byte, error) {
	body, err := journal.AppendHeader(nil, h)
	if err != nil {
		return nil, err
	}
	state := d.engine.Snapshot()
	body = journal.AppendSnapshot(body, max(state.Now(), 0), state)
	book, err := json.Marshal(d.save())
	if err != nil {
		return nil, err
	}
	body = bytes.TrimSuffix(body, []byte("}\n"))
	body = append(append(body, `,"`+liveField+`":`...), book...)
	return append(body, '}', '\n'), nil
}

// newSegment begins one, under another policy if there is a new one. The book's lock is not held.
func (d *Daemon) newSegment(ctx context.Context, p *newPolicy) error {
	h := *d.header
	h.Engine = d.cfg.Version
	if p != nil {
		d.log.Info("another policy decides from now on", "policy", p.policy.Name, "by", p.by)
		h.Policy, d.roomy = p.policy, nil
		d.unpromise()
	}
	if err := d.renew(h.Policy); err != nil {
		return fmt.Errorf("going on under policy %s: %w", h.Policy.Name, err)
	}
	d.mu.Lock()
	if d.header = &h; p != nil {
		d.policyBy = p.by
	}
	d.mu.Unlock()
	body, err := d.segmentHead(&h)
	if err != nil {
		return fmt.Errorf("beginning a segment of the journal: %w", err)
	}
	d.segment, d.written = 0, 0
	t := &d.tx
	asked := t.asked
	t.begin(max(d.head.At, 0))
	t.asked = asked
	t.body, t.lines = append(t.body, body...), 2
	d.wake = 0
	if err := d.write(ctx, t); err != nil {
		return err
	}
	d.headBytes, d.segmentAt = d.written, d.clock.last+segmentEvery
	if t.policy = p; p != nil {
		d.views.last.Store(nil) // its reasons are those of the policy before
		d.events.publish(d, t)
	}
	return nil
}

// renew goes on with an engine restored from this one, which has no memory of what has ended:
// whether a dependency on such a job is satisfied is known before the engine is asked.
func (d *Daemon) renew(p *policy.Policy) error {
	d.engine.Forget(max(d.head.At, 0))
	alive := int32(len(d.book.alive) - d.book.gone)
	if p == d.header.Policy && d.book.next-d.renewed < alive+4096 { // with a long queue it takes long, and there is little to let go of
		return nil
	}
	d.renewed = d.book.next
	e, err := engine.Restore(d.header.Cluster, p, d.defaults(), d.engine.Snapshot())
	if err != nil {
		return err
	}
	d.book.mu.Lock()
	d.engine = e
	d.book.mu.Unlock()
	return nil
}

// tryPolicy tells whether a policy can take over the present state.
func (d *Daemon) tryPolicy(p *policy.Policy) error {
	_, err := engine.Restore(d.header.Cluster, p, d.defaults(), d.engine.Snapshot())
	return err
}

// Defaults are what is assumed of jobs that declare nothing about interruption.
func (d *Daemon) Defaults() engine.Defaults { return d.defaults() }

// defaults are the assumptions as the engine takes them.
func (d *Daemon) defaults() engine.Defaults {
	a := &d.cfg.Assume
	return engine.Defaults{Checkpoint: a.Checkpoint, RestartCost: a.RestartCost, Grace: a.Grace, StartLatency: a.StartLatency}
}

// unpromise forgets the dates of another policy: they were its own to keep.
func (d *Daemon) unpromise() {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	for _, n := range d.book.alive {
		if j := d.book.jobs[n]; j != nil {
			j.Promised = 0
		}
	}
}
