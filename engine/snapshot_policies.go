package engine

import (
	"math"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// savedUsage is the decayed usage of the multifactor order.
type savedUsage struct {
	byUser bool
	// names and usage of accounts, in the order in which they are added up.
	names    []string
	usage    []float64
	accounts int64
	at       workload.Time
	// ended are jobs whose runs ended since.
	ended []int32
}

func (t *taking) usage() {
	s := t.e.order.shares
	u := &savedUsage{byUser: s.m.ByUser, names: make([]string, len(s.usage)), usage: slices.Clone(s.usage), accounts: int64(s.accounts), at: s.at}
	for _, name := range sortedKeys(s.number) {
		u.names[s.number[name]] = name
	}
	seen := map[int32]bool{}
	for _, n := range s.ended {
		if !seen[n] {
			seen[n] = true
			u.ended = append(u.ended, t.at[n])
		}
	}
	t.s.usage = u
}

// savedPlan is the dates of conservative backfill.
type savedPlan struct {
	slots         []savedSlot
	fresh         []int32
	early, broken bool
	freed         workload.Time
}

type savedSlot struct {
	job int32
	slot
}

func (t *taking) plan() {
	p := &t.e.plan
	x := &savedPlan{fresh: t.set(p.fresh), early: p.early, broken: p.broken, freed: p.freed}
	for _, n := range sortedKeys(p.slots) {
		s := *p.slots[n]
		s.grants = clonePlace(s.grants)
		x.slots = append(x.slots, savedSlot{t.at[n], s})
	}
	t.s.plan = x
}

// savedSharing is what budgets and contracts know beside the jobs.
type savedSharing struct {
	// ledgers and fills by lane, the second of unallocated time.
	ledgers, fills   []*budget.LedgerState
	accounts         *budget.AccountsState
	dates            []date
	pending, present scope
	grid, moneyAt    workload.Time
	nextEvict        workload.Time
	limited          bool
	onNode           [][]int32
}

func (t *taking) sharing() {
	e, s := t.e, t.e.sharing
	x := &savedSharing{grid: s.grid, moneyAt: never, nextEvict: never, limited: s.limited, pending: t.scope(&s.pending)}
	for i := range s.lanes {
		x.ledgers = append(x.ledgers, s.lanes[i].ledger.State(e.now, s.grid))
		x.fills = append(x.fills, s.lanes[i].fill.State(e.now, s.grid))
	}
	if s.accounts != nil {
		// A protection that is over, and not seen yet, draws from its end on.
		x.accounts = s.accounts.State(min(e.now, s.nextEnd(e)))
		x.moneyAt = s.moneyAt
	}
	if s.limited || s.nextEvict > e.now {
		x.nextEvict = s.nextEvict
	}
	if e.uncommitted > 0 {
		x.present = t.scope(&s.present)
	}
	for i := range s.dates {
		d := s.dates[i]
		d.job, d.grants = t.at[d.job], clonePlace(d.grants)
		x.dates = append(x.dates, d)
	}
	for n := range s.onNode {
		x.onNode = append(x.onNode, t.alive(s.onNode[n]))
	}
	t.s.sharing = x
}

// scope saves what is to be looked at; a class goes by its first job.
func (t *taking) scope(s *scope) scope {
	x := scope{all: s.all, swaps: s.swaps, some: s.some}
	for _, ci := range s.fresh {
		if c := &t.e.classes[ci]; c.n > 0 {
			x.fresh = append(x.fresh, t.at[c.head])
		}
	}
	slices.Sort(x.fresh)
	x.fresh = slices.Compact(x.fresh)
	return x
}

// savedAhead is what the horizon knows beside the jobs.
type savedAhead struct {
	// back are planned outages that ended at another time than planned.
	back     []maintenance
	proposed *fact.Plan
}

func (t *taking) ahead() {
	e, h := t.e, t.e.ahead
	x := &savedAhead{}
	for i, m := range plannedOutages(e.layout) {
		if to := h.planned[i].to; to != m.to && m.to > e.now {
			m.to = to
			x.back = append(x.back, m)
		}
	}
	if p := h.valid(e.now); p != nil {
		q := *p
		q.Starts = slices.Clone(p.Starts)
		for i := range q.Starts {
			st := &q.Starts[i]
			if st.Job = t.at[st.Job]; st.Job == none {
				st.Place = nil // it has ended
			}
		}
		x.proposed = &q
	}
	t.s.ahead = x
}

// sum adds up decayed usage as it is added up at each point of the grid.
func sum(usage []float64) (total float64) {
	for _, u := range usage {
		total += u
	}
	return total
}

// finite tells numbers that usage may be.
func finite(f float64) bool { return f >= 0 && !math.IsInf(f, 0) }
