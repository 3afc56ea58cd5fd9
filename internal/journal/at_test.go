package journal

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// counter counts what it is told, and asks about the job each action is about.
type counter struct {
	t                    *testing.T
	facts, before, after int64
	last                 workload.Time
}

func (c *counter) Fact(_ *engine.Engine, f *fact.Fact) { c.facts, c.last = c.facts+1, f.At }

func (c *counter) Before(e *engine.Engine, a *fact.Action) {
	c.before++
	c.ask(e, a)
}

func (c *counter) After(e *engine.Engine, a *fact.Action) {
	c.after++
	c.ask(e, a)
}

func (c *counter) ask(e *engine.Engine, a *fact.Action) {
	if a.At < c.last {
		c.t.Errorf("%s of job %d at %d after %d", a.Do, a.Job, a.At, c.last)
	}
	c.last = a.At
	if _, ok := e.Explain(a.Job); !ok {
		c.t.Errorf("job %d of an action is unknown", a.Job)
	}
}

// TestAt folds journals of all policies up to several times. Each job that waits has
// a rank of its own and a reason, those ahead of it have the ranks before, and
// looking changes nothing that is counted.
func TestAt(t *testing.T) {
	worlds := map[string]sim.Options{
		"pool":  {Workload: someJobs(1, 120, false), Cluster: &cluster.Spec{Name: "pool:40", Count: 40}},
		"nodes": {Workload: someJobs(3, 120, true), Cluster: lab(true), Assume: sim.Assumptions{RestartCost: 20 * workload.Second, Grace: 15 * workload.Second, StartLatency: 3 * workload.Second}},
	}
	for name, o := range worlds {
		o.Budgets = budget.Equal("equal", []string{"vision", "speech \"x\"", "größe"})
		for _, ref := range policy.Names() {
			t.Run(name+"/"+ref, func(t *testing.T) {
				o.Policy = shipped(t, ref)
				if !suits(o.Policy, o.Cluster) {
					t.Skip("needs nodes")
				}
				data, _ := record(t, o)
				for _, at := range []workload.Time{0, 7*workload.Minute + 1, 20 * workload.Minute, 41 * workload.Minute, workload.Never} {
					foldAt(t, data, at)
				}
			})
		}
	}
}

func foldAt(t *testing.T, data []byte, at workload.Time) {
	t.Helper()
	c := &counter{t: t, last: workload.Unknown}
	got, err := At(reader(t, data), at, c)
	if err != nil {
		t.Fatal(err)
	}
	if c.facts != got.Facts || c.before != got.Actions || c.after != got.Actions {
		t.Errorf("told of %d facts, %d and %d actions, not of %d and %d", c.facts, c.before, c.after, got.Facts, got.Actions)
	}
	if got.Next != nil && (got.Next.At <= at || got.Now != at) || at == workload.Never && (got.Next != nil || got.Now != c.last) {
		t.Errorf("at %d: folded up to %d, the next line is %+v", at, got.Now, got.Next)
	}
	e := got.Engine
	if g, want := e.Gauge(), gaugeAt(t, data, at); g != want {
		t.Errorf("at %d: the gauge is %+v, without looking %+v", at, g, want)
	}
	var byRank []int32
	for n := int32(0); ; n++ {
		x, ok := e.Explain(n)
		if !ok {
			break
		}
		if x.State != "waiting" {
			continue
		}
		if x.Rank < 1 || x.Rank > x.Waiting || !x.Waits || x.Why.Code == 0 {
			t.Fatalf("at %d: job %d is %+v", at, n, x)
		}
		for len(byRank) < x.Waiting {
			byRank = append(byRank, -1)
		}
		if byRank[x.Rank-1] != -1 {
			t.Fatalf("at %d: jobs %d and %d have rank %d", at, n, byRank[x.Rank-1], x.Rank)
		}
		byRank[x.Rank-1] = n
	}
	for i, n := range byRank {
		x, _ := e.Explain(n)
		if !slices.Equal(x.Ahead, byRank[max(i-10, 0):i]) {
			t.Errorf("at %d: ahead of job %d are %v, not %v", at, n, x.Ahead, byRank[:i])
		}
	}
}

// gaugeAt folds by hand, without looking.
func gaugeAt(t *testing.T, data []byte, at workload.Time) engine.Gauge {
	t.Helper()
	r := reader(t, data)
	p, err := newReplay(r)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && e.At > at {
			return p.out.Engine.Gauge()
		}
		if err == nil {
			err = p.entry(e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// idle watches nothing.
type idle struct{}

func (idle) Fact(*engine.Engine, *fact.Fact)     {}
func (idle) Before(*engine.Engine, *fact.Action) {}
func (idle) After(*engine.Engine, *fact.Action)  {}

// TestAtKeepsShares holds that telling the budgets again moves no account.
func TestAtKeepsShares(t *testing.T) {
	o := sim.Options{Workload: someJobs(3, 120, true), Cluster: lab(true), Policy: shipped(t, "contract"),
		Budgets: budget.Equal("equal", []string{"vision", "speech \"x\"", "größe"})}
	data, _ := record(t, o)
	for _, at := range []workload.Time{5 * workload.Minute, 20*workload.Minute + 1, 41 * workload.Minute} {
		got, err := At(reader(t, data), at, idle{})
		if err != nil {
			t.Fatal(err)
		}
		r := reader(t, data)
		p, err := newReplay(r)
		if err != nil {
			t.Fatal(err)
		}
		for {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e.At > at {
				break
			}
			if err := p.entry(e); err != nil {
				t.Fatal(err)
			}
		}
		p.out.Engine.Decided(at)
		for n := int32(0); ; n++ {
			x, ok := got.Engine.Explain(n)
			y, _ := p.out.Engine.Explain(n)
			if !ok {
				break
			}
			x.Account.Tree, y.Account.Tree = nil, nil
			if !reflect.DeepEqual(x.Account, y.Account) || x.Rank != y.Rank || x.Protected != y.Protected || x.Unallocated != y.Unallocated {
				t.Fatalf("at %d: job %d is\n%+v %+v, before it was looked again\n%+v %+v", at, n, x, x.Account, y, y.Account)
			}
		}
	}
}

// TestAtBeforeAnything folds nothing.
func TestAtBeforeAnything(t *testing.T) {
	data, _ := record(t, sim.Options{Workload: someJobs(1, 3, false), Cluster: lab(false), Policy: shipped(t, "fifo")})
	got, err := At(reader(t, data), -1, idle{})
	if err != nil || got.Now != workload.Unknown || got.Next == nil || got.Next.At < 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
