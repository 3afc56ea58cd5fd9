package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// checkSharing recounts what sharing keeps up to date as it goes: what accounts hold,
// what is past its protection, and what would be free if others went.
func checkSharing(e *Engine) error {
	s := e.sharing
	held, open, waits := make([][]int64, len(s.lanes)), make([][]int64, len(s.lanes)), 0
	filed := make([]int, len(s.lanes))
	for i := range s.lanes {
		held[i], open[i] = make([]int64, len(s.tree.Nodes)), make([]int64, len(s.leaves))
	}
	onNode := make([][]int32, len(s.onNode))
	loose, soft := make([]*cluster.Free, len(e.pools)), make([]*cluster.Free, len(e.pools))
	for i := range e.pools {
		loose[i], soft[i] = cluster.NewFree(e.layout, int32(i)), cluster.NewFree(e.layout, int32(i))
		for _, n := range e.layout.Pools[i].Nodes {
			shut := e.down[n] || e.drained[n]
			loose[i].SetShut(n, shut)
			soft[i].SetShut(n, shut)
		}
	}
	hold := func(pool, leaf int32, milli int64) {
		for n := leaf; n >= 0 && n < s.outside; n = s.tree.Nodes[n].Parent {
			held[s.laneOf[pool]][n] += milli
		}
	}
	for n := range e.jobs {
		j := &e.jobs[n]
		if j.state == absent || int32(n) == e.numbering.gone {
			continue
		}
		c := &s.jobs[n]
		if c.leaf > s.outside && j.state != ended {
			return fmt.Errorf("job %d is charged to leaf %d of %d", n, c.leaf, s.outside)
		}
		switch j.state {
		case waiting:
			if !e.classes[j.class].fill {
				waits++
			}
		case starting, running, stopping:
			for _, g := range j.grants {
				onNode[g.Node] = append(onNode[g.Node], int32(n))
			}
			if j.state == stopping || c.unallocated {
				break
			}
			hold(j.pool, c.leaf, j.milli)
			e.takeFrom(loose[j.pool], j.grants, j.milli)
			if c.open {
				open[s.laneOf[j.pool]][c.leaf] += j.milli
			} else {
				e.takeFrom(soft[j.pool], j.grants, j.milli)
			}
		}
	}
	for i := range e.claims {
		c := &e.claims[i]
		if e.jobs[c.job].state != claiming {
			return fmt.Errorf("job %d has a claim, but does not claim", c.job)
		}
		hold(c.pool, s.jobs[c.job].leaf, c.milli)
		e.takeFrom(loose[c.pool], c.grants, c.milli)
		e.takeFrom(soft[c.pool], c.grants, c.milli)
	}
	if waits != s.waitingWork {
		return fmt.Errorf("%d jobs wait to be charged, %d were counted", waits, s.waitingWork)
	}
	for _, ci := range e.active {
		c := &e.classes[ci]
		if c.seats == nil {
			filed[c.lane]++
		}
		for i := range c.seats {
			filed[c.seats[i].lane]++
		}
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		for n := range held[i] {
			if held[i][n] != l.held[n] {
				return fmt.Errorf("lane %d: account %s holds %d, %d were counted", i, s.tree.Nodes[n].Path, held[i][n], l.held[n])
			}
		}
		for k := range open[i] {
			if open[i][k] != l.leaves[k].open {
				return fmt.Errorf("lane %d: leaf %d has %d past protection, %d were counted", i, k, open[i][k], l.leaves[k].open)
			}
		}
		for k := range l.leaves {
			filed[i] -= len(l.leaves[k].fill)
			for _, g := range l.leaves[k].work {
				filed[i] -= len(g.classes)
			}
		}
		if filed[i] != 0 {
			return fmt.Errorf("lane %d: %d classes too few wait there", i, filed[i])
		}
	}
	for i := range onNode {
		slices.Sort(onNode[i])
		is := slices.Clone(s.onNode[i])
		slices.Sort(is)
		if !slices.Equal(onNode[i], is) {
			return fmt.Errorf("on node %d are %v, %v were counted", i, onNode[i], is)
		}
	}
	for i := range e.pools {
		for name, f := range map[string][2]*cluster.Free{"loose": {loose[i], s.loose.all[i]}, "soft": {soft[i], s.soft.all[i]}} {
			if f[0].Milli() != f[1].Milli() {
				return fmt.Errorf("pool %d: %s is %d, %d were counted", i, name, f[0].Milli(), f[1].Milli())
			}
			for at := range e.layout.Pools[i].Nodes {
				if f[0].Mask(int32(at)) != f[1].Mask(int32(at)) {
					return fmt.Errorf("pool %d, node %d: %s is %b, %b was counted", i, at, name, f[0].Mask(int32(at)), f[1].Mask(int32(at)))
				}
			}
		}
	}
	for i := range s.dates {
		if x := &s.dates[i]; e.jobs[x.job].state != waiting || !e.jobs[x.job].dated {
			return fmt.Errorf("job %d has a date in state %d, promised %d", x.job, e.jobs[x.job].state, e.jobs[x.job].promised)
		}
	}
	return nil
}

// clay is a world that does whatever it likes: it confirms starts late or not at all,
// lets victims linger, breaks nodes, and changes the budgets at any time.
type clay struct {
	t    *rapid.T
	e    *Engine
	now  workload.Time
	jobs []*workload.Job
	// on: started, up: confirmed, leaving: told to stop; all by attempt.
	on, up, leaving map[int32]int32
	place           map[int32][]cluster.Grant
	// held has the holds of jobs.
	held map[int32]uint8
	log  []string
}

func (w *clay) tell(f fact.Fact) {
	f.At = w.now
	w.log = append(w.log, fmt.Sprintf("%d %s job %d try %d node %d %s", f.At, f.Kind, f.Job, f.Attempt, f.Node, f.Cause))
	if f.Submitted != nil {
		w.log = append(w.log, fmt.Sprintf("%+v", *f.Submitted))
	}
	if f.Budgets != nil {
		w.log = append(w.log, string(f.Budgets.YAML()))
	}
	if err := w.e.Apply(&f); err != nil {
		w.fatal("%s of job %d: %v", f.Kind, f.Job, err)
	}
}

func (w *clay) fatal(format string, args ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-60):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, args...)
}

func (w *clay) check(after string) {
	w.t.Helper()
	if err := checkSharing(w.e); err != nil {
		w.fatal("at %d, after %s: %v", w.now, after, err)
	}
}

func (w *clay) decide() {
	defer func() {
		if p := recover(); p != nil && !w.t.Failed() {
			w.fatal("panic: %v", p)
		}
	}()
	for turn := 0; ; turn++ {
		if turn > 200 {
			w.fatal("decides without end")
		}
		d := w.e.Decide(w.now)
		again := d.Again
		w.check("decide")
		acts := slices.Clone(d.Actions)
		for i := range acts {
			a := &acts[i]
			a.Place = slices.Clone(a.Place)
			w.log = append(w.log, fmt.Sprintf("%d %s job %d for %d until %d unallocated %t %v %s", a.At, a.Do, a.Job, a.For, a.Until, a.Unallocated, a.Place, a.Reason.Code))
			if err := w.e.Commit(a); err != nil {
				w.fatal("commit: %v", err)
			}
			w.check(a.Do.String())
			switch a.Do {
			case fact.Start:
				if err := checkStart(w.e, a); err != nil {
					w.fatal("%v", err)
				}
				if w.held[a.Job] != 0 {
					w.fatal("job %d starts, and is held", a.Job)
				}
				w.on[a.Job], w.place[a.Job] = a.Attempt, a.Place
			case fact.Stop:
				w.leaving[a.Job] = a.Attempt
			}
		}
		if !again {
			if err := checkWindows(w.e); err != nil {
				w.fatal("%v", err)
			}
			return
		}
	}
}

func (w *clay) gone(n int32) {
	delete(w.on, n)
	delete(w.up, n)
	delete(w.leaving, n)
}

// hold holds a job, or takes that back, and looks at where it stands in the queue.
func (w *clay) hold(n int32, by fact.HoldBy) {
	if final(w.e.jobs[n].state) {
		return
	}
	f := fact.Fact{Kind: fact.JobHeld, Job: n, Node: none, Hold: by}
	if w.held[n]&(1<<by) != 0 {
		f.Kind = fact.JobReleased
	}
	w.tell(f)
	w.held[n] ^= 1 << by
	j := &w.e.jobs[n]
	if held := j.state == onHold; held != (w.held[n] != 0) && (held || j.state == waiting || j.state == claiming) {
		w.fatal("job %d has the holds %b and is in state %s", n, w.held[n], stateNames[j.state])
	}
	if j.state != waiting {
		return
	}
	c := &w.e.classes[j.class]
	before := none
	for k := w.e.q.first(c.root); k != none; k = w.e.q.after(c.root, k, 1<<63-1) {
		if x, y := &w.e.jobs[max(before, 0)], &w.e.jobs[k]; before != none && (x.spec.Submit > y.spec.Submit || x.spec.Submit == y.spec.Submit && before > k) && x.spec.Priority == y.spec.Priority {
			w.fatal("job %d, of %d, waits before job %d, of %d", before, x.spec.Submit, k, y.spec.Submit)
		}
		before = k
	}
}

// pick draws one of the jobs of a set.
func (w *clay) pick(of map[int32]int32, but map[int32]int32) int32 {
	var all []int32
	for n := range of {
		if _, no := but[n]; !no {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return none
	}
	slices.Sort(all)
	return rapid.SampledFrom(all).Draw(w.t, "job")
}

func clayTree(t *rapid.T, pools bool) *budget.Tree {
	limit := func() string {
		return rapid.SampledFrom([]string{"", "", ", budget: {gpuHours: 0.05, per: day, onExhaustion: truncate}", ", budget: {gpuHours: 0.05, per: day, onExhaustion: refuse}",
			", budget: {gpuHours: 0.05, per: day}"}).Draw(t, "limit")
	}
	text := rapid.SampledFrom([]string{
		"children: [{name: x, share: 1%s}, {name: y, share: 2%s}]",
		"children: [{name: x, share: 1%s}, {name: p, share: 1, children: [{name: y, share: 3%s}, {name: z, share: 1}]}]",
		"children: [{name: p, share: 1%s, children: [{name: x, share: 3%s}, {name: z, share: 1}]}]",
		"children: [{name: y, share: 1, children: [{user: u, share: 1%s}, {name: rest, share: 1%s}]}]",
	}).Draw(t, "tree")
	text = fmt.Sprintf(text, limit(), limit())
	if pools {
		text = "pools: [A, B]\n" + strings.Replace(text, "share: 1", rapid.SampledFrom([]string{"share: 1", "share: {A: 1, B: 3}", "share: {B: 2, A: 1}"}).Draw(t, "shares"), 1)
	}
	tree, err := budget.Parse("b.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestSharingRecounts drives the engine by random facts in any order that is
// legal, and recounts after each.
func TestSharingRecounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shipped, _ := policy.Shipped("contract")
		p := *shipped
		s := policy.DefaultSharing()
		s.Window, s.CreditCap, s.Hysteresis = 100*workload.Second, rapid.SampledFrom([]int64{-1, 250}).Draw(rt, "cap"), 1000
		s.MinRuntimeCap, s.MinRuntimeDefault = 60*workload.Second, 5*workload.Second
		s.Guard = policy.Guard(rapid.IntRange(0, 1).Draw(rt, "guard"))
		s.InTeam = rapid.Bool().Draw(rt, "in team")
		s.Reservations = policy.Reservations{Count: 2, Above: rapid.SampledFrom([]int64{0, 2}).Draw(rt, "above"), Nodes: 1000, AnyAccount: true}
		s.Debug.Nodes = rapid.SampledFrom([]int64{0, 300}).Draw(rt, "debug")
		s.SessionIdle, s.SessionMax = 10*workload.Second, 100*workload.Second
		p.Sharing = &s
		spec := rapid.SampledFrom([]*cluster.Spec{{Name: "pool", Count: 6}, cluster.Uniform("c", 3, 4),
			{Name: "two", Nodes: []cluster.Node{{Name: "a", GPUs: 2, GPUType: "A"}, {Name: "b", GPUs: 4, GPUType: "B"}, {Name: "c", GPUs: 4, GPUType: "B"}}}}).Draw(rt, "cluster")
		e, err := New(spec, &p, Defaults{StartLatency: workload.Second})
		if err != nil {
			rt.Fatal(err)
		}
		pools := spec.Name == "two" && rapid.Bool().Draw(rt, "pools")
		w := &clay{t: rt, e: e, on: map[int32]int32{}, up: map[int32]int32{}, leaving: map[int32]int32{}, place: map[int32][]cluster.Grant{},
			held: map[int32]uint8{}, now: workload.Time(rapid.SampledFrom([]int{0, 86_000, 1 << 40}).Draw(rt, "epoch"))}
		w.tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: clayTree(rt, pools), Epoch: workload.Unknown})
		down, drained := map[int32]bool{}, map[int32]bool{}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			op := rapid.IntRange(0, 20).Draw(rt, "op")
			switch op {
			case 19, 20:
				f := drawWindow(rt, len(spec.Nodes), w.now)
				if f.At = w.now; w.e.Apply(&f) == nil {
					w.log = append(w.log, fmt.Sprintf("%d %s %+v", w.now, f.Kind, *f.Window))
				}
			case 0, 1, 2, 3:
				j := &workload.Job{ID: fmt.Sprint(len(w.jobs)), Team: rapid.SampledFrom([]string{"x", "y", "z", "w"}).Draw(rt, "team"), User: rapid.SampledFrom([]string{"u", "v"}).Draw(rt, "user"),
					Submit: w.now, Priority: int64(rapid.IntRange(0, 1).Draw(rt, "priority"))}
				j.Need.GPUs = rapid.SampledFrom([]int32{1, 1, 2, 4, 8}).Draw(rt, "gpus")
				switch rapid.IntRange(0, 5).Draw(rt, "shape") {
				case 0:
					j.Need = workload.Need{Tasks: 2, GPUs: 1, MinTasks: 1, MaxTasks: 4}
				case 1:
					j.Need = workload.Need{GPUs: 1, Milli: 400}
				}
				if j.Need.Tasks > 0 {
					j.Need.PerNode = rapid.SampledFrom([]int32{0, 1, 2}).Draw(rt, "per node")
				}
				if spec.Name == "two" {
					j.Need.GPUTypes = rapid.SampledFrom([]string{"", "", "A", "B"}).Draw(rt, "gpu type")
				}
				j.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: rapid.SampledFrom([]workload.Span{0, 1, 5, 30}).Draw(rt, "min runtime") * workload.Second,
					CheckpointOnStop: rapid.Bool().Draw(rt, "saves"), NotResumable: rapid.IntRange(0, 4).Draw(rt, "lost") == 0}
				if rapid.IntRange(0, 3).Draw(rt, "session") == 0 {
					j.Kind = workload.KindInteractive
				}
				w.jobs = append(w.jobs, j)
				w.tell(fact.Fact{Kind: fact.JobSubmitted, Job: int32(len(w.jobs) - 1), Node: none, Submitted: j})
			case 4:
				if n := w.pick(w.on, w.up); n != none {
					w.up[n] = w.on[n]
					w.tell(fact.Fact{Kind: fact.JobStarted, Job: n, Attempt: w.on[n], Node: none})
				}
			case 5:
				if n := w.pick(w.up, nil); n != none {
					w.tell(fact.Fact{Kind: fact.JobFinished, Job: n, Attempt: w.on[n], Node: none})
					w.gone(n)
				}
			case 6, 7:
				if n := w.pick(w.leaving, nil); n != none {
					w.tell(fact.Fact{Kind: fact.JobStopped, Job: n, Attempt: w.on[n], Node: none, Cause: fact.CausePreempted})
					w.gone(n)
				}
			case 8:
				if n := w.pick(w.on, w.up); n != none {
					if _, no := w.leaving[n]; !no {
						w.tell(fact.Fact{Kind: fact.StartFailed, Job: n, Attempt: w.on[n], Node: none})
						w.gone(n)
					}
				}
			case 9:
				if len(w.jobs) > 0 {
					n := int32(rapid.IntRange(0, len(w.jobs)-1).Draw(rt, "cancel"))
					if e.jobs[n].state != ended {
						w.tell(fact.Fact{Kind: fact.JobCancelled, Job: n, Node: none})
					}
				}
			case 10:
				if len(spec.Nodes) > 0 {
					n := int32(rapid.IntRange(0, len(spec.Nodes)-1).Draw(rt, "node"))
					if down[n] = !down[n]; !down[n] {
						w.tell(fact.Fact{Kind: fact.NodeUp, Job: none, Node: n})
						break
					}
					w.tell(fact.Fact{Kind: fact.NodeDown, Job: none, Node: n})
					for k := range int32(len(w.jobs)) {
						if _, on := w.on[k]; on && slices.ContainsFunc(w.place[k], func(g cluster.Grant) bool { return g.Node == n }) {
							w.tell(fact.Fact{Kind: fact.JobStopped, Job: k, Attempt: w.on[k], Node: none, Cause: fact.CauseNodeFailure})
							w.gone(k)
						}
					}
				}
			case 11:
				if len(spec.Nodes) > 0 {
					n := int32(rapid.IntRange(0, len(spec.Nodes)-1).Draw(rt, "node"))
					kind := fact.NodeDrained
					if drained[n] = !drained[n]; !drained[n] {
						kind = fact.NodeResumed
					}
					w.tell(fact.Fact{Kind: kind, Job: none, Node: n})
				}
			case 12:
				w.tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: clayTree(rt, pools), Epoch: workload.Unknown})
			case 13:
				if n := w.pick(w.up, nil); n != none {
					kind := rapid.SampledFrom([]fact.Kind{fact.SessionIdle, fact.SessionActive}).Draw(rt, "session")
					w.tell(fact.Fact{Kind: kind, Job: n, Attempt: w.on[n], Node: none, Since: w.now})
				}
			case 14, 15:
				if len(w.jobs) > 0 {
					w.hold(int32(rapid.IntRange(0, len(w.jobs)-1).Draw(rt, "hold")), fact.HoldBy(rapid.IntRange(0, 2).Draw(rt, "by")))
				}
			default:
				w.now += workload.Time(rapid.SampledFrom([]int{0, 500, 1000, 5000, 60_000}).Draw(rt, "later"))
				w.decide()
			}
			w.check(fmt.Sprint("op ", op))
			for n := range w.jobs {
				e.Explain(int32(n))
			}
			w.check("explain")
		}
	})
}
