package report

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// demo makes a comparison that looks like a real one: bursty submissions by
// teams of unequal size on a cluster that is a little too small, under rules
// simple enough to be written here. It is made of facts, like a real one.
func demo(n, nodes int) *Comparison { return demoWith(n, nodes, nil) }

// demoWith is judged by budgets, nil = by none.
func demoWith(n, nodes int, tree *budget.Tree) *Comparison {
	w := demoWorkload(n, float64(nodes)/22)
	s := cluster.Uniform(fmt.Sprintf("%dx8", nodes), nodes, 8)
	for i := range s.Nodes {
		s.Nodes[i].GPUType = []string{"A100", "H100"}[i*3/nodes/2]
		s.Nodes[i].Name = fmt.Sprintf("gpu-%02d", i+1)
	}
	s.Types = []cluster.Type{{Name: "A100", PricePerHour: 1.6, IdleWatts: 60, ActiveWatts: 350}, {Name: "H100", PricePerHour: 2.9, IdleWatts: 80, ActiveWatts: 620}}
	s.PUE = 1.2
	c := &Comparison{
		Workload: w, Cluster: s, Version: "v0.1.0", Command: "escala compare jobs.csv --cluster 22x8 --policies fifo,easy,sjf,srtf,area,fair",
		Assumptions: []Assumption{
			{"Stopped work", "loses what it did since its last checkpoint, one each hour", "flag --checkpoint 1h"},
			{"Restart cost", "2 min", "flag --restart-cost 2m"},
		},
	}
	key := func(less func(j *workload.Job, d workload.Span) float64) func(i int32) float64 {
		return func(i int32) float64 { return less(&w.Jobs[i], w.Actual[i].Duration) }
	}
	gpus := func(j *workload.Job) float64 { return float64(j.Need.TotalGPUs()) }
	for _, r := range []rule{
		{name: "fifo", about: "First come, first served; a job that does not fit blocks all behind it.", strict: true, key: key(func(j *workload.Job, _ workload.Span) float64 { return float64(j.Submit) })},
		{name: "easy", about: "First come, first served, with backfilling.", key: key(func(j *workload.Job, _ workload.Span) float64 { return float64(j.Submit) })},
		{name: "sjf", about: "Shortest job first by estimate.", key: key(func(_ *workload.Job, d workload.Span) float64 { return float64(d) })},
		{name: "srtf", about: "Shortest remaining time first, with preemption.", preempt: true, key: key(func(_ *workload.Job, d workload.Span) float64 { return float64(d) })},
		{name: "area", about: "Smallest GPUs x estimate first.", key: key(func(j *workload.Job, d workload.Span) float64 { return gpus(j) * float64(d) })},
		{name: "small-first", about: "Fewest GPUs first.", key: key(func(j *workload.Job, _ workload.Span) float64 { return gpus(j)*1e15 + float64(j.Submit) })},
	} {
		r.tree = tree
		c.Policies = append(c.Policies, r.run(w, s))
	}
	c.Budgets = tree
	return c
}

func demoWorkload(n int, size float64) *workload.Workload {
	rng := rand.New(rand.NewPCG(7, 11))
	teams := []string{"vision", "speech", "language", "robotics", "biology", "ranking", "climate", "infra", "safety"}
	w := &workload.Workload{Name: "demo", Format: "csv", Source: "jobs.csv", Licence: "CC-BY-4.0", Hash: "9f2c7d0e51a8", Rows: n + 34,
		Epoch:   1_760_313_600_000,
		Dropped: []workload.Dropped{{Cause: "no GPUs asked for", Count: 31, First: "jobs.csv:17"}, {Cause: "negative duration", Count: 3, First: "jobs.csv:802"}},
		Notes:   []string{"Jobs name no user limit; estimates are the true durations."}}
	var at float64
	for i := range n {
		hour := math.Mod(at/3600, 24)
		at += rng.ExpFloat64() * 545 / size / (0.45 + 1.1*math.Exp(-math.Pow((hour-14)/4.5, 2)))
		need := []int32{1, 1, 1, 1, 2, 2, 4, 8, 8, 16, 32}[rng.IntN(11)]
		d := math.Exp(rng.NormFloat64()*1.7+8.1) * (1 + float64(need)/16)
		team := teams[min(len(teams)-1, int(rng.ExpFloat64()*2.4))]
		contract := workload.Contract{}
		if i%5 == 0 {
			contract.HasMinRuntime = true // of 0: unallocated
		}
		w.Jobs = append(w.Jobs, workload.Job{Contract: contract, ID: fmt.Sprintf("%s-%05d", team, 41000+i), Team: team, User: "u",
			Submit: int64(at) * 1000, Need: workload.Need{GPUs: need}})
		w.Actual = append(w.Actual, workload.Actual{Duration: int64(min(d, 60*3600)) * 1000})
	}
	return w
}

// rule is a way to schedule.
type rule struct {
	name, about     string
	strict, preempt bool
	tree            *budget.Tree
	key             func(int32) float64
}

// toy is a world of whole GPUs without starts' latency.
type toy struct {
	rule
	w       *workload.Workload
	c       *metrics.Collector
	free    []uint64
	place   map[int32][]fact.Grant
	since   map[int32]workload.Time // start of the run, or of the wait
	ends    map[int32]workload.Time
	kept    []workload.Span
	waiting []int32
	res     *sim.Result
	g       sim.Gauge
}

func (r rule) run(w *workload.Workload, s *cluster.Spec) Policy {
	t := &toy{rule: r, w: w, place: map[int32][]fact.Grant{}, since: map[int32]workload.Time{}, ends: map[int32]workload.Time{},
		kept: make([]workload.Span, len(w.Jobs)), res: &sim.Result{Jobs: make([]sim.JobResult, len(w.Jobs))},
		c: metrics.NewCollector(metrics.Config{Cluster: s, Workload: w, Bins: 1024, Runs: 8000, Budgets: r.tree})}
	for i := range s.Nodes {
		t.free = append(t.free, 1<<s.Nodes[i].GPUs-1)
	}
	for i := range t.res.Jobs {
		t.res.Jobs[i].FirstStart = workload.Unknown
	}
	t.g.Installed = s.GPUs() * 1000
	t.g.Available = t.g.Installed
	for next := 0; next < len(w.Jobs) || len(t.ends) > 0; {
		now := workload.Never
		if next < len(w.Jobs) {
			now = w.Jobs[next].Submit
		}
		var done []int32
		for j, e := range t.ends {
			if e < now {
				now, done = e, done[:0]
			}
			if e == now {
				done = append(done, j)
			}
		}
		slices.Sort(done)
		for _, j := range done {
			t.stop(j, now, fact.JobFinished)
		}
		for ; next < len(w.Jobs) && w.Jobs[next].Submit == now; next++ {
			t.c.Fact(&fact.Fact{Kind: fact.JobSubmitted, Job: int32(next), At: now, Submitted: &w.Jobs[next]})
			t.waiting = append(t.waiting, int32(next))
			t.since[int32(next)] = now
		}
		t.decide(now)
		t.gauge(now)
		t.res.End = now
	}
	return Policy{Name: r.name, Description: r.about, Text: "name: " + r.name + "\n", Hash: fmt.Sprintf("%012x", len(r.about)*7919),
		Estimates: "perfect", Metrics: metrics.Compute(t.c, w, t.res), Series: t.c.Series(t.res.End), Runs: t.c.Runs(t.res.End), Accounts: t.c.Accounts(t.res.End)}
}

func (t *toy) decide(now workload.Time) {
	slices.SortStableFunc(t.waiting, func(a, b int32) int { return cmp.Compare(t.key(a), t.key(b)) })
	rest := t.waiting[:0:0]
	for i, j := range t.waiting {
		p := t.fit(t.w.Jobs[j].Need.GPUs)
		if p == nil && t.preempt && i == 0 {
			p = t.evict(j, now, &rest)
		}
		if p == nil {
			rest = append(rest, j)
			if t.strict {
				rest = append(rest, t.waiting[i+1:]...)
				break
			}
			continue
		}
		t.start(j, p, now)
	}
	t.waiting = rest
}

// evict stops longer jobs until j fits.
func (t *toy) evict(j int32, now workload.Time, rest *[]int32) []fact.Grant {
	var victims []int32
	for v, e := range t.ends {
		if e-now > 2*t.w.Actual[j].Duration && now-t.since[v] > 15*workload.Minute {
			victims = append(victims, v)
		}
	}
	slices.SortFunc(victims, func(a, b int32) int { return int(t.ends[b]-t.ends[a])*2 + int(a-b) })
	var could int32
	for _, v := range victims {
		could += t.w.Jobs[v].Need.GPUs
	}
	if could < t.w.Jobs[j].Need.GPUs*2 {
		return nil
	}
	for _, v := range victims {
		t.stop(v, now, fact.JobStopped)
		*rest = append(*rest, v)
		if p := t.fit(t.w.Jobs[j].Need.GPUs); p != nil {
			return p
		}
	}
	return nil
}

// fit takes whole nodes for multiples of eight, else the tightest node.
func (t *toy) fit(n int32) []fact.Grant {
	var out []fact.Grant
	if n >= 8 {
		for i, f := range t.free {
			if bits.OnesCount64(f) == 8 && n > 0 {
				out = append(out, fact.Grant{Node: int32(i), Milli: 1000, GPUs: f})
				n -= 8
			}
		}
		if n > 0 {
			return nil
		}
		return out
	}
	best := -1
	for i, f := range t.free {
		if k := bits.OnesCount64(f); k >= int(n) && (best < 0 || k < bits.OnesCount64(t.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	var mask uint64
	for f := t.free[best]; n > 0; n-- {
		mask |= f & -f
		f &= f - 1
	}
	return []fact.Grant{{Node: int32(best), Milli: 1000, GPUs: mask}}
}

func (t *toy) start(j int32, p []fact.Grant, now workload.Time) {
	for _, g := range p {
		t.free[g.Node] &^= g.GPUs
	}
	r := &t.res.Jobs[j]
	if r.FirstStart == workload.Unknown {
		r.FirstStart = now
	}
	r.Queued += now - t.since[j]
	r.Starts++
	t.place[j], t.since[j] = p, now
	t.ends[j] = now + t.w.Actual[j].Duration - t.kept[j]
	t.c.Action(&fact.Action{Do: fact.Start, Job: j, At: now, Count: t.w.Jobs[j].Need.GPUs, Milli: t.w.Jobs[j].Need.TotalMilli(), Place: p})
	t.c.Fact(&fact.Fact{Kind: fact.JobStarted, Job: j, At: now})
}

func (t *toy) stop(j int32, now workload.Time, k fact.Kind) {
	for _, g := range t.place[j] {
		t.free[g.Node] |= g.GPUs
	}
	f := fact.Fact{Kind: k, Job: j, At: now}
	r := &t.res.Jobs[j]
	if k == fact.JobStopped {
		ran := now - t.since[j]
		f.Cause, f.Lost = fact.CausePreempted, ran%workload.Hour
		t.kept[j] += ran - f.Lost
		r.Lost += f.Lost * t.w.Jobs[j].Need.TotalMilli()
		r.Preemptions++
		t.since[j] = now
	} else {
		r.Finish, r.Ran = now, t.w.Actual[j].Duration
	}
	delete(t.ends, j)
	t.c.Fact(&f)
}

func (t *toy) gauge(now workload.Time) {
	g := &t.g
	g.At, g.Assigned, g.WaitingMilli, g.WaitingJobs, g.RunningJobs = now, g.Installed, 0, len(t.waiting), len(t.ends)
	var free int64
	for _, f := range t.free {
		free += int64(bits.OnesCount64(f)) * 1000
	}
	g.Assigned -= free
	byCount, inShape := false, false
	for _, j := range t.waiting {
		m := t.w.Jobs[j].Need.TotalMilli()
		g.WaitingMilli += m
		byCount = byCount || m <= free
		inShape = inShape || m <= free && t.fit(t.w.Jobs[j].Need.GPUs) != nil
	}
	g.Fragmented = byCount && !inShape
	t.c.Instant(g)
}
