package live

import (
	"slices"

	"github.com/escala-sched/escala/fact"
)

// throttles keep jobs out of the queue while enough of their like are in it: as many of an
// array as its owner wants at once, and as many GPUs of a user as the site allows. A job is in
// the queue from its release to its end, so what runs is never more than that. Jobs held by a
// throttle come back in the order in which they were submitted.
type throttles struct {
	arrays, users map[string]*throttle
	// userMilli is what a user may have in the queue, in milli-GPU; 0 = any amount.
	userMilli int64
}

// throttle is one: most of them may be in the queue, in jobs or milli-GPU.
type throttle struct {
	most, open int64
	// held are those that wait for their turn.
	held []int32
}

func newThrottles(userGPUs int) throttles {
	return throttles{arrays: map[string]*throttle{}, users: map[string]*throttle{}, userMilli: int64(userGPUs) * 1000}
}

// of are the throttles of a job, with what it counts in each.
func (t *throttles) of(j *Job) (out [2]*throttle, counts [2]int64) {
	if most := numberLabel(j.Spec, LabelThrottle); most > 0 {
		if id, _, ok := ArrayOf(j.Spec.ID); ok {
			out[0], counts[0] = find(t.arrays, id, most), 1
		}
	}
	if t.userMilli > 0 {
		out[1], counts[1] = find(t.users, j.Spec.User, t.userMilli), j.Spec.Need.TotalMilli()
	}
	return out, counts
}

func find(m map[string]*throttle, key string, most int64) *throttle {
	if m[key] == nil {
		m[key] = &throttle{most: most}
	}
	return m[key]
}

// admits tells whether a job may be in the queue. One that is larger than its user's limit may
// once nothing else of the user is.
func (t *throttles) admits(j *Job) bool {
	list, counts := t.of(j)
	for i, x := range list {
		if x != nil && x.open > 0 && x.open+counts[i] > x.most {
			return false
		}
	}
	return true
}

// file takes a job in, as it stands.
func (t *throttles) file(j *Job) {
	list, counts := t.of(j)
	for i, x := range list {
		switch {
		case x == nil:
		case throttled(j):
			x.held = append(x.held, j.Number)
		default:
			x.open += counts[i]
		}
	}
}

// pass takes a job out of those that are held, since it runs already; it counts however many there are.
func (t *throttles) pass(j *Job) {
	if !throttled(j) {
		return
	}
	list, counts := t.of(j)
	for i, x := range list {
		if x != nil {
			x.open += counts[i]
			x.held = slices.DeleteFunc(x.held, func(n int32) bool { return n == j.Number })
		}
	}
}

func throttled(j *Job) bool { return j.Holds>>fact.HoldThrottle&1 == 1 }

// ended takes a job out that came to its end, and lets in who may come in for it.
func (w *follower) ended(t *tx, j *Job) {
	list, counts := w.throttles.of(j)
	for i, x := range list {
		switch {
		case x == nil:
		case throttled(j): // withdrawn before its turn
			x.held = slices.DeleteFunc(x.held, func(n int32) bool { return n == j.Number })
		default:
			x.open -= counts[i]
		}
	}
	for _, x := range list {
		if x != nil {
			w.letIn(t, x)
		}
	}
	for _, m := range []map[string]*throttle{w.throttles.arrays, w.throttles.users} {
		id, _, _ := ArrayOf(j.Spec.ID)
		for _, key := range []string{id, j.Spec.User} {
			if x := m[key]; x != nil && x.open == 0 && len(x.held) == 0 {
				delete(m, key)
			}
		}
	}
}

// letIn releases those that wait for a throttle, the first first, while they may.
func (w *follower) letIn(t *tx, x *throttle) {
	for i := 0; i < len(x.held); {
		n := x.held[0+i]
		j := w.d.book.jobs[n]
		if j == nil || !j.Phase.Alive() || !throttled(j) {
			x.held = slices.Delete(x.held, i, i+1)
			continue
		}
		if !w.throttles.admits(j) {
			if x.open > 0 && x.open >= x.most {
				return
			}
			i++ // another throttle keeps it, or it is too large: those behind may be let in
			continue
		}
		list, counts := w.throttles.of(j)
		if t.fact(fact.Fact{Kind: fact.JobReleased, Job: n, Node: -1, Hold: fact.HoldThrottle}) != nil {
			i++
			continue
		}
		for k, y := range list {
			if y != nil {
				y.open += counts[k]
				y.held = slices.DeleteFunc(y.held, func(o int32) bool { return o == n })
			}
		}
	}
}
