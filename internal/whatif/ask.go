package whatif

import (
	"context"
	"runtime"
	"sync"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Question is what is asked of a journal.
type Question struct {
	// From and To bound the stretch, on the journal's clock. One that begins before the
	// journal, or ends after it, does so with it.
	From, To workload.Time
	// Policies that might have decided.
	Policies []*policy.Policy
	// Seed of the run times that are drawn.
	Seed uint64
	// By is what figures of groups are for; nil = what tells the jobs apart.
	By *metrics.Grouping
	// Pictures: keep what they need.
	Pictures bool

	truth truth
	// watch is told of each run, for tests.
	watch func(name string) []sim.Observer
}

// recordedName is what the replay of the recorded policy is called.
const recordedName = " (recorded)"

// Ask goes through a stretch of a journal again, first under the policy that decided and then
// under others, and compares. Errors of the journal are of journal.Error; a [PolicyChanged]
// says that no one policy decided.
func (j *Journal) Ask(ctx context.Context, q *Question) (*report.Comparison, error) {
	s, err := j.cut(q.From, q.To)
	if err != nil {
		return nil, err
	}
	c, err := s.scene(q.Seed, q.truth)
	if err != nil {
		return nil, err
	}
	a := &asking{q: q, c: c, by: metrics.GroupingOf(c.w)}
	if q.By != nil {
		a.by = *q.By
	}
	out := &report.Comparison{Title: c.w.Name + ": what if", Workload: c.w, Cluster: s.header.Cluster, Budgets: a.budgets()}
	recorded := *s.header.Policy
	recorded.Name += recordedName
	policies := append([]*policy.Policy{&recorded}, q.Policies...)
	if out.Policies, err = a.all(ctx, policies); err != nil {
		return nil, err
	}
	if out.Check, err = a.check(ctx, &recorded); err != nil {
		return nil, err
	}
	out.Assumptions = c.assumptions(q.Seed, policies)
	return out, nil
}

// asking is a question about a scene.
type asking struct {
	q  *Question
	c  *scene
	by metrics.Grouping
}

// budgets are those that all are judged by: those in force when the stretch begins, or the
// first in it.
func (a *asking) budgets() *budget.Tree {
	if t, _ := a.c.state.Budgets(); t != nil {
		return t
	}
	if t := a.c.firstBudgets(); t != nil {
		return t
	}
	for _, p := range a.q.Policies {
		if p.Sharing != nil {
			t, _ := a.c.shared.Budgets()
			return t
		}
	}
	return nil
}

// window is the stretch. Its last moment is in it.
func (a *asking) window() metrics.Window {
	return metrics.Window{From: a.c.s.from, To: max(a.c.s.to, a.c.s.from) + 1}
}

// Sizes of what pictures keep.
const (
	seriesBins = 1024
	runParts   = 20_000
)

func (a *asking) collector() *metrics.Collector {
	cfg := metrics.Config{Cluster: a.c.s.header.Cluster, Workload: a.c.w, Window: a.window(), By: a.by, Budgets: a.budgets()}
	for _, p := range append([]*policy.Policy{a.c.s.header.Policy}, a.q.Policies...) {
		if p.Sharing != nil && cfg.ShareWindow == 0 {
			cfg.ShareWindow = p.Sharing.Window
		}
	}
	if a.q.Pictures {
		cfg.Bins, cfg.Runs = seriesBins, runParts
	}
	col := metrics.NewCollector(cfg)
	a.c.open(col)
	return col
}

// all simulates the policies, as many at once as there are processors.
func (a *asking) all(ctx context.Context, policies []*policy.Policy) ([]report.Policy, error) {
	out := make([]report.Policy, len(policies))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, len(policies))
	for i := range policies {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(policies)) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				if err := a.one(ctx, policies[i], &out[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return out, context.Cause(ctx)
}

func (a *asking) one(ctx context.Context, p *policy.Policy, out *report.Policy) error {
	col := a.collector()
	o := a.c.options(p)
	o.Observers = []sim.Observer{col}
	if a.q.watch != nil {
		o.Observers = append(o.Observers, a.q.watch(p.Name)...)
	}
	res, err := sim.Run(ctx, o)
	if err != nil {
		return named(p, err)
	}
	*out = report.Policy{Name: p.Name, Description: p.Description, Source: p.Source, Text: text(*p), Hash: p.Hash, Estimates: p.Estimates.Model.String(),
		Notes: res.Notes, Metrics: metrics.Compute(col, a.c.w, res)}
	if a.q.Pictures {
		out.Series, out.Runs, out.Accounts, out.Services = col.Series(res.End), col.Runs(res.End), col.Accounts(res.End), col.Services(res.End)
	}
	return nil
}

// check holds the replay of the recorded policy to what happened, both up to the end of the
// stretch.
func (a *asking) check(ctx context.Context, p *policy.Policy) (*report.Check, error) {
	to := a.c.s.to
	was, rec := a.collector(), newRecorder(a.c.w.Jobs)
	a.c.open(rec)
	t := &tape{c: a.c, observers: []sim.Observer{was, rec}}
	if err := a.c.s.play(t); err != nil {
		return nil, err
	}
	t.show()
	is := a.collector()
	o := a.c.options(p)
	o.Observers, o.Until = []sim.Observer{is}, max(to, 1)
	res, err := sim.Run(ctx, o)
	if err != nil {
		return nil, named(p, err)
	}
	res.Cut, res.End = true, to
	return &report.Check{Recorded: metrics.Compute(was, a.c.w, rec.result(to)), Replay: metrics.Compute(is, a.c.w, res)}, nil
}
