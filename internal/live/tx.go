package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/spool"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// tx is one instant in the making: its facts, its decision, and what follows once it is
// on disk. Only the loop has it; it is used again for the next.
type tx struct {
	d       *Daemon
	now     workload.Time
	body    []byte
	lines   int
	facts   []fact.Fact
	actions []fact.Action
	// changed are the jobs that something happened to, nodes likewise.
	changed []int32
	nodes   []int32
	orders  []world.Order
	settled []world.Run
	// watched are jobs with which another scheduler did something.
	watched []int32
	rows    store.Rows
	spool   []spool.Entry
	// asked are the requests that wait for this to be on disk.
	asked []*request
	// policy that is to hold from the next instant on.
	policy *newPolicy
}

type newPolicy struct {
	policy *policy.Policy
	by     string
}

func (t *tx) begin(now workload.Time) {
	*t = tx{d: t.d, now: now, body: t.body[:0], facts: t.facts[:0], actions: t.actions[:0], changed: t.changed[:0], nodes: t.nodes[:0],
		orders: nil, settled: nil, watched: t.watched[:0], rows: store.Rows{}, spool: t.spool[:0]}
}

// fact makes f true at this instant and writes it down, or says why it cannot be.
func (t *tx) fact(f fact.Fact) error {
	f.At = t.now
	if err := t.d.engine.Apply(&f); err != nil {
		if errors.Is(err, engine.ErrUnknown) {
			t.d.stats.Refused.Add(1)
		}
		return err
	}
	t.body = journal.AppendFact(t.body, &f)
	t.lines++
	t.facts = append(t.facts, f)
	t.d.book.fact(&f)
	if f.Kind == fact.JobObserved { // nothing has happened here
		t.changed = append(t.changed, f.Job)
		return nil
	}
	t.d.told(&f)
	t.touch(&f)
	return nil
}

// touch notes what a fact is about.
func (t *tx) touch(f *fact.Fact) {
	switch {
	case f.Kind == fact.WindowSet:
		t.nodes = append(t.nodes, f.Window.Nodes...)
	case f.Kind >= fact.NodeDown && f.Kind <= fact.NodeResumed:
		t.nodes = append(t.nodes, f.Node)
	case f.Job >= 0:
		t.changed = append(t.changed, f.Job)
		if j := t.d.book.jobs[f.Job]; j != nil && (j.Phase == Ended || j.Phase == Refused) && j.Ended == t.now {
			t.ended(j)
		}
	}
}

// ended files a job that came to its end.
func (t *tx) ended(j *Job) {
	t.rows.Ended = append(t.rows.Ended, t.d.endedRow(j))
	t.d.follow.forgetAlarms(j)
	t.d.follow.ended(t, j)
	t.letGo(j)
}

// action commits a decision and writes it down.
func (t *tx) action(a *fact.Action) {
	t.body = journal.AppendAction(t.body, a)
	t.lines++
	own := *a
	own.Place = slices.Clone(a.Place)
	if err := t.d.engine.Commit(a); err != nil {
		panic(fmt.Sprintf("the engine refuses its own decision: %v", err)) // a defect: better to stop than to go on without knowing
	}
	t.actions = append(t.actions, own)
	t.d.book.action(&own)
	t.d.seen(a.Job, t.now)
	t.changed = append(t.changed, a.Job)
	switch a.Do {
	case fact.Start:
		t.orders = append(t.orders, t.d.startOrder(a.Job))
	case fact.Stop:
		t.orders = append(t.orders, t.d.stopOrder(a.Job))
	case fact.Resize:
		t.orders = append(t.orders, t.d.resizeOrder(a.Job))
	case fact.Refuse:
		if j := t.d.book.jobs[a.Job]; j != nil {
			t.ended(j)
		}
	}
}

// timer writes down that time alone led to a decision.
func (t *tx) timer() {
	t.body = journal.AppendTimer(t.body, t.now)
	t.lines++
}

func (t *tx) clockStepped(by time.Duration) {
	t.d.log.Warn("the wall clock was set; nothing shifts", "by", by)
	_ = t.fact(fact.Fact{Kind: fact.ClockStepped, Job: -1, Node: -1, Kept: by.Milliseconds(), Text: "the wall clock was set"})
}

// keep has something put into the spool before the batch is written.
func (t *tx) keep(job int32, body []byte) {
	if len(body) > 0 && t.d.cfg.Spool != nil {
		t.spool = append(t.spool, spool.Entry{Job: job, Body: body})
	}
}

// spoolAll keeps what jobs of the batch are to run. That comes before the batch: what is left
// behind if it does not follow is swept away at the next start.
func (t *tx) spoolAll(ctx context.Context) error {
	if len(t.spool) == 0 {
		return nil
	}
	if err := t.d.cfg.Spool.Put(ctx, t.spool); err != nil {
		return fmt.Errorf("keeping what jobs are to run: %w", err)
	}
	return nil
}
