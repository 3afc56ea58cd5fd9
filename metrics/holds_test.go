package metrics

import (
	"fmt"
	"math"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// TestHeldAsksForNothing: a job of A waits an hour, is held for two by two holds at once, waits
// another hour and runs one; it is held again while it runs, so that its stop asks for nothing.
func TestHeldAsksForNothing(t *testing.T) {
	w := jobs([3]int64{0, 100 * 3600, 2}, [3]int64{0, 100 * 3600, 2})
	w.Jobs[0].Team, w.Jobs[1].Team = "A", "A"
	c := NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w, Window: Window{0, 20 * h}, Budgets: halves(t)})
	p := newScript(c, w, 4)
	hold := func(kind fact.Kind, job int32, by fact.HoldBy) { p.fact(fact.Fact{Kind: kind, Job: job, Hold: by}) }
	p.submit(0)
	p.at(0)
	hold(fact.JobHeld, 0, fact.HoldOwner)
	hold(fact.JobHeld, 0, fact.HoldOperator)
	p.at(h)
	hold(fact.JobReleased, 0, fact.HoldOwner)
	p.at(2 * h)
	hold(fact.JobReleased, 0, fact.HoldOperator)
	p.at(3 * h)
	p.start(0, on(0, 0, 2))
	p.confirm = []int32{0}
	p.at(4 * h)
	hold(fact.JobHeld, 0, fact.HoldOperator)
	p.at(4*h + h/2)
	p.stop(0, fact.CauseOperator, h, 0)
	p.at(5 * h)
	p.submit(1) // held as it comes, and withdrawn before it is released
	hold(fact.JobHeld, 1, fact.HoldOwner)
	p.at(6 * h)
	p.fact(fact.Fact{Kind: fact.JobCancelled, Job: 1})
	hold(fact.JobReleased, 1, fact.HoldOwner)
	p.at(8 * h)
	p.at(9 * h)
	u := c.Budget(9 * h)
	near(t, "demand", u.Reported[0].Demand, 2*(1+1+1))
	near(t, "charged", u.Reported[0].Charged, 2)
	if c.lost[fact.CauseOperator] == (area{}) {
		t.Error("what an operator's stop lost is not counted")
	}
	m := Compute(c, w, &sim.Result{End: 9 * h, Cut: true, Jobs: make([]sim.JobResult, 2)})
	near(t, "lost by operator", m.LostByCause["operator"], 2)
	near(t, "delivered of A's demand", c.groups.rows[0].waited.gpuHours(), 4)
}

// holdPlay draws a life of some jobs, instant by instant, and counts by the millisecond what
// their accounts ask for and are charged.
type holdPlay struct {
	t      *rapid.T
	w      *workload.Workload
	jobs   []playJob
	all    []*Collector
	now    workload.Time
	gauge  sim.Gauge
	free   int32
	epochs []playEpoch
}

type playJob struct {
	state    string // "", waiting, running, ended
	holds    uint8
	up, told bool
	waited   int64
	gpu      int32
}

// playEpoch is the time under one budget.
type playEpoch struct {
	tree            *budget.Tree
	demand, charged map[string]int64
	usable          int64
}

func (p *holdPlay) fact(f fact.Fact) {
	f.At = p.now
	for _, c := range p.all {
		c.Fact(&f)
	}
}

func (p *holdPlay) act(a fact.Action) {
	a.At = p.now
	for _, c := range p.all {
		c.Action(&a)
	}
}

func (p *holdPlay) budgets(a, b int) {
	tree, err := budget.Parse("lab.yaml", fmt.Appendf(nil, "name: lab\nchildren:\n  - {name: A, share: %d}\n  - {name: B, share: %d}\n", a, b))
	if err != nil {
		p.t.Fatal(err)
	}
	p.epochs = append(p.epochs, playEpoch{tree: tree, demand: map[string]int64{}, charged: map[string]int64{}})
}

// step draws what happens to a job now.
func (p *holdPlay) step(n int32) {
	j := &p.jobs[n]
	choose := func(what string, hi int) int { return rapid.IntRange(0, hi).Draw(p.t, what) }
	switch j.state {
	case "":
		p.fact(fact.Fact{Kind: fact.JobSubmitted, Job: n, Submitted: &p.w.Jobs[n]})
		j.state = "waiting"
	case "waiting":
		switch choose("waiting", 4) {
		case 0:
			p.fact(fact.Fact{Kind: fact.JobCancelled, Job: n})
			j.state = "ended"
		case 1, 2:
			if j.holds == 0 && p.free > 0 {
				p.act(fact.Action{Do: fact.Start, Job: n, Count: 1, Milli: 1000, Place: []fact.Grant{{Node: 0, GPUs: 1 << j.gpu, Milli: 1000}}})
				j.state, j.up, j.told = "running", false, false
				p.free--
				p.gauge.Assigned += 1000
			}
		default:
			p.hold(n)
		}
	case "running":
		switch choose("running", 7) {
		case 0, 1:
			if !j.up {
				p.fact(fact.Fact{Kind: fact.JobStarted, Job: n})
				j.up = true
			}
		case 2:
			p.act(fact.Action{Do: fact.Stop, Job: n})
			j.told = true
		case 3, 4:
			p.hold(n)
		case 5:
			p.fact(fact.Fact{Kind: fact.JobFinished, Job: n})
			p.leaves(j, "ended")
		default:
			cause := rapid.SampledFrom([]fact.Cause{fact.CausePreempted, fact.CauseNodeFailure, fact.CauseOperator, fact.CauseYielded, fact.CauseCancelled}).Draw(p.t, "cause")
			p.fact(fact.Fact{Kind: fact.JobStopped, Job: n, Cause: cause, Lost: 1})
			switch {
			case cause == fact.CauseCancelled, p.w.Jobs[n].Contract.NotResumable && j.up && cause != fact.CauseNodeFailure:
				p.leaves(j, "ended")
			default:
				p.leaves(j, "waiting")
			}
		}
	}
}

func (p *holdPlay) leaves(j *playJob, to string) {
	j.state = to
	p.free++
	p.gauge.Assigned -= 1000
}

func (p *holdPlay) hold(n int32) {
	j := &p.jobs[n]
	by := fact.HoldBy(rapid.IntRange(0, 2).Draw(p.t, "hold"))
	kind := fact.JobHeld
	if j.holds>>by&1 == 1 {
		kind = fact.JobReleased
	}
	j.holds ^= 1 << by
	p.fact(fact.Fact{Kind: kind, Job: n, Hold: by})
}

// pass ends the instant and counts the milliseconds up to the next.
func (p *holdPlay) pass(ms int64) {
	p.gauge.At = p.now
	for _, c := range p.all {
		g := p.gauge
		c.Instant(&g)
	}
	x := &p.epochs[len(p.epochs)-1]
	for range ms {
		x.usable += p.gauge.Available
		for i := range p.jobs {
			j, team := &p.jobs[i], p.w.Jobs[i].Team
			switch {
			case j.state == "running":
				x.demand[team] += 1000
				if j.up && !j.told {
					x.charged[team] += 1000
				}
			case j.state == "waiting" && j.holds == 0:
				if j.waited < p.w.Jobs[i].Estimate {
					x.demand[team] += 1000
				}
				j.waited++
			}
		}
	}
	p.now += ms
}

// TestHoldsEqualARecount draws lives with holds, and compares the demand of accounts with what
// milliseconds add up to: of a run with an end, of one without, and of one whose budgets change.
func TestHoldsEqualARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &holdPlay{t: t, w: &workload.Workload{}, free: 4, gauge: sim.Gauge{Installed: 4000, Available: 4000}}
		for i := range rapid.IntRange(1, 9).Draw(t, "jobs") {
			p.w.Jobs = append(p.w.Jobs, workload.Job{ID: fmt.Sprint(i), Team: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "team"), Need: workload.Need{GPUs: 1},
				Estimate: rapid.Int64Range(1, 200).Draw(t, "estimate"), Contract: workload.Contract{NotResumable: rapid.IntRange(0, 3).Draw(t, "resumable") == 0}})
			p.jobs = append(p.jobs, playJob{gpu: int32(i % 4)})
		}
		p.budgets(1, 1)
		cfg := Config{Cluster: cluster.Uniform("1x4", 1, 4), Window: Window{0, workload.Never}, Budgets: p.epochs[0].tree}
		ends := NewCollector(cfg)
		cfg.Endless = true
		endless := NewCollector(cfg)
		p.all = []*Collector{ends, endless}
		change := rapid.IntRange(0, 30).Draw(t, "change")
		for k := range 30 {
			if k == change {
				p.all = p.all[1:] // the budgets of a run with an end stay
				p.budgets(rapid.IntRange(1, 5).Draw(t, "A"), rapid.IntRange(0, 5).Draw(t, "B"))
				p.fact(fact.Fact{Kind: fact.BudgetsChanged, Budgets: p.epochs[1].tree})
			}
			if rapid.IntRange(0, 5).Draw(t, "capacity") == 0 {
				p.gauge.Available = rapid.Int64Range(p.gauge.Assigned, 4000).Draw(t, "available")
			}
			for n := range p.jobs {
				if rapid.Bool().Draw(t, "something") {
					p.step(int32(n))
				}
			}
			p.pass(rapid.Int64Range(1, 40).Draw(t, "length"))
		}
		p.compare(endless.Tally(p.now).Accounts)
		if len(p.epochs) == 1 {
			p.compare(ends.Budget(p.now).Reported)
		}
		alive := 0
		for i := range p.jobs {
			if s := p.jobs[i].state; s == "waiting" || s == "running" {
				alive++
			}
		}
		if len(endless.endless.slots) != alive || len(endless.jobs) > len(p.jobs) {
			t.Errorf("%d jobs are remembered in %d places, %d are alive", len(endless.endless.slots), len(endless.jobs), alive)
		}
	})
}

func (p *holdPlay) compare(got []AccountUse) {
	const hour = 1000 * 3_600_000
	for i, team := range []string{"A", "B"} {
		var demand, charged, owed, delivered float64
		for k := range p.epochs {
			x := &p.epochs[k]
			num, den := x.tree.ProductShare(x.tree.Reported[i])
			due := min(math.Floor(float64(num)*float64(x.usable)/float64(den)), float64(x.demand[team]))
			demand, charged, owed = demand+float64(x.demand[team]), charged+float64(x.charged[team]), owed+due
			delivered += min(due, float64(x.charged[team]))
		}
		for _, v := range []struct {
			what      string
			got, want float64
		}{{"demand", got[i].Demand, demand / hour}, {"charged", got[i].Charged, charged / hour}, {"owed", got[i].Owed, owed / hour}, {"delivered", got[i].Delivered, delivered / hour}} {
			if math.Abs(v.got-v.want) > 1e-12 {
				p.t.Errorf("%s of %s: %v, want %v", v.what, team, v.got*hour, v.want*hour)
			}
		}
	}
}

// TestTallyByHand: what an endless run has come to, with the time since its last fact.
func TestTallyByHand(t *testing.T) {
	w := jobs([3]int64{0, 3600, 4}, [3]int64{0, 3600, 2})
	w.Jobs[0].Team, w.Jobs[1].Team = "A", "B"
	w.Jobs[1].Contract.HasMinRuntime = true
	c := NewCollector(Config{Cluster: cluster.Uniform("1x8", 1, 8), Window: Window{0, workload.Never}, Budgets: halves(t), Endless: true})
	p := newScript(c, w, 8)
	p.submit(0)
	p.submit(1)
	p.start(0, on(0, 0, 4))
	p.start(1, on(0, 4, 2))
	p.confirm = []int32{0, 1}
	p.at(0)
	p.stop(0, fact.CauseYielded, h/2, h/4)
	p.at(h)
	a := c.Tally(2 * h)
	near(t, "installed", a.Installed, 16)
	near(t, "assigned", a.Assigned, 4+4)
	near(t, "allocated", a.Allocated, 4)
	near(t, "unallocated", a.Unallocated, 4)
	near(t, "lost", a.Lost["yielded"], 2)
	near(t, "restart", a.Restart, 1)
	near(t, "charged", a.Accounts[0].Charged, 4)
	near(t, "owed", a.Accounts[0].Owed, 8)
	near(t, "share", a.Accounts[0].Share, 0.5)
	p.at(2 * h)
	if b := c.Tally(2 * h); b.Assigned != a.Assigned || b.Accounts[0] != a.Accounts[0] {
		t.Errorf("an instant at which nothing happens changes %+v to %+v", a, b)
	}
}
