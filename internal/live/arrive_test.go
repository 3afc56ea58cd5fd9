package live

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/workload"
)

// elsewhere is a source that says what it is told to say, and writes down its orders.
type elsewhere struct {
	mu     sync.Mutex
	orders []world.Order
	known  []world.Known
	report func(...world.Report)
}

func (e *elsewhere) Cluster() *cluster.Spec { return cluster.Uniform("rig", 2, 8) }
func (e *elsewhere) Known(list []world.Known) {
	e.known = list
}

func (e *elsewhere) Begin(_ context.Context, _ []world.Belief, report func(...world.Report)) error {
	e.report = report
	return nil
}

func (e *elsewhere) Do(orders ...world.Order) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.orders = append(e.orders, orders...)
}

func (e *elsewhere) Settled(...world.Run) {}
func (e *elsewhere) Close() error         { return nil }

// told returns the orders since the last time.
func (e *elsewhere) told() []world.Order {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.orders
	e.orders = nil
	return out
}

func fromElsewhere(t *testing.T, test func(r *rig, e *elsewhere)) {
	bubbleOn(t, simworld.Options{Now: time.Now}, nil, func(r *rig) {
		e := &elsewhere{}
		r.kill()
		r.elsewhere = e
		r.start()
		test(r, e)
	})
}

func (e *elsewhere) says(list ...world.Report) {
	e.report(list...)
	synctest.Wait()
}

func arrival(id, team string, gpus int32) world.Report {
	return world.Report{Kind: fact.JobSubmitted, ID: id, Spec: &workload.Job{User: "ana", Team: team, Need: workload.Need{GPUs: gpus}, Labels: map[string]string{"qos": "normal"}}, When: time.Now().Add(-time.Minute)}
}

// TestJobsFromElsewhere: what another scheduler has queued is started here, what it keeps back
// waits, what it starts by itself is adopted, and what somebody takes back here is taken back there.
func TestJobsFromElsewhere(t *testing.T) {
	fromElsewhere(t, func(r *rig, e *elsewhere) {
		held := arrival("12", "vision", 4)
		held.Text = "Dependency"
		e.says(arrival("11", "vision", 8), held, arrival("11", "vision", 8)) // told twice
		o := e.told()
		if len(o) != 1 || o[0].Do != fact.Start || o[0].ID != "11" || o[0].Attempt != 1 {
			t.Errorf("orders: %+v", o)
			return
		}
		e.says(world.Report{Kind: fact.JobStarted, Run: o[0].Run})
		r.want("11", "running")
		r.want("12", "held")

		// 13 runs where nobody asked it to, and 12 too, though it was kept back.
		e.says(arrival("13", "nlp", 2), world.Report{Kind: fact.JobAdopted, ID: "12", Place: []fact.Grant{cluster.WholeGrant(1, 0b1111)}})
		for _, x := range e.told() {
			if x.ID == "12" && (x.Do != fact.Start || x.Place[0].Node != 1 || x.Place[0].GPUs != 0b1111) {
				t.Errorf("order: %+v", x)
			}
			e.says(world.Report{Kind: fact.JobStarted, Run: x.Run})
		}
		r.want("12", "running")
		r.want("13", "running")
		if r.job("12").Holds != 0 {
			t.Error("12 runs, and is held")
		}

		// Somebody takes one back there, another here.
		e.says(arrival("14", "nlp", 8), arrival("15", "nlp", 8), arrival("16", "nlp", 99))
		r.want("16", "refused")
		if o := e.told(); len(o) != 1 || o[0].Do != fact.Refuse || o[0].ID != "16" || o[0].Cause != fact.CauseNone {
			t.Errorf("orders for what can never run: %+v", o)
		}
		e.says(world.Report{Kind: fact.JobCancelled, ID: "14", Text: "cancelled there"})
		r.want("14", "cancelled")
		e.told()
		if _, err := r.d.Cancel(r.t.Context(), r.numbers("15"), "ana", ""); err != nil {
			t.Fatal(err)
		}
		if o := e.told(); len(o) != 1 || o[0].Do != fact.Refuse || o[0].ID != "15" || o[0].Cause != fact.CauseCancelled {
			t.Errorf("orders for what was cancelled here: %+v", o)
		}

		// A name may come back once its job has gone.
		first := r.job("14").Number
		e.says(arrival("14", "nlp", 8))
		if j := r.job("14"); j.Number == first || j.Fate() != "waiting" {
			t.Errorf("14 came back as number %d, %s", j.Number, j.Fate())
		}

		// After a restart the source is told what is known.
		r.kill()
		r.start()
		got := map[string]bool{}
		for _, k := range e.known {
			got[k.ID] = k.Held
		}
		if len(got) != 4 {
			t.Errorf("known: %v", got)
		}
		e.says(world.Report{Kind: fact.NodeDrained, Node: 0, Text: "a fan"}, world.Report{Kind: fact.NodeDrained, Node: 0, Text: "a fan"})
		if n := r.d.Nodes()[0]; !n.Drained || n.Text != "a fan" {
			t.Errorf("node: %+v", n)
		}
	})
}

// TestAdoptionTakesAPlaceThatIsBeingCleared: another place is cleared for whoever waited for it.
func TestAdoptionTakesAPlaceThatIsBeingCleared(t *testing.T) {
	fromElsewhere(t, func(r *rig, e *elsewhere) {
		scav := func(id string) world.Report {
			x := arrival(id, "", 8)
			x.Spec.Contract = workload.Contract{HasMinRuntime: true}
			x.Spec.User = "bo"
			return x
		}
		e.says(scav("1"), scav("2"))
		for _, o := range e.told() {
			e.says(world.Report{Kind: fact.JobStarted, Run: o.Run})
		}
		r.wait(time.Hour)
		e.says(arrival("3", "vision", 8))
		stops := e.told()
		if len(stops) != 1 || stops[0].Do != fact.Stop {
			t.Errorf("%d orders", len(stops))
			return
		}
		node := r.job(stops[0].ID).Run().Place[0].Node
		e.says(arrival("4", "nlp", 4),
			world.Report{Kind: fact.JobStopped, Run: stops[0].Run, Cause: fact.CausePreempted},
			world.Report{Kind: fact.JobAdopted, ID: "4", Place: []fact.Grant{cluster.WholeGrant(node, 0b1111)}})
		r.want("4", "starting")
		r.want("3", "clearing")
		moved := false
		for _, o := range e.told() {
			moved = moved || o.Do == fact.Stop && o.Job != stops[0].Job
		}
		if !moved {
			t.Error("no other place is cleared")
		}
	})
}

// Tasks of an array from elsewhere go no more at a time than it allows; one that was started there all the same counts.
func TestAnArrayFromElsewhere(t *testing.T) {
	fromElsewhere(t, func(r *rig, e *elsewhere) {
		task := func(id string) world.Report {
			a := arrival(id, "vision", 1)
			a.Throttle = 2
			return a
		}
		e.says(task("20_1"), task("20_2"), task("20_3"), task("20_4"))
		starts := e.told()
		if len(starts) != 2 {
			t.Errorf("orders: %+v", starts)
			return
		}
		for _, o := range starts {
			e.says(world.Report{Kind: fact.JobStarted, Run: o.Run})
		}
		e.says(world.Report{Kind: fact.JobAdopted, ID: "20_4", Place: []fact.Grant{cluster.WholeGrant(1, 0b1)}})
		for _, o := range e.told() {
			starts = append(starts, o)
			e.says(world.Report{Kind: fact.JobStarted, Run: o.Run})
		}
		r.want("20_4", "running")
		r.want("20_3", "held")
		e.says(world.Report{Kind: fact.JobFinished, Run: starts[0].Run})
		r.want("20_3", "held") // two still run
		e.says(world.Report{Kind: fact.JobFinished, Run: starts[2].Run})
		if o := e.told(); len(o) != 1 || o[0].ID != "20_3" {
			t.Errorf("orders: %+v", o)
		}
	})
}
