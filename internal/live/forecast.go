package live

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/forecast"
	"github.com/escala-sched/escala/internal/splitmix"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

const (
	// futures is how many are looked at for the odds.
	futures = 32
	// lookAhead is how far at most.
	lookAhead = 14 * workload.Day
	// recall is how many ended jobs are recalled at start, to know how long jobs really run.
	recall = 5000
	// arrivalsFrom is how far back submissions are looked at for those that may come.
	arrivalsFrom = workload.Day
	// arrivalsKept bounds their number.
	arrivalsKept = 4096
	// foreseenJobs is for how many of the queue it is looked ahead; those behind have no estimate.
	foreseenJobs = 2000
	// rushFacts a second are a rush, in which forecasts wait for up to rushWait: two processors have
	// enough to do then.
	rushFacts = 300
	rushWait  = 30 * time.Second
	// seen is how many predictions are compared with what came true, enoughSeen how many it takes.
	seen       = 500
	enoughSeen = 50
	// moment is added to waits before they are compared: who was to start at once and did so a few
	// seconds later says nothing of a wait of hours, which the ratio alone would stretch to days.
	moment = workload.Minute
)

// forecaster knows how long jobs really run, what is submitted, and how right it was so far.
type forecaster struct {
	mu      sync.Mutex
	history forecast.History
	// arrived are the last submissions, oldest first.
	arrived []arrived
	// predicted are the waits by P90 of jobs that still wait, from their first forecast on.
	predicted map[int32]prediction
	// errors are the ratios actual / raw P90 of waits that came true, in thousandths.
	errors []int64
	next   int
	// within counts those that came true by their P90, of all.
	within, all int64
}

type arrived struct {
	at  workload.Time
	job *workload.Job
}

// prediction is what was said at a time, and raw what the futures alone had for p90.
type prediction struct{ at, p90, raw workload.Time }

// Fact learns from what happens. The caller is the loop.
func (f *forecaster) fact(b *Book, x *fact.Fact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch x.Kind {
	case fact.JobSubmitted:
		f.arrived = append(f.arrived, arrived{x.At, x.Submitted})
		if n := len(f.arrived) - arrivalsKept; n > arrivalsKept/4 {
			f.arrived = slices.Delete(f.arrived, 0, n)
		}
	case fact.JobFinished:
		if j := b.jobs[x.Job]; j != nil && (x.Outcome == workload.OutcomeCompleted || x.Outcome == workload.OutcomeFailed || x.Outcome == workload.OutcomeTimeout) {
			f.history.Add(j.Spec.User, j.Spec.Need.TotalGPUs(), said(j.Spec), x.Kept)
		}
	case fact.JobObserved:
		r := Real{Since: x.Since, Until: x.Until}
		if ran, ok := r.Length(); ok && b.jobs[x.Job] != nil {
			j := b.jobs[x.Job].Spec
			f.history.Add(j.User, j.Need.TotalGPUs(), said(j), ran)
		}
	case fact.JobHeld, fact.JobCancelled:
		delete(f.predicted, x.Job)
	}
}

// action compares a start with what was predicted for it.
func (f *forecaster) action(a *fact.Action) {
	if a.Do != fact.Start && a.Do != fact.Refuse {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.predicted[a.Job]
	if !ok {
		return
	}
	if delete(f.predicted, a.Job); a.Do == fact.Refuse {
		return
	}
	f.all++
	if a.At <= p.p90 {
		f.within++
	}
	expected := max(p.raw-p.at, 0) + moment
	r := ((a.At-p.at+moment)*1000 + expected - 1) / expected
	if len(f.errors) < seen {
		f.errors = append(f.errors, r)
	} else {
		f.errors[f.next] = r
		f.next = (f.next + 1) % seen
	}
}

// said is the run time that a job declares, 0 = none.
func said(j *workload.Job) workload.Span {
	if j.Estimate > 0 {
		return j.Estimate
	}
	return j.Limit
}

// stretch is by how much P90 has to be stretched, or shrunk, so that nine in ten of the last
// predictions would have come true, in thousandths.
func (f *forecaster) stretch() int64 {
	if len(f.errors) < enoughSeen {
		return 1000
	}
	s := slices.Clone(f.errors)
	slices.Sort(s)
	return min(max(s[(len(s)*9+9)/10-1], 250), 20_000)
}

// stretched is a time that was foreseen at another, by the factor that past errors ask for.
func stretched(at, p90 workload.Time, by int64) workload.Time {
	return at + max((p90-at+moment)*by/1000-moment, 0)
}

// Accuracy is how many of the starts that were predicted came by their P90, of all.
func (d *Daemon) Accuracy() (within, all int64) {
	d.ahead.mu.Lock()
	defer d.ahead.mu.Unlock()
	return d.ahead.within, d.ahead.all
}

// learn recalls how long the jobs that ended last really ran.
func (d *Daemon) learn(ctx context.Context) error {
	f := &d.ahead
	f.predicted = map[int32]prediction{}
	var rows []store.EndedRow
	for after := ""; len(rows) < recall; {
		page, next, err := d.cfg.Store.Ended(ctx, store.EndedFilter{}, after, 1000)
		if err != nil {
			return err
		}
		rows = append(rows, page...)
		if after = next; next == "" {
			break
		}
	}
	for i := len(rows) - 1; i >= 0; i-- {
		j, err := fromRow(&rows[i])
		if err != nil {
			return err
		}
		if ran, ok := j.Real.Length(); ok {
			f.history.Add(j.Spec.User, j.Spec.Need.TotalGPUs(), said(j.Spec), ran)
		} else if !d.cfg.Shadow && j.Phase == Ended && j.Outcome != workload.OutcomeCancelled && len(j.Runs) > 0 {
			f.history.Add(j.Spec.User, j.Spec.Need.TotalGPUs(), said(j.Spec), j.Kept)
		}
		if j.Spec.Submit > d.clock.last-arrivalsFrom {
			f.arrived = append(f.arrived, arrived{j.Spec.Submit, j.Spec})
		}
	}
	for _, n := range d.book.alive {
		if j := d.book.jobs[n]; j != nil && j.Spec.Submit > d.clock.last-arrivalsFrom {
			f.arrived = append(f.arrived, arrived{j.Spec.Submit, j.Spec})
		}
	}
	slices.SortStableFunc(f.arrived, func(a, b arrived) int { return cmp.Compare(a.at, b.at) })
	return nil
}

// Foresee keeps the forecast fresh until the context ends: a first future at once, then all.
func (d *Daemon) Foresee(ctx context.Context) {
	var last *View
	var before int64
	var done time.Time
	least := max(d.cfg.ForeseeEvery, time.Second)
	// The first view is made at once: it is what is shown while the journal cannot be written.
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-d.done:
			return
		case <-time.After(wait):
		}
		began := d.cfg.Now()
		facts := d.stats.Facts.Load()
		rush := float64(facts-before) > rushFacts*max(wait.Seconds(), 1)
		if before = facts; rush && began.Sub(done) < rushWait {
			wait = least
			continue
		}
		done = began
		v, err := d.View(ctx)
		if err != nil || v == last {
			wait = least
			continue
		}
		last = v
		if len(v.Queue) > 0 {
			if err := d.foresee(ctx, v, futures); err != nil && ctx.Err() == nil {
				d.log.Error("looking ahead failed", "err", err)
			}
		}
		wait = max(least, 4*d.cfg.Now().Sub(began)) // a fifth of the time at most
	}
}

// foresee fills in when the jobs of a view will start.
func (d *Daemon) foresee(ctx context.Context, v *View, n int) error {
	sc := d.scenario(v)
	starts := make([][]workload.Time, n)
	one := func(k int) error {
		var err error
		starts[k], err = sc.future(ctx, uint64(k))
		return err
	}
	if err := one(0); err != nil {
		return err
	}
	d.foreseen(v, starts[:1], sc.few())
	var wg sync.WaitGroup
	next, failed := make(chan int), make(chan error, n)
	workers := min(runtime.GOMAXPROCS(0), n)
	if len(v.Queue) > foreseenJobs {
		workers = 1 // what is submitted goes before what is foreseen
	}
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range next {
				if err := one(k); err != nil {
					failed <- err
				}
			}
		}()
	}
	for k := 1; k < n; k++ {
		next <- k
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	d.foreseen(v, starts, sc.few())
	d.remember(v)
	return nil
}

// foreseen publishes a copy of the view with its quantiles.
func (d *Daemon) foreseen(v *View, starts [][]workload.Time, few bool) {
	out := &View{At: v.At, index: v.index, engine: v.engine, state: v.state, facts: v.facts, took: v.took, made: v.made, Queue: slices.Clone(v.Queue)}
	d.ahead.mu.Lock()
	stretch := d.ahead.stretch()
	d.ahead.mu.Unlock()
	row := make([]workload.Time, len(starts))
	for i := range out.Queue {
		for k := range starts {
			row[k] = starts[k][i]
		}
		slices.Sort(row)
		q := &out.Queue[i]
		q.Futures, q.Few = len(row), few
		q.P50, q.P90 = row[(len(row)-1)/2], row[(len(row)*9+9)/10-1]
		if q.raw = q.P90; q.P90 != workload.Never {
			q.P90 = max(stretched(v.At, q.P90, stretch), q.P50)
		}
	}
	// None is there where another policy decides by now: what was seen is not what will be.
	if last := d.views.last.Load(); last != nil && last.At <= out.At {
		d.views.last.Store(out)
	}
}

// remember keeps the first forecast of each job, to be compared with what comes.
func (d *Daemon) remember(v *View) {
	f := &d.ahead
	out := d.LastView()
	if out == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// In the meantime jobs may have started. Those that do so from here on are taken out again, for
	// which the loop has to wait.
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	for i := range out.Queue {
		q := &out.Queue[i]
		if j := d.book.jobs[q.Job]; j == nil || len(j.Runs) > 0 || !j.Phase.Alive() {
			continue
		}
		if _, ok := f.predicted[q.Job]; !ok && q.Futures > 1 && q.P90 != workload.Never {
			f.predicted[q.Job] = prediction{v.At, q.P90, q.raw}
		}
	}
}

// scenario is what all futures of a view begin with.
type scenario struct {
	d       *Daemon
	v       *View
	fill    engine.Defaults
	history *forecast.History
	// arrivals of the stretch [from, to), which is taken for what is usual.
	arrivals []arrived
	from, to workload.Time
}

func (d *Daemon) scenario(v *View) *scenario {
	sc := &scenario{d: d, v: v, fill: d.defaults(), to: v.At}
	sc.fill.StartLatency = 0 // the longest is for promises; starts come true at once, or nearly
	f := &d.ahead
	f.mu.Lock()
	defer f.mu.Unlock()
	sc.history = f.history.Clone()
	sc.arrivals = slices.Clone(f.arrived)
	sc.from = max(v.At-arrivalsFrom, 0)
	if len(sc.arrivals) > 0 {
		sc.from = max(sc.from, sc.arrivals[0].at)
	}
	return sc
}

// few tells whether the run times of what runs are drawn from too few that are known.
func (sc *scenario) few() bool {
	sc.v.mu.Lock()
	defer sc.v.mu.Unlock()
	runs := sc.v.engine.Runs()
	for i := range runs {
		if j := sc.v.engine.Job(runs[i].Job); j != nil && j.Service == nil && sc.history.Few(said(j)) {
			return true
		}
	}
	return false
}

// future looks at one: when each job of the view's queue starts, in its order.
func (sc *scenario) future(ctx context.Context, seed uint64) ([]workload.Time, error) {
	v := sc.v
	out := make([]workload.Time, len(v.Queue))
	for i := range out {
		out[i] = workload.Never
	}
	e, err := engine.Restore(sc.d.Header().Cluster, v.state.policy, sc.d.defaults(), v.state.engine)
	if err != nil {
		return nil, err
	}
	left := min(len(out), foreseenJobs)
	f := &sim.Future{Engine: e, Now: v.At, Fill: sc.fill, Shares: v.state.policy.Sharing != nil, Grid: grid(len(out)), Until: v.At + lookAhead, First: v.state.next,
		Started: func(job int32, at workload.Time) bool {
			if i, ok := v.index[job]; ok && out[i] == workload.Never {
				if out[i] = at; i < foreseenJobs {
					left--
				}
			}
			return left > 0
		}}
	for _, r := range e.Runs() {
		f.Runs = append(f.Runs, sim.Alive{Job: r.Job, Attempt: r.Attempt, Up: r.Up, Stopping: r.Stopping, Cause: fact.CausePreempted, Told: v.At, Deadline: r.Deadline})
	}
	f.Arrivals = sc.draw(seed, len(out))
	work := map[int32]workload.Span{}
	f.Work = func(n int32) workload.Span {
		if w, ok := work[n]; ok {
			return w
		}
		j := e.Job(n)
		done, _, _ := e.Settle(n, v.At, v.At, fact.CauseNone)
		w := sc.history.Draw(seed, n, j.User, j.Need.TotalGPUs(), said(j), done)
		if j.Service != nil {
			w = lookAhead
		}
		work[n] = w
		return w
	}
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// grid is how finely a future is looked at: coarser the more there is to see.
func grid(jobs int) workload.Span {
	switch {
	case jobs <= 100:
		return workload.Second
	case jobs <= 2000:
		return 15 * workload.Second
	}
	return workload.Minute
}

// draw repeats what was submitted in the stretch before, from a point drawn by chance on: as
// many as wait now and some more.
func (sc *scenario) draw(seed uint64, waiting int) []sim.Arrival {
	n, length := len(sc.arrivals), sc.to-sc.from
	if n < 2 || length < workload.Minute {
		return nil
	}
	src := splitmix.Source(seed + 1)
	at := src.Below(n)
	begin := sc.arrivals[at].at
	var out []sim.Arrival
	for k := 0; k < min(2*waiting+200, 4*n); k++ {
		i := (at + k) % n
		submit := sc.v.At + 1 + sc.arrivals[i].at - begin + int64((at+k)/n)*length
		j := *sc.arrivals[i].job
		j.Submit, j.After = submit, nil
		out = append(out, sim.Arrival{Job: &j})
	}
	return out
}
