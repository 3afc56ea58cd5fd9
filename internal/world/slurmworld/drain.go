package slurmworld

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// Nodes that people close by escala are drained in Slurm, too, where the right for that is there: else jobs of other
// partitions would go on starting on them. What was drained so is told by its reason, in Slurm itself: it is still
// known after a restart, and what others drained is never resumed.

// mark begins all texts that are written into Slurm: they can be told from those of others.
const mark = "escala: "

// Drain implements [world.Drainer].
func (w *World) Drain(list ...world.Drained) {
	if w.watch {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closings = append(w.closings, list...)
	w.ring()
}

// drain does to Slurm's nodes what people did to escala's. What was asked for is known before the look that led here.
func (w *World) drain(ctx context.Context) {
	for _, k := range slices.Sorted(maps.Keys(w.asked)) {
		d, name := w.asked[k], w.spec.Nodes[k].Name
		delete(w.asked, k)
		reason, already := w.drained[k]
		own := strings.HasPrefix(reason, mark)
		switch {
		case d.Closed == already:
			continue
		case !d.Closed && !own: // somebody else has it closed: that holds here as well
			w.tell(world.Report{Kind: fact.NodeDrained, Node: k, Text: "still closed in Slurm, and not by escala: " + reason})
			continue
		case !w.opts.Administers && d.Closed:
			w.log.Info("a node is closed for what escala starts, and not in Slurm: that needs administrator", "node", name)
			continue
		case !w.opts.Administers:
			w.tell(world.Report{Kind: fact.NodeDrained, Node: k, Text: "still closed in Slurm, and to open it needs administrator: " + reason})
			continue
		}
		var err error
		w.spend(1)
		if d.Closed {
			reason = oneLine(mark + strings.TrimSpace(d.Text) + " (" + d.By + ")")
			err = w.opts.Slurm.Drain(ctx, name, reason)
		} else {
			err = w.opts.Slurm.Resume(ctx, name)
		}
		switch {
		case errors.Is(err, slurm.ErrAway):
			w.asked[k] = d // when it is back
		case err != nil:
			w.log.Warn("a node cannot be closed or opened in Slurm", "node", name, "closed", d.Closed, "err", err)
		}
		w.soon = true
	}
}

// mostText is how long a text in Slurm may be: people read it in a table.
const mostText = 250

// oneLine is a text without what would spoil a table of Slurm's.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText-3], "") + "..."
	}
	return s
}
