// Package legal checks a plan against the five rules of the horizon, cell by cell. It
// shares nothing with the planner but the types, so that a mistake there shows here.
//
//  1. A GPU serves at most one job in a step.
//  2. Real-time work stays between its minimum and its maximum; what runs keeps its GPUs.
//  3. Batch-like work holds a block of consecutive GPUs of the right size.
//  4. A real-time application changes at most so many GPUs between two steps.
//  5. Batch-like work that has started is not interrupted (or only as its contract says).
package legal

import (
	"fmt"

	"github.com/escala-sched/escala/horizon"
)

// Violation is a rule that a plan breaks.
type Violation struct {
	// Rule is its number, 0 for a plan that is not one of its problem at all.
	Rule int    `json:"rule"`
	Who  string `json:"who"`
	What string `json:"what"`
}

func (v Violation) String() string {
	if v.Rule == 0 {
		return fmt.Sprintf("%s: %s", v.Who, v.What)
	}
	return fmt.Sprintf("rule %d: %s: %s", v.Rule, v.Who, v.What)
}

// Check returns what the plan breaks; none = it is legal. Work that a problem marks
// as foreign is exempt from the rules on blocks.
func Check(p *horizon.Plan) []Violation {
	c := &checker{plan: p, q: p.Problem}
	c.cells = make([][]string, c.q.GPUs)
	for g := range c.cells {
		c.cells[g] = make([]string, c.q.Steps)
	}
	c.close()
	c.jobs()
	c.apps()
	return c.found
}

type checker struct {
	plan  *horizon.Plan
	q     *horizon.Problem
	cells [][]string // who is in each slot and step
	found []Violation
}

func (c *checker) say(rule int, who, format string, args ...any) {
	c.found = append(c.found, Violation{rule, who, fmt.Sprintf(format, args...)})
}

const closed = "(closed)"

func (c *checker) close() {
	for _, w := range c.q.Closed {
		for g := w.First; g < w.First+w.Count; g++ {
			for t := w.From; t < w.To && t < c.q.Steps; t++ {
				c.cells[g][t] = closed
			}
		}
	}
}

func (c *checker) put(who string, g, t int) {
	if at := c.cells[g][t]; at != "" {
		c.say(1, who, "is on GPU %d in step %d, where %s is", g, t, at)
	}
	c.cells[g][t] = who
}

func (c *checker) jobs() {
	stretches := make([][]horizon.Stretch, len(c.q.Jobs))
	for _, s := range c.plan.Placed {
		if s.Job < 0 || s.Job >= len(c.q.Jobs) {
			c.say(0, "plan", "has a stretch of job %d; there are %d", s.Job, len(c.q.Jobs))
			return
		}
		stretches[s.Job] = append(stretches[s.Job], s)
	}
	for i := range c.q.Jobs {
		c.job(&c.q.Jobs[i], stretches[i])
	}
}

func (c *checker) job(j *horizon.Job, stretches []horizon.Stretch) {
	if len(stretches) == 0 {
		if j.Running != nil && (j.MinSteps == 0 || j.Running.Elapsed < j.MinSteps) {
			c.say(2, j.ID, "runs, and is not in the plan")
		}
		return
	}
	work, before, whole := 0, 0, j.MinSteps == 0
	for n, s := range stretches {
		c.stretch(j, s)
		work += s.Steps - s.Restart
		goesOn := n == 0 && j.Running != nil && s.Start == 0 && s.Offset == j.Running.Offset
		if n > 0 && s.Start < before {
			c.say(5, j.ID, "is in two places in step %d", s.Start)
		}
		// A stretch that follows another at once on the same block is the same start.
		joined := n > 0 && s.Start == before && s.Offset == stretches[n-1].Offset && s.Restart == 0
		before = s.Start + s.Steps
		if whole {
			continue
		}
		first := n == 0 && j.Running == nil
		if !first && !goesOn && !joined && s.Restart != j.Restart {
			c.say(5, j.ID, "starts again in step %d with %d steps of restart; it needs %d", s.Start, s.Restart, j.Restart)
		}
	}
	switch {
	case work > j.Steps:
		c.say(5, j.ID, "runs %d steps; it has %d to do", work, j.Steps)
	case whole && len(stretches) > 1:
		c.say(5, j.ID, "is interrupted after step %d", stretches[0].Start+stretches[0].Steps-1)
	case whole && work != j.Steps:
		c.say(5, j.ID, "runs %d steps; it has %d to do", work, j.Steps)
	case !whole:
		c.protected(j, stretches)
	}
	if j.Running != nil {
		s := stretches[0]
		if pinned := whole || j.Running.Elapsed < j.MinSteps; pinned && (s.Start != 0 || s.Offset != j.Running.Offset) {
			c.say(2, j.ID, "runs on GPU %d, and is planned on GPU %d from step %d", j.Running.Offset, s.Offset, s.Start)
		}
	}
	if c.q.Reading.Complete && before > c.q.Steps && j.Running == nil {
		c.say(5, j.ID, "ends in step %d, after the horizon of %d", before, c.q.Steps)
	}
}

// protected checks that each start of an interruptible job lasts its minimum, or to the
// end of its work, or past the horizon.
func (c *checker) protected(j *horizon.Job, stretches []horizon.Stretch) {
	left := j.Steps
	for n := 0; n < len(stretches); {
		s := stretches[n]
		length, work := s.Steps, s.Steps-s.Restart
		if j.Running != nil && n == 0 && s.Start == 0 && s.Offset == j.Running.Offset && s.Restart == 0 {
			length += j.Running.Elapsed
		}
		m := n + 1
		for m < len(stretches) && stretches[m].Start == stretches[m-1].End() && stretches[m].Offset == s.Offset && stretches[m].Restart == 0 {
			length += stretches[m].Steps
			work += stretches[m].Steps
			m++
		}
		left -= work
		if end := stretches[m-1].End(); length < j.MinSteps && left > 0 && end < c.q.Steps {
			c.say(5, j.ID, "is stopped in step %d after %d steps; it is protected for %d", end, length, j.MinSteps)
		}
		n = m
	}
}

func (c *checker) stretch(j *horizon.Job, s horizon.Stretch) {
	asked := j.GPUs
	if j.Slots > asked {
		asked = j.Slots
	}
	size := asked
	if !c.q.Reading.AnySize {
		for size = 1; size < asked; size *= 2 {
		}
	}
	step := 1
	if j.Align > 0 {
		step = j.Align
	} else if !c.q.Reading.Unaligned && size&(size-1) == 0 {
		step = size
	}
	if s.Size != size {
		c.say(3, j.ID, "holds %d GPUs; its block is of %d", s.Size, size)
	}
	if s.Offset < 0 || s.Offset+s.Size > c.q.GPUs || s.Steps < 1 || s.Restart < 0 || s.Restart >= s.Steps {
		c.say(0, j.ID, "is on GPUs %d to %d for %d steps (%d of them restart)", s.Offset, s.Offset+s.Size-1, s.Steps, s.Restart)
		return
	}
	inherited := j.Running != nil && s.Start == 0 && s.Offset == j.Running.Offset
	if s.Start < j.Release || s.Start >= c.q.Steps {
		c.say(2, j.ID, "starts in step %d; it may from step %d on, inside the horizon", s.Start, j.Release)
	}
	exempt := inherited && j.Running.Foreign
	if !exempt && s.Offset%step != 0 {
		c.say(3, j.ID, "has a block of %d from GPU %d; it would begin at a multiple of %d", size, s.Offset, step)
	}
	if !exempt && j.Types != 0 && len(c.q.Types) > 0 {
		for g := s.Offset; g < s.Offset+s.Size; g++ {
			if t := c.q.Types[g]; j.Types>>t&1 == 0 || t != c.q.Types[s.Offset] {
				c.say(3, j.ID, "is on GPU %d, whose type %d it may not use there", g, t)
				break
			}
		}
	}
	for t := s.Start; t < s.Start+s.Steps && t < c.q.Steps; t++ {
		for g := s.Offset; g < s.Offset+s.Size; g++ {
			c.put(j.ID, g, t)
		}
	}
}

func (c *checker) apps() {
	if len(c.plan.Held) != len(c.q.Apps) {
		c.say(0, "plan", "has %d real-time applications; the problem has %d", len(c.plan.Held), len(c.q.Apps))
		return
	}
	for i := range c.q.Apps {
		a := &c.q.Apps[i]
		before := map[int]bool{}
		for _, g := range a.Current {
			before[g] = true
		}
		for t := range c.q.Steps {
			now := map[int]bool{}
			for _, g := range c.plan.Held[i][t].Slots() {
				if g >= c.q.GPUs {
					c.say(0, a.ID, "is on GPU %d in step %d; there are %d", g, t, c.q.GPUs)
					continue
				}
				c.put(a.ID, g, t)
				now[g] = true
				if a.Types != 0 && len(c.q.Types) > 0 && a.Types>>c.q.Types[g]&1 == 0 {
					c.say(2, a.ID, "is on GPU %d in step %d, whose type it may not use", g, t)
				}
			}
			if c.plan.Reserved {
				continue
			}
			if len(now) < a.Min[t] || len(now) > a.Max[t] {
				c.say(2, a.ID, "has %d GPUs in step %d; it may have %d to %d", len(now), t, a.Min[t], a.Max[t])
			}
			may := a.SwapCap
			if t == 0 {
				may -= a.Used
			}
			if n := changes(before, now, c.q.Reading.CountSwaps); n > max(0, may) {
				c.say(4, a.ID, "changes %d GPUs at step %d; it may change %d", n, t, may)
			}
			before = now
		}
	}
}

func changes(a, b map[int]bool, byCount bool) int {
	if byCount {
		return max(len(a)-len(b), len(b)-len(a))
	}
	n := 0
	for g := range a {
		if !b[g] {
			n++
		}
	}
	for g := range b {
		if !a[g] {
			n++
		}
	}
	return n
}
