package engine

import (
	"slices"

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
	// Starts are those that came true. Holds has bit h set for each [fact.HoldBy] h that it has.
	// Cancelled: it was withdrawn, and its run is still to end.
	Starts    int32
	Holds     uint8
	Cancelled bool
	// Of a run: when it was confirmed, or else decided (Up tells which); where it is, and with
	// how many tasks where the job left that open. Since of a job in the queue: when it came there.
	Runs, Up     bool
	Since, Until workload.Time
	Tasks        int32
	Milli        int64
	Place        []cluster.Grant
	Unallocated  bool
	// Work is since when it makes progress beyond Kept; Deadline by when it is to have left, 0
	// = the policy does not say, or it is not to stop.
	Work, Deadline workload.Time
}

// Alive lists the jobs of the state by number.
func (s *State) Alive() []Alive {
	out := make([]Alive, 0, len(s.jobs))
	for i := range s.jobs {
		x := &s.jobs[i]
		if x.state == absent || x.state == ended {
			continue
		}
		a := Alive{Number: x.number, Job: x.spec, Estimate: x.est, State: stateNames[x.state], Attempt: x.attempt, Kept: x.kept, Starts: x.runs, Holds: x.holds, Cancelled: x.cancel}
		if x.state == waiting {
			a.Since = x.since
		}
		if occupies(x.state) {
			r := x.run
			a.Runs, a.Up, a.Since, a.Tasks, a.Milli, a.Place, a.Unallocated = true, r.up, x.since, r.tasks, r.milli, r.grants, r.unallocated
			a.Work = r.work
			if s.sharing != nil && r.until != unset {
				a.Until = r.until
			}
			if s.sharing != nil && x.state == stopping {
				a.Deadline = r.deadline
			}
		}
		out = append(out, a)
	}
	return out
}

// Down lists the nodes that have failed.
func (s *State) Down() []int32 { return slices.Clone(s.down) }

// Drained lists the nodes that are drained.
func (s *State) Drained() []int32 { return slices.Clone(s.drained) }

// Renumbered is the same state with the numbers of its jobs from 0 on, in their order. jobs are
// what they declare, and was their numbers before; nil stands for a number that was left out.
func (s *State) Renumbered() (t *State, jobs []*workload.Job, was []int32) {
	c := *s
	t = &c
	t.jobs, t.next = slices.Clone(s.jobs), int32(len(s.jobs))
	place := map[int32]int32{}
	for i := range t.jobs {
		x := &t.jobs[i]
		jobs, was = append(jobs, x.spec), append(was, x.number)
		place[x.number] = int32(i)
		x.number = int32(i)
	}
	t.past = slices.Clone(s.past) // others that have ended are known by their IDs
	for i := range t.past {
		t.past[i].job = none
	}
	t.refuse = slices.Clone(s.refuse)
	for i := range t.refuse {
		if on, ok := place[t.refuse[i].reason.For]; ok {
			t.refuse[i].reason.For = on
		} else {
			t.refuse[i].reason.For = none
		}
	}
	return t, jobs, was
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
