package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// State is all that an [Engine] decides by, taken at one moment: [Restore] makes an engine
// of it that goes on as the one it was taken of. It holds no memory that only saves work
// (indexes, refusals, the steps of a profile), so engines that will do the same have equal
// states, and equal states have equal bytes, whatever led there.
//
// What the world has told of jobs that are alive is in it, their declarations included. Of
// those that have ended only their outcome is, by ID, and that until [Engine.Forget].
//
// A State does not change: several engines may be restored from one at once. It keeps the
// declarations of jobs and the budgets that the engine was told, by pointer.
type State struct {
	now, wake   workload.Time
	dirty       bool
	uncommitted int64
	// policy is the fingerprint of the one under which it was taken.
	policy [sha256.Size]byte
	// next is the number that the next job has if they come in order.
	next   int32
	forgot workload.Time
	// jobs are those alive, by number, and numbers that were left out; all other lists
	// name them by their place here.
	jobs          []savedJob
	past          []past
	down, drained []int32
	// running lists what runs by pool, where the order of that can decide.
	running  [][]int32
	claims   []claim
	refuse   []refusal
	stop     []int32
	promised []int32
	waits    []awaited
	services []service
	windows  []fact.Window
	learned  *place.Learned
	budgets  *budget.Tree
	epoch    workload.Time
	// What only some policies have; else nil.
	usage   *savedUsage
	plan    *savedPlan
	sharing *savedSharing
	ahead   *savedAhead
}

// refusal is one that is still to be told. Its reason names a job by number.
type refusal struct {
	job    int32
	reason fact.Reason
}

// awaited is a job that others wait for: on, or one of that ID that is not submitted yet.
type awaited struct {
	on  int32
	id  string
	who []dependent
}

// Now is the time of the last fact or decision.
func (s *State) Now() workload.Time { return s.now }

// Next is the number of the next job: those below were submitted, or left out.
func (s *State) Next() int32 { return s.next }

// Hash is the SHA-256 of [State.AppendTo], in hex.
func (s *State) Hash() string {
	sum := sha256.Sum256(s.AppendTo(nil))
	return hex.EncodeToString(sum[:])
}

// fingerprint tells policies apart that decide differently.
func fingerprint(p *policy.Policy) [sha256.Size]byte {
	q := *p
	q.Name, q.Description, q.Source, q.Estimates = "policy", "", "", policy.Estimates{}
	return sha256.Sum256(q.YAML())
}

// Snapshot returns the state as it is: O(jobs alive, and those that ended since the
// engine began or was restored). It changes nothing. It is best taken when the
// actions of the last decision are committed and carried out.
func (e *Engine) Snapshot() *State {
	s := &State{now: e.now, wake: e.wake, dirty: e.dirty, uncommitted: int64(e.uncommitted), policy: fingerprint(e.pol),
		next: e.numbering.number(int32(len(e.jobs))), forgot: e.forgot, budgets: e.budgets, epoch: e.epoch, learned: e.placer.Learned()}
	t := &taking{e: e, s: s}
	t.jobs()
	for n := range e.down {
		if e.down[n] {
			s.down = append(s.down, int32(n))
		}
		if e.drained[n] {
			s.drained = append(s.drained, int32(n))
		}
	}
	for i := range e.windows.list {
		s.windows = append(s.windows, cloneWindow(&e.windows.list[i]))
	}
	for i := range e.claims {
		s.claims = append(s.claims, t.claim(&e.claims[i]))
	}
	for i := range e.toRefuse {
		s.refuse = append(s.refuse, refusal{t.at[e.toRefuse[i].Job], e.toRefuse[i].Reason})
	}
	s.stop, s.promised = t.alive(e.toStop), t.alive(e.promised)
	t.waits()
	t.services()
	if e.order.shares != nil {
		t.usage()
	}
	if e.plans {
		t.plan()
	}
	if e.sharing != nil {
		t.sharing()
	}
	if e.ahead != nil {
		t.ahead()
	}
	if e.ordered() {
		for p := range e.pools {
			s.running = append(s.running, t.alive(e.pools[p].running))
		}
	}
	return s
}

// ordered tells whether the order of what runs in a pool can decide: fractions are added
// up in it, and equals taken.
func (e *Engine) ordered() bool { return e.sharing != nil || e.order.shares != nil }

// taking is a snapshot in the making.
type taking struct {
	e *Engine
	s *State
	// at is the place in the state of each job of the engine, none if it has none.
	at []int32
}

// alive translates a list of jobs, and leaves out those that have ended.
func (t *taking) alive(list []int32) []int32 {
	var out []int32
	for _, n := range list {
		if k := t.at[n]; k != none {
			out = append(out, k)
		}
	}
	return out
}

// set is the same for a list in no order.
func (t *taking) set(list []int32) []int32 {
	out := t.alive(list)
	slices.Sort(out)
	return out
}

func (t *taking) claim(c *claim) claim {
	x := *c
	x.job, x.grants, x.missing, x.parts = t.at[c.job], clonePlace(c.grants), slices.Clone(c.missing), clonePlace(c.parts)
	return x
}

// waits saves who waits for whose end.
func (t *taking) waits() {
	d := &t.e.deps
	who := func(list []dependent) (out []dependent) {
		for _, w := range list {
			if t.e.jobs[w.job].state == blocked {
				out = append(out, dependent{t.at[w.job], w.when})
			}
		}
		return out
	}
	add := func(x awaited) {
		if len(x.who) > 0 {
			t.s.waits = append(t.s.waits, x)
		}
	}
	for _, on := range sortedKeys(d.dependents) {
		if t.at[on] != none {
			add(awaited{on: t.at[on], who: who(d.dependents[on])})
		}
	}
	for _, id := range sortedKeys(d.early) {
		add(awaited{on: none, id: id, who: who(d.early[id])})
	}
}

// services saves what is known of applications.
func (t *taking) services() {
	for _, s := range t.e.services {
		x := service{job: t.at[s.job], demand: s.demand, told: s.told}
		every := t.e.jobs[s.job].spec.Service.SwapEvery
		for _, w := range s.swaps {
			if w.at+every > t.e.now {
				x.swaps = append(x.swaps, w)
			}
		}
		for _, v := range s.victims {
			if t.e.leaves(v) {
				x.victims = append(x.victims, victimRun{t.at[v.job], v.attempt})
			}
		}
		t.s.services = append(t.s.services, x)
	}
}
