package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// fold makes the state of the journal's last segment, or begins a journal.
func (d *Daemon) fold(ctx context.Context) error {
	var err error
	if d.head, err = d.cfg.Store.Head(ctx); err != nil {
		return err
	}
	if d.head.Seq == 0 {
		return d.beginJournal(ctx)
	}
	began := d.cfg.Now()
	in, out := io.Pipe()
	go func() {
		out.CloseWithError(d.cfg.Store.Read(ctx, d.head.Segment, func(b *store.Batch) error {
			d.written += int64(len(b.Body))
			_, err := out.Write(b.Body)
			return err
		}))
	}()
	defer func() { _ = in.Close() }()
	if err := d.foldFrom(in); err != nil {
		return fmt.Errorf("reading the journal from batch %d: %w", d.head.Segment, err)
	}
	if err := d.loadKeys(ctx); err != nil {
		return err
	}
	d.segment = d.head.Segment
	d.log.Info("the journal was read", "batches", d.head.Seq-d.head.Segment+1, "bytes", d.written, "alive", len(d.book.alive)-d.book.gone,
		"took", d.cfg.Now().Sub(began).Round(time.Millisecond))
	if err := d.sameCluster(); err != nil {
		return err
	}
	if err := d.sameMode(); err != nil {
		return err
	}
	// What was folded is not what decided before to the last bit: when it would have been asked
	// next is not in the journal. So each start begins a segment, and says what it goes on from.
	h := *d.header
	h.Assume = d.cfg.Assume
	if !reflect.DeepEqual(d.header.Assume, d.cfg.Assume) {
		if d.engine, err = engine.Restore(h.Cluster, h.Policy, d.defaults(), d.engine.Snapshot()); err != nil {
			return err
		}
	}
	d.header = &h
	return d.newSegment(ctx, nil)
}

// foldFrom reads the lines of a segment.
func (d *Daemon) foldFrom(in io.Reader) error {
	var peek bytes.Buffer
	r, err := journal.NewReader("journal", io.TeeReader(in, &peek))
	if err != nil {
		return err
	}
	d.header = r.Header()
	d.book, d.hours = NewBook(d.header.Cluster), newHours()
	w := &folder{d: d}
	x, err := journal.Fold(r, w)
	if err == nil {
		err = w.err
	}
	if err != nil {
		return err
	}
	d.engine = x.Engine
	// A fold takes no decisions, so it does not know when the next is due. Asked again at the
	// same instant the engine has nothing to add; if it had, it is asked in earnest at once.
	if again := d.engine.Decide(workload.Unknown); len(again.Actions) == 0 {
		d.wake = again.Wake
	}
	d.clock = newClock(d.cfg.Now, d.cfg.Mono, d.header.Workload.Epoch, max(x.Now, 0))
	return nil
}

// folder fills the book from lines of the journal.
type folder struct {
	d   *Daemon
	err error
}

func (w *folder) Snapshot(e *engine.Engine, raw []byte) {
	var line struct {
		T    workload.Time `json:"t"`
		Live *saved        `json:"live"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		w.err = fmt.Errorf("the snapshot of a live journal: %w", err)
		return
	}
	if line.Live == nil {
		w.err = errors.New("the snapshot is that of a simulation: it does not hold what a live journal's does")
		return
	}
	w.d.policyBy = line.Live.PolicyBy
	if w.err = w.d.book.load(line.Live, e); w.err == nil {
		w.d.book.now = line.T
		w.d.renewed = w.d.book.next
		w.d.hours.resume(line.Live.Hours, max(line.T, line.Live.HoursAt))
		for _, n := range w.d.book.alive {
			w.d.hours.see(w.d.book.jobs[n], line.T)
		}
	}
}

func (w *folder) Fact(f *fact.Fact) {
	w.d.book.fact(f)
	if f.Kind != fact.JobObserved {
		w.d.told(f)
	}
}

func (w *folder) Action(a *fact.Action) {
	w.d.book.action(a)
	w.d.seen(a.Job, a.At)
}

// told has the ledger by hour take in a fact.
func (d *Daemon) told(f *fact.Fact) {
	if j := d.book.jobs[f.Job]; j != nil && f.Kind == fact.JobStopped {
		d.hours.lost(j, f.At)
	}
	d.seen(f.Job, f.At)
}

// seen has the ledger by hour look at a job that something happened to.
func (d *Daemon) seen(job int32, now workload.Time) {
	j := d.book.jobs[job]
	if j == nil {
		d.hours.advance(now)
		return
	}
	d.hours.see(j, now)
}

// beginJournal writes the first lines of a new one: header and budgets.
func (d *Daemon) beginJournal(ctx context.Context) error {
	spec := d.cfg.World.Cluster()
	now := d.cfg.Now()
	day := now.UTC().Truncate(24 * time.Hour)
	d.header = &journal.Header{Engine: d.cfg.Version, Cluster: spec, Policy: d.cfg.Policy, Assume: d.cfg.Assume,
		Workload: workload.Workload{Name: spec.Name, Source: d.source(), Format: "journal", Epoch: day.UnixMilli()}}
	d.book, d.hours = NewBook(spec), newHours()
	d.clock = newClock(d.cfg.Now, d.cfg.Mono, day.UnixMilli(), 0)
	var err error
	if d.engine, err = engine.New(spec, d.cfg.Policy, d.defaults()); err != nil {
		return err
	}
	t := &d.tx
	now0, _ := d.clock.next()
	t.begin(now0)
	if t.body, err = journal.AppendHeader(t.body, d.header); err != nil {
		return err
	}
	t.lines = 1
	if d.cfg.Policy.Sharing != nil {
		tree := d.cfg.Budgets
		if tree == nil {
			tree = budget.Equal(equalName, nil)
		}
		if err := t.fact(fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: tree, Epoch: day.UnixMilli()}); err != nil {
			return err
		}
		d.decide(t)
	}
	return d.write(ctx, t)
}

// sameCluster holds that the world is the one that the journal is of.
func (d *Daemon) sameCluster() error {
	was, is := d.header.Cluster, d.cfg.World.Cluster()
	if was.Count == is.Count && reflect.DeepEqual(was.Nodes, is.Nodes) {
		return nil
	}
	return &OtherCluster{Was: was, Is: is}
}

// OtherCluster says that a journal is of another cluster than the world.
type OtherCluster struct{ Was, Is *cluster.Spec }

func (e *OtherCluster) Error() string {
	if e.Was.GPUs() == e.Is.GPUs() && len(e.Was.Nodes) == len(e.Is.Nodes) {
		return fmt.Sprintf("the journal is of a cluster with %s as this one, but they differ in name, type, cores or memory; another --state directory begins another journal", sizeText(e.Was))
	}
	return fmt.Sprintf("the journal is of a cluster with %s, but there are %s; another --state directory begins another journal", sizeText(e.Was), sizeText(e.Is))
}

// sizeText is how large a cluster is.
func sizeText(c *cluster.Spec) string {
	return many(int(c.GPUs()), "GPU") + " on " + many(len(c.Nodes), "node")
}

// many counts things.
func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// loadKeys recalls the idempotency keys that still hold.
func (d *Daemon) loadKeys(ctx context.Context) error {
	rows, err := d.cfg.Store.Keys(ctx, d.clock.last-keyFor)
	if err != nil {
		return err
	}
	for i := range rows {
		var k keyed
		if err := json.Unmarshal(rows[i].Body, &k); err != nil {
			return fmt.Errorf("idempotency key %s: %w", rows[i].Key, err)
		}
		d.book.key(rows[i].Key, k)
	}
	return nil
}
