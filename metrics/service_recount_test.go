package metrics_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// level is what a job needs and holds from a time on.
type level struct {
	at           workload.Time
	demand, held int64
	up           bool
	gpus         map[[2]int32]bool // node and GPU
}

// tape writes down every level of every job, and who ended when.
type tape struct {
	w      *workload.Workload
	levels map[int32][]level
	swaps  map[int32][]swapped
	stops  map[int32][]workload.Time
	worth  map[int32][]piece // runs that count for the value
	open   map[int32]piece
	ended  map[int32]workload.Time
	dead   map[int32]workload.Time // end of its life
	at     []workload.Time
	usable []int64
}

type swapped struct {
	at workload.Time
	n  int64
}

// piece is a time in which a job held GPUs.
type piece struct {
	milli    int64
	from, to workload.Time
}

func (l *tape) put(job int32, at workload.Time, do func(*level)) {
	x := level{at: at}
	if old := l.levels[job]; len(old) > 0 {
		x = old[len(old)-1]
		x.at = at
	}
	do(&x)
	l.levels[job] = append(l.levels[job], x)
}

func (l *tape) die(job int32, at workload.Time) {
	if _, over := l.dead[job]; !over {
		l.dead[job] = at
	}
}

func (l *tape) Fact(f *fact.Fact) {
	if f.Job < 0 {
		return
	}
	app := l.w.Jobs[f.Job].Service != nil
	switch f.Kind {
	case fact.DemandChanged:
		if _, over := l.dead[f.Job]; !over {
			l.put(f.Job, f.At, func(x *level) { x.demand = int64(f.Demand) * 1000 })
		}
	case fact.JobStarted:
		l.put(f.Job, f.At, func(x *level) { x.up = true })
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		gone := f.Kind == fact.JobFinished || f.Kind == fact.JobStopped && f.Cause == fact.CauseCancelled
		l.put(f.Job, f.At, func(x *level) {
			if x.held, x.up, x.gpus = 0, false, nil; gone {
				x.demand = 0
			}
		})
		if gone {
			l.die(f.Job, f.At)
		}
		if app && f.Kind == fact.JobStopped && !gone {
			l.stops[f.Job] = append(l.stops[f.Job], f.At)
		}
		if p, ok := l.open[f.Job]; ok {
			p.from, p.to = p.from+f.Restart, f.At-f.Lost
			l.worth[f.Job] = append(l.worth[f.Job], p)
			delete(l.open, f.Job)
		}
		if f.Kind == fact.JobFinished {
			l.ended[f.Job] = f.At
		}
	case fact.JobCancelled:
		l.die(f.Job, f.At)
		l.put(f.Job, f.At, func(x *level) { x.demand = 0 })
	}
}

func (l *tape) Action(a *fact.Action) {
	gpus := map[[2]int32]bool{}
	for _, g := range a.Place {
		for i := range int32(64) {
			if g.GPUs>>i&1 == 1 {
				gpus[[2]int32{g.Node, i}] = true
			}
		}
	}
	switch a.Do {
	case fact.Start:
		l.put(a.Job, a.At, func(x *level) { x.held, x.up, x.gpus = a.Milli, false, gpus })
		if l.w.Jobs[a.Job].Service == nil {
			l.open[a.Job] = piece{a.Milli, a.At, workload.Never}
		}
	case fact.Resize:
		n := int64(0)
		l.put(a.Job, a.At, func(x *level) {
			for g := range gpus {
				if !x.gpus[g] {
					n++
				}
			}
			for g := range x.gpus {
				if !gpus[g] {
					n++
				}
			}
			x.held, x.gpus = a.Milli, gpus
		})
		l.swaps[a.Job] = append(l.swaps[a.Job], swapped{a.At, n})
	case fact.Refuse:
		l.die(a.Job, a.At)
		l.put(a.Job, a.At, func(x *level) { x.demand = 0 })
	}
}

func (l *tape) Instant(g *sim.Gauge) {
	l.at, l.usable = append(l.at, g.At), append(l.usable, g.Available)
}

// TestServicesEqualARecount draws applications among jobs, and compares the figures with
// what the list of levels comes to, to the last bit.
func TestServicesEqualARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawDemand(t)
		name := rapid.SampledFrom([]string{"fifo", "easy", "horizon", "priority"}).Draw(t, "policy")
		p, _ := policy.Shipped(name)
		_, last := w.Window()
		cfg := metrics.Config{Cluster: cluster.Uniform("2x4", 2, 4), Workload: w, Bins: rapid.IntRange(2, 400).Draw(t, "bins"), Runs: 1 << 16}
		if rapid.Bool().Draw(t, "window given") {
			cfg.Window.From = rapid.Int64Range(0, last).Draw(t, "from")
			cfg.Window.To = cfg.Window.From + rapid.Int64Range(1, 40_000_000).Draw(t, "length")
		}
		c := metrics.NewCollector(cfg)
		l := &tape{w: w, levels: map[int32][]level{}, swaps: map[int32][]swapped{}, stops: map[int32][]workload.Time{},
			worth: map[int32][]piece{}, open: map[int32]piece{}, ended: map[int32]workload.Time{}, dead: map[int32]workload.Time{}}
		o := sim.Options{Workload: w, Cluster: cfg.Cluster, Policy: p, Observers: []sim.Observer{c, l}}
		o.Assume = sim.Assumptions{Checkpoint: rapid.SampledFrom([]int64{0, workload.Hour / 4}).Draw(t, "checkpoint"), Grace: rapid.Int64Range(0, 300_000).Draw(t, "grace"),
			StartLatency: rapid.Int64Range(0, 60_000).Draw(t, "latency"), RestartCost: rapid.Int64Range(0, 60_000).Draw(t, "restart")}
		if rapid.Bool().Draw(t, "failures") {
			o.Faults = sim.Faults{MTBF: 10 * workload.Hour, MTTR: workload.Hour, Seed: 3}
		}
		if rapid.Bool().Draw(t, "forecasts are wrong") {
			o.Forecast = sim.Forecast{Error: .3, Seed: 1}
		}
		if rapid.Bool().Draw(t, "cut") {
			o.Until = rapid.Int64Range(1, 50_000_000).Draw(t, "until")
		}
		r, err := sim.Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		m := metrics.Compute(c, w, r)
		l.check(t, &m, c, r, cfg.Window)
	})
}

func drawDemand(t *rapid.T) *workload.Workload {
	w := &workload.Workload{Epoch: workload.Unknown}
	var at workload.Time
	together := rapid.IntRange(0, 9).Draw(t, "all at once") == 0
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		if !together {
			at += rapid.Int64Range(0, 3_000_000).Draw(t, "gap")
		}
		j := workload.Job{ID: fmt.Sprint(i), Team: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "team"), Submit: at, Priority: rapid.Int64Range(-1, 3).Draw(t, "priority")}
		a := workload.Actual{Duration: rapid.Int64Range(0, 20_000_000).Draw(t, "duration"), Start: workload.Unknown, End: workload.Unknown}
		if rapid.IntRange(0, 2).Draw(t, "application") == 0 {
			s := &workload.Service{Demand: workload.Curve{Start: at, Step: rapid.Int64Range(600_000, 5_000_000).Draw(t, "step"),
				Values: rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 6).Draw(t, "demand"), Repeat: rapid.Bool().Draw(t, "repeat")}, Penalty: rapid.Int64Range(0, 5).Draw(t, "penalty")}
			s.Demand.Values[0] = max(1, s.Demand.Values[0])
			if rapid.Bool().Draw(t, "capped") {
				s.Swaps, s.SwapEvery = 1, workload.Hour
			}
			j.Service, j.Need = s, workload.Need{Tasks: s.Demand.Peak(), GPUs: 1}
			if rapid.IntRange(0, 9).Draw(t, "too large") == 0 {
				j.Need.Tasks = 9
			}
		} else if j.Need.GPUs = rapid.Int32Range(1, 8).Draw(t, "gpus"); rapid.IntRange(0, 5).Draw(t, "parked") == 0 {
			j.Labels = map[string]string{"squat": "yes"}
		}
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
	}
	return w
}

// sums are what a list of levels comes to in a stretch of time.
type sums struct {
	asked, served, over int64
	hours               map[int64]bool
}

func sumUp(levels []level, end, lo, hi workload.Time) sums {
	s := sums{hours: map[int64]bool{}}
	for i, x := range levels {
		to := max(end, x.at)
		if i+1 < len(levels) {
			to = levels[i+1].at
		}
		from, to := max(x.at, lo), min(to, hi)
		if to <= from {
			continue
		}
		served := int64(0)
		if x.up {
			served = min(x.held, x.demand)
		}
		s.asked += x.demand * (to - from)
		s.served += served * (to - from)
		s.over += (x.held - served) * (to - from)
		for h := from / workload.Hour; x.demand > served && h*workload.Hour < to; h++ {
			s.hours[h] = true
		}
	}
	return s
}

func (l *tape) check(t *rapid.T, m *metrics.Metrics, c *metrics.Collector, r *sim.Result, sel metrics.Window) {
	const gpuHour = 1000 * 3_600_000
	exact := func(what string, got float64, want int64) {
		t.Helper()
		if got != float64(want)/gpuHour {
			t.Errorf("%s: %v, want %v", what, got, float64(want)/gpuHour)
		}
	}
	if len(l.at) == 0 { // it was cut before anything happened
		return
	}
	ms := func(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }
	lo, hi := ms(m.Window.From), ms(m.Window.To)
	end := max(r.End, l.at[len(l.at)-1])
	if !r.Cut {
		end = max(end, hi)
	}
	empty := hi <= lo
	if empty {
		lo, hi = -workload.Never, workload.Never
	}
	var jobs []int32
	for n := range l.w.Jobs {
		if len(l.levels[int32(n)]) > 0 && l.w.Jobs[n].Service != nil {
			jobs = append(jobs, int32(n))
		}
	}
	var total sums
	total.hours = map[int64]bool{}
	swaps, stops, penalty, at := int64(0), int64(0), int64(0), 0
	// The makespan begins with the first submission that the window selects.
	begin := workload.Never
	for n := range l.w.Jobs {
		if at := l.w.Jobs[n].Submit; at < begin && sel.Contains(at) {
			begin = at
		}
	}
	finish, overAll := begin+ms(m.Makespan), int64(0)
	for _, n := range jobs {
		s := sumUp(l.levels[n], end, lo, hi)
		overAll += sumUp(l.levels[n], end, begin, finish).over
		died, over := l.dead[n]
		submit := l.w.Jobs[n].Submit
		if !sel.Contains(submit) && !(submit < hi && (!over || died > lo)) {
			continue
		}
		if m.Services == nil || at >= len(m.Services.Applications) || m.Services.Applications[at].Name != l.w.Jobs[n].ID {
			t.Fatalf("application %d is missing: %+v", n, m.Services)
		}
		a := &m.Services.Applications[at]
		at++
		exact("asked", a.Asked, s.asked)
		exact("served", a.Served, s.served)
		exact("shortfall", a.Shortfall, s.asked-s.served)
		exact("over", a.Over, s.over)
		mine, stopped := int64(0), int64(0)
		for _, x := range l.swaps[n] {
			if x.at >= lo && x.at < hi {
				mine += x.n
			}
		}
		for _, x := range l.stops[n] {
			if x >= lo && x < hi {
				stopped++
			}
		}
		if a.HoursShort != int64(len(s.hours)) || a.Swaps != mine || a.Stops != stopped {
			t.Errorf("application %d: %d hours, %d swaps, %d stops; want %d, %d, %d", n, a.HoursShort, a.Swaps, a.Stops, len(s.hours), mine, stopped)
		}
		total.asked, total.served, total.over = total.asked+s.asked, total.served+s.served, total.over+s.over
		swaps, stops = swaps+mine, stops+stopped
		penalty += (s.asked - s.served) * l.w.Jobs[n].Service.Penalty
		for h := range s.hours {
			total.hours[h] = true
		}
	}
	if u := m.Services; u != nil {
		exact("asked in all", u.Asked, total.asked)
		exact("served in all", u.Served, total.served)
		exact("over in all", u.Over, total.over)
		if u.Count != at || u.Swaps != swaps || u.Stops != stops || u.HoursShort != int64(len(total.hours)) {
			t.Errorf("in all: %+v, want %d applications, %d hours, %d swaps, %d stops", u, at, len(total.hours), swaps, stops)
		}
		if !empty {
			l.checkOccupancy(t, m.Occupancy-*m.ServedOccupancy, total.over, lo, hi)
		}
		if begin < workload.Never {
			l.checkOccupancy(t, m.OccupancyMakespan-*m.ServedOccupancyMakespan, overAll, begin, finish)
		}
		checkServiceSeries(t, c, m, r)
	}
	held, parts := int64(0), int64(0)
	for i := range r.Jobs {
		held += r.Jobs[i].Assigned
	}
	for _, p := range c.Runs(r.End).Parts {
		parts += p.Milli * (p.End - p.Start)
	}
	if held != parts {
		t.Errorf("boxes of %d, runs of %d: a resize is in one of them only", parts, held)
	}
	if m.Value != nil {
		value, finished := l.value(lo, hi, end)
		exact("value", *m.Value, value-penalty)
		exact("finished value", *m.FinishedValue, finished-penalty)
	}
}

// checkOccupancy: what was held for nothing is all that tells the two occupancies apart.
func (l *tape) checkOccupancy(t *rapid.T, apart float64, over int64, lo, hi workload.Time) {
	t.Helper()
	available := 0.0
	for i := range l.at {
		next := max(hi, l.at[i])
		if i+1 < len(l.at) {
			next = l.at[i+1]
		}
		available += float64(l.usable[i] * within(l.at[i], next, lo, hi))
	}
	if available > 0 && math.Abs(apart*available-float64(over)) > 1e-9*available {
		t.Errorf("occupancies are %v of %v apart, over %d", apart, available, over)
	}
}

// value is what the runs are worth.
func (l *tape) value(lo, hi, end workload.Time) (value, finished int64) {
	for n := range l.w.Jobs {
		j := &l.w.Jobs[n]
		if j.Service != nil || j.Labels["squat"] == "yes" {
			continue
		}
		sum := int64(0)
		runs := l.worth[int32(n)]
		if p, ok := l.open[int32(n)]; ok {
			p.to = end
			runs = append(runs, p)
		}
		for _, p := range runs {
			sum += p.milli * within(p.from, p.to, lo, hi)
		}
		sum *= max(1, j.Priority)
		value += sum
		if at, ok := l.ended[int32(n)]; ok && at <= hi {
			finished += sum
		}
	}
	return value, finished
}

// checkServiceSeries: over a run whose window is all of it, the bins add up to the figures.
func checkServiceSeries(t *rapid.T, c *metrics.Collector, m *metrics.Metrics, r *sim.Result) {
	s := c.Services(r.End)
	if s == nil || !c.Window().IsDefault() && m.Window.To > m.Window.From {
		return
	}
	for i, line := range s.Merge(7).Services {
		if len(line.Bins) > 7 {
			t.Errorf("%d bins", len(line.Bins))
		}
		var whole, merged float64
		for _, x := range s.Services[i].Bins {
			whole += x.Demand
			if x.Served > x.Demand+1e-6 || x.Served > x.Held+1e-6 || x.Span > float64(s.Width)+1e-6 {
				t.Errorf("bin %+v", x)
			}
		}
		for _, x := range line.Bins {
			merged += x.Demand
		}
		if math.Abs(whole-merged) > 1e-6*max(1, whole) {
			t.Errorf("merged: %v, want %v", merged, whole)
		}
		if m.Window.To <= m.Window.From && math.Abs(whole/3_600_000-m.Services.Applications[i].Asked) > 1e-9*max(1, whole) {
			t.Errorf("asked over time %v, in all %v", whole/3_600_000, m.Services.Applications[i].Asked)
		}
	}
}
