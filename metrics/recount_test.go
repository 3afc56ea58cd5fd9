package metrics_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// stretchOf is a time in which a job held GPUs, or waited for them.
type stretchOf struct {
	job                  int32
	milli                int64
	from, to             workload.Time
	confirmed, told      workload.Time // JobStarted, the stop action; Unknown = never
	uncharged, preempted bool
}

// lister writes down who ran and who waited when, and what was usable.
type lister struct {
	w          *workload.Workload
	runs       []stretchOf
	waits      []stretchOf
	open, wait map[int32]int // index of what goes on
	at         []workload.Time
	usable     []int64
}

func (l *lister) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.JobSubmitted:
		l.queue(f.Job, f.At)
	case fact.JobStarted:
		l.runs[l.open[f.Job]].confirmed = f.At
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		r := &l.runs[l.open[f.Job]]
		r.to = f.At
		delete(l.open, f.Job)
		if f.Kind != fact.JobFinished {
			r.preempted = f.Cause == fact.CausePreempted
			l.queue(f.Job, f.At)
		}
	case fact.JobCancelled:
		l.leave(f.Job, f.At)
	}
}

func (l *lister) queue(job int32, at workload.Time) {
	l.wait[job] = len(l.waits)
	l.waits = append(l.waits, stretchOf{job: job, milli: l.w.Jobs[job].Need.TotalMilli(), from: at, to: workload.Never})
}

func (l *lister) leave(job int32, at workload.Time) {
	if i, ok := l.wait[job]; ok {
		l.waits[i].to = at
		delete(l.wait, job)
	}
}

func (l *lister) Action(a *fact.Action) {
	switch a.Do {
	case fact.Start:
		l.leave(a.Job, a.At)
		l.open[a.Job] = len(l.runs)
		l.runs = append(l.runs, stretchOf{job: a.Job, milli: a.Milli, from: a.At, to: workload.Never, confirmed: workload.Unknown, told: workload.Unknown, uncharged: a.Unallocated})
	case fact.Stop:
		l.runs[l.open[a.Job]].told = a.At
	case fact.Refuse:
		l.leave(a.Job, a.At)
	}
}

func (l *lister) Instant(g *sim.Gauge) {
	l.at, l.usable = append(l.at, g.At), append(l.usable, g.Available)
}

func within(from, to, lo, hi workload.Time) int64 { return max(0, min(to, hi)-max(from, lo)) }

// TestBudgetEqualsARecount draws jobs, shares, windows, failures and policies, and
// compares with what the list of runs comes to, hour by hour.
func TestBudgetEqualsARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := budget.Parse("lab.yaml", []byte(fmt.Sprintf("name: lab\nchildren:\n  - {name: A, share: %d}\n  - {name: B, share: %d}\n  - {name: C, share: 1}\n",
			rapid.IntRange(1, 9).Draw(t, "share of A"), rapid.IntRange(0, 9).Draw(t, "share of B"))))
		if err != nil {
			t.Fatal(err)
		}
		w := &workload.Workload{Epoch: workload.Unknown}
		var at workload.Time
		for i := range rapid.IntRange(1, 25).Draw(t, "jobs") {
			at += rapid.Int64Range(0, 3_000_000).Draw(t, "gap")
			j := workload.Job{ID: fmt.Sprint(i), Team: rapid.SampledFrom([]string{"A", "B", "C", "nobody"}).Draw(t, "team"), Submit: at,
				Need: workload.Need{GPUs: rapid.Int32Range(1, 8).Draw(t, "gpus")}, Priority: rapid.Int64Range(0, 2).Draw(t, "priority")}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				j.Contract.HasMinRuntime = true
			case 1:
				j.Labels = map[string]string{"squat": "yes"}
			}
			a := workload.Actual{Duration: rapid.Int64Range(0, 20_000_000).Draw(t, "duration"), Start: workload.Unknown, End: workload.Unknown}
			if rapid.IntRange(0, 3).Draw(t, "patience") == 0 {
				a.CancelAfter = rapid.Int64Range(1, 9_000_000).Draw(t, "cancelled after")
			}
			w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
		}
		name := rapid.SampledFrom([]string{"easy", "priority", "srtf", "contract"}).Draw(t, "policy")
		p, _ := policy.Shipped(name)
		cfg := metrics.Config{Cluster: cluster.Uniform("2x4", 2, 4), Workload: w, Budgets: tree, ShareWindow: 4 * workload.Hour, Bins: 1000}
		if rapid.Bool().Draw(t, "window given") {
			cfg.Window.From = rapid.Int64Range(0, at).Draw(t, "from")
			cfg.Window.To = cfg.Window.From + rapid.Int64Range(1, 40_000_000).Draw(t, "length")
		}
		c, l := metrics.NewCollector(cfg), &lister{w: w, open: map[int32]int{}, wait: map[int32]int{}}
		o := sim.Options{Workload: w, Cluster: cfg.Cluster, Policy: p, Observers: []sim.Observer{c, l}}
		o.Assume = sim.Assumptions{Checkpoint: rapid.SampledFrom([]int64{0, workload.Hour / 4}).Draw(t, "checkpoint"), Grace: rapid.Int64Range(0, 300_000).Draw(t, "grace"),
			StartLatency: rapid.Int64Range(0, 60_000).Draw(t, "latency"), RestartCost: rapid.Int64Range(0, 60_000).Draw(t, "restart")}
		if rapid.Bool().Draw(t, "failures") {
			o.Faults = sim.Faults{MTBF: 10 * workload.Hour, MTTR: workload.Hour, Seed: 3}
		}
		if rapid.Bool().Draw(t, "cut") {
			o.Until = rapid.Int64Range(1, 50_000_000).Draw(t, "until")
		}
		r, err := sim.Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		m := metrics.Compute(c, w, r)
		recount(t, l, tree, &m, c, r)
	})
}

func recount(t *rapid.T, l *lister, tree *budget.Tree, m *metrics.Metrics, c *metrics.Collector, r *sim.Result) {
	const gpuHour = 1000 * 3_600_000
	win := c.Window()
	if win.To <= win.From {
		win.To = win.From + 3650*workload.Day // the sums go on to the end
	}
	end := max(r.End, 0)
	lo, hi := win.From, min(win.To, max(end, win.From))
	if !r.Cut && m.Window.To*1000 > float64(hi) {
		hi = min(win.To, int64(m.Window.To*1000))
	}
	kind := func(s *stretchOf) string {
		j := &l.w.Jobs[s.job]
		switch {
		case j.Labels["squat"] == "yes":
			return "squat"
		case s.uncharged || j.Contract.HasMinRuntime && j.Contract.MinRuntime == 0:
			return "unallocated"
		}
		return "allocated"
	}
	// What waiting counts: the first so many milliseconds of all stretches together.
	left := map[int32]int64{}
	for i := range l.w.Jobs {
		left[int32(i)] = l.w.Actual[i].Duration
	}
	waits := append([]stretchOf(nil), l.waits...)
	for i := range waits {
		s := &waits[i]
		n := min(min(s.to, max(end, s.from))-s.from, left[s.job])
		left[s.job] -= n
		s.to = s.from + n
	}
	first, last := lo, hi // figures over an empty window are those over all time
	if m.Window.To <= m.Window.From {
		first, last = -workload.Never, workload.Never
	}
	byKind := map[string]float64{}
	for i := range l.runs {
		s := &l.runs[i]
		byKind[kind(s)] += float64(s.milli*within(s.from, min(s.to, end), first, last)) / gpuHour
	}
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*max(1, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	same("allocated", m.AllocatedGPUHours, byKind["allocated"])
	same("unallocated", m.UnallocatedGPUHours, byKind["unallocated"])
	same("squat", m.SquatGPUHours, byKind["squat"])

	var capacity, deliveredAll float64
	for a := range tree.Reported {
		u := &m.Budget.Reported[a]
		path := tree.Nodes[tree.Reported[a]].Path
		num, den := tree.ProductShare(tree.Reported[a])
		var owed, charged, demand float64
		capacity = 0
		for from := lo; from < hi; {
			to := min(hi, from-from%workload.Hour+workload.Hour)
			var usable, asks, got int64
			for i := range l.at {
				next := end
				if i+1 < len(l.at) {
					next = l.at[i+1]
				}
				if i+1 == len(l.at) {
					next = max(next, to)
				}
				usable += l.usable[i] * within(l.at[i], next, from, to)
			}
			for i := range l.runs {
				s := &l.runs[i]
				if kind(s) != "allocated" || l.w.Jobs[s.job].Team != path {
					continue
				}
				asks += s.milli * within(s.from, min(s.to, end), from, to)
				if s.confirmed != workload.Unknown {
					until := min(s.to, end)
					if s.told != workload.Unknown {
						until = min(until, s.told)
					}
					got += s.milli * within(s.confirmed, until, from, to)
				}
			}
			for i := range waits {
				s := &waits[i]
				j := &l.w.Jobs[s.job]
				if j.Team == path && j.Labels["squat"] != "yes" && !j.Contract.HasMinRuntime {
					asks += s.milli * within(s.from, s.to, from, to)
				}
			}
			owed += min(math.Floor(float64(num)*float64(usable)/float64(den)), float64(asks))
			demand, charged = demand+float64(asks), charged+float64(got)
			capacity += float64(usable)
			from = to
		}
		same(path+" demand", u.Demand, demand/gpuHour)
		same(path+" charged", u.Charged, charged/gpuHour)
		same(path+" owed", u.Owed, owed/gpuHour)
		same(path+" delivered", u.Delivered, min(owed, charged)/gpuHour)
		if u.Strict > u.Delivered+1e-9 {
			t.Errorf("%s: strict %v exceeds delivered %v", path, u.Strict, u.Delivered)
		}
		deliveredAll += u.Delivered
	}
	if deliveredAll > capacity/gpuHour+1e-9 {
		t.Errorf("delivered %v of a capacity of %v", deliveredAll, capacity/gpuHour)
	}
	if m.Budget.Charged > m.AllocatedGPUHours+1e-9 {
		t.Errorf("charged %v exceeds what allocated work had, %v: something unallocated was charged", m.Budget.Charged, m.AllocatedGPUHours)
	}
	checkAccountSeries(t, c, m, r)
}

// checkAccountSeries: over a run whose window is all of it, the bins add up to the figures.
func checkAccountSeries(t *rapid.T, c *metrics.Collector, m *metrics.Metrics, r *sim.Result) {
	s := c.Accounts(r.End)
	if s == nil {
		return
	}
	merged := s.Merge(7)
	for i := range s.Accounts {
		var a, b float64
		for _, x := range s.Accounts[i].Bins {
			a += x.Charged
			if x.Owed > x.Demand+1e-6 {
				t.Errorf("owed %v of a demand of %v", x.Owed, x.Demand)
			}
		}
		for _, x := range merged.Accounts[i].Bins {
			b += x.Charged
		}
		if math.Abs(a-b) > 1e-6*max(1, a) || len(merged.Accounts[i].Bins) > 7 {
			t.Errorf("merged: %v, want %v", b, a)
		}
		if a/3_600_000 < m.Budget.Reported[i].Charged-1e-9 && len(s.Accounts[i].Bins) > 0 && c.Window().IsDefault() {
			t.Errorf("charged over time %v, in the window %v", a/3_600_000, m.Budget.Reported[i].Charged)
		}
	}
}
