package sim_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// shared is a random world with a random tree of budgets and a random contract.
type shared struct {
	world
	pol  *policy.Policy
	tree *budget.Tree
}

func drawSharing(t *rapid.T) *policy.Policy {
	shipped, _ := policy.Shipped("contract")
	p := *shipped
	s := policy.DefaultSharing()
	sec := func(name string, of ...int) workload.Span {
		return workload.Span(rapid.SampledFrom(of).Draw(t, name)) * workload.Second
	}
	s.Window = sec("window", 20, 100, 3600, 7*86400)
	s.Interval = sec("interval", 60, 60, 7)
	s.CreditCap = int64(rapid.SampledFrom([]int{-1, 0, 250}).Draw(t, "credit"))
	s.Guard = policy.Guard(rapid.IntRange(0, 1).Draw(t, "guard"))
	s.Hysteresis = int64(rapid.SampledFrom([]int{1000, 1100, 2000}).Draw(t, "hysteresis"))
	s.MinRuntimeCap = sec("cap", 5, 40, 600)
	s.MinRuntimeDefault = min(sec("default", 0, 3, 30), s.MinRuntimeCap)
	s.BackOff = rapid.Bool().Draw(t, "backoff")
	s.GraceAllocated = sec("grace", 0, 2, 7)
	s.GraceUnallocated = sec("short grace", 0, 1, 3)
	s.CheckpointWait = sec("checkpoint wait", 0, 5)
	s.OverKill = int64(rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "overkill"))
	s.OverKillGPUs = int64(rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "overkill up to"))
	s.EvictEvery = rapid.SampledFrom([]workload.Span{0, 0, 0, 11 * workload.Second, workload.Never}).Draw(t, "evictions")
	s.InTeam = rapid.Bool().Draw(t, "in team")
	s.Reservations = policy.Reservations{Count: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "dates"), Above: int64(rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "above")),
		Nodes: int64(rapid.SampledFrom([]int{300, 600, 1000}).Draw(t, "dated nodes")), AnyAccount: rapid.Bool().Draw(t, "any account")}
	s.Debug = policy.Debug{Nodes: int64(rapid.SampledFrom([]int{0, 0, 200, 500}).Draw(t, "debug nodes")), GPUs: int64(rapid.SampledFrom([]int{1, 4}).Draw(t, "debug gpus")),
		MinRuntime: sec("debug for", 2, 20)}
	if rapid.IntRange(0, 3).Draw(t, "weights") == 0 {
		s.GPUWeights = []policy.TypeWeight{{GPUType: "A", Weight: 2500}}
		s.CPUWeight = int64(rapid.SampledFrom([]int{0, 100}).Draw(t, "core weight"))
	}
	p.Sharing = &s
	return &p
}

// drawTree draws a tree of up to three levels over the teams x, y, z; a job of team w has no
// account.
func drawTree(t *rapid.T, budgets bool, pools []string) *budget.Tree {
	var b strings.Builder
	account := func(indent, name string) {
		fmt.Fprintf(&b, "%s- name: %s\n%s  share: ", indent, name, indent)
		if share := rapid.IntRange(0, 3); len(pools) == 2 && rapid.Bool().Draw(t, "by pool") {
			fmt.Fprintf(&b, "{%s: %d, %s: %d}\n", pools[0], share.Draw(t, "first share of "+name), pools[1], share.Draw(t, "second share of "+name))
		} else {
			fmt.Fprintf(&b, "%d\n", share.Draw(t, "share of "+name))
		}
		if budgets && rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
			fmt.Fprintf(&b, "%s  budget: {gpuHours: %.3f, per: year, onExhaustion: %s}\n", indent, float64(rapid.IntRange(0, 500).Draw(t, "budget"))/1000,
				rapid.SampledFrom([]string{"truncate", "unallocated", "refuse"}).Draw(t, "rule"))
		}
	}
	if len(pools) > 0 {
		fmt.Fprintf(&b, "pools: [%s]\n", strings.Join(pools, ", "))
	}
	b.WriteString("children:\n")
	switch rapid.IntRange(0, 2).Draw(t, "depth") {
	case 0:
		account("  ", "x")
		account("  ", "y")
		account("  ", "z")
	case 1:
		account("  ", "p")
		b.WriteString("    children:\n")
		account("    ", "x")
		account("    ", "y")
		account("  ", "z")
	case 2:
		account("  ", "p")
		b.WriteString("    children:\n")
		account("    ", "q")
		b.WriteString("      children:\n")
		account("      ", "x")
		account("      ", "y")
		account("    ", "z")
	}
	tree, err := budget.Parse("b.yaml", []byte(b.String()))
	if err != nil {
		t.Skip(err) // a level without a share
	}
	return tree
}

func drawShared(t *rapid.T, budgets bool) *shared {
	x := &shared{pol: drawSharing(t)}
	x.world = drawWorld(t, true)
	var pools []string
	if all := gpuTypes(x.spec); !slices.Contains(all, "") && rapid.Bool().Draw(t, "pools") {
		pools = all
	}
	x.tree = drawTree(t, budgets, pools)
	for i := range x.work.Jobs {
		j, a := &x.work.Jobs[i], &x.work.Actual[i]
		j.Team = rapid.SampledFrom([]string{"x", "x", "y", "y", "z", "w"}).Draw(t, "team")
		// Some submissions on the grid of shares, the rest on the seconds between.
		if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
			j.Submit += workload.Time(rapid.IntRange(0, 4).Draw(t, "by")) * workload.Minute
		}
		if a.Duration > 0 && rapid.Bool().Draw(t, "long") {
			a.Duration *= 8
		}
		c := &j.Contract
		if c.HasMinRuntime = rapid.IntRange(0, 3).Draw(t, "declares") > 0; c.HasMinRuntime {
			c.MinRuntime = workload.Span(rapid.SampledFrom([]int{0, 0, 1, 10, 30, 100}).Draw(t, "min runtime")) * workload.Second
		}
		c.CheckpointOnStop = rapid.IntRange(0, 3).Draw(t, "saves") == 0
		c.NotResumable = rapid.IntRange(0, 9).Draw(t, "not resumable") == 0
		c.Grace = workload.Span(rapid.SampledFrom([]int{0, 0, 1, 4, 20}).Draw(t, "own grace")) * workload.Second
		if rapid.IntRange(0, 4).Draw(t, "limited") == 0 {
			j.Limit = workload.Span(rapid.IntRange(1, 60).Draw(t, "limit")) * workload.Second
		}
	}
	x.work.Sort()
	return x
}

// gpuTypes lists the types of a cluster's GPUs, "" among them where some have none.
func gpuTypes(spec *cluster.Spec) (types []string) {
	for i := range spec.Nodes {
		if t := spec.Nodes[i].GPUType; spec.Nodes[i].GPUs > 0 && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(spec.Nodes) == 0 {
		return []string{""}
	}
	return types
}

// waitsForOneLeft: the job waits for another that has not come to an end.
func (x *shared) waitsForOneLeft(res *sim.Result, i int) bool {
	for _, a := range x.work.Jobs[i].After {
		k := slices.IndexFunc(x.work.Jobs, func(j workload.Job) bool { return j.ID == a.Job })
		if res.Jobs[k].State != sim.Ended && res.Jobs[k].State != sim.Withdrawn {
			return true
		}
	}
	return false
}

// simulate runs it; false where the world is no world, or the run ended with the documented
// error of work that is stopped faster than it gets on.
func (x *shared) simulate(t *rapid.T, o sim.Options) (*sim.Result, bool) {
	o.Workload, o.Cluster, o.Policy, o.Budgets, o.Assume = x.work, x.spec, x.pol, x.tree, x.assume
	o.Until = 200 * workload.Day // within the first period of hard budgets
	res, err := sim.Run(context.Background(), o)
	if err != nil {
		if strings.Contains(err.Error(), "what is stopped loses its work faster than it is done") {
			return nil, false
		}
		t.Fatal(err)
	}
	return res, true
}

// defaults are fields of a record that tell nothing.
var defaults = regexp.MustCompile(` (Outcome:completed|Cause:|Node:-1|Kept:0|Lost:0|Restart:0|Submitted:<nil>|Estimate:0|Since:0|Budgets:<nil>|Epoch:0|` +
	`Tasks:0|For:-1|Have:\d+|Want:\d+|Block:\d+|CPU:0|Memory:0|Count:\d+|Installed:\d+|Fragmented:false|Until:0|Unallocated:false)`)

// audit returns a checker that tells the whole story when something is wrong, and the story.
func (x *shared) audit(t *rapid.T) (*audit, *digest) {
	var d digest
	fail := func(format string, args ...any) {
		t.Helper()
		t.Logf("%+v\n%s", *x.pol.Sharing, x.tree.YAML())
		for _, n := range x.spec.Nodes {
			t.Logf("%+v", n)
		}
		t.Logf("pool:%d %+v", x.spec.Count, x.assume)
		for i := range x.work.Jobs {
			j := &x.work.Jobs[i]
			t.Logf("job %d %s: team %s need %+v submit %d limit %d dur %+v prio %d contract %+v after %v", i, j.ID, j.Team, j.Need, j.Submit, j.Limit, x.work.Actual[i], j.Priority, j.Contract, j.After)
		}
		for _, l := range d.lines[max(0, len(d.lines)-60):] {
			t.Log(defaults.ReplaceAllString(l, ""))
		}
		t.Fatalf(format, args...)
	}
	return newAudit(fail, x.spec, x.work, x.pol.Sharing, x.tree, x.assume.StartLatency), &d
}

// failing lets the checker of legality report with the whole story.
type failing struct {
	testing.TB
	fail func(string, ...any)
}

func (f failing) Fatalf(format string, args ...any) { f.fail(format, args...) }

// TestContractHolds: in random worlds under random contracts, with node failures and
// drains, nothing that the contract promises is broken: see [audit].
func TestContractHolds(t *testing.T) {
	evictions, dates := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		x := drawShared(rt, rapid.Bool().Draw(rt, "budgets"))
		a, d := x.audit(rt)
		res, ok := x.simulate(rt, sim.Options{Observers: []sim.Observer{newLegal(failing{t, a.fail}, x.spec, x.work), d, a}, Probe: a.probe})
		evictions, dates = evictions+a.evictions, dates+a.dates
		if !ok {
			return
		}
		for i := range res.Jobs {
			switch j := &res.Jobs[i]; j.State {
			case sim.Ended, sim.Refused, sim.NeverReady, sim.Withdrawn:
			default:
				if !x.waitsForOneLeft(res, i) && !a.poor(int32(i)) && !a.tooLarge(int32(i)) {
					a.fail("job %d (%s) is left in state %d", i, &x.work.Jobs[i].Need, j.State)
				}
			}
		}
	})
	t.Logf("%d evictions, %d dates", evictions, dates)
}

// TestContractSameBytes: a run under budgets depends on nothing but its input, and
// looking at it changes nothing.
func TestContractSameBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawShared(rt, rapid.Bool().Draw(rt, "budgets"))
		var a, b digest
		look := func(now workload.Time, e *engine.Engine) {
			for n := range x.work.Jobs {
				e.Explain(int32(n))
				e.Why(int32(n))
				e.Fits(int32(n))
			}
		}
		if _, ok := x.simulate(rt, sim.Options{Observers: []sim.Observer{&a}}); !ok {
			return
		}
		x.simulate(rt, sim.Options{Observers: []sim.Observer{&b}, Probe: look})
		if a.sum() != b.sum() {
			for i := range a.lines {
				if i >= len(b.lines) || a.lines[i] != b.lines[i] {
					rt.Fatalf("line %d differs:\n%s\n%s", i, a.lines[i], b.lines[i])
				}
			}
		}
	})
}

// TestContractOrderOfEquals: the order in which equal jobs of one instant are listed
// changes nothing but which of them is which.
func TestContractOrderOfEquals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawShared(rt, rapid.Bool().Draw(rt, "budgets"))
		k := rapid.IntRange(0, len(x.work.Jobs)-1).Draw(rt, "twin")
		twin, act := x.work.Jobs[k], x.work.Actual[k]
		twin.ID = "twin"
		x.work.Jobs = slices.Insert(x.work.Jobs, k+1, twin)
		x.work.Actual = slices.Insert(x.work.Actual, k+1, act)
		for i := range x.work.Jobs { // whoever waits for one of them knows them apart
			x.work.Jobs[i].After = nil
		}
		a, ok := x.simulate(rt, sim.Options{})
		if !ok {
			return
		}
		x.work.Jobs[k], x.work.Jobs[k+1] = x.work.Jobs[k+1], x.work.Jobs[k]
		b, _ := x.simulate(rt, sim.Options{})
		for i := range a.Jobs {
			if a.Jobs[i] != b.Jobs[i] {
				rt.Fatalf("job %d: %+v, after a swap of equals %+v", i, a.Jobs[i], b.Jobs[i])
			}
		}
	})
}

// TestContractShifts: when time 0 is makes no difference, also where it comes later
// than everything.
func TestContractShifts(t *testing.T) {
	directions := rapid.SampledFrom([]int{-1, 1})
	rapid.Check(t, func(rt *rapid.T) {
		x := drawShared(rt, false)
		a, ok := x.simulate(rt, sim.Options{})
		if !ok {
			return
		}
		by := workload.Span(directions.Draw(rt, "direction")) * 30 * 420 * workload.Minute // whole intervals
		for i := range x.work.Jobs {
			x.work.Jobs[i].Submit += by
		}
		for i := range x.spec.Outages {
			x.spec.Outages[i].At += by
		}
		b, _ := x.simulate(rt, sim.Options{})
		for i := range a.Jobs {
			was, is := a.Jobs[i], b.Jobs[i]
			for _, at := range []*workload.Time{&is.FirstStart, &is.Finish} {
				if *at != workload.Unknown {
					*at -= by
				}
			}
			if was != is {
				rt.Fatalf("job %d: %+v, %d ms later %+v", i, was, by, is)
			}
		}
	})
}
