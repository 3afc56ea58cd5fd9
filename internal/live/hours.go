package live

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// hours keeps the ledger by hour: what each user of each team was given, lost and asked for.
// It outlives the journal's detail, so that what was charged can be told for as long as anybody
// asks. A row is written when its hour is over; that of the present hour is part of snapshots.
type hours struct {
	// hour is the beginning of the present one.
	hour workload.Time
	rows map[payer]*account
	jobs map[int32]*load
	// done are rows of hours that are over and not written yet.
	done []store.HourRow
}

type payer struct{ Team, User string }

// account is what a payer has in the present hour up to at, and what it holds and asks for
// since, in milli-GPU.
type account struct {
	row                             store.HourRow
	at                              workload.Time
	allocated, unallocated, waiting int64
	jobs                            int
}

// load is what a job adds to its account now.
type load struct {
	of                              payer
	allocated, unallocated, waiting int64
}

const hour = workload.Hour

func newHours() *hours { return &hours{rows: map[payer]*account{}, jobs: map[int32]*load{}} }

// advance closes hours that are over.
func (h *hours) advance(now workload.Time) {
	begin := now - now%hour
	if begin <= h.hour {
		return
	}
	for h.hour < begin {
		end := h.hour + hour
		for p, a := range h.rows {
			a.run(end)
			if r := a.row; r.Allocated != 0 || r.Unallocated != 0 || r.Lost != 0 || r.Demand != 0 {
				h.done = append(h.done, r)
			}
			if a.jobs == 0 {
				delete(h.rows, p)
				continue
			}
			a.row = store.HourRow{Hour: end, Account: p.Team, User: p.User}
		}
		if h.hour = end; len(h.rows) == 0 {
			h.hour = begin
		}
	}
	slices.SortFunc(h.done, func(a, b store.HourRow) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
	})
}

// run integrates up to a time.
func (a *account) run(to workload.Time) {
	ms := max(to-a.at, 0)
	a.row.Allocated += a.allocated * ms
	a.row.Unallocated += a.unallocated * ms
	a.row.Demand += (a.allocated + a.waiting) * ms
	a.at = max(a.at, to)
}

// see takes in how a job stands now.
func (h *hours) see(j *Job, now workload.Time) {
	h.advance(now)
	old := h.jobs[j.Number]
	next := loadOf(j)
	if old != nil {
		if next != nil && *old == *next {
			return
		}
		h.add(old, now, -1)
		delete(h.jobs, j.Number)
	}
	if next != nil {
		h.add(next, now, 1)
		h.jobs[j.Number] = next
	}
}

// loadOf is what a job adds, nil for nothing. Held and dependent jobs ask for nothing.
func loadOf(j *Job) *load {
	l := &load{of: payer{j.Spec.Team, j.Spec.User}}
	switch r := j.Run(); j.Phase {
	case Waiting, Clearing:
		if c := j.Spec.Contract; !c.HasMinRuntime || c.MinRuntime > 0 {
			l.waiting = j.Spec.Need.TotalMilli()
		}
	case Starting, Running:
		switch {
		case r.Up == workload.Unknown:
			l.waiting = r.Milli
		case r.Unallocated:
			l.unallocated = r.Milli
		default:
			l.allocated = r.Milli
		}
	default:
		return nil
	}
	return l
}

func (h *hours) add(l *load, now workload.Time, sign int64) {
	a := h.of(l.of, now)
	a.run(now)
	a.allocated += sign * l.allocated
	a.unallocated += sign * l.unallocated
	a.waiting += sign * l.waiting
	a.jobs += int(sign)
}

func (h *hours) of(p payer, now workload.Time) *account {
	a := h.rows[p]
	if a == nil {
		a = &account{at: now, row: store.HourRow{Hour: h.hour, Account: p.Team, User: p.User}}
		h.rows[p] = a
	}
	return a
}

// lost adds work that has to be done again, in milli-GPU x ms.
func (h *hours) lost(j *Job, now workload.Time) {
	r := j.Run()
	if r == nil || r.Left != now || r.Lost == 0 {
		return
	}
	h.advance(now)
	h.of(payer{j.Spec.Team, j.Spec.User}, now).row.Lost += r.Lost * r.Milli
}

// take returns the rows of hours that are over.
func (h *hours) take() []store.HourRow {
	out := h.done
	h.done = nil
	return out
}

// present are the rows of the hour that is not over, up to now.
func (h *hours) present(now workload.Time) []store.HourRow {
	h.advance(now)
	out := make([]store.HourRow, 0, len(h.rows))
	for _, a := range h.rows {
		a.run(now)
		out = append(out, a.row)
	}
	slices.SortFunc(out, func(a, b store.HourRow) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
	})
	return out
}

// resume goes on from the rows of a snapshot taken at a time.
func (h *hours) resume(rows []store.HourRow, now workload.Time) {
	h.hour = now - now%hour
	for _, r := range rows {
		if r.Hour == h.hour {
			h.of(payer{r.Account, r.User}, now).row = r
		}
	}
}
