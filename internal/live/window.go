package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

const (
	// keepWindows is how long a window that is over is listed, mostWindows how many of these at most.
	keepWindows = 7 * workload.Day
	mostWindows = 100
	// mostAhead is how many windows there may be that are not over.
	mostAhead = 1000
)

// Window is a time for which nodes are kept, with who asked for it and why.
type Window struct {
	fact.Window
	By, Text string
	Set      workload.Time
	// Lifted is when it was taken back, by LiftedBy; [workload.Unknown] if it was not.
	Lifted   workload.Time
	LiftedBy string
}

// Over tells whether it keeps nobody off any more.
func (w *Window) Over(now workload.Time) bool { return w.Lifted != workload.Unknown || w.Until <= now }

// windowChanged takes in that one was set or lifted.
func (b *Book) windowChanged(f *fact.Fact) {
	b.windows = slices.DeleteFunc(b.windows, func(w Window) bool { return w.Over(f.At) && f.At-w.ended() > keepWindows })
	if f.Kind == fact.WindowLifted {
		if i := b.windowOf(f.Window.ID, f.At); i >= 0 {
			b.windows[i].Lifted, b.windows[i].LiftedBy = f.At, f.By
		}
		return
	}
	past := 0
	for i := len(b.windows) - 1; i >= 0; i-- {
		if b.windows[i].Over(f.At) {
			if past++; past >= mostWindows {
				b.windows = slices.Delete(b.windows, i, i+1)
			}
		}
	}
	b.windows = append(b.windows, Window{Window: *f.Window, By: f.By, Text: f.Text, Set: f.At, Lifted: workload.Unknown})
}

// ended is when a window that is over was over.
func (w *Window) ended() workload.Time {
	if w.Lifted != workload.Unknown {
		return w.Lifted
	}
	return w.Until
}

// windowOf is the place of the window of an ID that is not over, -1 for none.
func (b *Book) windowOf(id string, now workload.Time) int {
	return slices.IndexFunc(b.windows, func(w Window) bool { return w.ID == id && !w.Over(now) })
}

// Windows are those that are not over, and those of the last days, in the order in which they were set.
func (d *Daemon) Windows() []Window {
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	return slices.Clone(d.book.windows)
}

// SetWindow keeps nodes from a time until another, for maintenance or for some, and returns its
// ID: one is made where none is given.
func (d *Daemon) SetWindow(ctx context.Context, w fact.Window, from, until time.Time, by, text string) (string, error) {
	return change(ctx, d, func(t *tx) (string, error) {
		w := w
		w.From, w.Until = max(d.clock.of(from), t.now), d.clock.of(until)
		ahead := 0
		for i := range d.book.windows {
			if !d.book.windows[i].Over(t.now) {
				ahead++
			}
		}
		switch {
		case len(d.cfg.World.Cluster().Nodes) == 0:
			return "", &Conflict{"this cluster is a mere count of GPUs: there are no nodes to keep"}
		case w.Until <= w.From:
			return "", &Invalid{"until", "it would be over when it begins, or by now"}
		case ahead >= mostAhead:
			return "", &Conflict{fmt.Sprintf("there are %d reservations already", ahead)}
		case w.ID != "" && d.book.windowOf(w.ID, t.now) >= 0:
			return "", &Conflict{fmt.Sprintf("there is a reservation %s already", w.ID)}
		}
		for n := 1; w.ID == ""; n++ {
			id := fmt.Sprint("r", n)
			if !slices.ContainsFunc(d.book.windows, func(o Window) bool { return o.ID == id }) {
				w.ID = id
			}
		}
		slices.Sort(w.Nodes)
		w.Nodes = slices.Compact(w.Nodes)
		if err := t.fact(fact.Fact{Kind: fact.WindowSet, Job: -1, Node: -1, Window: &w, By: by, Text: text}); err != nil {
			return "", &Invalid{"reservation", err.Error()}
		}
		return w.ID, nil
	})
}

// LiftWindow ends a window before its time.
func (d *Daemon) LiftWindow(ctx context.Context, id, by string) error {
	_, err := change(ctx, d, func(t *tx) (bool, error) {
		if d.book.windowOf(id, t.now) < 0 {
			if slices.ContainsFunc(d.book.windows, func(w Window) bool { return w.ID == id }) {
				return false, &Conflict{"reservation " + id + " is over"}
			}
			return false, &NotFound{"reservation " + id}
		}
		return true, t.fact(fact.Fact{Kind: fact.WindowLifted, Job: -1, Node: -1, Window: &fact.Window{ID: id}, By: by})
	})
	return err
}

// For says in words whom a window lets in.
func (w *Window) For() string {
	if w.Maintenance() {
		return "maintenance"
	}
	list := func(what string, names []string) string {
		if len(names) > 1 {
			what += "s"
		}
		return what + " " + strings.Join(names, ", ")
	}
	switch {
	case len(w.Users) == 0:
		return list("team", w.Teams)
	case len(w.Teams) == 0:
		return list("user", w.Users)
	}
	return list("team", w.Teams) + " and " + list("user", w.Users)
}
