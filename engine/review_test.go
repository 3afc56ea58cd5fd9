package engine_test

import (
	"slices"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// What one account cannot pay in a pool says nothing of another account that asks for
// the same shape: its GPUs must not stay idle.
func TestReviewUnpaidPoolIsNotRememberedForOthers(t *testing.T) {
	spec := &cluster.Spec{Name: "two", Nodes: []cluster.Node{{Name: "a", GPUs: 1, GPUType: "A"}, {Name: "b", GPUs: 1, GPUType: "B"}}}
	w := newLab(t, spec, contractNoDates+"  weights: {gpus: {A: 10}}\n")
	w.budgets("children: [{name: x, share: 9, budget: {gpuHours: 2, per: day, onExhaustion: refuse}}, {name: y, share: 1}]")
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, GPUTypes: "B"}}, 600)
	w.want(w.decide(), "start 0")
	w.ask("x", 1, 60) // pays for B only, which is taken
	w.ask("y", 1, 60) // may have A
	w.want(w.decide(), "start 2")
}

// The same for unallocated work that has to go.
func TestReviewUnpaidPoolIsNotRememberedForOthersToClear(t *testing.T) {
	spec := &cluster.Spec{Name: "two", Nodes: []cluster.Node{{Name: "a", GPUs: 1, GPUType: "A"}, {Name: "b", GPUs: 1, GPUType: "B"}}}
	w := newLab(t, spec, contractNoDates+"  weights: {gpus: {A: 10}}\n")
	w.budgets("children: [{name: x, share: 9, budget: {gpuHours: 2, per: day, onExhaustion: refuse}}, {name: y, share: 1}]")
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, GPUTypes: "B"}}, 600)
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, GPUTypes: "A"}}, 0)
	w.want(w.decide(), "start 0", "start 1")
	w.ask("x", 1, 60)
	w.ask("y", 1, 60)
	w.want(w.decide(), "stop 1", "hold 3")
}

// A job whose account comes with a change of the budgets is charged to it from its
// next start on, though it ran unallocated when they changed.
func TestReviewNextStartIsChargedByTheNewTree(t *testing.T) {
	w := newContract(t, pool(1), "children: [{name: x, share: 1}]")
	n := w.ask("y", 1, 60)
	w.want(w.decide(), "start 0") // nobody's: unallocated
	w.budgets(twoTeams)
	w.ask("x", 1, 60)
	w.want(w.decide(), "stop 0", "hold 1")
	w.leave()
	w.decide()
	if x, _ := w.e.Explain(n); x.Fill || x.Account.Leaf < 0 {
		t.Errorf("team y has an account, but its job waits as nobody's: fill %t, leaf %d", x.Fill, x.Account.Leaf)
	}
}

// A run past its protection draws from a hard budget that comes with the first file
// that has one, as it does from one that comes with a later file.
func TestReviewOpenRunDrawsFromAFirstBudget(t *testing.T) {
	for name, other := range map[string]string{"first": "", "later": ", budget: {gpuHours: 100, per: day}"} {
		t.Run(name, func(t *testing.T) {
			w := newContract(t, pool(2), "children: [{name: x, share: 1}, {name: y, share: 1"+other+"}]")
			n := w.ask("x", 1, 1)
			w.want(w.decide(), "start 0")
			w.at(10)
			w.decide()
			w.budgets("children: [{name: x, share: 1, budget: {gpuHours: 1, per: day}}, {name: y, share: 1" + other + "}]")
			w.at(11)
			w.decide()
			w.at(120)
			w.decide()
			if x, _ := w.e.Explain(n); !x.Unallocated {
				t.Error("an hour after the budget of one GPU-hour came it is charged still")
			}
		})
	}
}

// What a session commits by a renewal is not there for others: the run that draws from
// the same budget ends earlier, and the engine has to wake for it.
func TestReviewRenewalBringsTheEndOfABudgetForward(t *testing.T) {
	w := newContract(t, pool(2), "children: [{name: x, share: 1, budget: {gpuHours: 1.367, per: day}}]") // 82 min
	w.ask("x", 1, 1)
	s := w.askJob(workload.Job{Team: "x", Kind: workload.KindInteractive, Need: workload.Need{GPUs: 1}}, 30)
	w.want(w.decide(), "start 0", "start 1")
	w.at(25)
	w.decide()
	w.apply(fact.Fact{Kind: fact.SessionActive, Job: s})
	// 82 - 1 - 30 min were committed, 24 drawn, 25 are committed now: 2 are left.
	if d := w.e.Decide(w.now); d.Wake > w.now+3*workload.Minute {
		t.Errorf("the budget lasts for 2 min, the engine sleeps for %d s", (d.Wake-w.now)/1000)
	}
}

// A node full of small parts can be cleared for a job that wants all of it.
func TestReviewManySmallRunsMakeRoom(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 1, 8), contractNoDates)
	w.budgets(twoTeams)
	for range 24 {
		w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, Milli: 330}}, 0)
	}
	if did := w.decide(); len(did) != 24 {
		t.Fatal(did)
	}
	w.ask("x", 8, 60)
	if did := w.decide(); len(did) != 25 || did[24] != "hold 24" {
		t.Errorf("unallocated work does not make room: %q", did)
	}
}

// Nor may a part of a GPU that is reserved be given away for longer than to the date.
func TestReviewPartsOfReservedGPUs(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 1, 2), contract)
	w.budgets(twoTeams)
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, Milli: 400}}, 60)
	w.want(w.decide(), "start 0")
	w.ask("x", 2, 60)
	w.want(w.decide(), "reserve 1")
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, Milli: 400}}, 600)
	w.want(w.decide())
}

// Nor part of a debug node's GPU to a long job.
func TestReviewPartsOfDebugNodes(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 2, 1), contractDebug)
	w.budgets(twoTeams)
	w.ask("y", 1, 600)
	w.want(w.decide(), "start 0")
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 1, Milli: 400}}, 0)
	w.want(w.decide(), "start 1")
	w.askJob(workload.Job{Team: "x", Need: workload.Need{GPUs: 1, Milli: 400}}, 600)
	w.want(w.decide())
}

// contractBase is the contract without what would blur a small story.
const contractBase = `
order: [priority, submit]
sharing:
  creditCap: none
  hysteresis: 1
  minRuntime: {cap: 1000h, default: 1h}
  backOff: false
  grace: {allocated: 0s, unallocated: 0s}
  reservations: none
`

const (
	contractNoDates = contractBase + "  overKill: none\n  debug: none\n"
	contractDebug   = contractBase + "  debug: {nodes: 50%, gpus: 1, minRuntime: 5m}\n"
)

// A fact, or a decision, of an earlier time is refused; it does not bring the program down.
func TestReviewTimeGoesBack(t *testing.T) {
	for _, what := range []string{"fact", "decision"} {
		t.Run(what, func(t *testing.T) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v", p)
				}
			}()
			w := newContract(t, pool(2), twoTeams)
			w.ask("x", 1, 60)
			d := w.e.Decide(1000)
			a := d.Actions[0]
			if err := w.e.Commit(&a); err != nil {
				t.Fatal(err)
			}
			w.e.Decide(2000)
			if what == "decision" {
				w.e.Decide(1500)
				return
			}
			_ = w.e.Apply(&fact.Fact{Kind: fact.JobStarted, At: 1500, Job: 0, Attempt: 1, Node: -1})
		})
	}
}

// Unallocated work is displaced for a date before allocated work, whatever it loses.
func TestReviewDatesPreferUnallocatedWork(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 3, 8), contract)
	w.budgets("children: [{name: x, share: 9}, {name: y, share: 1}]")
	long := workload.Contract{CheckpointInterval: 1000 * workload.Hour} // loses all it did
	w.ask("y", 8, 1)
	w.ask("y", 8, 1)
	w.askJob(workload.Job{Team: "y", Need: workload.Need{GPUs: 8}, Contract: long}, 0)
	w.want(w.decide(), "start 0", "start 1", "start 2")
	w.at(100 * 60)
	w.decide()
	w.ask("x", 16, 1000*60) // too much to stop allocated work at once, but it may have a date
	did := w.decide()
	if len(did) < 4 || did[0] != "reserve 3" || !slices.Contains(did, "stop 2") {
		t.Errorf("allocated work goes before unallocated: %q", did)
	}
}

// Who runs on reserved GPUs makes no room by going: it is another who has to.
func TestReviewVictimsOnReservedGPUs(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 2, 1), contract)
	w.budgets(twoTeams)
	part := func(team string, milli int32, minutes int64) int32 {
		return w.askJob(workload.Job{Team: team, Need: workload.Need{GPUs: 1, Milli: milli}}, minutes)
	}
	part("y", 600, 600)
	part("y", 600, 60)
	w.want(w.decide(), "start 0", "start 1")
	part("y", 300, 0)
	part("y", 300, 0)
	w.want(w.decide(), "start 2", "start 3")
	w.ask("x", 1, 60) // its date is on the second node
	w.want(w.decide(), "reserve 4")
	part("x", 300, 600)
	w.want(w.decide(), "stop 2", "hold 5")
}

// A run that is told to leave a drained node is not gone until its grace is over: no date
// rests on it before.
func TestReviewDateOnARunThatIsToldToLeave(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 2, 1), contractGrace)
	w.budgets(twoTeams)
	w.ask("y", 2, 30)
	w.want(w.decide(), "start 0")
	w.at(31)
	w.apply(fact.Fact{Kind: fact.NodeDrained, Job: -1, Node: 1})
	w.ask("x", 1, 60)
	w.now += 1000
	for _, a := range w.e.Decide(w.now).Actions {
		if a.Do == fact.Reserve && a.Until < w.now+10*workload.Minute {
			t.Errorf("a date in %d s, but who is there has 10 min to leave", (a.Until-w.now)/1000)
		}
	}
}

const contractGrace = `
order: [priority, submit]
sharing:
  creditCap: none
  hysteresis: 1
  minRuntime: {cap: 1000h, default: 1h}
  backOff: false
  grace: {allocated: 10m, unallocated: 10m}
  overKill: none
  reservations: {count: 1, above: 0, nodes: 100%, anyAccount: true}
  debug: none
`

// Jobs that a hard budget runs unallocated fill what charged work may not use, whoever
// else asked for their shape and found no place.
func TestReviewUnpaidWorkFillsDebugNodes(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 2, 1), contractDebug)
	w.budgets("children: [{name: x, share: 9}, {name: y, share: 1, budget: {gpuHours: 0, per: day}}, {name: z, share: 1}]")
	w.ask("z", 1, 600)
	w.ask("z", 1, 2)
	w.want(w.decide(), "start 0", "start 1") // the second on the debug node
	w.ask("x", 1, 600)                       // may not use that
	w.ask("y", 1, 600)                       // may, since it runs unallocated
	w.want(w.decide())
	w.finish(1)
	w.want(w.decide(), "start 3")
}
