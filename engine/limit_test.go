package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

const limited = `
order: [priority, submit]
blocking: skip
preemption: {by: priority, spare: {label: preemptible, value: "no"}}
limit: {teamUnpreemptible: 50%}
`

// lab is a world of one node that confirms each start at once and stops only when told to.
type lab struct {
	t       *testing.T
	e       *engine.Engine
	now     workload.Time
	jobs    []*workload.Job
	attempt map[int32]int32
	// holds and runs are the jobs that occupy GPUs; stopping lists the runs whose stop
	// is still to come.
	holds, runs map[int32]bool
	stopping    []int32
}

func newLab(t *testing.T, spec *cluster.Spec, text string) *lab {
	p, err := policy.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(spec, p, engine.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, e: e, attempt: map[int32]int32{}, holds: map[int32]bool{}, runs: map[int32]bool{}}
}

func (w *lab) apply(f fact.Fact) {
	w.t.Helper()
	f.At = w.now
	if f.Kind != fact.JobSubmitted {
		f.Attempt = w.attempt[f.Job]
	}
	if err := w.e.Apply(&f); err != nil {
		w.t.Fatalf("%s of job %d: %v", f.Kind, f.Job, err)
	}
}

// submit adds a job of a team; kept says that it is never to be stopped.
func (w *lab) submit(team string, gpus int32, priority int64, kept bool) int32 {
	j := &workload.Job{ID: fmt.Sprint(len(w.jobs)), Team: team, Submit: w.now, Priority: priority, Labels: map[string]string{"preemptible": "yes"}}
	if kept {
		j.Labels["preemptible"] = "no"
	}
	j.Need.GPUs = gpus
	w.jobs = append(w.jobs, j)
	n := int32(len(w.jobs) - 1)
	w.apply(fact.Fact{Kind: fact.JobSubmitted, Job: n, Submitted: j})
	return n
}

// decide carries decisions out until there is nothing more to do, and returns the
// actions as "start 3" and the like.
func (w *lab) decide() (did []string) {
	w.t.Helper()
	w.now += 1000
	for again := true; again; {
		d := w.e.Decide(w.now)
		again = d.Again
		for i := range d.Actions {
			a := &d.Actions[i]
			did = append(did, fmt.Sprint(a.Do, " ", a.Job))
			if err := w.e.Commit(a); err != nil {
				w.t.Fatal(err)
			}
		}
		for i := range d.Actions {
			switch a := &d.Actions[i]; a.Do {
			case fact.Hold:
				w.holds[a.Job] = true
			case fact.Start:
				delete(w.holds, a.Job)
				w.runs[a.Job] = true
				w.attempt[a.Job] = a.Attempt
				w.apply(fact.Fact{Kind: fact.JobStarted, Job: a.Job})
			case fact.Stop:
				w.stopping = append(w.stopping, a.Job)
			}
		}
	}
	return did
}

// leave lets the runs go that were told to.
func (w *lab) leave() {
	for _, n := range w.stopping {
		delete(w.runs, n)
		w.apply(fact.Fact{Kind: fact.JobStopped, Job: n, Cause: fact.CausePreempted})
	}
	w.stopping = nil
}

func (w *lab) finish(n int32) {
	delete(w.runs, n)
	w.stopping = slices.DeleteFunc(w.stopping, func(s int32) bool { return s == n })
	w.apply(fact.Fact{Kind: fact.JobFinished, Job: n})
}

// kept tells whether a job is never to be stopped.
func (w *lab) kept(n int32) bool { return w.jobs[n].Labels["preemptible"] == "no" }

func (w *lab) want(did []string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, did); diff != "" {
		w.t.Fatalf("actions (-want,+got):\n%s", diff)
	}
}

func (w *lab) why(n int32, want fact.Reason) {
	w.t.Helper()
	got, ok := w.e.Why(n)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		w.t.Fatalf("job %d waits (%t) since (-want,+got):\n%s", n, ok, diff)
	}
}

func overLimit(have, most int32) fact.Reason {
	return fact.Reason{Code: fact.TeamLimit, For: -1, Have: have, Want: most}
}

func TestTeamLimit(t *testing.T) {
	for name, spec := range map[string]*cluster.Spec{"nodes": cluster.Uniform("c", 2, 4), "pool": {Name: "c", Count: 8}} {
		t.Run(name, func(t *testing.T) {
			w := newLab(t, spec, limited)
			// Three in one decision: two fill team a's half, the third is over it; others pass.
			w.submit("a", 2, 0, true)
			w.submit("a", 2, 0, true)
			third := w.submit("a", 1, 0, true)
			w.submit("a", 1, 0, false)
			w.submit("b", 2, 0, true)
			w.want(w.decide(), "start 0", "start 1", "start 3", "start 4")
			w.why(third, overLimit(5, 4))
			// The next of its kind fares the same, and neither stops anybody.
			fourth := w.submit("a", 1, 9, true)
			w.want(w.decide())
			w.why(fourth, overLimit(5, 4))
			// When the team's own work ends there is room again: for the higher priority first.
			w.finish(0)
			w.want(w.decide(), "start 5", "start 2")
			// Work without the label is none of the limit's business.
			other := w.submit("a", 4, 0, false)
			w.want(w.decide())
			w.why(other, fact.Reason{Code: fact.TooFewFree, For: -1, Have: 1, Want: 4})
		})
	}
}

func TestSparedJobsAreNotStopped(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 1, 8), limited)
	w.submit("a", 4, 0, true)
	w.submit("a", 4, 0, false)
	w.want(w.decide(), "start 0", "start 1")
	// Only the half that is not spared can be freed.
	large := w.submit("b", 8, 9, false)
	w.want(w.decide())
	w.why(large, fact.Reason{Code: fact.NotFreeable, For: -1, Have: 4, Want: 8})
	w.submit("b", 4, 9, false)
	w.want(w.decide(), "hold 3", "stop 1")
}

// A job whose victims are leaving counts for its team already, and no longer when
// it is withdrawn.
func TestTeamLimitCountsClaims(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 1, 8), limited)
	w.submit("b", 8, 0, false)
	w.want(w.decide(), "start 0")
	w.submit("a", 3, 5, true)
	w.want(w.decide(), "hold 1", "stop 0")
	second := w.submit("a", 2, 5, true)
	w.want(w.decide())
	w.why(second, overLimit(5, 4))
	w.apply(fact.Fact{Kind: fact.JobCancelled, Job: 1})
	w.leave()
	w.want(w.decide(), "start 2")
	// While it shuts down it counts as well.
	w.apply(fact.Fact{Kind: fact.JobCancelled, Job: 2})
	w.want(w.decide(), "stop 2")
	third := w.submit("a", 3, 5, true)
	w.want(w.decide())
	w.why(third, overLimit(5, 4))
	w.stopping = []int32{2}
	w.leave()
	w.want(w.decide(), "start 3")
}

func TestTeamLimitRefusesWhatIsAboveItAlone(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 1, 8), limited)
	n := w.submit("a", 5, 0, true)
	w.submit("a", 5, 0, false)
	w.want(w.decide(), "refuse 0", "start 1")
	w.why(n, overLimit(5, 4))
}

// Without the limit the label spares, and nothing is capped.
func TestSpareWithoutLimit(t *testing.T) {
	w := newLab(t, cluster.Uniform("c", 1, 8), `preemption: {by: priority, spare: {label: preemptible, value: "no"}}`)
	w.submit("a", 8, 0, true)
	w.want(w.decide(), "start 0")
	n := w.submit("a", 8, 9, true)
	w.want(w.decide())
	w.why(n, fact.Reason{Code: fact.TooFewFree, For: -1, Want: 8})
}

// Whatever comes and goes, no team is above its limit at any moment, counted from
// the actions alone, nobody spared is stopped, and no job that could start waits.
func TestTeamLimitHolds(t *testing.T) {
	stops, capped := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newLab(t, cluster.Uniform("c", 2, 8), limited)
		for range 120 {
			switch r.IntN(5) {
			case 0, 1:
				w.submit([]string{"a", "b", "c"}[r.IntN(3)], []int32{1, 2, 4, 8}[r.IntN(4)], int64(r.IntN(3)), r.IntN(2) == 0)
			case 2:
				w.leave()
			default:
				if running := slices.Sorted(maps.Keys(w.runs)); len(running) > 0 {
					w.finish(running[r.IntN(len(running))])
				}
			}
			w.decide()
			held := map[string]int32{}
			for _, n := range slices.AppendSeq(slices.Collect(maps.Keys(w.holds)), maps.Keys(w.runs)) {
				if w.kept(n) {
					held[w.jobs[n].Team] += w.jobs[n].Need.GPUs
				}
			}
			for team, gpus := range held {
				if gpus > 8 {
					t.Fatalf("seed %d: team %s holds %d GPUs of 8", seed, team, gpus)
				}
			}
			for _, n := range w.stopping {
				if w.kept(n) {
					t.Fatalf("seed %d: job %d was stopped", seed, n)
				}
			}
			stops += len(w.stopping)
			if n, ok := w.e.CouldStart(); ok {
				t.Fatalf("seed %d: job %d could start and waits", seed, n)
			}
			for n := range w.jobs {
				why, waits := w.e.Why(int32(n))
				if waits && why.Code == fact.TeamLimit {
					capped++
					if j := w.jobs[n]; !w.kept(int32(n)) || why.Have != held[j.Team]+j.Need.GPUs || why.Want != 8 {
						t.Fatalf("seed %d: job %d waits since %+v, its team holds %d", seed, n, why, held[j.Team])
					}
				}
			}
		}
	}
	if stops == 0 || capped == 0 {
		t.Errorf("%d stops, %d jobs at the limit: these worlds test nothing", stops, capped)
	}
}
