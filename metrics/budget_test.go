package metrics

import (
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

const h = workload.Hour

// halves is a tree of two teams with equal shares.
func halves(t testing.TB) *budget.Tree {
	t.Helper()
	tree, err := budget.Parse("lab.yaml", []byte("name: lab\nchildren:\n  - {name: A, share: 1}\n  - {name: B, share: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// shared is a run made by hand on one node of 4 GPUs, whose teams A and B are owed 2 each:
//
//	a  A, 4 GPUs, from 0 h; told to stop at 2 h, gone at 2.5 h (30 min lost)
//	b  B, 2 GPUs, submitted at 1 h, runs 2.5 to 4.5 h
//	c  A, 2 GPUs, declares a minimum runtime of 0: runs 2.5 to 4.5 h, uncharged
//	a  again from 4.5 h, stopped at 5 h, from 6 h to the end at 7 h
//	d  A, 1 GPU, parked: from 5 to 6 h
//	e  C, 1 GPU: an account that there is not, from 5 to 6 h
func shared(t *testing.T, win Window) (*Collector, *workload.Workload, *sim.Result) {
	w := jobs([3]int64{0, 5 * 3600, 4}, [3]int64{3600, 7200, 2}, [3]int64{3600, 7200, 2}, [3]int64{5 * 3600, 3600, 1}, [3]int64{5 * 3600, 3600, 1})
	for i, team := range []string{"A", "B", "A", "A", "C"} {
		w.Jobs[i].Team = team
	}
	w.Jobs[2].Contract = workload.Contract{HasMinRuntime: true}
	w.Jobs[3].Labels = map[string]string{"squat": "yes"}
	c := NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w, Window: win, Budgets: halves(t), Bins: 100})
	p := newScript(c, w, 4)
	start := func(job int32, first, n int32) {
		p.start(job, on(0, first, n))
		p.confirm = append(p.confirm, job)
	}
	p.submit(0)
	start(0, 0, 4)
	p.at(0)
	p.submit(1)
	p.submit(2)
	p.at(1 * h)
	p.acts = append(p.acts, fact.Action{Do: fact.Stop, Job: 0})
	p.at(2 * h)
	p.stop(0, fact.CausePreempted, h/2, 0)
	start(1, 0, 2)
	start(2, 2, 2)
	p.at(2*h + h/2)
	p.finish(1)
	p.finish(2)
	start(0, 0, 4)
	p.at(4*h + h/2)
	p.stop(0, fact.CausePreempted, 0, 0)
	p.submit(3)
	p.submit(4)
	start(3, 0, 1)
	start(4, 1, 1)
	p.at(5 * h)
	p.finish(3)
	p.finish(4)
	start(0, 0, 4)
	p.at(6 * h)
	p.finish(0)
	p.at(7 * h)
	r := &sim.Result{End: 7 * h, Jobs: []sim.JobResult{
		{FirstStart: 0, Finish: 7 * h, Starts: 3, Preemptions: 2, Lost: 4000 * h / 2},
		{FirstStart: 2*h + h/2, Finish: 4*h + h/2, Starts: 1},
		{FirstStart: 2*h + h/2, Finish: 4*h + h/2, Starts: 1},
		{FirstStart: 5 * h, Finish: 6 * h, Starts: 1},
		{FirstStart: 5 * h, Finish: 6 * h, Starts: 1},
	}}
	return c, w, r
}

func TestBudgetByHand(t *testing.T) {
	c, w, r := shared(t, Window{0, 10 * h})
	m := Compute(c, w, r)
	u := m.Budget
	// A is charged 4 x 2 (to the stop action) + 4 x 0.5 + 4 x 1 = 14. It asks for 4
	// all along but: a's 5 h bound what its waiting may ask for, 2 + 1 h of which it
	// waits. So 4 x 7 = 28 with the half hour of grace. It is owed 2 an hour: 14.
	// B asks for 2 from 1 h to 4.5 h (2 h bound its wait, 1.5 h it waits): 7 = owed 7
	// of 2 an hour, charged 4.
	a, b := &u.Reported[0], &u.Reported[1]
	near(t, "A demand", a.Demand, 28)
	near(t, "A owed", a.Owed, 14)
	near(t, "A charged", a.Charged, 14)
	near(t, "A delivered", a.Delivered, 14)
	near(t, "B demand", b.Demand, 7)
	near(t, "B owed", b.Owed, 7)
	near(t, "B charged", b.Charged, 4)
	near(t, "total", *u.DeliveredOfOwed, 18./21)
	near(t, "uncapped", *u.ChargedOfOwed, 18./21)
	near(t, "worst", *u.WorstOfOwed, 4./7)
	near(t, "regime", u.OwedOfCapacity, 21./40)
	// A's hours: charged 4 4 0 0 2 0 4 of 2 each. What 0 to 2 h had too much was
	// before anything lacked; 6 to 7 h makes 2 of 2 + 2 + 2 good: 2+2+2+2+2.
	near(t, "A strict", a.Strict, 2+2+2+2+2)
	near(t, "B strict", b.Strict, 4)
	if u.Worst != "B" || u.Accounts != 2 || u.Got95 != 1 {
		t.Errorf("worst %s, %d accounts, %d got enough", u.Worst, u.Accounts, u.Got95)
	}

	near(t, "allocated", m.AllocatedGPUHours, 4*2.5+2*2+4*0.5+4*1+1)
	near(t, "unallocated", m.UnallocatedGPUHours, 4)
	near(t, "squat", m.SquatGPUHours, 1)
	near(t, "unallocated share", m.UnallocatedShare, 4./25)
	near(t, "occupancy", m.Occupancy, 26./40)
	near(t, "goodput: lost and parked time is none", m.GoodputOccupancy, (26.-2-1)/40)
	near(t, "per 1000", m.AllocatedPreemptionsPer1000GPUHours, 2000./26)
	near(t, "lost", m.LostByClass["allocated"].LostGPUHours, 2)
	if m.AllocatedPreemptions != 2 || m.Thrash != 1 {
		t.Errorf("%d preemptions, %d too soon", m.AllocatedPreemptions, m.Thrash)
	}
	if m.Classes[0].Name != "allocated" || m.Classes[0].Jobs != 3 || m.Classes[1].Name != "unallocated" || m.Classes[1].P50 != 1.5*3600 {
		t.Errorf("classes %+v", m.Classes)
	}
	sr := c.Accounts(r.End)
	var charged, owed float64
	for _, x := range sr.Accounts[0].Bins {
		charged, owed = charged+x.Charged/float64(h), owed+x.Owed/float64(h)
	}
	near(t, "charged over time", charged, 14)
	near(t, "owed over time", owed, 14)
	near(t, "served at the end", sr.Accounts[0].Bins[len(sr.Accounts[0].Bins)-1].Served, 14/(0.5*28))
	near(t, "served after 2 h", sr.Accounts[0].Bins[1].Served, 8/(0.5*8))
	if again := Compute(c, w, r); *again.Budget.DeliveredOfOwed != *u.DeliveredOfOwed || again.AllocatedGPUHours != m.AllocatedGPUHours {
		t.Error("Compute changed what it read")
	}
}

// TestBudgetOfAWindow: the window begins with what runs and waits, and ends before the run does.
func TestBudgetOfAWindow(t *testing.T) {
	c, w, r := shared(t, Window{h + h/2, 3 * h})
	m := Compute(c, w, r)
	a, b := &m.Budget.Reported[0], &m.Budget.Reported[1]
	near(t, "A charged", a.Charged, 4*0.5)
	near(t, "A demand", a.Demand, 4*1.5)
	near(t, "A owed", a.Owed, 2*1.5)
	near(t, "B charged", b.Charged, 2*0.5)
	near(t, "B demand", b.Demand, 2*1.5)
	near(t, "unallocated", m.UnallocatedGPUHours, 1)
	near(t, "allocated", m.AllocatedGPUHours, 4*1+2*0.5)
	if m.AllocatedPreemptions != 1 || m.Thrash != 0 {
		t.Errorf("%d preemptions in the window, %d too soon", m.AllocatedPreemptions, m.Thrash)
	}
}

// TestDemandEnds: a waiting job asks for no more than it can use, and what was
// withdrawn for nothing.
func TestDemandEnds(t *testing.T) {
	w := jobs([3]int64{0, 3600, 2}, [3]int64{0, 10 * 3600, 4})
	w.Jobs[1].Team = "B"
	c := NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w, Window: Window{0, 8 * h}, Budgets: halves(t)})
	p := newScript(c, w, 4)
	p.submit(0)
	p.submit(1)
	p.at(0)
	p.fact(fact.Fact{Kind: fact.JobCancelled, Job: 1})
	p.at(3 * h)
	r := &sim.Result{End: 8 * h, Jobs: []sim.JobResult{
		{FirstStart: workload.Unknown, State: sim.Unstarted, Queued: 8 * h},
		{FirstStart: workload.Unknown, State: sim.Withdrawn, Queued: 3 * h},
	}, Cut: true}
	m := Compute(c, w, r)
	near(t, "A", m.Budget.Reported[0].Demand, 2)
	near(t, "B", m.Budget.Reported[1].Demand, 12)
	near(t, "B owed", m.Budget.Reported[1].Owed, 6)
	// Both enter their class with their wait so far, as lower bounds.
	k := m.Classes[0]
	if k.Name != "allocated" || k.Started != 0 || k.Withdrawn != 1 || k.Unstarted != 1 || k.P50 != 3*3600 || k.P90 != 8*3600 || k.LowerBounds != 2 {
		t.Errorf("class %+v", k)
	}
	if m.Wait.N != 1 {
		t.Errorf("the wait of all has %d values; a withdrawn job has none", m.Wait.N)
	}
}

func TestUnallocatedByTheStart(t *testing.T) {
	w := jobs([3]int64{0, 7200, 2})
	c := NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w, Window: Window{0, 4 * h}, Budgets: halves(t)})
	p := newScript(c, w, 4)
	p.submit(0)
	p.start(0, on(0, 0, 2))
	p.confirm = append(p.confirm, 0)
	p.at(0)
	p.acts = append(p.acts, fact.Action{Do: fact.Uncharge, Job: 0})
	p.at(h)
	p.stop(0, fact.CausePreempted, 0, 0)
	p.start(0, on(0, 0, 2))
	p.acts[0].Unallocated = true
	p.confirm = append(p.confirm, 0)
	p.at(2 * h)
	p.finish(0)
	p.at(3 * h)
	m := Compute(c, w, &sim.Result{End: 3 * h, Jobs: []sim.JobResult{{Finish: 3 * h, Starts: 2}}})
	near(t, "charged", m.Budget.Charged, 2)
	near(t, "allocated", m.AllocatedGPUHours, 2)
	near(t, "unallocated", m.UnallocatedGPUHours, 4)
	if m.AllocatedPreemptions != 0 {
		t.Errorf("%d stops of allocated work; it was not when it was stopped", m.AllocatedPreemptions)
	}
}

func TestDatesAndDrains(t *testing.T) {
	w := jobs([3]int64{0, 3600, 1}, [3]int64{0, 3600, 4}, [3]int64{0, 3600, 4}, [3]int64{0, 3600, 4})
	c := NewCollector(Config{Cluster: cluster.Uniform("2x4", 2, 4), Workload: w, Window: Window{0, 10 * h}})
	p := newScript(c, w, 8)
	promise := func(job int32, at workload.Time, code fact.Code) {
		p.acts = append(p.acts, fact.Action{Do: fact.Reserve, Job: job, Until: at, Reason: fact.Reason{Code: code}})
	}
	for j := range int32(4) {
		p.submit(j)
	}
	p.start(0, on(0, 0, 1))
	promise(1, 2*h, fact.CertainFit)
	promise(2, 2*h, fact.CertainFit)
	promise(3, 2*h, fact.EarliestFit)
	p.fact(fact.Fact{Kind: fact.NodeDrained, Node: 1})
	p.at(0)
	promise(1, h, fact.CertainFit) // the first date is what counts
	promise(3, 9*h, fact.CertainFit)
	p.fact(fact.Fact{Kind: fact.NodeDrained, Node: 0})
	p.at(h / 2)
	p.finish(0)
	p.at(h)
	p.start(1, on(0, 0, 4))
	p.at(2 * h)
	p.start(2, on(1, 0, 4))
	p.fact(fact.Fact{Kind: fact.NodeDrained, Node: 0})
	p.at(3 * h)
	m := Compute(c, w, &sim.Result{End: 4 * h, Cut: true, Jobs: make([]sim.JobResult, 4)})
	if want := (Dates{Made: 3, Kept: 1, Broken: 1}); *m.Dates != want {
		t.Errorf("dates %+v, want %+v: one is still to come", *m.Dates, want)
	}
	d := m.Drains
	if d.Nodes != 3 || d.Open != 1 || d.Mean != (0+1800+3600)/3. || d.Max != 3600 {
		t.Errorf("drains %+v", d)
	}
}

// TestSeriesTellsWhenStopsHappened: in the bin of their time, and none of the warm-up.
func TestSeriesTellsWhenStopsHappened(t *testing.T) {
	for name, tc := range map[string]struct {
		win  Window
		want map[workload.Time]Bin
	}{
		"all": {Window{}, map[workload.Time]Bin{2*h + h/2: {Preemptions: 1, AllocatedPreemptions: 1, LostGPUHours: 2}, 5 * h: {Preemptions: 1, AllocatedPreemptions: 1}}},
		// The first stop is before the window; the second falls on its first submission.
		"a window": {Window{4 * h, 10 * h}, map[workload.Time]Bin{5 * h: {Preemptions: 1, AllocatedPreemptions: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, r := shared(t, tc.win)
			sr := c.Series(r.End)
			for i := range sr.Bins {
				b := &sr.Bins[i]
				var want Bin
				for at, x := range tc.want {
					if int64(i) == (at-sr.From)/sr.Width {
						want = x
					}
				}
				if b.Preemptions != want.Preemptions || b.AllocatedPreemptions != want.AllocatedPreemptions || b.LostGPUHours != want.LostGPUHours {
					t.Errorf("bin %d from %d: %v stops, %v allocated, %v lost; want %+v", i, sr.From+int64(i)*sr.Width, b.Preemptions, b.AllocatedPreemptions, b.LostGPUHours, want)
				}
			}
		})
	}
}

// TestSeriesTellsOfStopsAtTheEnd: what happens at the last instant has no time after it.
func TestSeriesTellsOfStopsAtTheEnd(t *testing.T) {
	w := jobs([3]int64{0, 3600, 2})
	c := NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w, Bins: 4})
	p := newScript(c, w, 4)
	p.submit(0)
	p.start(0, on(0, 0, 2))
	p.at(0)
	p.stop(0, fact.CausePreempted, 0, 0)
	p.at(h / 2)
	for range 2 {
		var b Bin
		for _, x := range c.Series(h / 2).Bins {
			b.add(&x)
		}
		if b.Preemptions != 1 {
			t.Errorf("%v stops, want 1", b.Preemptions)
		}
	}
}
