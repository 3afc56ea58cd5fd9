package metrics

import (
	"context"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestPoolsByHand: two nodes of 2 GPUs, of types fast and slow. A is owed 75 % of fast
// and 25 % of slow, B the rest.
//
//	a  A, 2 GPUs, either type: runs on slow from 0 to 4 h
//	b  B, 2 GPUs, either type: waits (in fast, its first pool) from 0 to 1 h, runs on
//	   fast from 1 to 4 h
//	c  B, 1 GPU, slow only: waits from 1 h to 3 h, then is withdrawn
//
// slow is drained from 2 h on and stays usable until a ends; fast goes down at 4 h.
func TestPoolsByHand(t *testing.T) {
	tree, err := budget.Parse("lab.yaml", []byte(`
name: lab
pools: [fast, slow]
children:
  - {name: A, share: {fast: 75, slow: 25}}
  - {name: B, share: {fast: 25, slow: 75}}
`))
	if err != nil {
		t.Fatal(err)
	}
	w := jobs([3]int64{0, 4 * 3600, 2}, [3]int64{0, 3 * 3600, 2}, [3]int64{3600, 5 * 3600, 1})
	for i, team := range []string{"A", "B", "B"} {
		w.Jobs[i].Team = team
	}
	w.Jobs[2].Need.GPUTypes = "slow"
	c := NewCollector(Config{Cluster: twoTypes(), Workload: w, Window: Window{0, 6 * h}, Budgets: tree, Bins: 100})
	p := newScript(c, w, 4)
	start := func(job, node int32) {
		p.start(job, on(node, 0, 2))
		p.confirm = append(p.confirm, job)
	}
	p.submit(0)
	p.submit(1)
	start(0, 1)
	p.at(0)
	p.submit(2)
	start(1, 0)
	p.at(1 * h)
	p.fact(fact.Fact{Kind: fact.NodeDrained, Node: 1})
	p.at(2 * h)
	p.fact(fact.Fact{Kind: fact.JobCancelled, Job: 2})
	p.g.WaitingJobs--
	p.at(3 * h)
	p.finish(0)
	p.finish(1)
	p.fact(fact.Fact{Kind: fact.NodeDown, Node: 0})
	p.g.Available = 0
	p.at(4 * h)

	u := c.Budget(6 * h)
	for _, tc := range []struct {
		name                           string
		got                            AccountUse
		share                          float64
		demand, owed, charged, deliver float64
	}{
		// A asks for nothing in fast; in slow 2 GPUs for 4 h, of which 25 % of 2 are due.
		{"A in fast", u.Pools[0].Reported[0], 0.75, 0, 0, 0, 0},
		{"A in slow", u.Pools[1].Reported[0], 0.25, 8, 2, 8, 2},
		// B asks for 2 GPUs of fast for 4 h (waiting and running) and is due 25 % of 2; it
		// asks for 1 of slow for 2 h, less than the 1.5 an hour that are due.
		{"B in fast", u.Pools[0].Reported[1], 0.25, 8, 2, 6, 2},
		{"B in slow", u.Pools[1].Reported[1], 0.75, 2, 2, 0, 0},
		{"fast", u.Pools[0].All, 1, 8, 2, 6, 2},
		{"slow", u.Pools[1].All, 1, 10, 4, 8, 2},
		// Both types have 2 GPUs, so that shares of all count half each.
		{"A", u.Reported[0], 0.5, 8, 2, 8, 2},
		{"B", u.Reported[1], 0.5, 10, 4, 6, 2},
	} {
		near(t, tc.name+" share", tc.got.Share, tc.share)
		near(t, tc.name+" demand", tc.got.Demand, tc.demand)
		near(t, tc.name+" owed", tc.got.Owed, tc.owed)
		near(t, tc.name+" charged", tc.got.Charged, tc.charged)
		near(t, tc.name+" delivered", tc.got.Delivered, tc.deliver)
	}
	if u.Pools[0].Pool != "fast" || u.Pools[1].Pool != "slow" || u.Worst != "B" {
		t.Errorf("pools %s, %s, worst %s", u.Pools[0].Pool, u.Pools[1].Pool, u.Worst)
	}
	near(t, "total owed", u.Owed, 6)
	near(t, "total delivered", u.Delivered, 4)

	s := c.Accounts(6 * h)
	near(t, "share over time", s.Accounts[1].Share, 0.5)
	var owed float64
	for _, b := range s.Accounts[1].Bins {
		owed += b.Owed
	}
	near(t, "owed over time", owed/float64(h), 4)
	// Until 4 h, B was charged 6 and offered 25 % of 8 and 75 % of 8.
	near(t, "served after 4 h", s.Accounts[1].Bins[3].Served, 6./8)
}

// TestPoolCapacity: what is usable of a pool follows its nodes as in the gauge.
func TestPoolCapacity(t *testing.T) {
	tree, err := budget.Parse("lab.yaml", []byte("pools: [slow, fast]\nchildren: [{name: A, share: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := newAccountPools(tree, twoTypes())
	place := []fact.Grant{on(0, 0, 1)}
	for i, step := range []struct {
		do         func()
		slow, fast int64
	}{
		{func() {}, 2000, 2000},
		{func() { p.fact(&fact.Fact{Kind: fact.NodeDown, Node: 1}) }, 0, 2000},
		{func() { p.assign(place, 1) }, 0, 2000},
		{func() { p.fact(&fact.Fact{Kind: fact.NodeDrained, Node: 0}) }, 0, 1000},
		{func() { p.fact(&fact.Fact{Kind: fact.NodeDown, Node: 0}) }, 0, 0},
		{func() { p.fact(&fact.Fact{Kind: fact.NodeUp, Node: 0}) }, 0, 1000},
		{func() { p.assign(place, -1) }, 0, 0},
		{func() { p.fact(&fact.Fact{Kind: fact.NodeResumed, Node: 0}) }, 0, 2000},
		{func() { p.fact(&fact.Fact{Kind: fact.NodeUp, Node: 1}) }, 2000, 2000},
	} {
		if step.do(); p.usable[0] != step.slow || p.usable[1] != step.fast {
			t.Errorf("step %d: usable %v, want %d, %d", i, p.usable, step.slow, step.fast)
		}
	}
	either, fast := &workload.Job{Need: workload.Need{GPUs: 1}}, &workload.Job{Need: workload.Need{GPUs: 1, GPUTypes: "fast"}}
	if p.first(either) != 0 || p.first(fast) != 1 || p.where(place) != 1 {
		t.Errorf("first pools %d, %d; run in %d", p.first(either), p.first(fast), p.where(place))
	}
}

// summed compares what is usable of all pools with the gauge of a run.
type summed struct {
	*Collector
	t *testing.T
}

func (s summed) Instant(g *sim.Gauge) {
	s.Collector.Instant(g)
	var sum int64
	for _, usable := range s.accounts.pools.usable {
		sum += usable
	}
	if sum != g.Available {
		s.t.Fatalf("at %d: pools add up to %d, the gauge says %d", g.At, sum, g.Available)
	}
}

// TestPoolsAddUp runs jobs over two pools while nodes fail and are drained.
func TestPoolsAddUp(t *testing.T) {
	tree, err := budget.Parse("lab.yaml", []byte("pools: [slow, fast]\nchildren: [{name: A, share: {slow: 1, fast: 2}}, {name: B, share: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	spec := twoTypes()
	spec.Outages = []cluster.Outage{{At: h, Node: "n1", Change: "drain"}, {At: 5 * h, Node: "n1", Change: "resume"}, {At: 6 * h, Node: "n2", Change: "drain"}}
	var rows [][3]int64
	for i := range int64(60) {
		rows = append(rows, [3]int64{i * 600, 900 + i%7*1800, 1 + i%2})
	}
	w := jobs(rows...)
	for i := range w.Jobs {
		w.Jobs[i].Need.GPUTypes = [...]string{"", "slow", "fast"}[i%3]
	}
	for _, name := range []string{"fifo", "contract"} {
		p, known := policy.Shipped(name)
		if !known {
			t.Fatal(name)
		}
		c := NewCollector(Config{Cluster: spec, Workload: w, Budgets: tree})
		r, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: p, Budgets: tree, Until: 40 * h,
			Faults: sim.Faults{MTBF: 8 * h, MTTR: h, Seed: 2}, Assume: sim.Assumptions{Grace: 120_000}, Observers: []sim.Observer{summed{c, t}}})
		if err != nil {
			t.Fatal(err)
		}
		u := Compute(c, w, r).Budget
		var owed, charged float64
		for i := range u.Pools {
			owed, charged = owed+u.Pools[i].All.Owed, charged+u.Pools[i].All.Charged
		}
		near(t, name+" owed", owed, u.Owed)
		near(t, name+" charged", charged, u.Charged)
		if u.Charged == 0 || u.Pools[0].All.Charged == 0 || u.Pools[1].All.Charged == 0 {
			t.Errorf("%s: nothing was charged in a pool: %+v", name, u)
		}
	}
}
