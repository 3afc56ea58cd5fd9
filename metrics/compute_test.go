package metrics

import (
	"math"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

const s = workload.Second

// preempted is a run made by hand. Four GPUs, jobs a (team A), b (B), c (A):
//
//	a  4 GPUs from 0, stopped at 200 (50 s lost), again from 300 to 600
//	b  2 GPUs, submitted at 100, runs on the fast node from 200 to 300
//	c  1 GPU, submitted at 400, runs on the slow node from 600 to 700
func preempted(t *testing.T) (*Collector, *workload.Workload, *sim.Result) {
	t.Helper()
	return preemptedOf(jobs([3]int64{0, 450, 4}, [3]int64{100, 100, 2}, [3]int64{400, 100, 1}))
}

func preemptedOf(w *workload.Workload) (*Collector, *workload.Workload, *sim.Result) {
	c := NewCollector(Config{Cluster: twoTypes(), Workload: w, Bins: 8, Runs: 10})
	p := newScript(c, w, 4)
	p.submit(0)
	p.start(0, on(0, 0, 2), on(1, 0, 2))
	p.at(0)
	p.submit(1)
	p.at(100 * s)
	p.stop(0, fact.CausePreempted, 50*s, 0)
	p.start(1, on(0, 0, 2))
	p.g.Fragmented = true // a waits for 4, two are free: pretend the shape is at fault
	p.at(200 * s)
	p.finish(1)
	p.start(0, on(0, 0, 2), on(1, 0, 2))
	p.g.Fragmented = false
	p.at(300 * s)
	p.submit(2)
	p.at(400 * s)
	p.finish(0)
	p.start(2, on(1, 1, 1))
	p.at(600 * s)
	p.finish(2)
	p.at(700 * s)
	gpu := int64(1000 * 1000) // one GPU-second in milli-GPU x ms
	r := &sim.Result{End: 700 * s, Jobs: []sim.JobResult{
		{FirstStart: 0, Finish: 600 * s, Queued: 100 * s, Ran: 450 * s, Assigned: 2000 * gpu, Lost: 200 * gpu, Starts: 2, Preemptions: 1},
		{FirstStart: 200 * s, Finish: 300 * s, Queued: 100 * s, Ran: 100 * s, Assigned: 200 * gpu, Starts: 1},
		{FirstStart: 600 * s, Finish: 700 * s, Queued: 200 * s, Ran: 100 * s, Assigned: 100 * gpu, Starts: 1},
	}}
	return c, w, r
}

func TestComputeByHand(t *testing.T) {
	c, w, r := preempted(t)
	m := Compute(c, w, r)

	// Window [0, 400): 4 GPUs to 200, 2 to 300, 4 to 400 = 1400 of 1600 GPU-s.
	near(t, "occupancy", m.Occupancy, 1400./1600)
	// Makespan [0, 700): + 4 to 600, 1 to 700 = 2300 of 2800.
	near(t, "occupancy_makespan", m.OccupancyMakespan, 2300./2800)
	near(t, "goodput_occupancy", m.GoodputOccupancy, 1200./1600)
	near(t, "availability", m.Availability, 1)
	near(t, "fragmentation", m.Fragmentation, 200./1600)
	near(t, "allocated_gpu_ratio", m.AllocatedGPURatio, 1)
	near(t, "makespan", m.Makespan, 700)
	near(t, "lost", m.LostGPUHours, 200./3600)
	near(t, "lost by preemption", m.LostByCause["preempted"], 200./3600)
	near(t, "gpu hours", m.GPUHours, 2300./3600)
	near(t, "per 1000 GPU-h", m.PreemptionsPer1000GPUHours, 1000*3600./2300)

	want := Dist{Mean: 100, P50: 100, P90: 200, P99: 200, Max: 200, N: 3}
	if m.Wait != want {
		t.Errorf("wait = %+v, want %+v", m.Wait, want)
	}
	if want := (Dist{Mean: (600. + 200 + 300) / 3, P50: 300, P90: 600, P99: 600, Max: 600, N: 3}); m.JCT != want {
		t.Errorf("jct = %+v, want %+v", m.JCT, want)
	}
	near(t, "slowdown p50", m.BoundedSlowdown.P50, 2)
	near(t, "slowdown max", m.BoundedSlowdown.Max, 3)
	near(t, "slowdown mean", m.BoundedSlowdown.Mean, (550./450+2+3)/3)

	// Team A: a had 4 x 200 + 4 x 100 in the window and asked for 4 x 100 more
	// (a's run time bounds its wait, 100 < 450); c waits from 400 on, outside.
	// Team B: b had 2 x 100 and waited 100 for 2.
	xa, xb := 1200./1600, 200./400
	near(t, "jain", m.Jain, (xa+xb)*(xa+xb)/(2*(xa*xa+xb*xb)))
	if m.JainN != 2 || m.Preemptions != 1 || m.Jobs != 3 || m.Unstarted != 0 {
		t.Errorf("counts: %+v", m)
	}

	// The fast node works for a, b and a again, to 600; the slow one idles while b runs, then has c.
	fast, slow := 1200./3600, (2*200.+2*300+100)/3600
	near(t, "cost", *m.Cost, 4*fast+1*slow)
	near(t, "idle cost", *m.IdleCost, 4*(1400./3600-fast)+(1400./3600-slow))
	near(t, "kwh", *m.KWh, 1.5/1000*(500*fast+300*slow+100*(1400./3600-fast)+50*(1400./3600-slow)))

	runs := c.Runs(r.End)
	if len(runs.Parts) != 6 || runs.Dropped != 0 {
		t.Errorf("run parts = %d (dropped %d), want 6: two of a's twice, one of b and c", len(runs.Parts), runs.Dropped)
	}
	if got := Compute(c, w, r); got.Occupancy != m.Occupancy || got.Jain != m.Jain || *got.Cost != *m.Cost {
		t.Error("Compute changed what it read")
	}
}

func TestWindowSelectsJobs(t *testing.T) {
	w := jobs([3]int64{0, 100, 1}, [3]int64{50, 100, 1}, [3]int64{120, 100, 1})
	c := NewCollector(Config{Cluster: cluster.Uniform("2x1", 2, 1), Workload: w, Window: Window{50 * s, 120 * s}})
	p := newScript(c, w, 2)
	p.submit(0)
	p.start(0, on(0, 0, 1))
	p.at(0)
	p.submit(1)
	p.start(1, on(1, 0, 1))
	p.at(50 * s)
	p.finish(0)
	p.at(100 * s)
	p.submit(2)
	p.start(2, on(0, 0, 1))
	p.at(120 * s)
	p.finish(1)
	p.at(150 * s)
	p.finish(2)
	p.at(220 * s)
	r := &sim.Result{End: 220 * s, Jobs: []sim.JobResult{
		{FirstStart: 0, Finish: 100 * s, Ran: 100 * s},
		{FirstStart: 50 * s, Finish: 150 * s, Ran: 100 * s},
		{FirstStart: 120 * s, Finish: 220 * s, Ran: 100 * s},
	}}
	m := Compute(c, w, r)
	if m.Jobs != 1 || m.Wait.N != 1 {
		t.Errorf("jobs = %d, waits = %d; only the second was submitted in [50, 120)", m.Jobs, m.Wait.N)
	}
	near(t, "occupancy", m.Occupancy, (2*50.+1*20)/(2*70))
	near(t, "makespan", m.Makespan, 100)
	near(t, "occupancy_makespan", m.OccupancyMakespan, (2*50.+20+2*30)/(2*100))
	near(t, "allocated_gpu_ratio", m.AllocatedGPURatio, 1)
}

func TestCutRunGivesLowerBounds(t *testing.T) {
	w := jobs([3]int64{0, 1000, 1}, [3]int64{10, 20, 1}, [3]int64{20, 100, 1}, [3]int64{900, 1, 1})
	c := NewCollector(Config{Cluster: cluster.Uniform("1x1", 1, 1), Workload: w})
	p := newScript(c, w, 1)
	p.submit(0)
	p.at(0)
	p.submit(1)
	p.start(1, on(0, 0, 1))
	p.at(10 * s)
	p.submit(2)
	p.at(20 * s)
	p.finish(1)
	p.start(2, on(0, 0, 1))
	p.at(30 * s)
	p.at(100 * s)
	r := &sim.Result{Cut: true, End: 100 * s, Jobs: []sim.JobResult{
		{FirstStart: workload.Unknown, Finish: workload.Unknown, Queued: 100 * s, State: sim.Unstarted},
		{FirstStart: 10 * s, Finish: 30 * s, Ran: 20 * s},
		{FirstStart: 30 * s, Finish: workload.Unknown, Queued: 10 * s, Ran: 70 * s, State: sim.Running},
		{FirstStart: workload.Unknown, Finish: workload.Unknown, State: sim.Unstarted},
	}}
	m := Compute(c, w, r)
	if m.Jobs != 3 || m.Unstarted != 1 || m.Unfinished != 1 {
		t.Errorf("jobs %d, unstarted %d, unfinished %d; want 3, 1, 1: the last was never submitted", m.Jobs, m.Unstarted, m.Unfinished)
	}
	want := Dist{Mean: 110. / 3, P50: 10, P90: 100, P99: 100, Max: 100, N: 3, LowerBounds: 1, ExactUpTo: 100, Bounds: Bounded{P90: true, P99: true, Max: true}}
	if m.Wait != want {
		t.Errorf("wait = %+v, want %+v", m.Wait, want)
	}
	if m.Wait.Bound(10) || !m.Wait.MeanBound() {
		t.Error("a median below every lower bound is exact, the mean is not")
	}
	// The bound for the unstarted one: at least 100 s queued before its 1000 s.
	near(t, "slowdown p50", m.BoundedSlowdown.P50, 1.1)
	near(t, "window end", m.Window.To, 100)
	near(t, "occupancy", m.Occupancy, 90./100)
	near(t, "makespan", m.Makespan, 100)
	near(t, "delivered A", m.Groups[0].Delivered, 70./(70+100+10))
}

func TestNoJobsAndJobsAtOnce(t *testing.T) {
	empty := &workload.Workload{}
	c := NewCollector(Config{Cluster: cluster.Uniform("1x1", 1, 1), Workload: empty})
	m := Compute(c, empty, &sim.Result{})
	if m.Occupancy != 0 || m.Makespan != 0 || m.Jain != 1 {
		t.Errorf("empty run: %+v", m)
	}

	w := jobs([3]int64{0, 10, 1}, [3]int64{0, 30, 1})
	c = NewCollector(Config{Cluster: cluster.Uniform("1x4", 1, 4), Workload: w})
	p := newScript(c, w, 4)
	p.submit(0)
	p.submit(1)
	p.start(0, on(0, 0, 1))
	p.start(1, on(0, 1, 1))
	p.at(0)
	p.finish(0)
	p.at(10 * s)
	p.finish(1)
	p.at(30 * s)
	p.at(90 * s) // a node event after the end must not dilute anything
	r := &sim.Result{End: 90 * s, Jobs: []sim.JobResult{{Finish: 10 * s, Ran: 10 * s}, {Finish: 30 * s, Ran: 30 * s}}}
	m = Compute(c, w, r)
	near(t, "occupancy of an empty window", m.Occupancy, 40./120)
	near(t, "allocated_gpu_ratio", m.AllocatedGPURatio, 0.5)
	near(t, "makespan", m.Makespan, 30)
}

func TestRefusedAndWithdrawnHaveNoWait(t *testing.T) {
	w := jobs([3]int64{0, 10, 9}, [3]int64{0, 10, 1}, [3]int64{0, 10, 1})
	c := NewCollector(Config{Cluster: cluster.Uniform("1x1", 1, 1), Workload: w})
	r := &sim.Result{Jobs: []sim.JobResult{
		{State: sim.Refused, FirstStart: workload.Unknown}, {State: sim.Withdrawn, FirstStart: workload.Unknown},
		{State: sim.NeverReady, FirstStart: workload.Unknown},
	}}
	m := Compute(c, w, r)
	if m.Wait.N != 0 || m.Refused != 1 || m.Withdrawn != 1 || m.NeverReady != 1 || m.Jobs != 3 {
		t.Errorf("%+v", m)
	}
}
