package live

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

const (
	// firstBackOff is how long a job waits after a failed start, twice as long after each
	// further one up to longestBackOff; after mostFailures in a row an operator has to look.
	firstBackOff   = 10 * workload.Second
	longestBackOff = 10 * workload.Minute
	mostFailures   = 6
	// failuresOfNode of different users within nodeWindow drain a node.
	failuresOfNode = 3
	nodeWindow     = 10 * workload.Minute
	// overdue is how long past its deadline an order is sent again.
	overdue = 15 * workload.Second
)

// follower does what follows from facts by itself: opens throttles, ends back-offs, drains
// nodes on which starts fail, and sends orders again that nobody answered. What it knows is
// rebuilt from the book.
type follower struct {
	d         *Daemon
	throttles throttles
	// alarms are holds that end by themselves, soonest first.
	alarms []alarm
	// idle is how many of them may be of jobs that have ended.
	idle int
	// failed are the last failed starts of each node.
	failed map[int32][]failure
	// blocked are the jobs that wait for another's end.
	blocked map[int32]bool
	// look is when orders without an answer are looked for next.
	look workload.Time
}

type alarm struct {
	at   workload.Time
	job  int32
	hold fact.HoldBy
}

type failure struct {
	at   workload.Time
	user string
}

func (w *follower) init(d *Daemon) {
	*w = follower{d: d, throttles: newThrottles(d.cfg.Limits.UserGPUs), failed: map[int32][]failure{}, blocked: map[int32]bool{}}
	for _, n := range d.book.alive {
		j := d.book.jobs[n]
		if j == nil || !j.Phase.Alive() {
			continue
		}
		w.throttles.file(j)
		if d.engine.StateOf(n) == "blocked" {
			w.blocked[n] = true
			d.book.move(j, Blocked)
			d.seen(n, d.clock.last)
		}
		if j.Holds>>fact.HoldBegin&1 == 1 {
			w.alarm(d.clock.of(unixMilli(numberLabel(j.Spec, LabelBegin))), n, fact.HoldBegin)
		}
		if j.Holds>>fact.HoldBackOff&1 == 1 {
			w.alarm(d.clock.last, n, fact.HoldBackOff)
		}
	}
}

func (w *follower) alarm(at workload.Time, job int32, hold fact.HoldBy) {
	i, _ := slices.BinarySearchFunc(w.alarms, at, func(a alarm, at workload.Time) int { return cmp.Compare(a.at, at) })
	w.alarms = slices.Insert(w.alarms, i, alarm{at, job, hold})
}

// forgetAlarms takes out those of jobs that have ended, once they are many.
func (w *follower) forgetAlarms(j *Job) {
	if j.Holds&(1<<fact.HoldBegin|1<<fact.HoldBackOff) == 0 {
		return
	}
	if w.idle++; w.idle > 64 && w.idle > len(w.alarms)/2 {
		w.alarms = slices.DeleteFunc(w.alarms, func(a alarm) bool { x := w.d.book.jobs[a.job]; return x == nil || !x.Phase.Alive() })
		w.idle = 0
	}
}

// next is when something is due.
func (w *follower) next() workload.Time {
	t := workload.Never
	if len(w.alarms) > 0 {
		t = w.alarms[0].at
	}
	if w.d.book.counts[Starting]+w.d.book.counts[Stopping] > 0 {
		t = min(t, max(w.look, w.d.clock.last+overdue))
	}
	return t
}

// due does what is due at this instant.
func (w *follower) due(t *tx) {
	for len(w.alarms) > 0 && w.alarms[0].at <= t.now {
		a := w.alarms[0]
		w.alarms = w.alarms[1:]
		if j := w.d.book.jobs[a.job]; j != nil && j.Phase.Alive() && j.Holds>>a.hold&1 == 1 {
			_ = t.fact(fact.Fact{Kind: fact.JobReleased, Job: a.job, Node: -1, Hold: a.hold})
		}
	}
	w.unblock(t.now)
	w.d.book.dropKeys(t.now)
	if t.now >= w.look {
		w.look = t.now + overdue
		w.remind(t)
	}
}

// unblock notes which jobs no longer wait for another.
func (w *follower) unblock(now workload.Time) {
	for n := range w.blocked {
		j := w.d.book.jobs[n]
		if j == nil || j.Phase != Blocked {
			delete(w.blocked, n)
			continue
		}
		switch w.d.engine.StateOf(n) {
		case "blocked", "stuck": // a stuck one is refused by the decision that follows
		case "on-hold":
			w.d.book.move(j, Held)
			delete(w.blocked, n)
			w.d.seen(n, now)
		default:
			w.d.book.move(j, Waiting)
			delete(w.blocked, n)
			w.d.seen(n, now)
		}
	}
}

// remind sends orders again that should have been answered by now.
func (w *follower) remind(t *tx) {
	b := w.d.book
	if b.counts[Starting]+b.counts[Stopping] == 0 {
		return
	}
	latency := w.d.cfg.Assume.StartLatency
	for _, n := range b.alive {
		j := b.jobs[n]
		if j == nil || j.Phase != Starting && j.Phase != Stopping {
			continue
		}
		r := j.Run()
		var o world.Order
		switch {
		case j.Phase == Starting && t.now > r.Decided+latency+overdue:
			o = w.d.startOrder(n)
		case j.Phase == Stopping && t.now > r.Told+w.d.grace(j, r)+overdue:
			o = w.d.stopOrder(n)
		default:
			continue
		}
		w.d.log.Warn("no answer: the order is sent again", "order", o.Do.String(), "job", j.Spec.ID, "attempt", r.Attempt)
		t.orders = append(t.orders, o)
	}
}

// retry tells whether a job that failed is to be tried again.
func (w *follower) retry(j *Job) bool {
	return !j.Spec.Contract.NotResumable && int64(len(j.Runs)) <= numberLabel(j.Spec, LabelRetries)
}

// backOff keeps a job out of the queue for a while.
func (w *follower) backOff(t *tx, j *Job, why string) {
	wait := min(firstBackOff<<min(max(j.Failures-1, 0), 10), longestBackOff)
	if t.fact(fact.Fact{Kind: fact.JobHeld, Job: j.Number, Node: -1, Hold: fact.HoldBackOff, Text: why}) == nil {
		w.alarm(t.now+wait, j.Number, fact.HoldBackOff)
	}
}

// startFailed has the start tried again later, and takes a node out of use on which starts
// of several users failed in a short time.
func (w *follower) startFailed(t *tx, j *Job, node int32) {
	if j.Failures >= mostFailures {
		_ = t.fact(fact.Fact{Kind: fact.JobHeld, Job: j.Number, Node: -1, Hold: fact.HoldOperator, By: "escala", Text: "its start failed too often in a row"})
	} else {
		w.backOff(t, j, "its start failed")
	}
	if node < 0 {
		return
	}
	recent := slices.DeleteFunc(w.failed[node], func(f failure) bool { return f.at+nodeWindow < t.now || f.user == j.Spec.User })
	recent = append(recent, failure{t.now, j.Spec.User})
	w.failed[node] = recent
	if len(recent) >= failuresOfNode && !w.d.book.nodes[node].Drained {
		delete(w.failed, node)
		_ = t.fact(fact.Fact{Kind: fact.NodeDrained, Job: -1, Node: node, By: "escala", Text: "starts of three users failed there within ten minutes"})
	}
}
