package live

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// In a world that is a [world.Source] jobs come from elsewhere: people submit them to the cluster's
// own scheduler, which starts what it is told to start, and sometimes what it likes.

// source is the world, if jobs come from there.
func (d *Daemon) from() (world.Source, bool) {
	s, ok := d.cfg.World.(world.Source)
	return s, ok
}

// known tells the world which of its jobs the journal has.
func (d *Daemon) known() {
	s, ok := d.from()
	if !ok {
		return
	}
	var out []world.Known
	for _, n := range d.book.alive {
		if j := d.book.jobs[n]; j != nil && j.Phase.Alive() {
			out = append(out, world.Known{ID: j.Spec.ID, Job: n, Spec: j.Spec, Held: j.Holds>>fact.HoldElsewhere&1 == 1})
		}
	}
	for n := range d.book.reals { // it has ended here, and goes on there
		if j := d.book.jobs[n]; j != nil {
			out = append(out, world.Known{ID: j.Spec.ID, Job: n, Spec: j.Spec})
		}
	}
	slices.SortFunc(out, func(a, b world.Known) int { return cmp.Compare(a.Job, b.Job) })
	s.Known(out)
}

// fromElsewhere takes in what a source tells of jobs by their names.
func (t *tx) fromElsewhere(r *world.Report) {
	b := t.d.book
	n, ok := b.byID[r.ID]
	if r.Kind == fact.JobObserved {
		t.observedElsewhere(n, ok, r)
		return
	}
	alive := ok && b.jobs[n].Phase.Alive()
	if alive == (r.Kind == fact.JobSubmitted) {
		t.d.stats.Refused.Add(1) // it is here already, or no more
		return
	}
	var err error
	switch f := (fact.Fact{Kind: r.Kind, Job: n, Node: -1, Text: r.Text}); r.Kind {
	case fact.JobSubmitted:
		err = t.arrived(r)
	case fact.JobHeld, fact.JobReleased:
		f.Hold = fact.HoldElsewhere
		err = t.fact(f)
	case fact.JobCancelled:
		err = t.fact(f)
	case fact.JobEdited:
		f.Priority = r.Priority
		err = t.fact(f)
	case fact.JobAdopted:
		err = t.adopted(b.jobs[n], r)
	}
	if err != nil && !errors.Is(err, engine.ErrTaken) && !errors.Is(err, engine.ErrUnknown) {
		t.d.log.Warn("a report was not taken", "fact", r.Kind.String(), "job", r.ID, "err", err)
	}
}

// observedElsewhere writes down what a source saw of a job, whether or not it has ended here.
func (t *tx) observedElsewhere(n int32, known bool, r *world.Report) {
	if !known {
		t.d.stats.Refused.Add(1)
		return
	}
	o := Observation{ID: r.ID, Started: r.Real.Started, Ended: r.Real.Ended, Exit: r.Real.Exit, Where: r.Text}
	if !o.Ended.IsZero() {
		o.Outcome, o.HasOutcome = r.Real.Outcome, true
	}
	if err := t.observe(t.d.book.jobs[n], &o, ""); err != nil {
		t.d.log.Warn("what was observed was not taken", "job", r.ID, "err", err)
	}
}

// arrived queues a job that somebody submitted elsewhere.
func (t *tx) arrived(r *world.Report) error {
	j := *r.Spec
	j.ID, j.Submit, j.Labels = r.ID, t.now, maps.Clone(j.Labels)
	if r.Throttle > 0 {
		if j.Labels == nil {
			j.Labels = map[string]string{}
		}
		j.Labels[LabelThrottle] = strconv.Itoa(int(r.Throttle))
	}
	if !r.When.IsZero() {
		j.Submit = min(max(t.d.clock.of(r.When), 0), t.now)
	}
	if err := t.account(&j); err != nil {
		return err
	}
	n := t.d.book.next
	if err := t.fact(fact.Fact{Kind: fact.JobSubmitted, Job: n, Node: -1, Submitted: &j}); err != nil {
		return err
	}
	throttles := &t.d.follow.throttles
	if !throttles.admits(t.d.book.jobs[n]) {
		if err := t.fact(fact.Fact{Kind: fact.JobHeld, Job: n, Node: -1, Hold: fact.HoldThrottle}); err != nil {
			return err
		}
	}
	throttles.file(t.d.book.jobs[n])
	if r.Text != "" {
		return t.fact(fact.Fact{Kind: fact.JobHeld, Job: n, Node: -1, Hold: fact.HoldElsewhere, Text: r.Text})
	}
	return nil
}

// adopted starts a job where it runs already: whatever kept it back here did not.
func (t *tx) adopted(j *Job, r *world.Report) error {
	if j.Run() != nil && j.Run().Left == workload.Unknown {
		return engine.ErrUnknown
	}
	f := fact.Fact{Kind: fact.JobAdopted, At: t.now, Job: j.Number, Node: -1, Place: r.Place, Tasks: r.Tasks, Text: r.Text}
	t.d.follow.throttles.pass(j)
	for h := fact.HoldOwner; h <= fact.HoldElsewhere; h++ {
		if j.Holds>>h&1 == 1 {
			if err := t.fact(fact.Fact{Kind: fact.JobReleased, Job: j.Number, Node: -1, Hold: h, Text: "it runs"}); err != nil {
				return err
			}
		}
	}
	for _, n := range t.d.engine.ClaimsOn(r.Place) { // others wait for it to be cleared: for them it is lost
		for _, kind := range []fact.Kind{fact.JobHeld, fact.JobReleased} {
			if err := t.fact(fact.Fact{Kind: kind, Job: n, Node: -1, Hold: fact.HoldElsewhere, Text: "job " + j.Spec.ID + " was started on the place that was being cleared for it"}); err != nil {
				return err
			}
		}
	}
	return t.fact(f)
}

// letGo tells a source that a job is no more of its business here: taken back by somebody, or
// such that it can never start.
func (t *tx) letGo(j *Job) {
	if _, ok := t.d.from(); !ok || len(j.Runs) > 0 && j.Phase == Ended && j.Run().Left == j.Ended {
		return
	}
	o := world.Order{Do: fact.Refuse, Run: world.Run{Job: j.Number}, ID: j.Spec.ID, Spec: j.Spec}
	if j.Phase == Ended && j.EndedBy != "" {
		o.Cause, o.Why = fact.CauseCancelled, "Cancelled by "+j.EndedBy+"."
	}
	t.orders = append(t.orders, o)
}
