package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// In shadow nothing is done: the world is package world/shadow's, and another scheduler runs the
// jobs. What that does is observed, written down, and told to the world.

// Real is what another scheduler really did with a job. Times are those of the journal,
// [workload.Unknown] where they are not known or have not come.
type Real struct {
	Since, Until workload.Time
	Outcome      workload.Outcome
	Exit         int32
	// Where it ran, as it was told.
	Where string
}

// Open tells whether it goes on.
func (r *Real) Open() bool { return r.Since != workload.Unknown && r.Until == workload.Unknown }

// Length is how long it really ran.
func (r *Real) Length() (workload.Span, bool) {
	if r == nil || r.Since == workload.Unknown || r.Until == workload.Unknown {
		return 0, false
	}
	return r.Until - r.Since, true
}

// Observation is what somebody saw another scheduler do with a job. What is empty is not told.
type Observation struct {
	ID             string
	Started, Ended time.Time
	Outcome        workload.Outcome
	// HasOutcome: Outcome was told.
	HasOutcome bool
	Exit       int32
	Where      string
}

// early is by how much the clocks of those who observe may be ahead.
const early = time.Minute

// Observe takes in what another scheduler did. Each observation is taken or refused by itself; one
// that tells nothing new is taken, and changes nothing.
func (d *Daemon) Observe(ctx context.Context, list []Observation, by string) ([]error, error) {
	if !d.cfg.Shadow {
		return nil, &Conflict{"this scheduler runs the jobs itself: only one that is in shadow is told of others"}
	}
	errs := make([]error, len(list))
	jobs := make([]Job, len(list))
	for i := range list {
		var missing *NotFound
		var err error
		if jobs[i], err = d.Job(ctx, list[i].ID); errors.As(err, &missing) {
			errs[i] = err
		} else if err != nil {
			return nil, err
		}
	}
	return change(ctx, d, func(t *tx) ([]error, error) {
		for i := range list {
			if errs[i] == nil {
				errs[i] = t.observe(&jobs[i], &list[i], by)
			}
		}
		return errs, nil
	})
}

// observe writes down what was seen of a job. known is the job as it was just before.
func (t *tx) observe(known *Job, o *Observation, by string) error {
	b := t.d.book
	j := b.jobs[known.Number]
	if j == nil {
		j = known // it ended so long ago that only the store has it
		if r, ok := b.reals[j.Number]; ok {
			j.Real = &r
		}
	}
	r, err := t.real(j.Real, o)
	if err != nil {
		return err
	}
	if j.Real != nil && *j.Real == *r {
		return nil
	}
	f := fact.Fact{Kind: fact.JobObserved, Job: j.Number, Node: -1, Since: r.Since, Until: r.Until, Outcome: r.Outcome, Exit: r.Exit, Text: r.Where, By: by}
	if err := t.fact(f); err != nil {
		return err
	}
	t.watched = append(t.watched, j.Number)
	if !j.Phase.Alive() {
		j.Real = r
		t.rows.Ended = append(t.rows.Ended, t.d.endedRow(j))
		return nil
	}
	if r.Since == workload.Unknown && j.EndedBy == "" { // whoever takes a job back takes it back here, too
		return t.fact(fact.Fact{Kind: fact.JobCancelled, Job: j.Number, Node: -1, By: by, Text: "it was withdrawn before it really started"})
	}
	return nil
}

// real adds an observation to what is known.
func (t *tx) real(old *Real, o *Observation) (*Real, error) {
	r := Real{Since: workload.Unknown, Until: workload.Unknown}
	if old != nil {
		r = *old
	}
	latest := t.d.cfg.Now().Add(early)
	if o.Started.After(latest) || o.Ended.After(latest) {
		return nil, &Invalid{"started", "what is observed has happened already, but this is yet to come"}
	}
	if !o.Started.IsZero() {
		since := t.d.clock.of(o.Started)
		if r.Since != since && o.Ended.IsZero() { // another run, or a correction: what is known of its end is not of it
			r.Until, r.Outcome, r.Exit = workload.Unknown, 0, 0
		}
		r.Since = since
	}
	if !o.Ended.IsZero() {
		r.Until, r.Outcome, r.Exit = t.d.clock.of(o.Ended), workload.OutcomeCompleted, o.Exit
	}
	if o.Where != "" {
		r.Where = o.Where
	}
	switch {
	case o.HasOutcome && r.Until == workload.Unknown:
		return nil, &Invalid{"outcome", "an outcome is of a run that has ended: say when it did"}
	case o.HasOutcome:
		r.Outcome, r.Exit = o.Outcome, o.Exit
	}
	switch {
	case r.Since == workload.Unknown && r.Until == workload.Unknown:
		return nil, &Invalid{"started", "say when it started, or when it ended"}
	case r.Since == workload.Unknown && r.Outcome != workload.OutcomeCancelled:
		return nil, &Invalid{"started", "say when it started; one that never did has the outcome cancelled"}
	case r.Since != workload.Unknown && r.Until != workload.Unknown && r.Until < r.Since:
		return nil, &Invalid{"ended", fmt.Sprintf("it ended before it started at %s", t.d.clock.wall(r.Since).Format(time.RFC3339))}
	}
	return &r, nil
}

// observed takes in what another scheduler did. Of jobs that have ended here it keeps what goes on there.
func (b *Book) observed(f *fact.Fact) {
	r := Real{Since: f.Since, Until: f.Until, Outcome: f.Outcome, Exit: f.Exit, Where: f.Text}
	j := b.jobs[f.Job]
	if j != nil {
		j.Real = &r
	}
	if j != nil && j.Phase.Alive() {
		return
	}
	if delete(b.reals, f.Job); r.Open() {
		b.reals[f.Job] = r
	}
}

// realOf is what the world is told of a job.
func (d *Daemon) realOf(r *Real) world.Real {
	if r == nil {
		return world.Real{}
	}
	return world.Real{Started: d.clock.wall(r.Since), Ended: d.clock.wall(r.Until), Outcome: r.Outcome, Exit: r.Exit}
}

// watch tells the world what was observed.
func (d *Daemon) watch(t *tx) {
	w, ok := d.cfg.World.(world.Watcher)
	if !ok {
		return
	}
	for _, n := range t.watched {
		if j := d.book.jobs[n]; j != nil && j.Phase.Alive() {
			w.Watch(n, d.realOf(j.Real))
		}
	}
}

// sources of a journal's jobs: it says whether they run, or are shadows.
const (
	sourceLive   = "live"
	sourceShadow = "shadow"
)

func (d *Daemon) source() string {
	if d.cfg.Shadow {
		return sourceShadow
	}
	return sourceLive
}

// OtherMode says that a journal of shadows was to be enforced, or the reverse: what one of them
// believes to run means nothing to the other.
type OtherMode struct{ Shadow bool }

func (e *OtherMode) Error() string {
	if e.Shadow {
		return "the journal is of a scheduler in shadow, so that nothing of what it says to run does; to run jobs, take another state directory"
	}
	return "the journal is of a scheduler that runs the jobs; for a shadow of it take another state directory"
}

// sameMode holds that the journal is of what is to be done.
func (d *Daemon) sameMode() error {
	if was := d.header.Workload.Source == sourceShadow; was != d.cfg.Shadow {
		return &OtherMode{Shadow: was}
	}
	return nil
}
