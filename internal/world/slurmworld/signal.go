package slurmworld

import (
	"context"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

const (
	// scriptsALook are read of jobs that are new. Where more come at once the others are known without what their scripts ask
	// for: they must not start meanwhile because nobody keeps them back.
	scriptsALook = 20
	// linePatience is how long accounting may take to tell a command line, while a job waits to be told to stop.
	linePatience = 2 * time.Second
	// lineAgain is how long it is not asked after it failed: many stops at once do not wait for it one after the other.
	lineAgain = time.Minute
)

// own is what a job says of itself, as far as it was read.
type own struct {
	// comment, and what the job runs.
	comment    slurm.Terms
	command    string
	hasComment bool
	// script is the signal that its script asks for.
	script    slurm.Signal
	hasScript bool
}

// readScripts reads which signal the scripts of new jobs ask for, with calls that are left over: how long before its end a
// job wants it is the grace that it has.
func (w *World) readScripts(ctx context.Context, list []*entry) {
	w.signals = nil
	if w.opts.Sealed {
		return
	}
	read := map[string]bool{}
	for _, e := range list {
		j := &e.seen
		if _, is := w.texts[j.Number]; !is || !e.present || e.looked || e.run != nil || !j.Batch || read[e.line] {
			continue
		}
		if ask, err := j.GPUs(); err == nil && ask.Total == 0 {
			continue
		}
		if w.rate.refill(w.opts.Now()); len(read) == scriptsALook || w.rate.tokens < w.rate.most/2 {
			return
		}
		read[e.line] = true
		w.spend(1)
		s, err := w.opts.Slurm.SignalInScript(ctx, e.line)
		if !w.try(ctx, "reading a job's script", e.id, err) {
			continue
		}
		if w.signals == nil {
			w.signals = map[string]slurm.Signal{}
		}
		w.signals[e.line] = s
	}
}

// termsOf are those of a new job: its own, and what the site says beside them.
func (w *World) termsOf(e *entry, text slurm.Texts) slurm.Terms {
	t, err := slurm.ParseContract(text.Comment)
	if err != nil {
		w.log.Warn("a job's contract is not understood; it has the site's", "job", e.id, "user", e.seen.User, "err", err)
		w.note(e.line, "the comment is not understood, and nothing of it holds: "+err.Error())
	}
	s, read := w.signals[e.line]
	e.own = own{comment: t, command: text.Command, hasComment: true, script: s, hasScript: read}
	return w.terms(e)
}

// terms are what is known of what a job says, and what the site says beside it.
func (w *World) terms(e *entry) slurm.Terms {
	return w.opts.Contracts.Of(e.own.comment.WithSignal(e.own.script), e.seen.QOS, e.seen.Partitions)
}

// askToStop tells a run that it has to stop, by the signal that it asked for: its comment's, else its command line's, its
// script's, the site's. One that asked for none is told all the same, with every process of it.
func (w *World) askToStop(ctx context.Context, e *entry) error {
	if s := w.signalOf(ctx, e); s.Name != "" {
		return w.opts.Slurm.Ask(ctx, e.id, s)
	}
	return w.opts.Slurm.Signal(ctx, e.id, w.opts.Signal)
}

func (w *World) signalOf(ctx context.Context, e *entry) slurm.Signal {
	o, j := &e.own, &e.seen
	if !o.hasComment { // the journal had the job
		w.spend(callsOfTexts)
		if texts, err := w.opts.Slurm.Texts(ctx, j.Number); w.try(ctx, "reading a job's comment", e.id, err) {
			o.comment, _ = slurm.ParseContract(texts[j.Number].Comment)
			o.command, o.hasComment = texts[j.Number].Command, true
		}
	}
	if s := o.comment.Signal(); s.Name != "" {
		return s
	}
	if j.Batch && w.opts.Accounting && !w.opts.Now().Before(w.linesFrom) {
		on, cancel := context.WithTimeout(ctx, linePatience)
		defer cancel()
		s, err := w.opts.Slurm.SignalOnLine(on, e.id, o.command)
		if s.Name != "" {
			return s
		}
		if !w.try(ctx, "reading a job's command line", e.id, err) {
			w.linesFrom = w.opts.Now().Add(lineAgain)
		}
	}
	if j.Batch && !o.hasScript && !w.opts.Sealed {
		w.spend(1)
		s, err := w.opts.Slurm.SignalInScript(ctx, e.id)
		if o.hasScript = w.try(ctx, "reading a job's script", e.id, err); o.hasScript {
			o.script = s
		}
	}
	return w.terms(e).Signal()
}
