package engine

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/pack"
	"github.com/escala-sched/escala/internal/splitmix"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// small is a cluster of two types, with cores.
func small() *cluster.Spec {
	s := &cluster.Spec{Name: "small", Levels: []string{"rack"}}
	for i, t := range []string{"A", "B", "B"} {
		s.Nodes = append(s.Nodes, cluster.Node{Name: fmt.Sprint("n", i), GPUs: 4, GPUType: t, CPU: 16_000, Memory: 1 << 16, Places: []string{fmt.Sprint("r", i/2)}})
	}
	s.Outages = []cluster.Outage{{At: 100, Node: "n2", Change: "down", Planned: true}, {At: 900_000, Node: "n2", Change: "up", Planned: true}}
	return s
}

// busy is an engine in the middle of its work: some of everything.
func busy(t testing.TB, name string) (*Engine, *policy.Policy) {
	p, _ := policy.Shipped(name)
	e, err := New(small(), p, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(f fact.Fact) {
		if err := e.Apply(&f); err != nil {
			t.Fatalf("%s: %s of job %d: %v", name, f.Kind, f.Job, err)
		}
	}
	tree, err := budget.Parse("b.yaml", []byte("children: [{name: x, share: 1, budget: {gpuHours: 100, per: day}}, {name: p, share: 2, children: [{name: y, share: 1}, {name: z, share: 3}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: tree, Epoch: workload.Unknown})
	for n := range int32(40) {
		now := int64(n) * 7000
		j := everyField(n)
		tell(fact.Fact{Kind: fact.JobSubmitted, At: now, Job: n, Node: none, Submitted: j})
		if j.Service != nil {
			tell(fact.Fact{Kind: fact.DemandChanged, At: now, Job: n, Node: none, Demand: 2})
		}
		if n == 20 {
			tell(fact.Fact{Kind: fact.NodeDrained, At: now, Job: none, Node: 0})
			tell(fact.Fact{Kind: fact.JobHeld, At: now, Job: n, Node: none, Hold: fact.HoldOwner})
			tell(fact.Fact{Kind: fact.PlanProposed, At: now, Job: none, Node: none, Plan: &fact.Plan{Until: now + 500_000, Starts: []fact.PlannedStart{{Job: n, At: now + 400_000, Place: []fact.Grant{cluster.WholeGrant(1, 3)}}}}})
		}
		for again, turn := true, 0; again && turn < 20; turn++ {
			d := e.Decide(now)
			again = d.Again
			for _, a := range copied(d.Actions) {
				if err := e.Commit(&a); err != nil {
					t.Fatal(err)
				}
				if a.Do == fact.Start && a.Job%5 != 4 { // some are never confirmed
					tell(fact.Fact{Kind: fact.JobStarted, At: now, Job: a.Job, Attempt: a.Attempt})
				}
			}
		}
		if k := n - 6; k >= 0 && n%2 == 0 && e.jobs[k].state == running {
			tell(fact.Fact{Kind: fact.JobFinished, At: now, Job: k, Attempt: e.jobs[k].attempt})
		}
	}
	return e, p
}

// everyField is a job that uses some field of the declaration.
func everyField(n int32) *workload.Job {
	j := &workload.Job{ID: fmt.Sprint("job-", n), Team: []string{"x", "y", "z"}[n%3], User: "u", Submit: int64(n) * 7000, Estimate: 60_000, Need: workload.Need{GPUs: 1 + n%4}}
	switch n % 10 {
	case 1:
		j.Need = workload.Need{Tasks: 2, GPUs: 1, MinTasks: 1, MaxTasks: 3, PerNode: 1}
	case 2:
		j.Need = workload.Need{GPUs: 1, Milli: 300, CPU: 1000, Memory: 512, GPUTypes: "A|B"}
	case 3:
		j.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: 20_000, CheckpointInterval: 3000, RestartCost: 1000, Grace: 2000, NotResumable: true}
		j.Limit, j.Deadline, j.Priority = 90_000, 500_000, 3
	case 4:
		j.Kind, j.Service, j.Need = workload.KindRealtime, &workload.Service{Demand: workload.Curve{Start: 5, Step: 7000, Values: []int32{1, 2}, Repeat: true}, Min: workload.Curve{Step: 1, Values: []int32{1}},
			Swaps: 2, SwapEvery: 9000, Penalty: 7}, workload.Need{Tasks: 2, GPUs: 1}
	case 5:
		j.After = []workload.Dependency{{Job: fmt.Sprint("job-", n-1), When: workload.AfterOK}, {Job: "job-later"}}
	case 6:
		j.Labels, j.Speed = map[string]string{"b": "1", "a": ""}, []workload.Speed{{GPUType: "A", Milli: 1500}}
	case 7:
		j.Need, j.Partition = workload.Need{GPUs: 2, Span: true, Nodes: "n0|n1"}, "none"
	case 8:
		j.Need, j.Kind = workload.Need{GPUs: 64}, workload.KindInteractive
	case 9:
		j.Need = workload.Need{Tasks: 1, GPUs: 1, Within: "rack"}
	}
	return j
}

// FuzzState reads states from any bytes. What is taken is written as the same bytes, and
// restored or refused, on whatever cluster and under whatever policy; nothing panics.
func FuzzState(f *testing.F) {
	var pols []*policy.Policy
	for _, name := range policy.Names() {
		e, p := busy(f, name)
		f.Add(e.Snapshot().AppendTo(nil), byte(len(pols)))
		pols = append(pols, p)
	}
	f.Fuzz(func(t *testing.T, data []byte, which byte) {
		s, err := ParseState(data)
		if err != nil {
			return
		}
		if !bytes.Equal(s.AppendTo(nil), data) {
			t.Fatal("written as other bytes")
		}
		for _, spec := range []*cluster.Spec{small(), {Name: "pool", Count: 9}} {
			e, err := Restore(spec, pols[int(which)%len(pols)], Defaults{}, s)
			if err == nil {
				e.Snapshot().AppendTo(nil)
			}
		}
	})
}

// TestEveryFieldIsSaved: no field of a declaration is forgotten, also one that is new.
func TestEveryFieldIsSaved(t *testing.T) {
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprint("text", n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.SetInt(int64(1000 + n))
		case reflect.Uint8:
			v.SetUint(2) // kinds and conditions have no more
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("value"))
		default:
			t.Fatalf("a field of kind %s", v.Kind())
		}
	}
	var was, is, empty workload.Job
	fill(reflect.ValueOf(&was).Elem())
	w := pack.Writer(nil)
	codeSpec(w, &was, 5)
	codeSpec(w, &empty, 5)
	r := pack.Reader(w.Bytes())
	if codeSpec(r, &is, 5); !reflect.DeepEqual(was, is) {
		t.Errorf("was\n%+v\nis\n%+v", was, is)
	}
	var bare workload.Job
	if codeSpec(r, &bare, 5); !r.Done() || !reflect.DeepEqual(bare, empty) {
		t.Errorf("nothing came back as %+v", bare)
	}
}

// TestTwoWays: what led to a state is not in it.
func TestTwoWays(t *testing.T) {
	job := func(id string, at int64) *workload.Job {
		return &workload.Job{ID: id, Team: "x", Submit: at, Need: workload.Need{GPUs: 2}, Estimate: 1000}
	}
	for _, name := range policy.Names() {
		p, _ := policy.Shipped(name)
		if p.Placement.By == policy.FGD { // it remembers what was asked for
			continue
		}
		end := func(detour bool) *State {
			e, err := New(small(), p, Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			tell := func(f fact.Fact) {
				t.Helper()
				if err := e.Apply(&f); err != nil {
					t.Fatal(err)
				}
			}
			tell(fact.Fact{Kind: fact.BudgetsChanged, Job: none, Node: none, Budgets: budget.Equal("b", []string{"x"}), Epoch: workload.Unknown})
			for n := range int32(9) {
				tell(fact.Fact{Kind: fact.JobSubmitted, Job: n, Node: none, Submitted: job(fmt.Sprint(n), 0)})
			}
			if detour { // held and released, drained and resumed, asked in between
				e.Explain(3)
				tell(fact.Fact{Kind: fact.JobHeld, Job: 4, Node: none, Hold: fact.HoldOwner})
				tell(fact.Fact{Kind: fact.NodeDrained, Job: none, Node: 1})
				e.Snapshot()
				tell(fact.Fact{Kind: fact.NodeResumed, Job: none, Node: 1})
				tell(fact.Fact{Kind: fact.JobReleased, Job: 4, Node: none, Hold: fact.HoldOwner})
			}
			for range 20 {
				d := e.Decide(1000)
				for _, a := range copied(d.Actions) {
					if err := e.Commit(&a); err != nil {
						t.Fatal(err)
					}
				}
			}
			e.Forget(500)
			return e.Snapshot()
		}
		a, b := end(false), end(true)
		a, b = a.Settled(), b.Settled()
		if !bytes.Equal(a.AppendTo(nil), b.AppendTo(nil)) {
			t.Errorf("%s: %s", name, differ(a, b))
		}
	}
}

// TestRestoreAtOnce: several engines are restored from one state at once, and decide.
func TestRestoreAtOnce(t *testing.T) {
	for _, name := range []string{"contract", "horizon", "conservative", "multifactor"} {
		e, p := busy(t, name)
		s := e.Snapshot()
		want := s.Hash()
		var all sync.WaitGroup
		for range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				r, err := Restore(small(), p, Defaults{}, s)
				if err != nil {
					t.Error(err)
					return
				}
				for _, a := range copied(r.Decide(s.Now() + 100_000).Actions) {
					if err := r.Commit(&a); err != nil {
						t.Error(err)
					}
				}
				if s.Hash() != want {
					t.Error("the state has changed")
				}
			}()
		}
		all.Wait()
	}
}

// TestRestoreElsewhere: what does not fit another cluster is named.
func TestRestoreElsewhere(t *testing.T) {
	e, p := busy(t, "fifo-skip")
	s := e.Snapshot()
	for _, spec := range []*cluster.Spec{{Name: "pool", Count: 100}, {Name: "one", Levels: []string{"rack"}, Nodes: small().Nodes[:1]}, cluster.Uniform("u", 3, 4)} {
		if _, err := Restore(spec, p, Defaults{}, s); err == nil {
			t.Errorf("%s takes it", spec.Name)
		} else {
			t.Log(err)
		}
	}
}

// TestBrokenStates changes bytes of good states: they are refused, or make an engine.
func TestBrokenStates(t *testing.T) {
	tries := 300
	if testing.Short() {
		tries = 30
	}
	for k, name := range policy.Names() {
		e, p := busy(t, name)
		good := e.Snapshot().AppendTo(nil)
		mix := splitmix.Mix(uint64(k))
		taken := 0
		for range tries {
			bad := bytes.Clone(good)
			for range 1 + mix%3 {
				mix = splitmix.Mix(mix)
				bad[mix%uint64(len(bad))] = byte(mix >> 40)
			}
			s, err := ParseState(bad)
			if err != nil {
				continue
			}
			for _, spec := range []*cluster.Spec{small(), {Name: "pool", Count: 9}} {
				if e, err := Restore(spec, p, Defaults{}, s); err == nil {
					e.Snapshot()
					taken++
				}
			}
		}
		t.Logf("%s: %d of %d were taken", name, taken, tries)
	}
}
