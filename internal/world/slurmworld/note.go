package slurmworld

import (
	"context"
	"strings"

	"github.com/escala-sched/escala/fact"
)

// A job that was stopped says why in its AdminComment, which is kept with it in Slurm's accounting. Why jobs wait is
// not written there: of that there is much, it changes all the time, and escala tells it.

const (
	// mostNotes are kept to be written; of more the first are let go.
	mostNotes = 100
	// notesALook are written after a look: each takes two calls, and the next look is not to wait for many.
	notesALook = 5
)

// note is a text for a job.
type note struct{ id, text string }

// noteRequeue has it written into a job why it was requeued.
func (w *World) noteRequeue(e *entry, r *run) {
	if r.stop != nil && r.state == up && r.stop.Why != "" && !w.last(e, r) {
		w.note(e.id, "stopped and requeued at "+w.stamp()+". "+r.stop.Why)
	}
}

// noteEnd writes into a job that is ended for good why that is: at once, since Slurm takes no note once it has ended.
func (w *World) noteEnd(ctx context.Context, e *entry, r *run) {
	if w.opts.Administers && r.stop.Why != "" && w.last(e, r) {
		w.spend(callsOfTexts + 1)
		w.writeNote(ctx, note{e.id, oneLine(mark + "stopped at " + w.stamp() + ". " + r.stop.Why)})
	}
}

// last tells whether a run that is told to stop is the last of its job.
func (w *World) last(e *entry, r *run) bool {
	return r.stop.Cause == fact.CauseCancelled || w.lasting(e)
}

// stamp is the present for people.
func (w *World) stamp() string { return w.opts.Now().Format("2006-01-02 15:04") }

// note has a text written into a job, in place of one that it was to have.
func (w *World) note(id, text string) {
	if !w.opts.Administers {
		return
	}
	n := note{id, oneLine(mark + text)}
	for i := range w.notes {
		if w.notes[i].id == id {
			w.notes[i] = n
			return
		}
	}
	if w.notes = append(w.notes, n); len(w.notes) > mostNotes {
		w.notes = w.notes[1:]
	}
}

// writeNotes writes some of the notes, with calls that starts and stops leave over.
func (w *World) writeNotes(ctx context.Context) {
	for range min(notesALook, len(w.notes)) {
		if w.rate.refill(w.opts.Now()); w.rate.tokens < w.rate.most/2 {
			return
		}
		w.spend(callsOfTexts + 1)
		n := w.notes[0]
		w.notes = w.notes[1:]
		w.writeNote(ctx, n)
	}
}

func (w *World) writeNote(ctx context.Context, n note) {
	old, err := w.opts.Slurm.AdminComment(ctx, n.id)
	if err == nil {
		err = w.opts.Slurm.Update(ctx, n.id, "admincomment="+besides(old, n.text))
	}
	w.try(ctx, "writing a note into a job", n.id, err)
}

// besides puts a note behind what others wrote, in place of an earlier one.
func besides(old, text string) string {
	if i := strings.Index(old, mark); i >= 0 {
		old = old[:i]
	}
	if old = strings.TrimSpace(old); old != "" {
		old += " "
	}
	return old + text
}
