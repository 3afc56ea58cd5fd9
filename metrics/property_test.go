package metrics

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// TestIntegralsEqualNaiveSums draws a run on a few nodes and compares every
// integral with a sum over single milliseconds.
func TestIntegralsEqualNaiveSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const nodes, gpus = 3, 4
		spec := cluster.Uniform("3x4", nodes, gpus)
		for i := range spec.Nodes {
			spec.Nodes[i].GPUType = string(rune('x' + i%2))
		}
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		w := &workload.Workload{}
		var at workload.Time
		for i := range n {
			at += rapid.Int64Range(0, 20).Draw(t, "gap")
			w.Jobs = append(w.Jobs, workload.Job{Submit: at, Team: string(rune('A' + i%3)),
				Need: workload.Need{GPUs: rapid.Int32Range(1, gpus).Draw(t, "gpus")}})
			w.Actual = append(w.Actual, workload.Actual{Duration: rapid.Int64Range(0, 40).Draw(t, "duration")})
		}
		cfg := Config{Cluster: spec, Workload: w, Bins: rapid.IntRange(2, 9).Draw(t, "bins"), Runs: 1000}
		if rapid.Bool().Draw(t, "window given") {
			cfg.Window.From = rapid.Int64Range(0, 60).Draw(t, "from")
			cfg.Window.To = cfg.Window.From + rapid.Int64Range(1, 90).Draw(t, "length")
		}
		c := NewCollector(cfg)
		p := newScript(c, w, nodes*gpus)
		naive := newNaive(c)
		free := [nodes]int32{gpus, gpus, gpus} // GPUs are taken as a stack: the index does not matter here
		ends, where := map[int32]workload.Time{}, map[int32]int32{}
		waiting, next := []int32{}, 0
		for now := workload.Time(0); next < n || len(waiting) > 0 || len(ends) > 0; now++ {
			event := false
			for j := int32(0); int(j) < n; j++ {
				end, runs := ends[j]
				if !runs || end > now && rapid.IntRange(0, 40).Draw(t, "stop") > 0 {
					continue
				}
				free[where[j]] += w.Jobs[j].Need.GPUs
				delete(ends, j)
				event = true
				if end > now {
					p.stop(j, fact.CausePreempted, 0, 0)
					waiting = append(waiting, j)
				} else {
					p.finish(j)
				}
			}
			for ; next < n && w.Jobs[next].Submit == now; next++ {
				p.submit(int32(next))
				waiting = append(waiting, int32(next))
				event = true
			}
			event = event || len(ends) == 0 && len(waiting) > 0
			kept := waiting[:0]
			for _, j := range waiting {
				node := int32(rapid.IntRange(0, nodes-1).Draw(t, "node"))
				if need := w.Jobs[j].Need.GPUs; event && free[node] >= need {
					p.start(j, on(node, 0, need))
					free[node] -= need
					where[j], ends[j] = node, now+max(1, w.Actual[j].Duration)
					continue
				}
				kept = append(kept, j)
			}
			waiting = kept
			if event {
				p.g.Available = int64(rapid.IntRange(int(p.g.Assigned), nodes*gpus*1000).Draw(t, "available"))
				p.g.Held = rapid.Int64Range(0, p.g.Available-p.g.Assigned).Draw(t, "held")
				p.g.Fragmented = rapid.Bool().Draw(t, "fragmented")
				p.at(now)
			}
			naive.tick(&p.g, now)
		}
		naive.compare(t, c)
	})
}

// naive adds up single milliseconds in plain integers.
type naive struct {
	c         *Collector
	win, all  [5]int64
	series    [3]int64
	lastBegan workload.Time
	began     bool
}

func newNaive(c *Collector) *naive { return &naive{c: c} }

func (n *naive) tick(g *sim.Gauge, now workload.Time) {
	v := [5]int64{g.Installed, g.Available, g.Assigned, g.Held, 0}
	if g.Fragmented {
		v[4] = g.Available - g.Assigned - g.Held
	}
	n.began = n.c.began
	for i := range v {
		if n.c.hasOne && now >= n.c.from && now < n.c.to { // nothing is known before the first instant
			n.win[i] += v[i]
		}
		if n.began {
			n.all[i] += v[i]
		}
	}
	if n.began {
		n.series[0] += g.Assigned
		n.series[1] += g.WaitingMilli
		n.series[2] += int64(g.WaitingJobs)
	}
	n.lastBegan = now
}

func (n *naive) compare(t *rapid.T, c *Collector) {
	c.Instant(&sim.Gauge{At: n.lastBegan + 1, Installed: c.prev.Installed})
	check := func(what string, got totals, want [5]int64) {
		for i, a := range []area{got.installed, got.available, got.assigned, got.held, got.fragmented} {
			if a.hi != 0 || a.lo != uint64(want[i]) {
				t.Errorf("%s[%d] = %v, want %d", what, i, a, want[i])
			}
		}
	}
	check("window", c.inWindow, n.win)
	check("overall", c.overall, n.all)
	var byType, byGroup, byRun int64
	for i := range c.types.rows {
		byType += int64(c.types.rows[i].total.assigned.lo)
	}
	for i := range c.groups.rows {
		byGroup += int64(c.groups.rows[i].assigned.lo)
	}
	if byType != n.all[2] || byGroup != n.win[2] {
		t.Errorf("by type %d, want %d; by group %d, want %d", byType, n.all[2], byGroup, n.win[2])
	}
	for _, p := range c.Runs(0).Parts {
		if n.c.sel.IsDefault() {
			byRun += p.Milli * (p.End - p.Start)
		}
	}
	if n.c.sel.IsDefault() && byRun != n.all[2] {
		t.Errorf("run parts hold %d, want %d", byRun, n.all[2])
	}
	var b Bin
	if sr := c.Series(0); sr != nil {
		if len(sr.Bins) > c.series.limit {
			t.Errorf("%d bins, limit %d", len(sr.Bins), c.series.limit)
		}
		sr = sr.Merge(3)
		for i := range sr.Bins {
			b.add(&sr.Bins[i])
		}
	}
	for i, got := range []float64{b.Assigned * 1000, b.WaitingGPUs * 1000, b.WaitingJobs} {
		if math.Abs(got-float64(n.series[i])) > 1e-6*math.Max(1, got) {
			t.Errorf("series sum %d = %v, want %d", i, got, n.series[i])
		}
	}
}

func TestAreaBeyond64Bits(t *testing.T) {
	var a area
	want := new(big.Int)
	const milli, year = 10_000 * 8 * 1000, 365 * workload.Day
	for range 100 { // a century of 10,000 nodes
		a.add(milli, year)
		want.Add(want, new(big.Int).Mul(big.NewInt(milli), big.NewInt(year)))
	}
	got := new(big.Int).SetUint64(a.hi)
	got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(a.lo))
	if got.Cmp(want) != 0 || a.hi == 0 {
		t.Errorf("sum = %v, want %v (hi = %d must be in use)", got, want, a.hi)
	}
	near(t, "GPU-hours", a.gpuHours(), 80_000*24*365*100)
}

func TestRunStoreKeepsTheLargest(t *testing.T) {
	s := runStore{limit: 3}
	for i := range int64(10) {
		s.add(int32(i), 0, 10+i, nil, 1000)
	}
	s.add(99, 5, 5, nil, 1000) // no time: nothing to draw
	s.trim()
	if len(s.parts) != 3 || s.parts[0].Job != 9 || s.parts[2].Job != 7 || s.dropped != 7 {
		t.Errorf("kept %+v, dropped %d", s.parts, s.dropped)
	}
	near(t, "dropped", s.droppedArea.float(), 1000*(10+11+12+13+14+15+16))
}

func TestGroupingOf(t *testing.T) {
	w := jobs([3]int64{0, 1, 1}, [3]int64{0, 1, 1})
	if g := GroupingOf(w); g != ByTeam {
		t.Errorf("two teams: by %v", g)
	}
	w.Jobs[1].Team, w.Jobs[1].User = w.Jobs[0].Team, "u"
	if g := GroupingOf(w); g != ByUser {
		t.Errorf("one team, one partition, two users: by %v", g)
	}
}

func BenchmarkInstant(b *testing.B) {
	spec := cluster.Uniform("10000x8", 10_000, 8)
	c := NewCollector(Config{Cluster: spec, Workload: &workload.Workload{Jobs: make([]workload.Job, 2)}, Window: Window{0, 1 << 50}, Bins: 1024})
	c.began = true
	g := sim.Gauge{Installed: 8e7, Available: 8e7, Held: 1000, Fragmented: true}
	b.ReportAllocs()
	for b.Loop() {
		g.At += 997
		g.Assigned = g.At % 8e7
		c.Instant(&g)
	}
}

func BenchmarkStartFinish(b *testing.B) { benchStartFinish(b, Config{Runs: 10_000}) }

func BenchmarkStartFinishBudgets(b *testing.B) {
	b.Run("figures", func(b *testing.B) { benchStartFinish(b, Config{Runs: 10_000, Budgets: halves(b)}) })
	b.Run("series", func(b *testing.B) { benchStartFinish(b, Config{Runs: 10_000, Budgets: halves(b), Bins: 1024}) })
}

// benchStartFinish submits, starts, confirms and finishes a job in two instants, 1 s apart.
func benchStartFinish(b *testing.B, cfg Config) {
	cfg.Cluster, cfg.Window = cluster.Uniform("1000x8", 1000, 8), Window{0, 1 << 50}
	c := NewCollector(cfg)
	j := workload.Job{Team: "A", Need: workload.Need{GPUs: 8}, Estimate: workload.Hour}
	sub := fact.Fact{Kind: fact.JobSubmitted, Submitted: &j}
	act := fact.Action{Do: fact.Start, Count: 8, Milli: 8000, Place: []fact.Grant{on(7, 0, 8)}}
	started, fin := fact.Fact{Kind: fact.JobStarted}, fact.Fact{Kind: fact.JobFinished}
	g := sim.Gauge{Installed: 8e6, Available: 8e6}
	b.ReportAllocs()
	for b.Loop() {
		sub.At += 2000
		act.At, started.At, fin.At = sub.At, sub.At, sub.At+1000
		c.Fact(&sub)
		c.Action(&act)
		c.Fact(&started)
		g.At, g.Assigned = sub.At, 8000
		c.Instant(&g)
		c.Fact(&fin)
		g.At, g.Assigned = fin.At, 0
		c.Instant(&g)
	}
}

func BenchmarkComputeMillionJobs(b *testing.B) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 1))
	w := &workload.Workload{Jobs: make([]workload.Job, n), Actual: make([]workload.Actual, n)}
	res := &sim.Result{Jobs: make([]sim.JobResult, n)}
	for i := range n {
		w.Jobs[i].Submit = int64(i) * 1000
		wait, ran := int64(math.Exp(r.Float64()*20)), int64(math.Exp(r.Float64()*18))
		res.Jobs[i] = sim.JobResult{FirstStart: w.Jobs[i].Submit + wait, Finish: w.Jobs[i].Submit + wait + ran, Queued: wait, Ran: ran}
	}
	c := NewCollector(Config{Cluster: cluster.Uniform("1x8", 1, 8), Workload: w})
	b.ReportAllocs()
	for b.Loop() {
		Compute(c, w, res)
	}
}
