package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// Alive is a job that had not ended when a [State] was taken.
type Alive struct {
	Number int32
	// Job is what it declares: read only. Estimate is the run time that is predicted for it.
	Job      *workload.Job
	Estimate workload.Span
	// State as in [Explanation].
	State string
	// Attempt is the present run, or the last, 0 for a job that never started. Kept is the work that is safe.
	Attempt int32
	Kept    workload.Span
	// Of a run: when it was confirmed, or else decided (Up tells which); where it is, and with
	// how many tasks where the job left that open.
	Runs, Up     bool
	Since, Until workload.Time
	Tasks        int32
	Milli        int64
	Place        []cluster.Grant
	Unallocated  bool
}

// Alive lists the jobs of the state by number.
func (s *State) Alive() []Alive {
	out := make([]Alive, 0, len(s.jobs))
	for i := range s.jobs {
		x := &s.jobs[i]
		if x.state == absent || x.state == ended {
			continue
		}
		a := Alive{Number: x.number, Job: x.spec, Estimate: x.est, State: stateNames[x.state], Attempt: x.attempt, Kept: x.kept}
		if occupies(x.state) {
			r := x.run
			a.Runs, a.Up, a.Since, a.Tasks, a.Milli, a.Place, a.Unallocated = true, r.up, x.since, r.tasks, r.milli, r.grants, r.unallocated
			if s.sharing != nil && r.until != unset {
				a.Until = r.until
			}
		}
		out = append(out, a)
	}
	return out
}

// Budgets are those that were told last, nil for none, with the epoch of their calendar.
func (s *State) Budgets() (*budget.Tree, workload.Time) { return s.budgets, s.epoch }

// Forgotten is the time before which ended jobs are forgotten, see [Engine.Forget].
func (s *State) Forgotten() workload.Time { return s.forgot }

// Settled is the state without what says when to decide next, and what to look at then. An
// engine that was folded from actions ([Engine.Decided]) does not know that as one does that
// decided them; in all else they agree.
func (s *State) Settled() *State {
	t := *s
	t.wake, t.dirty, t.uncommitted = 0, false, 0
	if s.plan != nil {
		p := *s.plan
		p.early, p.broken, p.freed = false, false, 0
		t.plan = &p
	}
	if s.sharing != nil {
		x := *s.sharing
		x.pending, x.present, x.grid, x.moneyAt, x.limited = scope{}, scope{}, never, never, false
		if x.nextEvict <= s.now {
			x.nextEvict = never
		}
		x.ledgers = nil
		for _, l := range s.sharing.ledgers {
			x.ledgers = append(x.ledgers, l.Settled())
		}
		x.dates = append([]date(nil), x.dates...)
		for i := range x.dates {
			x.dates[i].due = false
		}
		t.sharing = &x
	}
	return &t
}
