package whatif

import (
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// throttleLabel is how many jobs of an array may be in the queue at once.
const throttleLabel = "escala.throttle"

// throttle does again in a simulation what the live scheduler does for arrays whose owners
// want only so many of their jobs at once: the others are held, and let in as those before
// them end.
type throttle struct {
	c      *scene
	arrays map[string]*array
	// out are the jobs that it holds.
	out map[int32]bool
}

type array struct {
	most, open int
	held       []int32
}

func newThrottle(c *scene) *throttle {
	t := &throttle{c: c, arrays: map[string]*array{}, out: map[int32]bool{}}
	for _, x := range c.state.Alive() {
		a := t.of(x.Number)
		if a == nil || x.State == "refused" || x.State == "stuck" {
			continue
		}
		if x.Holds>>fact.HoldThrottle&1 == 1 {
			t.out[x.Number] = true
			a.held = append(a.held, x.Number)
		} else {
			a.open++
		}
	}
	return t
}

// arrayOf is the array that a job is throttled with.
func arrayOf(j *workload.Job) (id string, ok bool) {
	id, index, ok := strings.Cut(j.ID, "_")
	if _, err := strconv.Atoi(index); !ok || err != nil {
		return "", false
	}
	most, err := strconv.Atoi(j.Labels[throttleLabel])
	return id, err == nil && most > 0
}

func (t *throttle) of(n int32) *array {
	j := &t.c.w.Jobs[n]
	id, ok := arrayOf(j)
	if !ok {
		return nil
	}
	if t.arrays[id] == nil {
		most, _ := strconv.Atoi(j.Labels[throttleLabel])
		t.arrays[id] = &array{most: most}
	}
	return t.arrays[id]
}

// follow is told of submissions and ends, see sim.Options.
func (t *throttle) follow(n int32, ended bool) []fact.Fact {
	a := t.of(n)
	if a == nil {
		return nil
	}
	if !ended {
		if a.open < a.most {
			a.open++
			return nil
		}
		t.out[n] = true
		a.held = append(a.held, n)
		return []fact.Fact{{Kind: fact.JobHeld, Job: n, Node: -1, Hold: fact.HoldThrottle}}
	}
	if t.out[n] { // withdrawn before its turn
		delete(t.out, n)
		a.held = slices.DeleteFunc(a.held, func(o int32) bool { return o == n })
	} else {
		a.open--
	}
	var list []fact.Fact
	for a.open < a.most && len(a.held) > 0 {
		next := a.held[0]
		a.held = a.held[1:]
		delete(t.out, next)
		a.open++
		list = append(list, fact.Fact{Kind: fact.JobReleased, Job: next, Node: -1, Hold: fact.HoldThrottle})
	}
	return list
}
