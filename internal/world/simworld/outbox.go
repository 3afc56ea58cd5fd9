package simworld

import (
	"time"

	"github.com/escala-sched/escala/internal/world"
)

// outbox holds reports that are on their way, in the order in which things happened. It is
// guarded by the machine.
type outbox struct {
	items []*parcel
}

// parcel is one report. due: it may be delivered, once those of its run before it are, or
// right away if it is loose.
type parcel struct {
	report     world.Report
	due, loose bool
}

// take removes what can be delivered.
func (o *outbox) take() []world.Report {
	var out []world.Report
	kept := o.items[:0]
	waits := map[world.Run]bool{}
	for _, p := range o.items {
		if p.due && (p.loose || !waits[p.report.Run]) {
			out = append(out, p.report)
			continue
		}
		waits[p.report.Run] = waits[p.report.Run] || !p.loose
		kept = append(kept, p)
	}
	clear(o.items[len(kept):])
	o.items = kept
	return out
}

// post puts a report on its way. The machine is locked.
func (w *World) post(r world.Report) {
	if w.begun == nil {
		w.early = append(w.early, r)
		return
	}
	var late time.Duration
	if d := w.m.opts.Delay; d != nil {
		late = d(&r)
	}
	w.send(&parcel{report: r}, late)
	if d := w.m.opts.Double; d != nil {
		if again, more := d(&r); again {
			w.send(&parcel{report: r, loose: true}, late+more)
		}
	}
}

func (w *World) send(p *parcel, late time.Duration) {
	w.mail.items = append(w.mail.items, p)
	if late > 0 {
		w.m.after(late, func() {
			p.due = true
			w.ring()
		})
		return
	}
	p.due = true
	w.ring()
}

func (w *World) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// pump delivers from a goroutine of its own, as worlds do.
func (w *World) pump(report func(...world.Report)) {
	defer w.done.Done()
	for {
		select {
		case <-w.quit:
			return
		case <-w.bell:
		}
		w.m.mu.Lock()
		due := w.mail.take()
		w.m.mu.Unlock()
		for _, r := range due {
			select {
			case <-w.quit:
				return
			default:
				report(r)
			}
		}
	}
}
