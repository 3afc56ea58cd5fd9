package engine

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
	"pgregory.net/rapid"
)

// twins is a world with two engines: one that goes on from the beginning, and one that is
// restored now and then. Both are told the same, and must do the same.
type twins struct {
	t    *rapid.T
	spec *cluster.Spec
	pol  *policy.Policy
	d    Defaults
	a, b *Engine
	now  workload.Time
	// ids of jobs in the order of their numbers.
	ids []string
	log []string
}

func (w *twins) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *twins) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Logf("%s on %s", w.pol.Name, w.spec.Name)
	for _, l := range w.log[max(0, len(w.log)-80):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, args...)
}

// tell gives both a fact, which both take or refuse.
func (w *twins) tell(f fact.Fact) bool {
	f.At = w.now
	w.note("%d %s job %d try %d node %d %s hold %s", f.At, f.Kind, f.Job, f.Attempt, f.Node, f.Cause, f.Hold)
	if f.Submitted != nil {
		w.note("  %+v", *f.Submitted)
	}
	if f.Budgets != nil {
		w.note("  %s", f.Budgets.YAML())
	}
	if f.Window != nil {
		w.note("  %+v", *f.Window)
	}
	g := f
	errA, errB := w.a.Apply(&f), w.b.Apply(&g)
	if fmt.Sprint(errA) != fmt.Sprint(errB) {
		w.fatal("%s of job %d: %v, restored %v", f.Kind, f.Job, errA, errB)
	}
	return errA == nil
}

func show(a *fact.Action) string {
	return fmt.Sprintf("%s job %d try %d for %d tasks %d gpus %d milli %d at %d until %d unalloc %t %v %s %+v", a.Do, a.Job, a.Attempt, a.For, a.Tasks, a.Count, a.Milli, a.At, a.Until,
		a.Unallocated, a.Place, a.Reason.Code, a.Reason)
}

// decide lets both decide until there is no more to it.
func (w *twins) decide() {
	for turn := 0; ; turn++ {
		if turn > 300 {
			if len(w.a.windows.list) > 0 {
				w.fatal("decides without end")
			}
			w.t.Skip("decides without end")
		}
		x, y := w.a.Decide(w.now), w.b.Decide(w.now)
		again := x.Again
		acts, bcts := copied(x.Actions), copied(y.Actions)
		for i := range max(len(acts), len(bcts)) {
			var p, q string
			if i < len(acts) {
				p = show(&acts[i])
			}
			if i < len(bcts) {
				q = show(&bcts[i])
			}
			w.note("%d %s", w.now, p)
			if p != q {
				w.fatal("at %d: decided\n%s\nrestored\n%s", w.now, p, q)
			}
		}
		if x.Wake != y.Wake || x.Again != y.Again {
			w.fatal("at %d: wake at %d, restored %d; again %t, restored %t", w.now, x.Wake, y.Wake, x.Again, y.Again)
		}
		w.note("%d decided, wake at %d", w.now, x.Wake)
		for i := range acts {
			if acts[i].Do == fact.Start && acts[i].Reason.Code != fact.Adopted {
				if err := checkStart(w.a, &acts[i]); err != nil {
					w.fatal("%v", err)
				}
			}
			errA, errB := w.a.Commit(&acts[i]), w.b.Commit(&bcts[i])
			if errA != nil || errB != nil {
				w.fatal("commit of %s: %v, restored %v", show(&acts[i]), errA, errB)
			}
			if rapid.IntRange(0, 60).Draw(w.t, "in between") == 0 {
				w.restore()
			}
		}
		if !again {
			if err := checkWindows(w.a); err != nil {
				w.fatal("%v", err)
			}
			return
		}
	}
}

func copied(list []fact.Action) []fact.Action {
	out := slices.Clone(list)
	for i := range out {
		out[i].Place = slices.Clone(out[i].Place)
	}
	return out
}

// same holds that both are in the same state, and returns its bytes.
func (w *twins) same() []byte {
	a, b := w.a.Snapshot().AppendTo(nil), w.b.Snapshot().AppendTo(nil)
	if !bytes.Equal(a, b) {
		w.fatal("at %d: the states differ:\n%s", w.now, differ(w.a.Snapshot(), w.b.Snapshot()))
	}
	return a
}

// restore makes the second engine anew.
func (w *twins) restore() {
	w.note("%d -- restored", w.now)
	data := w.same()
	s, err := ParseState(data)
	if err != nil {
		w.fatal("%v", err)
	}
	if w.b, err = Restore(w.spec, w.pol, w.d, s); err != nil {
		w.fatal("%v", err)
	}
	w.same()
	w.check()
}

// check recounts what the second engine keeps up to date.
func (w *twins) check() {
	if w.b.sharing == nil {
		return
	}
	if err := checkSharing(w.b); err != nil {
		w.fatal("%v", err)
	}
}

// change lets another policy decide from now on.
func (w *twins) change() {
	p := drawPolicy(w.t)
	s := w.a.Snapshot()
	data := w.same()
	a, err := Restore(w.spec, p, w.d, s)
	if err != nil {
		if _, bad := New(w.spec, p, w.d); bad == nil && (p.Sharing == nil || w.a.sharing != nil) {
			w.fatal("%s cannot take over: %v", p.Name, err)
		}
		return // it means nothing on this cluster, or the budgets do not
	}
	w.note("%d -- policy %s", w.now, p.Name)
	if !bytes.Equal(s.AppendTo(nil), data) {
		w.fatal("restoring changed the state")
	}
	t, err := ParseState(data)
	if err != nil {
		w.fatal("%v", err)
	}
	b, err := Restore(w.spec, p, w.d, t)
	if err != nil {
		w.fatal("%v", err)
	}
	w.pol, w.a, w.b = p, a, b
	w.same()
	w.check()
}

// differ says in which part two states differ.
func differ(a, b *State) string {
	var out string
	show := func(name string, x, y any) {
		if p, q := fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", y); p != q {
			out += fmt.Sprintf("%s:\n  %s\n  %s\n", name, p, q)
		}
	}
	show("now", a.now, b.now)
	show("wake", a.wake, b.wake)
	show("dirty", a.dirty, b.dirty)
	show("uncommitted", a.uncommitted, b.uncommitted)
	show("next", a.next, b.next)
	for i := range min(len(a.jobs), len(b.jobs)) {
		x, y := a.jobs[i], b.jobs[i]
		show("run of "+fmt.Sprint(x.number), x.run, y.run)
		x.run, y.run, x.spec, y.spec = nil, nil, nil, nil
		show("job", x, y)
	}
	show("jobs", len(a.jobs), len(b.jobs))
	show("past", a.past, b.past)
	show("running", a.running, b.running)
	show("windows", a.windows, b.windows)
	show("claims", a.claims, b.claims)
	show("refuse", a.refuse, b.refuse)
	show("stop", a.stop, b.stop)
	show("promised", a.promised, b.promised)
	show("waits", a.waits, b.waits)
	show("services", a.services, b.services)
	show("learned", a.learned, b.learned)
	show("usage", a.usage, b.usage)
	show("plan", a.plan, b.plan)
	if a.sharing != nil && b.sharing != nil {
		x, y := *a.sharing, *b.sharing
		for i := range x.ledgers {
			show("ledger", x.ledgers[i], y.ledgers[i])
			show("fill", x.fills[i], y.fills[i])
		}
		show("accounts", x.accounts, y.accounts)
		x.ledgers, y.ledgers, x.fills, y.fills, x.accounts, y.accounts = nil, nil, nil, nil, nil, nil
		show("sharing", x, y)
	}
	show("ahead", a.ahead, b.ahead)
	return out
}

// some draws a job in one of the states, none if there is none.
func (w *twins) some(states ...state) int32 {
	var all []int32
	for n := range w.a.jobs {
		if k := w.a.numbering.number(int32(n)); k != none && slices.Contains(states, w.a.jobs[n].state) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return none
	}
	return rapid.SampledFrom(all).Draw(w.t, "job")
}

// job is what the first engine knows of one.
func (w *twins) job(n int32) *job { return &w.a.jobs[w.a.numbering.place(n)] }

func (w *twins) about(kind fact.Kind, n int32) fact.Fact {
	f := fact.Fact{Kind: kind, Job: n, Node: none}
	if n != none {
		f.Attempt = w.job(n).attempt
	}
	return f
}

func (w *twins) draft() *workload.Job {
	t := w.t
	n := len(w.ids)
	j := &workload.Job{ID: fmt.Sprint("j", n), Team: rapid.SampledFrom([]string{"x", "y", "z", "w"}).Draw(t, "team"), User: rapid.SampledFrom([]string{"u", "v"}).Draw(t, "user"),
		Submit: w.now - workload.Time(rapid.SampledFrom([]int{0, 0, 0, 7000}).Draw(t, "late")), Priority: int64(rapid.IntRange(0, 2).Draw(t, "priority"))}
	j.Need.GPUs = rapid.SampledFrom([]int32{1, 1, 2, 4, 8}).Draw(t, "gpus")
	nodes := len(w.spec.Nodes) > 0
	switch rapid.IntRange(0, 9).Draw(t, "shape") {
	case 0:
		j.Need = workload.Need{Tasks: 2, GPUs: 1, MinTasks: 1, MaxTasks: 4}
	case 1, 2:
		j.Need = workload.Need{GPUs: 1, Milli: rapid.SampledFrom([]int32{300, 500}).Draw(t, "milli")}
	case 3:
		if nodes && w.spec.Nodes[0].CPU > 0 {
			j.Need = workload.Need{Tasks: 1, CPU: 3000}
		}
	case 4:
		if nodes {
			j.Need = workload.Need{Tasks: 2, GPUs: 2, PerNode: rapid.SampledFrom([]int32{0, 1}).Draw(t, "per node")}
		}
	case 5:
		j.Need.GPUs = 64
	}
	if nodes && w.spec.Nodes[0].CPU > 0 && rapid.Bool().Draw(t, "cores") {
		j.Need.CPU = rapid.SampledFrom([]int64{500, 4000}).Draw(t, "cpu")
	}
	if nodes && w.spec.Nodes[0].GPUType != "" {
		j.Need.GPUTypes = rapid.SampledFrom([]string{"", "", "A", "B"}).Draw(t, "gpu type")
	}
	j.Estimate = workload.Span(rapid.SampledFrom([]int{0, 3, 10, 60, 400}).Draw(t, "estimate")) * 1000
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		j.Limit = max(j.Estimate, 5000)
	}
	j.Contract = workload.Contract{HasMinRuntime: rapid.Bool().Draw(t, "declares"), MinRuntime: rapid.SampledFrom([]workload.Span{0, 1, 5, 30}).Draw(t, "min runtime") * workload.Second,
		CheckpointOnStop: rapid.Bool().Draw(t, "saves"), NotResumable: rapid.IntRange(0, 5).Draw(t, "lost") == 0, Grace: rapid.SampledFrom([]workload.Span{0, 2000}).Draw(t, "grace")}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		j.Kind = workload.KindInteractive
	case 1:
		if nodes {
			s := &workload.Service{Demand: workload.Curve{Start: w.now, Step: 7000, Values: []int32{1, 2, 0, 3}, Repeat: true}}
			if rapid.Bool().Draw(t, "capped") {
				s.Swaps, s.SwapEvery = 2, 10_000
			}
			j.Kind, j.Service, j.Need = workload.KindRealtime, s, workload.Need{Tasks: 3, GPUs: 1}
		}
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "after") {
		j.After = append(j.After, workload.Dependency{Job: fmt.Sprint("j", rapid.IntRange(max(0, n-12), n+3).Draw(t, "on")), When: workload.Condition(rapid.IntRange(0, 2).Draw(t, "when"))})
	}
	if rapid.IntRange(0, 3).Draw(t, "labels") == 0 {
		j.Labels = map[string]string{"preemptible": "no", "x": "y"}
	}
	if rapid.IntRange(0, 5).Draw(t, "speed") == 0 {
		j.Speed = []workload.Speed{{GPUType: "A", Milli: 2000}}
	}
	return j
}

func (w *twins) submit() {
	j := w.draft()
	n := int32(len(w.ids))
	w.ids = append(w.ids, j.ID)
	if w.tell(fact.Fact{Kind: fact.JobSubmitted, Job: n, Node: none, Submitted: j}) && j.Service != nil {
		w.tell(fact.Fact{Kind: fact.DemandChanged, Job: n, Node: none, Demand: j.Service.Demand.At(w.now)})
	}
}

// plan proposes some starts, of jobs that may have ended.
func (w *twins) plan() {
	p := &fact.Plan{Until: w.now + workload.Span(rapid.SampledFrom([]int{1000, 60_000}).Draw(w.t, "ttl")), Solver: "test"}
	at := w.now
	for range rapid.IntRange(0, 4).Draw(w.t, "starts") {
		n := rapid.SampledFrom(w.spec.Nodes).Draw(w.t, "where")
		k := int32(slices.IndexFunc(w.spec.Nodes, func(o cluster.Node) bool { return o.Name == n.Name }))
		gpus := uint64(1)<<min(n.GPUs, rapid.Int32Range(1, 4).Draw(w.t, "gpus")) - 1
		p.Starts = append(p.Starts, fact.PlannedStart{Job: int32(rapid.IntRange(0, len(w.ids)-1).Draw(w.t, "starts job")), At: at, Place: []fact.Grant{cluster.WholeGrant(k, gpus)}})
		at += workload.Time(rapid.SampledFrom([]int{0, 3000}).Draw(w.t, "then"))
	}
	w.tell(fact.Fact{Kind: fact.PlanProposed, Job: none, Node: none, Plan: p})
}

// adopted says that a job runs on GPUs of one or two neighbours, which others may have.
func (w *twins) adopted(n int32) fact.Fact {
	f := w.about(fact.JobAdopted, n)
	k := rapid.IntRange(0, len(w.spec.Nodes)-1).Draw(w.t, "adopted on")
	for range rapid.IntRange(1, 2).Draw(w.t, "nodes") {
		node := &w.spec.Nodes[k]
		gpus := rapid.Uint64Range(1, 1<<node.GPUs-1).Draw(w.t, "adopted gpus")
		g := cluster.WholeGrant(int32(k), gpus)
		g.CPU = min(node.CPU, rapid.SampledFrom([]int64{0, 500}).Draw(w.t, "adopted cores"))
		f.Place = append(f.Place, g)
		if k++; k == len(w.spec.Nodes) {
			break
		}
	}
	if w.job(n).spec.Need.MaxTasks > 0 {
		f.Tasks = rapid.Int32Range(0, 4).Draw(w.t, "adopted tasks")
	}
	return f
}

func (w *twins) stop(n int32, cause fact.Cause) {
	f := w.about(fact.JobStopped, n)
	f.Cause, f.Kept = cause, w.job(n).kept+workload.Span(rapid.SampledFrom([]int{0, 500, 4000}).Draw(w.t, "kept"))
	w.tell(f)
}

func (w *twins) node() {
	if len(w.spec.Nodes) == 0 {
		return
	}
	n := int32(rapid.IntRange(0, len(w.spec.Nodes)-1).Draw(w.t, "node"))
	f := fact.Fact{Job: none, Node: n}
	if rapid.Bool().Draw(w.t, "drain") {
		if f.Kind = fact.NodeDrained; w.a.drained[n] {
			f.Kind = fact.NodeResumed
		}
		w.tell(f)
		return
	}
	if f.Kind = fact.NodeDown; w.a.down[n] {
		f.Kind = fact.NodeUp
	}
	if w.tell(f); f.Kind == fact.NodeUp {
		return
	}
	for k := range w.a.jobs {
		if j := &w.a.jobs[k]; occupies(j.state) && slices.ContainsFunc(j.grants, func(g cluster.Grant) bool { return g.Node == n }) {
			w.stop(w.a.numbering.number(int32(k)), fact.CauseNodeFailure)
		}
	}
}

func (w *twins) step(pools bool) {
	t := w.t
	switch op := rapid.IntRange(0, 34).Draw(t, "op"); op {
	case 33, 34:
		if n := w.some(waiting, waiting, claiming, blocked, running); n != none && len(w.spec.Nodes) > 0 {
			w.tell(w.adopted(n))
		}
	case 31, 32:
		w.tell(drawWindow(t, len(w.spec.Nodes), w.now))
	case 0, 1, 2, 3, 4:
		w.submit()
	case 5, 6, 7:
		if n := w.some(starting, stopping); n != none {
			w.tell(w.about(fact.JobStarted, n))
		}
	case 8, 9:
		if n := w.some(running); n != none {
			f := w.about(fact.JobFinished, n)
			f.Outcome = workload.Outcome(rapid.IntRange(0, 1).Draw(t, "outcome"))
			w.tell(f)
		}
	case 10, 11, 12:
		if n := w.some(stopping); n != none {
			w.stop(n, rapid.SampledFrom([]fact.Cause{fact.CausePreempted, fact.CausePreempted, fact.CauseParked, fact.CauseCancelled}).Draw(t, "cause"))
		}
	case 13:
		if n := w.some(starting); n != none {
			w.tell(w.about(fact.StartFailed, n))
		}
	case 14:
		if len(w.ids) > 0 {
			w.tell(w.about(fact.JobCancelled, int32(rapid.IntRange(0, len(w.ids)-1).Draw(t, "cancel"))))
		}
	case 15:
		w.node()
	case 16:
		w.tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: clayTree(t, pools), Epoch: workload.Unknown})
	case 17:
		if n := w.some(running, parked, starting, waiting); n != none {
			f := w.about(rapid.SampledFrom([]fact.Kind{fact.SessionIdle, fact.SessionActive}).Draw(t, "session"), n)
			f.Since = w.now
			w.tell(f)
		}
	case 18, 19:
		if len(w.ids) > 0 {
			f := w.about(rapid.SampledFrom([]fact.Kind{fact.JobHeld, fact.JobReleased}).Draw(t, "hold"), int32(rapid.IntRange(0, len(w.ids)-1).Draw(t, "held")))
			f.Hold = fact.HoldBy(rapid.IntRange(0, 5).Draw(t, "by"))
			w.tell(f)
		}
	case 26:
		if len(w.ids) > 0 {
			f := w.about(fact.JobEdited, int32(rapid.IntRange(0, len(w.ids)-1).Draw(t, "edited")))
			f.Priority = rapid.Int64Range(-2, 2).Draw(t, "priority")
			w.tell(f)
		}
	case 20:
		if len(w.ids) > 0 {
			f := w.about(fact.DemandChanged, int32(rapid.IntRange(0, len(w.ids)-1).Draw(t, "demands")))
			f.Demand = rapid.Int32Range(0, 4).Draw(t, "demand")
			w.tell(f)
		}
	case 21:
		if n := w.some(running); n != none {
			f := w.about(fact.JobCheckpointed, n)
			f.Kept = w.job(n).kept + 1000
			w.tell(f)
		}
	case 22:
		if len(w.spec.Nodes) > 0 && len(w.ids) > 0 {
			w.plan()
		}
	case 23:
		before := w.now - workload.Time(rapid.SampledFrom([]int{0, 20_000}).Draw(t, "forget"))
		w.note("%d forget %d", w.now, before)
		w.a.Forget(before)
		w.b.Forget(before)
	case 24:
		if w.restore(); rapid.IntRange(0, 4).Draw(t, "change") == 0 {
			w.change()
		}
	case 25:
		w.a.Snapshot()
		for n := range w.ids {
			w.b.Explain(int32(n))
			x, okA := w.a.Explain(int32(n))
			y, okB := w.b.Explain(int32(n))
			if okA && w.job(int32(n)).state != ended && (okA != okB || x.State != y.State || x.Rank != y.Rank || !slices.Equal(x.Ahead, y.Ahead)) {
				w.fatal("job %d stands at %+v, restored at %+v", n, x, y)
			}
		}
	default:
		w.now += workload.Time(rapid.SampledFrom([]int{0, 1, 500, 1000, 5000, 60_000, 400_000}).Draw(t, "later"))
		w.decide()
		if op == 30 {
			w.restore()
		}
	}
}

// drawPolicy draws a shipped policy, some with other numbers than they ship with.
func drawPolicy(t *rapid.T) *policy.Policy {
	shipped, _ := policy.Shipped(rapid.SampledFrom(append(policy.Names(), "contract", "contract", "contract", "horizon", "multifactor", "las", "priority")).Draw(t, "policy"))
	p := *shipped
	p.Order = slices.Clone(p.Order)
	switch {
	case p.Horizon != nil:
		h := *p.Horizon
		h.Interrupt, h.Step, h.Work, h.Replan = rapid.Bool().Draw(t, "interrupt"), 5000, 3, 7000
		p.Horizon = &h
	case p.Sharing != nil && rapid.IntRange(0, 4).Draw(t, "as shipped") > 0:
		s := *p.Sharing
		s.Window, s.CreditCap, s.Hysteresis = 100*workload.Second, rapid.SampledFrom([]int64{-1, 250}).Draw(t, "cap"), 1000
		s.MinRuntimeCap, s.MinRuntimeDefault = 60*workload.Second, 5*workload.Second
		s.Guard = policy.Guard(rapid.IntRange(0, 1).Draw(t, "guard"))
		s.InTeam = rapid.Bool().Draw(t, "in team")
		s.EvictEvery = rapid.SampledFrom([]workload.Span{0, 0, 11 * workload.Second}).Draw(t, "evictions")
		s.EvictAfter = rapid.SampledFrom([]workload.Span{0, 0, 3 * workload.Second}).Draw(t, "patience")
		s.Reservations = policy.Reservations{Count: 2, Above: rapid.SampledFrom([]int64{0, 2}).Draw(t, "above"), Nodes: 1000, AnyAccount: true}
		s.Debug.Nodes = rapid.SampledFrom([]int64{0, 300}).Draw(t, "debug")
		s.SessionIdle, s.SessionMax = 10*workload.Second, 100*workload.Second
		p.Sharing = &s
	case p.Blocking == policy.EASY && rapid.Bool().Draw(t, "deep"):
		p.Depth = 3
	}
	for i := range p.Order {
		switch o := &p.Order[i]; o.Kind {
		case policy.ByAttained:
			o.Thresholds, o.Promote = []int64{2000, 20_000}, rapid.SampledFrom([]int64{0, 1000, 8000}).Draw(t, "promote")
		case policy.ByMultifactor:
			o.Multifactor.HalfLife = 30 * workload.Second
			p.Interval = rapid.SampledFrom([]workload.Span{0, 1000, 300_000}).Draw(t, "interval")
		}
	}
	return &p
}

func drawSpec(t *rapid.T) *cluster.Spec {
	two := &cluster.Spec{Name: "two", Nodes: []cluster.Node{{Name: "a", GPUs: 2, GPUType: "A"}, {Name: "b", GPUs: 4, GPUType: "B"}, {Name: "c", GPUs: 4, GPUType: "B"}, {Name: "d", GPUs: 4, GPUType: "B"}},
		Levels: []string{"rack"}}
	for i := range two.Nodes {
		two.Nodes[i].Places = []string{fmt.Sprint(i / 2)}
	}
	two.Outages = []cluster.Outage{{At: 50_000, Node: "b", Change: "down", Planned: true}, {At: 250_000, Node: "b", Change: "up", Planned: true}}
	cores := cluster.Uniform("cores", 3, 4)
	for i := range cores.Nodes {
		cores.Nodes[i].CPU, cores.Nodes[i].Memory = 8000, 1<<16
	}
	return rapid.SampledFrom([]*cluster.Spec{{Name: "pool", Count: 7}, cluster.Uniform("c", 3, 4), two, cores}).Draw(t, "cluster")
}

// TestRestoredTwin drives an engine and one that is restored now and then by random facts in
// any order that is legal, under every policy: what they decide, when they want to be woken,
// and their states are the same.
func TestRestoredTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &twins{t: rt, spec: drawSpec(rt), pol: drawPolicy(rt), d: Defaults{StartLatency: workload.Second},
			now: workload.Time(rapid.SampledFrom([]int{0, 0, 86_000, 1 << 40}).Draw(rt, "epoch"))}
		var err error
		if w.a, err = New(w.spec, w.pol, w.d); err != nil {
			rt.Skip(err)
		}
		w.b, _ = New(w.spec, w.pol, w.d)
		pools := w.spec.Name == "two" && rapid.Bool().Draw(rt, "pools")
		if rapid.IntRange(0, 5).Draw(rt, "told") > 0 {
			w.tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: clayTree(rt, pools), Epoch: workload.Unknown})
		}
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			w.step(pools)
		}
		w.restore()
		for range 5 {
			w.now += 30_000
			w.decide()
		}
		w.same()
	})
}
