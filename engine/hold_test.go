package engine

import (
	"errors"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// TestHolds: what a hold, or a release, makes of a job in each state. On a cluster of one
// GPU job 0 runs, 1 waits for its end, 2 and 3 wait.
func TestHolds(t *testing.T) {
	held, released := fact.JobHeld, fact.JobReleased
	type told struct {
		kind fact.Kind
		job  int32
		hold fact.HoldBy
		bad  bool
	}
	for _, c := range []struct {
		name  string
		facts []told
		// states of the jobs after it, and who starts when job 0 has ended.
		states [4]state
		starts int32
	}{
		{"nothing", nil, [4]state{running, blocked, waiting, waiting}, 1},
		{"one that waits", []told{{kind: held, job: 2}}, [4]state{running, blocked, onHold, waiting}, 1},
		{"the first, and back", []told{{kind: held, job: 2}, {kind: released, job: 2}}, [4]state{running, blocked, waiting, waiting}, 1},
		{"two holds, one released", []told{{kind: held, job: 2}, {kind: held, job: 2, hold: fact.HoldBegin}, {kind: released, job: 2}}, [4]state{running, blocked, onHold, waiting}, 1},
		{"two holds, both released", []told{{kind: held, job: 2}, {kind: held, job: 2, hold: fact.HoldBegin}, {kind: released, job: 2}, {kind: released, job: 2, hold: fact.HoldBegin}},
			[4]state{running, blocked, waiting, waiting}, 1},
		{"told twice", []told{{kind: held, job: 2}, {kind: held, job: 2, bad: true}}, [4]state{running, blocked, onHold, waiting}, 1},
		{"released without a hold", []told{{kind: released, job: 2, bad: true}}, [4]state{running, blocked, waiting, waiting}, 1},
		{"released for another reason", []told{{kind: held, job: 2}, {kind: released, job: 2, hold: fact.HoldThrottle, bad: true}}, [4]state{running, blocked, onHold, waiting}, 1},
		{"one that waits for another", []told{{kind: held, job: 1}}, [4]state{running, blocked, waiting, waiting}, 2},
		{"one that waits for another, and back", []told{{kind: held, job: 1}, {kind: released, job: 1}}, [4]state{running, blocked, waiting, waiting}, 1},
		{"one that runs", []told{{kind: held, job: 0}}, [4]state{running, blocked, waiting, waiting}, 1},
		{"all", []told{{kind: held, job: 1}, {kind: held, job: 2}, {kind: held, job: 3}}, [4]state{running, blocked, onHold, onHold}, none},
		{"one that is not there", []told{{kind: held, job: 4, bad: true}, {kind: held, job: -1, bad: true}}, [4]state{running, blocked, waiting, waiting}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := policy.Shipped("fifo")
			e, err := New(&cluster.Spec{Name: "one", Count: 1}, p, Defaults{})
			if err != nil {
				t.Fatal(err)
			}
			tell := func(f fact.Fact) error { return e.Apply(&f) }
			for n, id := range []string{"a", "b", "c", "d"} {
				j := &workload.Job{ID: id, Submit: int64(n), Need: workload.Need{GPUs: 1}}
				if n == 1 {
					j.After = []workload.Dependency{{Job: "a"}}
				}
				if err := tell(fact.Fact{Kind: fact.JobSubmitted, At: int64(n), Job: int32(n), Submitted: j}); err != nil {
					t.Fatal(err)
				}
				decideAll(t, e, int64(n))
			}
			for _, f := range c.facts {
				err := tell(fact.Fact{Kind: f.kind, At: 10, Job: f.job, Hold: f.hold})
				if errors.Is(err, ErrUnknown) != f.bad {
					t.Errorf("%s %s of job %d: %v", f.kind, f.hold, f.job, err)
				}
				decideAll(t, e, 10)
			}
			for n, want := range c.states {
				if got := e.jobs[n].state; got != want {
					t.Errorf("job %d is in state %s, want %s", n, stateNames[got], stateNames[want])
				}
			}
			if err := tell(fact.Fact{Kind: fact.JobFinished, At: 20, Job: 0, Attempt: 1}); err != nil {
				t.Fatal(err)
			}
			if got := decideAll(t, e, 20); got != c.starts {
				t.Errorf("job %d starts, want %d", got, c.starts)
			}
		})
	}
}

// decideAll decides until nothing follows, confirms starts, and returns the last job that
// started.
func decideAll(t *testing.T, e *Engine, now workload.Time) int32 {
	t.Helper()
	last := none
	for again := true; again; {
		d := e.Decide(now)
		again = d.Again
		for _, a := range copied(d.Actions) {
			if err := e.Commit(&a); err != nil {
				t.Fatal(err)
			}
			if a.Do == fact.Start {
				last = a.Job
				if err := e.Apply(&fact.Fact{Kind: fact.JobStarted, At: now, Job: a.Job, Attempt: a.Attempt}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return last
}

// TestHoldOfAStoppedJob: a job that is held while it runs is so once it has been stopped, and
// a place that is being cleared for one that is held is given back.
func TestHoldOfAStoppedJob(t *testing.T) {
	p, _ := policy.Shipped("priority")
	e, err := New(&cluster.Spec{Name: "one", Count: 1}, p, Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(f fact.Fact) {
		t.Helper()
		if err := e.Apply(&f); err != nil {
			t.Fatal(err)
		}
	}
	low, high := &workload.Job{ID: "low", Need: workload.Need{GPUs: 1}}, &workload.Job{ID: "high", Submit: 1, Priority: 1, Need: workload.Need{GPUs: 1}}
	tell(fact.Fact{Kind: fact.JobSubmitted, Job: 0, Submitted: low})
	decideAll(t, e, 0)
	tell(fact.Fact{Kind: fact.JobSubmitted, At: 1, Job: 1, Submitted: high})
	decideAll(t, e, 1)
	if e.jobs[0].state != stopping || e.jobs[1].state != claiming {
		t.Fatalf("states %d and %d", e.jobs[0].state, e.jobs[1].state)
	}
	tell(fact.Fact{Kind: fact.JobHeld, At: 2, Job: 0, Hold: fact.HoldOperator})
	tell(fact.Fact{Kind: fact.JobHeld, At: 2, Job: 1, Hold: fact.HoldOwner})
	if e.jobs[1].state != onHold || len(e.claims) != 0 || e.Gauge().Held != 0 {
		t.Errorf("the held job is in state %d, with %d claims", e.jobs[1].state, len(e.claims))
	}
	tell(fact.Fact{Kind: fact.JobStopped, At: 3, Job: 0, Attempt: 1, Cause: fact.CausePreempted})
	if got := decideAll(t, e, 3); got != none || e.jobs[0].state != onHold {
		t.Errorf("job %d starts, the stopped one is in state %d", got, e.jobs[0].state)
	}
	if r, ok := e.Why(0); !ok || r.Code != fact.Held || r.Want != 1<<fact.HoldOperator {
		t.Errorf("why it waits: %+v", r)
	}
	tell(fact.Fact{Kind: fact.JobReleased, At: 4, Job: 0, Hold: fact.HoldOperator})
	if got := decideAll(t, e, 4); got != 0 {
		t.Errorf("job %d starts, want the released one", got)
	}
}
