package slurmworld

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// patient is how far ahead a time to begin may lie without being a wish of the owner: a job that was queued
// anew is not to begin before about two minutes have passed.
const patient = 3 * time.Minute

// keptBack says why Slurm would not start a job that waits, "" = it would.
func (w *World) keptBack(j *slurm.Job) string {
	switch {
	case j.Held():
		return "it is on hold in Slurm (" + j.Reason + ")"
	case len(without(j.Dependency, w.lease.id)) > 0:
		return "it depends on others in Slurm (" + strings.Join(without(j.Dependency, w.lease.id), ",") + ")"
	case j.Eligible.After(w.opts.Now().Add(patient)):
		return "it is not to begin before " + j.Eligible.Format("2006-01-02 15:04")
	}
	return ""
}

// fresh is about a job without a run here: it is new, waits, or runs where nobody asked it to.
func (w *World) fresh(ctx context.Context, e *entry) {
	j := &e.seen
	if !e.looked {
		if w.classify(e); !e.looked {
			return
		}
	}
	if w.watch {
		w.see(e)
		return
	}
	switch j.State {
	case slurm.Pending:
		if e.why == "" {
			w.queued(e)
		}
	case slurm.Running, slurm.Suspended:
		w.adopt(ctx, e)
	}
}

// read reads the comments of jobs that are new, all in one call.
func (w *World) read(ctx context.Context, list []*entry) {
	var wanted []int64
	for _, e := range list {
		if e.present && e.run == nil && !e.looked && !e.told && w.managed(&e.seen) {
			wanted = append(wanted, e.seen.Number)
		}
	}
	w.texts = nil
	if len(wanted) == 0 {
		return
	}
	slices.Sort(wanted)
	w.spend(callsOfTexts)
	texts, err := w.opts.Slurm.Texts(ctx, slices.Compact(wanted)...)
	if err != nil {
		w.log.Warn("the comments of new jobs cannot be read", "err", err)
	}
	w.texts = texts
	w.readScripts(ctx, list)
}

// classify finds out whether a job is escala's, and what it needs.
func (w *World) classify(e *entry) {
	j := &e.seen
	e.where = j.Where
	if e.told && e.spec != nil { // the journal has it
		e.looked, e.why = true, e.spec.Labels[leftLabel]
		if j.State == slurm.Pending {
			e.where = "" // what stands there may be of an earlier start
		}
		return
	}
	if !w.managed(j) {
		e.looked, e.why = true, "is in a partition that escala was not given"
		return
	}
	if ask, err := j.GPUs(); err == nil && ask.Total == 0 {
		e.looked, e.why = true, "asks for no GPUs"
		return
	}
	text, ok := w.texts[j.Number]
	if !ok {
		return // at the next look
	}
	e.looked = true
	need, why := w.need(j, text.Excluded)
	if e.why = why; why != "" {
		w.log.Info("a job is left to Slurm", "job", j.ID, "user", j.User, "why", "it "+why)
		return
	}
	e.spec = w.jobOf(j, need, w.termsOf(e, text))
}

// queued tells of a job that waits, and of what keeps it back.
func (w *World) queued(e *entry) {
	if e.spec == nil {
		return
	}
	text := w.keptBack(&e.seen)
	switch {
	case !e.told:
		w.tell(world.Report{Kind: fact.JobSubmitted, ID: e.id, Node: -1, Spec: e.spec, Throttle: w.throttle[e.job], When: e.seen.Submit, Text: text})
		e.told = true
	case e.held && text == "":
		w.tell(world.Report{Kind: fact.JobReleased, ID: e.id, Node: -1})
	case !e.held && text != "":
		w.tell(world.Report{Kind: fact.JobHeld, ID: e.id, Node: -1, Text: text})
	}
	e.held = text != ""
	if p := w.priority(&e.seen); p != e.spec.Priority {
		spec := *e.spec // the loop may still read the other
		spec.Priority, e.spec = p, &spec
		w.tell(world.Report{Kind: fact.JobEdited, ID: e.id, Node: -1, Priority: p, Text: "its nice value was changed in Slurm, or the priority that the site gives to its QOS or partition"})
	}
}

// adopt tells of a job that runs without having been told to. It is told until the loop orders its start.
func (w *World) adopt(ctx context.Context, e *entry) {
	j := &e.seen
	place, ok := w.place(ctx, e)
	if !ok {
		return
	}
	if !e.told {
		spec := e.spec
		if spec == nil || e.why != "" {
			n := int64(0)
			for i := range place {
				n += int64(place[i].Count)
			}
			spec = w.foreign(j, n, e.why)
		}
		w.tell(world.Report{Kind: fact.JobSubmitted, ID: e.id, Node: -1, Spec: spec, Throttle: w.throttle[e.job], When: j.Submit})
		e.told, e.held, e.spec = true, false, spec
	}
	tasks := int32(0)
	w.tell(world.Report{Kind: fact.JobAdopted, ID: e.id, Node: -1, Place: place, Tasks: tasks, When: j.Start})
}
