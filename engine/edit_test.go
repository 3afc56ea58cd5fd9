package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// TestEdits: another priority is another place in the queue, at once where a job waits and later where it is on hold or waits for
// another; what runs keeps its own. On a cluster of one GPU job 0 runs, 1 waits for its end, 2 and 3 wait.
func TestEdits(t *testing.T) {
	type edit struct {
		job      int32
		priority int64
		bad      bool
	}
	for _, c := range []struct {
		name  string
		pol   string
		edits []edit
		// starts is the order in which the others start.
		starts []int32
	}{
		{"nothing", "priority", nil, []int32{1, 2, 3}},
		{"the last goes first", "priority", []edit{{job: 3, priority: 5}}, []int32{3, 1, 2}},
		{"the first goes last", "priority", []edit{{job: 2, priority: -5}}, []int32{1, 3, 2}},
		{"one that waits for another", "priority", []edit{{job: 1, priority: -1}}, []int32{2, 3, 1}},
		{"there and back", "priority", []edit{{job: 3, priority: 5}, {job: 3, priority: 0}}, []int32{1, 2, 3}},
		{"told twice", "priority", []edit{{job: 3, priority: 5}, {job: 3, priority: 5, bad: true}}, []int32{3, 1, 2}},
		{"as it is", "priority", []edit{{job: 2, priority: 0, bad: true}}, []int32{1, 2, 3}},
		{"one that runs, and none", "priority", []edit{{job: 0, priority: 5, bad: true}, {job: 4, bad: true}, {job: -1, bad: true}}, []int32{1, 2, 3}},
		{"a policy that does not read it", "fifo", []edit{{job: 3, priority: 5}}, []int32{1, 2, 3}},
		{"within an account", "contract-no-dates", []edit{{job: 3, priority: 5}}, []int32{3, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, ok := policy.Shipped(c.pol)
			if !ok {
				t.Fatal("there is no such policy")
			}
			e, err := New(&cluster.Spec{Name: "one", Count: 1}, p, Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			var specs []*workload.Job
			for n, id := range []string{"a", "b", "c", "d"} {
				j := &workload.Job{ID: id, Team: "x", Submit: int64(n), Need: workload.Need{GPUs: 1}, Contract: workload.Contract{HasMinRuntime: true, MinRuntime: workload.Hour}}
				if n == 1 {
					j.After = []workload.Dependency{{Job: "a"}}
				}
				specs = append(specs, j)
				if err := e.Apply(&fact.Fact{Kind: fact.JobSubmitted, At: int64(n), Job: int32(n), Node: none, Submitted: j}); err != nil {
					t.Fatal(err)
				}
				decideAll(t, e, int64(n))
			}
			for _, x := range c.edits {
				err := e.Apply(&fact.Fact{Kind: fact.JobEdited, At: 10, Job: x.job, Node: none, Priority: x.priority})
				if x.bad != errors.Is(err, ErrUnknown) || !x.bad && err != nil {
					t.Errorf("%+v: %v", x, err)
				}
			}
			for _, j := range specs {
				if j.Priority != 0 {
					t.Error("what was submitted was written to")
				}
			}
			e = restored(t, &cluster.Spec{Name: "one", Count: 1}, p, e)
			var got []int32
			last := int32(0)
			for at := int64(20); len(got) < 3; at += 10 {
				if err := e.Apply(&fact.Fact{Kind: fact.JobFinished, At: at, Job: last, Attempt: 1, Node: none}); err != nil {
					t.Fatal(err)
				}
				decideAll(t, e, at)
				last = none
				for n := range e.jobs {
					if s := e.jobs[n].state; s == starting || s == running {
						last = int32(n)
					}
				}
				if last == none {
					t.Fatalf("none starts after %v", got)
				}
				got = append(got, last)
			}
			if !slices.Equal(got, c.starts) {
				t.Errorf("they start in the order %v, want %v", got, c.starts)
			}
		})
	}
}
