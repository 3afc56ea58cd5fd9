// Package exact is the full mode of the horizon planner: it starts from the grid of the
// fast mode, tries to improve it, and says how far from the best possible it is at most.
//
// Three things take turns. The search of package horizon goes on with more orders. The
// count model (count.go) forgets where blocks lie; its optimum is a bound, and the
// order in which its jobs start is one more for the search to try. Where the two do not
// meet, the position model (position.go) knows every slot; begun from the best grid it
// improves that, lowers the bound, or proves the two equal.
//
// HiGHS solves the models where it is built in (package highs); else the search has all the
// time, the bound is a Lagrangian one, and the result says so.
package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/internal/highs"
)

// Options of the full mode.
type Options struct {
	// Budget is the time it may take; 0 = [DefaultBudget]. What is found in it depends on
	// the machine.
	Budget time.Duration
	// Work is the least number of decodes of the search; 0 = [horizon.DefaultWork].
	Work int
	Seed uint64
	// Now is the clock that the budget is measured by.
	Now func() time.Time
	// Progress, if set, is told what is being done and what is known.
	Progress func(Progress)
}

// Progress of a run.
type Progress struct {
	Doing            string
	Objective, Bound float64
}

// DefaultBudget of the full mode.
const DefaultBudget = 30 * time.Second

// maxPositions is the number of columns up to which the position model is worth its time: in
// larger ones HiGHS was seen not to leave the root node in half a minute.
const maxPositions = 8_000

// proven is how close a plan has to come to a bound to count as optimal: what the
// arithmetic of the models leaves open.
const proven = 2e-6

// Full plans p. The result is never worse than that of the fast mode with the same
// work and seed. It ends early when the plan is proven, or ctx is done, with the best so far.
func Full(ctx context.Context, p *horizon.Problem, o Options) (*horizon.Result, error) {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Work == 0 {
		o.Work = horizon.DefaultWork
	}
	r := &run{ctx: ctx, p: p, o: o, begin: o.Now(), bound: math.Inf(1)}
	if err := r.plan(); err != nil {
		return nil, err
	}
	if v := legal.Check(r.best.Plan); len(v) > 0 {
		return nil, fmt.Errorf("the plan found breaks a rule: %v; this is a defect of the planner, please report it with its input", v[0])
	}
	return r.best, nil
}

// run is one call of Full.
type run struct {
	ctx     context.Context
	p       *horizon.Problem
	o       Options
	begin   time.Time
	search  *horizon.Search
	best    *horizon.Result
	bound   float64
	boundBy string
}

func (r *run) plan() (err error) {
	if r.search, err = horizon.NewSearch(r.p, r.o.Seed); err != nil {
		return err
	}
	r.tell("searching")
	r.search.Run(r.o.Work, func() bool { return r.over(1) })
	r.found(r.search.Result())
	r.lower(horizon.Bound(r.p, r.best.Score.Objective, 1000), "lagrangian")
	r.look(0.15)
	used := "search"
	if !r.optimal() && !r.over(1) {
		switch err := r.models(); {
		case err == nil:
			used = "search + HiGHS"
		case errors.Is(err, highs.ErrNotBuilt):
			used = "search (HiGHS is not built in)"
		case r.ctx.Err() == nil:
			used = "search (HiGHS failed: " + err.Error() + ")"
		}
	}
	r.look(1)
	r.best.Solver = used
	r.best.Work = r.search.Work()
	r.best.Bound, r.best.BoundBy = math.Max(r.bound, r.best.Score.Objective), r.boundBy
	return nil
}

// over tells whether a share of the budget is used up.
func (r *run) over(share float64) bool {
	return r.ctx.Err() != nil || r.o.Now().Sub(r.begin) >= time.Duration(share*float64(r.o.Budget))
}

// limit is what is left of a share of the budget for a model; where the search took longer
// than that, a part of the rest.
func (r *run) limit(share float64) time.Duration {
	spent := r.o.Now().Sub(r.begin)
	return max(time.Duration(share*float64(r.o.Budget))-spent, (r.o.Budget-spent)/4, time.Millisecond)
}

// look searches until a share of the budget is used up or the plan is proven.
func (r *run) look(share float64) {
	if r.optimal() || r.over(share) {
		return
	}
	r.tell("searching")
	for !r.over(share) && !r.optimal() {
		before := r.search.Work()
		r.search.Run(before+1<<16, func() bool { return r.over(share) })
		r.found(r.search.Result())
		if r.search.Work() == before { // nothing to vary
			return
		}
		r.tell("searching")
	}
}

// found takes a plan if it is better than the best.
func (r *run) found(x *horizon.Result) {
	if r.best == nil || x.Score.Objective > r.best.Score.Objective {
		r.best = x
	}
}

func (r *run) lower(bound float64, by string) {
	if bound < r.bound {
		r.bound, r.boundBy = bound, by
	}
}

func (r *run) optimal() bool {
	return r.bound-r.best.Score.Objective <= proven*math.Max(1, math.Abs(r.bound))
}

func (r *run) tell(doing string) {
	if r.o.Progress == nil {
		return
	}
	n := Progress{Doing: doing, Objective: math.Inf(-1), Bound: r.bound}
	if r.best != nil {
		n.Objective = r.best.Score.Objective
	}
	r.o.Progress(n)
}

// models solves the count model, then, where it does not prove the plan, the position model.
func (r *run) models() error {
	s, err := highs.New(r.ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	relaxed := horizon.Relax(r.p)
	count := newCountModel(r.p, relaxed)
	r.tell("solving the count model")
	x, err := s.Solve(r.ctx, &count.m, highs.Options{TimeLimit: r.limit(0.5), Start: count.start(r.best.Plan)})
	if err != nil {
		return err
	}
	r.lower(x.Bound, "count model")
	if x.Feasible && !r.optimal() {
		r.search.Suggest(count.order(x.X))
		r.look(0.55)
	}
	if r.optimal() || r.over(1) || positionColumns(r.p, relaxed) > maxPositions {
		return nil
	}
	position := newPositionModel(r.p, relaxed)
	if position == nil {
		return nil
	}
	r.tell("solving the position model")
	x, err = s.Solve(r.ctx, &position.m, highs.Options{TimeLimit: r.limit(0.95), Start: position.start(r.best.Plan)})
	if err != nil {
		return err
	}
	r.lower(x.Bound, "position model")
	if x.Feasible {
		if plan := position.plan(x.X); len(legal.Check(plan)) == 0 { // a solution is exact to 1e-6 only
			r.found(&horizon.Result{Plan: plan, Score: plan.Score()})
			r.search.Suggest(count.order(x.X))
		}
	}
	return nil
}
