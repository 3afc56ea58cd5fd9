package live

import (
	"slices"
	"sync"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// keepEnded is how many ended jobs the book remembers; older ones are in the store.
const keepEnded = 10_000

// Book is what people ask about. It is folded from the journal's lines by the loop and
// read by everybody: readers get copies.
type Book struct {
	mu    sync.RWMutex
	now   workload.Time
	jobs  map[int32]*Job
	byID  map[string]int32
	next  int32
	alive []int32 // by number; those that ended are taken out now and then
	gone  int
	ended []int32 // the last ones, oldest first; as many as keep
	keep  int
	nodes []Node
	// windows are those that are not over and the last of those that are, by when they were set.
	windows []Window
	users   map[string]*Usage
	// reals are runs that go on under another scheduler, of jobs that have ended here.
	reals map[int32]Real
	keys  map[string]keyed
	// given are the keys in the order of their times.
	given []given
	// budgets are those in force, with who set them.
	budgets   *budget.Tree
	budgetsBy string
	version   int64
	counts    [phases]int
	spec      *cluster.Spec
}

type given struct {
	at  workload.Time
	key string
}

// key remembers what an idempotency key was used for.
func (b *Book) key(name string, k keyed) {
	b.keys[name] = k
	b.given = append(b.given, given{k.At, name})
}

// dropKeys forgets those that no longer hold.
func (b *Book) dropKeys(now workload.Time) {
	n := 0
	for n < len(b.given) && b.given[n].at+keyFor <= now {
		if g := b.given[n]; b.keys[g.key].At == g.at { // else it was used again
			delete(b.keys, g.key)
		}
		n++
	}
	if b.given = b.given[n:]; len(b.given) == 0 {
		b.given = nil
	}
}

// Node is what is known of a node.
type Node struct {
	Down, Drained bool
	// By is who drained it, Text why; Since is when it last changed.
	By, Text string
	Since    workload.Time
	// Runs are the jobs that have GPUs there, by number.
	Runs []int32
}

// Usage is what a user has in the system.
type Usage struct {
	Alive, Running int
	// jobs are those that are alive, by number; those that ended are taken out now and then.
	jobs []int32
}

// NewBook returns an empty book of a cluster.
func NewBook(spec *cluster.Spec) *Book {
	b := &Book{jobs: map[int32]*Job{}, byID: map[string]int32{}, users: map[string]*Usage{}, reals: map[int32]Real{}, keys: map[string]keyed{}, spec: spec}
	b.nodes = make([]Node, max(len(spec.Nodes), 1))
	for i := range b.nodes {
		b.nodes[i].Since = workload.Unknown
	}
	b.keep = keepEnded
	return b
}

// Fact takes in what happened. The caller holds the lock.
func (b *Book) fact(f *fact.Fact) {
	b.now = f.At
	switch f.Kind {
	case fact.BudgetsChanged:
		b.budgets, b.budgetsBy = f.Budgets, f.By
		b.version++
		return
	case fact.WindowSet, fact.WindowLifted:
		b.windowChanged(f)
		return
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		b.node(f)
		return
	case fact.JobSubmitted:
		b.submitted(f)
		return
	case fact.JobObserved:
		b.observed(f)
		return
	}
	j := b.jobs[f.Job]
	if j == nil {
		return
	}
	switch f.Kind {
	case fact.JobStarted:
		if r := j.Run(); r != nil && r.Attempt == f.Attempt {
			r.Up = f.At
			j.Failures, j.Lost = 0, false
			if j.Phase == Starting {
				b.move(j, Running)
			}
		}
	case fact.StartFailed:
		j.Failures++
		b.left(j, f)
		b.wait(j)
	case fact.JobFinished:
		b.left(j, f)
		j.Kept, j.Exit, j.Text = f.Kept, f.Exit, f.Text
		b.end(j, f.At, f.Outcome)
	case fact.JobStopped:
		b.stopped(j, f)
	case fact.JobCheckpointed:
		j.Kept = f.Kept
	case fact.JobHeld:
		j.Holds |= 1 << f.Hold
		j.HeldBy, j.HeldText = f.By, f.Text
		if j.Phase == Waiting || j.Phase == Clearing {
			j.Promised = 0
			b.move(j, Held)
		}
	case fact.JobEdited:
		spec := *j.Spec // who has the other may read it meanwhile
		spec.Priority = f.Priority
		j.Spec = &spec
	case fact.JobReleased:
		j.Holds &^= 1 << f.Hold
		if j.Holds == 0 && j.Phase == Held {
			b.move(j, Waiting)
		}
	case fact.JobCancelled:
		j.EndedBy, j.Text = f.By, f.Text
		switch j.Phase {
		case Starting, Running, Stopping: // its run ends first
		default:
			b.end(j, f.At, workload.OutcomeCancelled)
		}
	case fact.LostSight:
		j.Lost = true
	case fact.Found:
		j.Lost = false
	case fact.SessionActive:
		if j.Phase == Parked {
			b.wait(j)
		}
	}
}

func (b *Book) submitted(f *fact.Fact) {
	j := &Job{Number: f.Job, Spec: f.Submitted, Ended: workload.Unknown}
	b.next = max(b.next, f.Job+1)
	b.enter(j)
}

// enter files a job that is alive.
func (b *Book) enter(j *Job) {
	b.jobs[j.Number] = j
	b.byID[j.Spec.ID] = j.Number
	b.alive = append(b.alive, j.Number)
	b.counts[j.Phase]++
	u := b.user(j)
	u.Alive++
	u.jobs = append(u.jobs, j.Number)
}

func (b *Book) user(j *Job) *Usage {
	u := b.users[j.Spec.User]
	if u == nil {
		u = &Usage{}
		b.users[j.Spec.User] = u
	}
	return u
}

func (b *Book) move(j *Job, to Phase) {
	b.counts[j.Phase]--
	b.counts[to]++
	j.Phase = to
}

// wait puts a job back into the queue.
func (b *Book) wait(j *Job) {
	if j.Holds != 0 {
		b.move(j, Held)
		return
	}
	b.move(j, Waiting)
}

// left ends the present run.
func (b *Book) left(j *Job, f *fact.Fact) {
	r := j.Run()
	if r == nil || r.Attempt != f.Attempt || r.Left != workload.Unknown {
		return
	}
	r.Left, r.End, r.Cause, r.Outcome, r.Exit, r.Text = f.At, f.Kind, f.Cause, f.Outcome, f.Exit, f.Text
	r.Kept, r.Lost, r.Restart = f.Kept, f.Lost, f.Restart
	b.user(j).Running--
	b.unplace(j.Number, r.Place)
}

func (b *Book) stopped(j *Job, f *fact.Fact) {
	up := j.Run() != nil && j.Run().Up != workload.Unknown
	b.left(j, f)
	j.Kept, j.Exit = f.Kept, f.Exit
	switch {
	case f.Cause == fact.CauseCancelled || j.EndedBy != "":
		b.end(j, f.At, workload.OutcomeCancelled)
	case f.Cause == fact.CauseParked:
		b.move(j, Parked)
	case j.Spec.Contract.NotResumable && up && f.Cause != fact.CauseNodeFailure:
		b.end(j, f.At, workload.OutcomePreempted)
	default:
		b.wait(j)
	}
}

func (b *Book) end(j *Job, at workload.Time, o workload.Outcome) {
	b.move(j, Ended)
	j.Outcome = o
	b.retire(j, at)
}

// retire takes a job out of those that are alive.
func (b *Book) retire(j *Job, at workload.Time) {
	j.Ended = at
	if j.Real != nil && j.Real.Open() {
		b.reals[j.Number] = *j.Real
	}
	if u := b.user(j); u.Alive == 1 {
		delete(b.users, j.Spec.User)
	} else if u.Alive--; len(u.jobs) > 2*u.Alive+64 {
		u.jobs = slices.DeleteFunc(u.jobs, func(n int32) bool { return b.jobs[n] == nil || !b.jobs[n].Phase.Alive() })
	}
	if b.gone++; b.gone > 256 && b.gone > len(b.alive)/4 {
		b.alive = slices.DeleteFunc(b.alive, func(n int32) bool { return b.jobs[n] == nil || !b.jobs[n].Phase.Alive() })
		b.gone = 0
	}
	b.remember(j)
}

// remember keeps an ended job, and forgets the oldest of too many.
func (b *Book) remember(j *Job) {
	b.ended = append(b.ended, j.Number)
	for len(b.ended) > b.keep {
		if old := b.jobs[b.ended[0]]; old != nil {
			b.counts[old.Phase]--
			if b.byID[old.Spec.ID] == old.Number { // a name may come back
				delete(b.byID, old.Spec.ID)
			}
			delete(b.jobs, old.Number)
		}
		b.ended = b.ended[1:]
	}
}

// action takes in what was decided. The caller holds the lock.
func (b *Book) action(a *fact.Action) {
	j := b.jobs[a.Job]
	if b.now = a.At; j == nil {
		return
	}
	switch a.Do {
	case fact.Start:
		j.Runs = append(j.Runs, JobRun{Attempt: a.Attempt, Decided: a.At, Up: workload.Unknown, Left: workload.Unknown, Told: workload.Unknown, StopFor: -1,
			Place: slices.Clone(a.Place), Count: a.Count, Milli: a.Milli, Tasks: a.Tasks, Protected: a.Until, Unallocated: a.Unallocated, Why: a.Reason})
		j.Promised = 0
		b.move(j, Starting)
		b.user(j).Running++
		for _, g := range j.Run().Place {
			if n := &b.nodes[g.Node]; !slices.Contains(n.Runs, a.Job) {
				n.Runs = append(n.Runs, a.Job)
			}
		}
	case fact.Stop:
		if r := j.Run(); r != nil {
			r.Told, r.StopFor, r.StopWhy, r.Deadline = a.At, a.For, a.Reason, a.Until
			b.move(j, Stopping)
		}
	case fact.Hold:
		b.move(j, Clearing)
	case fact.Release:
		j.Promised = 0
		if j.Phase == Clearing {
			b.move(j, Waiting)
		}
	case fact.Reserve:
		j.Promised = a.Until
	case fact.Refuse:
		j.Refused = a.Reason
		b.move(j, Refused)
		b.retire(j, a.At)
	case fact.Uncharge:
		if r := j.Run(); r != nil {
			r.Unallocated, r.Protected = true, 0
		}
	case fact.Resize:
		if r := j.Run(); r != nil {
			b.unplace(a.Job, r.Place)
			r.Place, r.Count, r.Milli = slices.Clone(a.Place), a.Count, a.Milli
			for _, g := range r.Place {
				b.nodes[g.Node].Runs = append(b.nodes[g.Node].Runs, a.Job)
			}
		}
	}
}

func (b *Book) unplace(job int32, place []fact.Grant) {
	for _, g := range place {
		n := &b.nodes[g.Node]
		n.Runs = slices.DeleteFunc(n.Runs, func(r int32) bool { return r == job })
	}
}

func (b *Book) node(f *fact.Fact) {
	n := &b.nodes[f.Node]
	n.Since = f.At
	switch f.Kind {
	case fact.NodeDown:
		n.Down, n.Text = true, f.Text
	case fact.NodeUp:
		n.Down, n.Text = false, f.Text
	case fact.NodeDrained:
		n.Drained, n.By, n.Text = true, f.By, f.Text
	case fact.NodeResumed:
		n.Drained, n.By, n.Text = false, "", ""
	}
}
