package engine_test

import (
	"fmt"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// contract is a policy of budgets without what would blur a small story.
const contract = `
order: [priority, submit]
sharing:
  creditCap: none
  hysteresis: 1
  minRuntime: {cap: 1000h, default: 1h}
  backOff: false
  grace: {allocated: 0s, unallocated: 0s}
  overKill: none
  reservations: {count: 1, above: 0, nodes: 100%, anyAccount: true}
  debug: none
  sessions: {idle: 5m, max: 12h}
`

const twoTeams = "children: [{name: x, share: 1}, {name: y, share: 1}]"

func newContract(t *testing.T, spec *cluster.Spec, tree string) *lab {
	t.Helper()
	w := newLab(t, spec, contract)
	w.budgets(tree)
	return w
}

func (w *lab) budgets(tree string) {
	w.t.Helper()
	b, err := budget.Parse("b.yaml", []byte(tree))
	if err != nil {
		w.t.Fatal(err)
	}
	w.apply(fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: b, Epoch: workload.Unknown})
}

// ask submits a job of so many GPUs and minutes of minimum runtime.
func (w *lab) ask(team string, gpus int32, minutes int64) int32 {
	return w.askJob(workload.Job{Team: team, Need: workload.Need{GPUs: gpus}}, minutes)
}

func (w *lab) askJob(j workload.Job, minutes int64) int32 {
	w.t.Helper()
	n := int32(len(w.jobs))
	j.ID, j.Submit = fmt.Sprint(n), w.now
	j.Contract.HasMinRuntime, j.Contract.MinRuntime = true, minutes*workload.Minute
	w.jobs = append(w.jobs, &j)
	w.apply(fact.Fact{Kind: fact.JobSubmitted, Job: n, Submitted: &j})
	return n
}

// at moves the clock so that the next decision is then.
func (w *lab) at(minutes float64) { w.now = workload.Time(minutes*float64(workload.Minute)) - 1000 }

func pool(n int32) *cluster.Spec { return &cluster.Spec{Name: "pool", Count: n} }

// A class that empties and fills again before the engine decides is looked at once.
func TestClassFillsTwiceBeforeADecision(t *testing.T) {
	w := newContract(t, pool(4), twoTeams)
	n := w.ask("x", 1, 0)
	w.apply(fact.Fact{Kind: fact.JobCancelled, Job: n})
	w.ask("x", 1, 0)
	w.want(w.decide(), "start 1")
}

// A run that its owner withdraws is not stopped once more for another job.
func TestWithdrawnRunIsNoVictim(t *testing.T) {
	w := newContract(t, pool(1), twoTeams)
	n := w.ask("y", 1, 0)
	w.want(w.decide(), "start 0")
	w.apply(fact.Fact{Kind: fact.JobCancelled, Job: n})
	w.ask("x", 1, 60)
	if did := w.decide(); did[0] != "stop 0" || len(did) > 2 {
		t.Errorf("did %q", did)
	}
}

// A claim whose account goes with a change of the budgets is given up: its job waits as
// unallocated work, behind that of accounts that are there.
func TestClaimOfAnAccountThatIsGone(t *testing.T) {
	w := newContract(t, pool(1), twoTeams)
	w.ask("y", 1, 0)
	w.want(w.decide(), "start 0")
	n := w.ask("x", 1, 60)
	w.want(w.decide(), "stop 0", "hold 1")
	w.budgets("children: [{name: y, share: 1}, {name: z, share: 1}]")
	w.want(w.decide(), "release 1")
	w.leave()
	w.want(w.decide(), "start 0")
	if x, _ := w.e.Explain(n); !x.Fill || x.State != "waiting" {
		t.Errorf("it stands as %+v", x)
	}
}

// So does what was reserved for it.
func TestDateOfAnAccountThatIsGone(t *testing.T) {
	w := newContract(t, cluster.Uniform("c", 1, 2), twoTeams)
	w.ask("y", 2, 60)
	w.want(w.decide(), "start 0")
	w.ask("x", 2, 60)
	w.want(w.decide(), "reserve 1")
	w.budgets("children: [{name: y, share: 1}, {name: z, share: 1}]")
	w.decide()
	w.at(61)
	w.decide()
	w.leave()
	w.decide()
	if x, _ := w.e.Explain(0); x.State != "running" {
		t.Errorf("unallocated work has stopped allocated work, which is %s", x.State)
	}
}

// An ended job can be explained after its account has gone.
func TestExplainAnEndedJobOfAnAccountThatIsGone(t *testing.T) {
	w := newContract(t, pool(1), "children: [{name: a, share: 1}, {name: b, share: 1}, {name: x, share: 1}]")
	n := w.ask("x", 1, 60)
	w.decide()
	w.finish(n)
	w.budgets("children: [{name: a, share: 1}]")
	if _, ok := w.e.Explain(n); !ok {
		t.Error("it is not known any more")
	}
}

// A job can be explained before the first decision, however late the clock.
func TestExplainBeforeTheFirstDecision(t *testing.T) {
	w := newLab(t, pool(1), contract)
	w.now = 10 * workload.Hour
	w.budgets(twoTeams)
	n := w.ask("x", 1, 60)
	if x, ok := w.e.Explain(n); !ok || x.Account == nil {
		t.Errorf("got %+v", x)
	}
}

// A run becomes unallocated when its hard budget is used up, though nothing else
// happens then and nothing waits.
func TestBudgetEndsWhileNothingHappens(t *testing.T) {
	w := newContract(t, pool(1), "children: [{name: x, share: 1, budget: {gpuHours: 2, per: day}}]")
	n := w.ask("x", 1, 60)
	w.want(w.decide(), "start 0")
	for w.now < 3*workload.Hour {
		d := w.e.Decide(w.now)
		if len(d.Actions) > 0 {
			break
		}
		w.now = min(d.Wake, 3*workload.Hour)
	}
	w.now -= 1000
	w.want(w.decide(), "uncharge 0")
	if x, _ := w.e.Explain(n); !x.Unallocated || x.At > 2*workload.Hour+2000 {
		t.Errorf("at %d it is unallocated: %t", x.At, x.Unallocated)
	}
}

// A job that waits for a credit starts when the credit comes, also between minutes.
func TestCreditComesBetweenMinutes(t *testing.T) {
	w := newContract(t, pool(2), `
children: [{name: x, share: 1, budget: {gpuHours: 0, per: day, onExhaustion: refuse}}, {name: y, share: 1}]
credits: [{at: 90s, account: x, gpuHours: 1, by: b}]
`)
	w.ask("x", 1, 60)
	w.ask("y", 1, 60)
	w.want(w.decide(), "start 1")
	w.at(1)
	w.want(w.decide())
	w.at(1.5)
	w.want(w.decide(), "start 0")
}

// Starts of one decision are paid from a hard budget one after the other.
func TestTwoStartsOfOneDecisionShareABudget(t *testing.T) {
	w := newContract(t, pool(2), "children: [{name: x, share: 1, budget: {gpuHours: 1, per: day, onExhaustion: refuse}}]")
	w.ask("x", 1, 60)
	w.ask("x", 1, 60)
	w.want(w.decide(), "start 0")
}

// An elastic job starts no larger than its hard budget can pay.
func TestElasticJobStartsAsLargeAsItCanPay(t *testing.T) {
	w := newContract(t, pool(4), "children: [{name: x, share: 1, budget: {gpuHours: 2, per: day, onExhaustion: refuse}}]")
	n := w.askJob(workload.Job{Team: "x", Need: workload.Need{Tasks: 2, GPUs: 1, MinTasks: 1, MaxTasks: 4}}, 60)
	w.want(w.decide(), "start 0")
	if x, _ := w.e.Explain(n); x.Account.Levels[0].Outstanding > 2*1000*(workload.Hour+workload.Minute) { // seen from the last full minute
		t.Errorf("%d milli-GPU-hours are outstanding of a budget of 2000", x.Account.Levels[0].Outstanding/workload.Hour)
	}
}

// A claim that becomes ready when others have spent the budget does not overdraw it.
func TestBudgetIsSpentWhileAClaimWaits(t *testing.T) {
	w := newContract(t, pool(2), "children: [{name: x, share: 1, budget: {gpuHours: 1, per: day, onExhaustion: refuse}}, {name: y, share: 1}]")
	w.ask("y", 1, 0)
	w.ask("y", 1, 0)
	w.want(w.decide(), "start 0", "start 1")
	w.ask("x", 1, 60)
	w.want(w.decide(), "stop 1", "hold 2")
	w.finish(0)
	w.ask("x", 1, 60)
	w.want(w.decide(), "start 2") // and nothing is left for another
}

// What a session was protected for by renewal was never paid in advance, so nothing of
// it comes back when it ends; what was paid and is not used does.
func TestSessionsAndHardBudgets(t *testing.T) {
	left := func(t *testing.T, w *lab, minutes int64) { // so much is left, and no more
		t.Helper()
		n := w.ask("x", 1, minutes+1)
		w.want(w.decide())
		w.apply(fact.Fact{Kind: fact.JobCancelled, Job: n})
		w.ask("x", 1, minutes-1)
		if did := w.decide(); len(did) != 1 {
			t.Errorf("%d minutes cannot be paid", minutes-1)
		}
	}
	session := func(t *testing.T) (*lab, int32) {
		w := newContract(t, pool(1), "children: [{name: x, share: 1, budget: {gpuHours: 1, per: day, onExhaustion: refuse}}]")
		n := w.askJob(workload.Job{Team: "x", Kind: workload.KindInteractive, Need: workload.Need{GPUs: 1}}, 30)
		w.want(w.decide(), "start 0")
		return w, n
	}
	t.Run("renewed", func(t *testing.T) {
		w, n := session(t)
		w.now = 15 * workload.Minute
		w.apply(fact.Fact{Kind: fact.SessionActive, Job: n})
		w.at(16)
		w.decide()
		w.finish(n)
		left(t, w, 44)
	})
	t.Run("idle", func(t *testing.T) {
		w, n := session(t)
		w.apply(fact.Fact{Kind: fact.SessionIdle, Job: n, Since: 0})
		w.at(10)
		w.decide()
		w.finish(n)
		left(t, w, 50)
	})
}

// A node that was drained while it worked is not usable any more once it is empty.
func TestDrainedNodeIsNotOfferedWhenItIsEmpty(t *testing.T) {
	w := newContract(t, cluster.Uniform("c", 2, 1), twoTeams)
	w.ask("x", 1, 10)
	w.want(w.decide(), "start 0")
	node := int32(0) // the only one with work: best fit fills from the front
	w.apply(fact.Fact{Kind: fact.NodeDrained, Job: -1, Node: node})
	w.at(10)
	w.finish(0)
	n := w.ask("y", 2, 10)
	w.at(100)
	w.decide()
	x, _ := w.e.Explain(n)
	// Two nodes for 10 minutes, one since: half of it is the team's.
	if want := 1000 * (2*10 + 90) * workload.Minute / 2; x.Account.Levels[0].Fair > want+2*1000*workload.Minute {
		t.Errorf("the fair share is %d milli-GPU-minutes, want about %d", x.Account.Levels[0].Fair/workload.Minute, want/workload.Minute)
	}
}

// The clock may begin below 0.
func TestClockBelowZero(t *testing.T) {
	w := newLab(t, pool(1), contract)
	w.now = -90 * workload.Second
	w.budgets(twoTeams)
	w.ask("x", 1, 60)
	w.want(w.decide(), "start 0")
	w.finish(0)
	n := w.ask("x", 1, 60)
	w.decide()
	if x, _ := w.e.Explain(n); x.Account.At > w.now {
		t.Errorf("at %d shares are those of %d", w.now, x.Account.At)
	}
}

// An elastic gang is charged for the cores of the tasks that run.
func TestElasticGangPaysForItsCores(t *testing.T) {
	w := newLab(t, pool(1), contract+"  weights: {cpu: 1}\n")
	w.budgets(twoTeams)
	n := w.askJob(workload.Job{Team: "x", Need: workload.Need{Tasks: 4, GPUs: 1, CPU: 1000, MinTasks: 1, MaxTasks: 4}}, 60)
	w.want(w.decide(), "start 0")
	x, _ := w.e.Explain(n)
	if got := x.Account.Levels[0].Outstanding / workload.Hour; got != 2000 {
		t.Errorf("one GPU and one core for an hour are %d thousandths", got)
	}
}
