package sim_test

import (
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

const (
	hour   = workload.Hour
	minute = workload.Minute
)

func mayStop(j *workload.Job) { j.Contract.HasMinRuntime, j.Contract.MinRuntime = true, hour }

// What may be interrupted makes room also where not one GPU is free.
func TestPlanInterruptsWhereNothingIsFree(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 4))
	w.plan.Interrupt = true
	mayStop(w.job("low", 0, 4, 20*hour))
	w.job("urgent", 10*minute, 4, hour).Priority = 1000
	w.run()
	w.starts(1, hour) // when the protection ends, whatever the grid
}

// One job is stopped for an application, and no other while that one shuts down.
func TestPlanStopsNoSecondVictimMeanwhile(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 8))
	w.plan.Interrupt, w.assume.Grace = true, 10*minute
	for _, id := range []string{"a", "b", "c", "d"} {
		mayStop(w.job(id, 0, 2, 20*hour))
	}
	w.serve("app", 2*hour, 10*hour, hour, 2).Penalty = 1000
	for i, id := range []string{"x", "y", "z"} { // each calls for a decision
		w.job(id, 2*hour+int64(i+1)*minute, 1, hour)
	}
	w.run()
	w.starts(4, 2*hour+10*minute)
	stops := int32(0)
	for i := range w.res.Jobs {
		stops += w.res.Jobs[i].Preemptions
	}
	if stops != 1 {
		t.Errorf("%d jobs are stopped for one application that lacks 2 GPUs, want 1", stops)
	}
}

// An application that has what it needs now begins early enough with what it needs later.
func TestServiceBeginsInTime(t *testing.T) {
	w := newHours(t, cluster.Uniform("two", 2, 4))
	s := w.serve("app", 0, 9*hour, hour, 2, 2, 2, 2, 2, 6)
	s.Swaps, s.SwapEvery = 1, hour
	w.run()
	w.has(0, hour, 2)
	w.has(0, 5*hour, 6)
}

// A swap limit holds for its own span, also where steps are longer; and what no longer
// counts is used at once, not at the next point of the grid.
func TestSwapSpanShorterThanAStep(t *testing.T) {
	w := newHours(t, cluster.Uniform("two", 2, 4))
	s := w.serve("app", 0, 4*hour, hour, 2, 2, 8)
	s.Swaps, s.SwapEvery = 1, 10*minute
	w.run() // the watcher of swaps holds the limit
	w.has(0, hour+59*minute, 2+3)
	w.has(0, 2*hour+20*minute, 8)
}

// A start is no swap: neither the first, nor one after a failure.
func TestServiceStartsWhole(t *testing.T) {
	w := newHours(t, cluster.Uniform("two", 2, 8))
	w.spec.Outages = []cluster.Outage{{At: 3 * hour, Node: "n2", Change: "down"}}
	s := w.serve("app", 0, 6*hour, hour, 6)
	s.Min, s.Swaps, s.SwapEvery = workload.Curve{Step: hour, Values: []int32{4}}, 1, hour
	w.run()
	w.has(0, 0, 6)
	w.has(0, 3*hour, 6)
	if w.res.Jobs[0].NodeFailures != 1 {
		t.Error("the node that fails is not the one under the application: this test shows nothing")
	}
}

// A gang that reaches into padding under powerOfTwo keeps nobody else from being planned.
func TestPowerOfTwoOnOddNodes(t *testing.T) {
	w := newHours(t, cluster.Uniform("two", 2, 6))
	w.plan.PowerOfTwo = true
	w.job("five", 0, 5, 50*hour)
	w.job("one", hour, 1, hour)
	w.run()
	w.starts(1, hour)
}

// What can start on a part of its GPUs, or on nodes of another size, does not wait for ever
// for the block that it is planned for.
func TestOtherPlacesAreTaken(t *testing.T) {
	t.Run("elastic", func(t *testing.T) {
		w := newHours(t, cluster.Uniform("two", 2, 8))
		w.spec.Outages = []cluster.Outage{{At: 0, Node: "n1", Change: "down"}}
		w.job("gang", hour, 1, hour).Need = workload.Need{Tasks: 16, GPUs: 1, MinTasks: 1, MaxTasks: 16}
		w.run()
		w.starts(0, hour)
	})
	het := func() *cluster.Spec {
		return &cluster.Spec{Name: "het", Nodes: []cluster.Node{{Name: "a", GPUs: 8, GPUType: "A"}, {Name: "b", GPUs: 4, GPUType: "B"}}}
	}
	t.Run("width", func(t *testing.T) {
		w := newHours(t, het())
		w.job("long", 0, 8, 100*hour).Need.GPUTypes = "A"
		w.job("any", hour, 2, hour)
		w.run()
		w.starts(1, hour)
	})
	t.Run("application", func(t *testing.T) {
		w := newHours(t, het())
		w.job("long", 0, 8, 100*hour).Need.GPUTypes = "A"
		w.serve("app", hour, 10*hour, hour, 2)
		w.run()
		w.starts(1, hour)
	})
	// The plan looks at the first that wait for each pool: they keep nobody from another.
	t.Run("queue", func(t *testing.T) {
		w := newHours(t, het())
		w.plan.Queue = 2
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			w.job(id, 0, 8, 10*hour).Need.GPUTypes = "A"
		}
		w.job("b", hour, 4, hour).Need.GPUTypes = "B"
		w.run()
		w.starts(5, hour)
	})
}

// A job that takes GPUs where it was not planned leaves those that others are planned on.
func TestOtherPlacesAreNotThoseOfOthers(t *testing.T) {
	spec := &cluster.Spec{Name: "het", Nodes: []cluster.Node{{Name: "a", GPUs: 8, GPUType: "A"}, {Name: "b", GPUs: 4, GPUType: "B"}}}
	w := newHours(t, spec)
	w.job("long", 0, 8, 100*hour).Need.GPUTypes = "A"
	w.job("short", 0, 2, 2*hour).Need.GPUTypes = "B"
	j := w.job("all of b", hour, 4, hour)
	j.Need.GPUTypes, j.Priority = "B", 50
	w.job("any", hour, 2, 10*hour)
	w.run()
	w.starts(2, 2*hour)
	w.starts(3, 3*hour)
}

// Maintenance that is over before its time, or of which nobody knew when it would be, closes
// its node no longer.
func TestMaintenanceThatEndsEarly(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 8))
	w.spec.Outages = []cluster.Outage{{At: hour, Node: "n1", Change: "down", Planned: true}, {At: 2 * hour, Node: "n1", Change: "up"}}
	w.job("a", 0, 8, 3*hour)
	w.run()
	w.starts(0, 2*hour)
}

// A job that would end at the very instant at which its node goes down would not have ended.
func TestNothingEndsWithMaintenance(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 8))
	w.spec.Outages = []cluster.Outage{{At: hour, Node: "n1", Change: "down", Planned: true}, {At: 2 * hour, Node: "n1", Change: "up", Planned: true}}
	w.job("a", 0, 8, hour)
	w.run()
	w.starts(0, 2*hour)
	if w.res.Jobs[0].NodeFailures != 0 {
		t.Error("it is hit by the maintenance")
	}
}

// An application whose end comes while it is on its way up, and whose node fails then, does
// not start again.
func TestServiceFailsAfterItsEnd(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 2))
	w.assume.StartLatency = 2 * minute
	w.spec.Outages = []cluster.Outage{{At: 10*minute + 30*workload.Second, Node: "n1", Change: "down"}, {At: hour, Node: "n1", Change: "up"}}
	w.job("before", 0, 2, 7*minute)
	w.serve("app", 0, 10*minute, minute, 2).Penalty = 0
	w.work.Jobs[1].Priority = -1
	w.work.Jobs[0].Priority = 1000
	w.run()
	if j := &w.res.Jobs[1]; j.State != sim.Ended || j.NodeFailures != 1 || j.Finish != 10*minute+30*workload.Second {
		t.Errorf("the application is in state %d after %d failures, finished at %d s; want it ended when it fails, at 630", j.State, j.NodeFailures, j.Finish/workload.Second)
	}
}

// Work for parts of GPUs starts in order, whatever it asks for besides.
func TestRestStartsInOrder(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 1))
	for i, milli := range []int32{600, 500, 600, 500} {
		w.job(string(rune('a'+i)), int64(i)*minute, 1, 2*hour).Need.Milli = milli
	}
	w.run()
	for i, want := range []workload.Time{0, 2 * hour, 4 * hour, 2 * hour} { // the last fits beside the second
		w.starts(i, want)
	}
}

// An application whose GPUs have no cores left takes others.
func TestServiceWithCores(t *testing.T) {
	spec := cluster.Uniform("two", 2, 4)
	for i := range spec.Nodes {
		spec.Nodes[i].CPU = 16_000
	}
	w := newHours(t, spec)
	w.job("cores", 0, 0, 50*hour).Need = workload.Need{Tasks: 1, CPU: 16_000, Nodes: "n2"}
	w.serve("app", hour, 10*hour, hour, 2, 3)
	w.work.Jobs[1].Need.CPU = 4_000
	w.run()
	w.has(1, hour, 3) // most of what the hour to come needs
	w.has(1, 2*hour+1, 3)
}

// An application that will have to hold fewer begins in time as well: its maximum is a rule,
// what it wants is not.
func TestServiceKeepsItsMaximum(t *testing.T) {
	w := newHours(t, cluster.Uniform("one", 1, 8))
	s := w.serve("app", 0, 8*hour, hour, 6, 6, 6, 6, 3)
	s.Swaps, s.SwapEvery = 1, hour
	s.Max = workload.Curve{Step: hour, Values: []int32{6, 6, 6, 6, 3}}
	w.run()
	w.has(0, 0, 6)
	w.has(0, 4*hour, 3)
}
