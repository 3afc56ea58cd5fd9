package metrics

import (
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// app makes a job a real-time application of a life of 3 h that needs 1, 2 and 0 GPUs.
func app(w *workload.Workload, job int32, penalty int64) {
	j := &w.Jobs[job]
	j.Need = workload.Need{Tasks: 2, GPUs: 1}
	j.Service = &workload.Service{Demand: workload.Curve{Step: h, Values: []int32{1, 2, 0}}, Penalty: penalty}
}

func (s *script) demand(job, gpus int32) {
	s.fact(fact.Fact{Kind: fact.DemandChanged, Job: job, Demand: gpus})
}

// startWith starts an application with a place that is not its peak.
func (s *script) startWith(job int32, place ...fact.Grant) {
	s.start(job, place...)
	s.g.Assigned -= s.holds[job]
	s.hold(job, place)
}

func (s *script) resize(job int32, place ...fact.Grant) {
	s.acts = append(s.acts, fact.Action{Do: fact.Resize, Job: job, Place: place})
	s.g.Assigned -= s.holds[job]
	s.hold(job, place)
}

func (s *script) hold(job int32, place []fact.Grant) {
	s.holds[job] = 0
	for i := range place {
		s.holds[job] += milliOf(&place[i])
	}
	s.g.Assigned += s.holds[job]
	a := &s.acts[len(s.acts)-1]
	a.Milli, a.Count = s.holds[job], int32(s.holds[job]/1000)
}

// TestServiceByHand plays a day on two GPUs: application a follows its demand of 1, 2
// and 0, and lacks a GPU until b, which is worth 3 a GPU-hour, has ended; c runs from 2 h to 5 h.
func TestServiceByHand(t *testing.T) {
	w := jobs([3]int64{0, 3 * 3600, 0}, [3]int64{0, 5400, 1}, [3]int64{1800, 3 * 3600, 1})
	app(w, 0, 5)
	w.Jobs[1].Priority = 3
	c := NewCollector(Config{Cluster: cluster.Uniform("1x2", 1, 2), Workload: w, Window: Window{0, 4 * h}, Bins: 100, Runs: 10})
	p := newScript(c, w, 2)
	p.submit(0)
	p.demand(0, 1)
	p.submit(1)
	p.startWith(0, on(0, 0, 1))
	p.start(1, on(0, 1, 1))
	p.confirm = []int32{0, 1}
	p.at(0)
	p.submit(2)
	p.at(h / 2)
	p.demand(0, 2)
	p.at(h)
	p.finish(1)
	p.resize(0, on(0, 0, 2))
	p.at(3 * h / 2)
	p.demand(0, 0)
	p.resize(0, on(0, 1, 1))
	p.start(2, on(0, 0, 1))
	p.confirm = []int32{2}
	p.at(2 * h)
	p.finish(0)
	p.at(3 * h)
	p.finish(2)
	p.at(5 * h)
	r := &sim.Result{End: 5 * h, Jobs: []sim.JobResult{
		{FirstStart: 0, Finish: 3 * h, Ran: 3 * h, Starts: 1},
		{FirstStart: 0, Finish: 3 * h / 2, Ran: 3 * h / 2, Starts: 1},
		{FirstStart: 2 * h, Finish: 5 * h, Queued: 3 * h / 2, Ran: 3 * h, Starts: 1},
	}}
	m := Compute(c, w, r)

	u := m.Services
	if u == nil || u.Count != 1 || len(u.Applications) != 1 {
		t.Fatalf("services: %+v", u)
	}
	near(t, "asked", u.Asked, 3)     // 1 + 2
	near(t, "served", u.Served, 2.5) // 1 to 1:30, 2 to 2:00
	near(t, "shortfall", u.Shortfall, .5)
	near(t, "shortfall of asked", *u.ShortfallOfAsked, .5/3)
	near(t, "over", u.Over, 1) // one GPU in the third hour
	near(t, "penalty", *u.Penalty, 2.5)
	if u.HoursShort != 1 || u.Swaps != 2 || u.Stops != 0 {
		t.Errorf("hours %d, swaps %d, stops %d; want 1, 2 and 0", u.HoursShort, u.Swaps, u.Stops)
	}
	if a := u.Applications[0]; a.Name != "a" || a.Asked != u.Asked || a.HoursShort != 1 || a.Swaps != 2 {
		t.Errorf("application: %+v", a)
	}
	near(t, "occupancy", m.Occupancy, 7./8)
	near(t, "served occupancy", *m.ServedOccupancy, 6./8)
	near(t, "occupancy, makespan", m.OccupancyMakespan, 8./10)
	near(t, "served occupancy, makespan", *m.ServedOccupancyMakespan, 7./10)
	// b brings 1.5 x 3, c 2 x 1 until 4 h, and is not done by then.
	near(t, "value", *m.Value, 4.5+2-2.5)
	near(t, "finished value", *m.FinishedValue, 4.5-2.5)

	if m.Jobs != 2 || m.Wait.N != 2 || m.Wait.Max != 5400 || m.JCT.Max != 16200 || m.GPUHours != 8 {
		t.Errorf("jobs %d, waits %+v, JCT %+v, %v GPU-hours", m.Jobs, m.Wait, m.JCT, m.GPUHours)
	}
	// Team A: c waited 1.5 h for a GPU; a lacked half a GPU-hour, and had one for nothing.
	for _, g := range m.Groups {
		if want := map[string]GroupUse{"A": {Jobs: 1, Services: 1, GPUHours: 5.5, Delivered: 4.5 / (4.5 + 1.5 + .5)}, "B": {Jobs: 1, GPUHours: 1.5, Delivered: 1}}[g.Name]; g.Jobs != want.Jobs ||
			g.Services != want.Services || g.GPUHours != want.GPUHours || g.Delivered != want.Delivered {
			t.Errorf("group %+v, want %+v", g, want)
		}
	}
	if again := Compute(c, w, r); again.Services.Served != u.Served || again.Services.HoursShort != 1 || *again.Value != *m.Value {
		t.Error("Compute changed what it read")
	}
	var b ServiceBin
	line := c.Services(r.End).Services[0]
	for i := range line.Bins {
		b.add(&line.Bins[i])
	}
	near(t, "lived", b.Span, float64(3*h))
	near(t, "demand over time", b.Demand, float64(3*h))
	near(t, "held over time", b.Held, 3.5*float64(h))
	near(t, "served over time", b.Served, 2.5*float64(h))
}

// TestServiceLives plays single lives on two GPUs, of an application that needs 1, 2 and
// 0 for an hour each, to its end at 3 h.
func TestServiceLives(t *testing.T) {
	both := on(0, 0, 2)
	type step struct {
		at workload.Time
		do func(p *script)
	}
	start := func(p *script) { p.start(0, both) }
	for name, tc := range map[string]struct {
		window                      Window
		steps                       []step
		asked, served, over         float64
		hours, swaps, stops, absent int64
	}{
		"holds its peak": {
			steps: []step{{0, func(p *script) { start(p); p.confirm = []int32{0} }}, {3 * h, func(p *script) { p.finish(0) }}},
			asked: 3, served: 3, over: 3,
		},
		"comes up after half an hour": { // what it holds until then serves nobody
			steps: []step{{0, start}, {h / 2, func(p *script) { p.confirm = []int32{0} }}, {3 * h, func(p *script) { p.finish(0) }}},
			asked: 3, served: 2.5, over: 3.5, hours: 1,
		},
		"never runs": {
			steps: []step{{3 * h, func(p *script) { p.fact(fact.Fact{Kind: fact.JobCancelled, Job: 0}) }}},
			asked: 3, hours: 2,
		},
		"is stopped and comes again": {
			steps: []step{{0, func(p *script) { start(p); p.confirm = []int32{0} }}, {h / 2, func(p *script) { p.stop(0, fact.CausePreempted, h/2, 0) }},
				{3 * h / 2, func(p *script) { start(p); p.confirm = []int32{0} }}, {3 * h, func(p *script) { p.finish(0) }}},
			asked: 3, served: 1.5, over: .5 + 2, hours: 2, stops: 1,
		},
		"can never run": {
			steps: []step{{0, func(p *script) { p.acts = append(p.acts, fact.Action{Do: fact.Refuse, Job: 0}) }}},
		},
		"is withdrawn while it runs": { // it asks for nothing any more, and is gone at 1:30
			steps: []step{{0, func(p *script) { start(p); p.confirm = []int32{0} }}, {h / 2, func(p *script) { p.fact(fact.Fact{Kind: fact.JobCancelled, Job: 0}) }},
				{3 * h / 2, func(p *script) { p.stop(0, fact.CauseCancelled, 0, 0) }}},
			asked: .5, served: .5, over: .5 + 2,
		},
		"is gone for good once stopped": {
			steps: []step{{0, func(p *script) { start(p); p.confirm = []int32{0}; p.w.Jobs[0].Contract.NotResumable = true }}, {h / 2, func(p *script) { p.stop(0, fact.CausePreempted, 0, 0) }}},
			asked: .5, served: .5, over: .5, stops: 1,
		},
		"in a window": {
			window: Window{3 * h / 2, 5 * h / 2},
			steps: []step{{0, func(p *script) { p.startWith(0, on(0, 1, 1)); p.confirm = []int32{0} }}, {h / 2, func(p *script) { p.resize(0, on(0, 0, 1)) }},
				{7 * h / 4, func(p *script) { p.resize(0, both) }}, {2 * h, func(p *script) { p.resize(0) }}, {3 * h, func(p *script) { p.finish(0) }}},
			asked: 1, served: .75, hours: 1, swaps: 1 + 2,
		},
		"after its end": {
			window: Window{4 * h, 5 * h}, absent: 1,
			steps: []step{{0, func(p *script) { start(p); p.confirm = []int32{0} }}, {3 * h, func(p *script) { p.finish(0) }}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := jobs([3]int64{0, 3 * 3600, 0})
			app(w, 0, 0)
			if tc.window == (Window{}) {
				tc.window = Window{0, 6 * h}
			}
			c := NewCollector(Config{Cluster: cluster.Uniform("1x2", 1, 2), Workload: w, Window: tc.window, Bins: 10})
			p := newScript(c, w, 2)
			p.submit(0)
			demands := map[workload.Time]int32{0: 1, h: 2, 2 * h: 0}
			for at := workload.Time(0); at <= 3*h; at += h / 4 {
				now := false
				if d, ok := demands[at]; ok {
					p.demand(0, d)
					now = true
				}
				for _, s := range tc.steps {
					if s.at == at {
						s.do(p)
						now = true
					}
				}
				if now {
					p.at(at)
				}
			}
			p.at(6 * h)
			m := Compute(c, w, &sim.Result{End: 6 * h, Jobs: make([]sim.JobResult, 1)})
			if m.Jobs != 0 || m.Preemptions != 0 || m.AllocatedPreemptions != 0 || m.LostGPUHours != 0 || m.Unstarted != 0 || len(m.Classes) != 0 {
				t.Errorf("an application is counted as a job: %+v", m)
			}
			if tc.absent > 0 {
				if m.Services != nil || m.ServedOccupancy != nil {
					t.Errorf("it is in a window after its life: %+v", m.Services)
				}
				return
			}
			u := m.Services
			near(t, "asked", u.Asked, tc.asked)
			near(t, "served", u.Served, tc.served)
			near(t, "shortfall", u.Shortfall, tc.asked-tc.served)
			near(t, "over", u.Over, tc.over)
			if u.HoursShort != tc.hours || u.Swaps != tc.swaps || u.Stops != tc.stops {
				t.Errorf("hours %d, swaps %d, stops %d; want %d, %d and %d", u.HoursShort, u.Swaps, u.Stops, tc.hours, tc.swaps, tc.stops)
			}
			if u.Applications[0].HoursShort != u.HoursShort {
				t.Errorf("hours: %d of the only one, %d of all", u.Applications[0].HoursShort, u.HoursShort)
			}
		})
	}
}

// TestServedOccupancyIsOccupancy holds where nothing is demanded, and then is not told.
func TestServedOccupancyIsOccupancy(t *testing.T) {
	c, w, r := preempted(t)
	if m := Compute(c, w, r); m.Services != nil || m.ServedOccupancy != nil || m.Value != nil {
		t.Errorf("figures of applications that do not exist: %+v", m)
	}
	if c.inWindow.over != (area{}) || c.Services(r.End) != nil {
		t.Error("something was held for nothing")
	}
}

// TestValue: priorities weigh GPU-hours; what is lost, and parked, is worth nothing.
func TestValue(t *testing.T) {
	w := jobs([3]int64{0, 450, 4}, [3]int64{100, 100, 2}, [3]int64{400, 100, 1})
	w.Jobs[0].Priority, w.Jobs[1].Priority, w.Jobs[2].Priority = 10, -4, 2
	c, _, r := preemptedOf(w)
	m := Compute(c, w, r)
	// To 400 s: job 0 had 4 x 200 + 4 x 100, of which 4 x 50 was done again; job 1 2 x 100.
	near(t, "value", *m.Value, (10*(1200-200)+1*200)/3600.)
	near(t, "finished value", *m.FinishedValue, 200/3600.)
	w.Jobs[0].Labels = map[string]string{"squat": "yes"}
	c, _, r = preemptedOf(w)
	m = Compute(c, w, r)
	near(t, "value with a parked job", *m.Value, 200/3600.)
	w.Jobs[1].Priority, w.Jobs[2].Priority = 1, 0
	c, _, r = preemptedOf(w)
	if m = Compute(c, w, r); m.Value != nil {
		t.Errorf("value %v where all work is worth the same", *m.Value)
	}
}

func TestHoursCountOnce(t *testing.T) {
	var c hourCount
	for _, x := range [][2]int64{{-1, 0}, {-h - 1, -h}, {0, 0}, {5, 6}, {7, h}, {h, h + 1}, {3*h - 1, 4 * h}} {
		c.add(x[0], x[1])
	}
	if c.n != 5 { // -1, 0, 1, 2, 3; the second stretch lies before what was counted
		t.Errorf("%d hours", c.n)
	}
}

func TestAreaArithmetic(t *testing.T) {
	big := area{1, 5}
	if got := big.times(3); got != (area{3, 15}) {
		t.Errorf("times: %v", got)
	}
	if got := (area{1 << 62, 0}).times(8); got.hi != 1<<64-1 {
		t.Errorf("times beyond 128 bits: %v", got)
	}
	if got := (area{0, 1 << 63}).times(4); got != (area{2, 0}) {
		t.Errorf("carry: %v", got)
	}
	if got := big.minus(area{0, 6}); got != (area{0, 1<<64 - 1}) {
		t.Errorf("minus: %v", got)
	}
	if got := (area{0, 1}).minus(big); got != (area{}) {
		t.Errorf("minus below zero: %v", got)
	}
}

// TestServiceOfAnAccount: while it waits it asks for what it needs then, not for its
// peak; a resize changes what its account is charged.
func TestServiceOfAnAccount(t *testing.T) {
	w := jobs([3]int64{0, 3 * 3600, 0})
	app(w, 0, 0)
	c := NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w, Window: Window{0, 3 * h}, Budgets: halves(t)})
	p := newScript(c, w, 4)
	p.submit(0)
	p.demand(0, 1)
	p.at(0)
	p.startWith(0, on(0, 0, 1))
	p.confirm = []int32{0}
	p.at(h)
	p.demand(0, 2)
	p.resize(0)
	p.resize(0, on(0, 0, 2))
	p.at(2 * h)
	p.finish(0)
	p.at(3 * h)
	u := Compute(c, w, &sim.Result{End: 3 * h, Jobs: make([]sim.JobResult, 1)}).Budget.Reported[0]
	near(t, "demand", u.Demand, 1+1+2)
	near(t, "owed", u.Owed, 1+1+2)
	near(t, "charged", u.Charged, 1+2)
	near(t, "delivered", u.Delivered, 3)
}
