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
	"cmp"
	"fmt"
	"slices"

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

// Check returns what the plan breaks; none = it is legal. Work that a problem marks as
// foreign is exempt from the rules on blocks while it stays where it is, and may be on closed
// GPUs as long as it must stay. A reservation is exempt from maxima and swaps.
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

// put notes who is in a cell; one that must stay there may be in a closed one.
func (c *checker) put(who string, g, t int, mustStay bool) {
	switch at := c.cells[g][t]; {
	case at == "", at == closed && mustStay:
	case at == closed:
		c.say(1, who, "is on GPU %d in step %d, which is closed", g, t)
	default:
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
		slices.SortStableFunc(stretches[i], func(a, b horizon.Stretch) int { return cmp.Compare(a.Start, b.Start) })
		c.job(&c.q.Jobs[i], stretches[i])
	}
}

// job checks the stretches of a job, which come by start.
func (c *checker) job(j *horizon.Job, stretches []horizon.Stretch) {
	whole := j.MinSteps == 0
	if j.Running != nil && (whole || j.Running.Elapsed < j.MinSteps) {
		switch {
		case len(stretches) == 0:
			c.say(2, j.ID, "runs, and is not in the plan")
		case !goesOn(j, stretches[0]):
			s := stretches[0]
			c.say(2, j.ID, "runs on GPU %d, and is planned on GPU %d from step %d", j.Running.Offset, s.Offset, s.Start)
		}
	}
	work := 0
	for n, s := range stretches {
		if !c.stretch(j, s) {
			return
		}
		work += s.Steps - s.Restart
		if n > 0 && s.Start < stretches[n-1].End() {
			c.say(5, j.ID, "is in two places in step %d", s.Start)
		}
	}
	switch {
	case work > j.Steps:
		c.say(5, j.ID, "runs %d steps; it has %d to do", work, j.Steps)
	case whole && len(stretches) > 1:
		c.say(5, j.ID, "is interrupted after step %d", stretches[0].End()-1)
	case whole && len(stretches) == 1:
		if work != j.Steps {
			c.say(5, j.ID, "runs %d steps; it has %d to do", work, j.Steps)
		}
		if s := stretches[0]; s.Restart > 0 {
			c.say(5, j.ID, "starts in step %d with %d steps of restart; it is never started again", s.Start, s.Restart)
		}
	case !whole:
		c.starts(j, stretches)
	}
	if n := len(stretches); c.q.Reading.Complete && n > 0 {
		if s := stretches[n-1]; s.End() > c.q.Steps && !goesOn(j, s) {
			c.say(5, j.ID, "ends in step %d, after the horizon of %d", s.End(), c.q.Steps)
		}
	}
}

// goesOn tells whether a stretch is the job running on where it runs.
func goesOn(j *horizon.Job, s horizon.Stretch) bool {
	return j.Running != nil && s.Start == 0 && s.Offset == j.Running.Offset && s.Restart == 0
}

// starts checks the starts of an interruptible job: each but the first ever begins with the
// steps of restart, and lasts the minimum, or to the end of the work, or to that of a horizon
// that jobs may run past. A stretch that follows another at once on the same block is the
// same start.
func (c *checker) starts(j *horizon.Job, stretches []horizon.Stretch) {
	left := j.Steps
	for n := 0; n < len(stretches); {
		s := stretches[n]
		length, restart := 0, j.Restart
		switch {
		case goesOn(j, s):
			length, restart = j.Running.Elapsed, 0
		case n == 0 && j.Running == nil:
			restart = 0
		}
		if s.Restart != restart {
			c.say(5, j.ID, "starts in step %d with %d steps of restart; it needs %d", s.Start, s.Restart, restart)
		}
		end := s.Start
		for first := n; n < len(stretches); n++ {
			m := stretches[n]
			if n > first && (m.Start != end || m.Offset != s.Offset || m.Restart != 0) {
				break
			}
			length += m.Steps
			left -= m.Steps - m.Restart
			end = m.End()
		}
		past := end >= c.q.Steps && !c.q.Reading.Complete
		if length < j.MinSteps && left > 0 && !past {
			c.say(5, j.ID, "is stopped in step %d after %d steps; it is protected for %d", end, length, j.MinSteps)
		}
	}
}

// stretch checks one stretch and puts it on the grid, false if it lies outside.
func (c *checker) stretch(j *horizon.Job, s horizon.Stretch) bool {
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
	if s.Offset < 0 || s.Size < 1 || s.Offset+s.Size > c.q.GPUs || s.Start < 0 || s.Start >= c.q.Steps || s.Steps < 1 || s.Restart < 0 || s.Restart >= s.Steps {
		c.say(0, j.ID, "is on %d GPUs from GPU %d on, for %d steps from step %d on (%d of them restart)", s.Size, s.Offset, s.Steps, s.Start, s.Restart)
		return false
	}
	if s.Start < j.Release {
		c.say(2, j.ID, "starts in step %d; it may from step %d on", s.Start, j.Release)
	}
	exempt := goesOn(j, s) && j.Running.Foreign
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
	for t := s.Start; t < s.End() && t < c.q.Steps; t++ {
		mustStay := exempt && (j.MinSteps == 0 || t < j.MinSteps-j.Running.Elapsed)
		for g := s.Offset; g < s.Offset+s.Size; g++ {
			c.put(j.ID, g, t, mustStay)
		}
	}
	return true
}

func (c *checker) apps() {
	if len(c.plan.Held) != len(c.q.Apps) {
		c.say(0, "plan", "has %d real-time applications; the problem has %d", len(c.plan.Held), len(c.q.Apps))
		return
	}
	for i := range c.q.Apps {
		a := &c.q.Apps[i]
		if n := len(c.plan.Held[i]); n != c.q.Steps {
			c.say(0, a.ID, "is planned for %d steps; the horizon has %d", n, c.q.Steps)
			continue
		}
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
				c.put(a.ID, g, t, false)
				now[g] = true
				if a.Types != 0 && len(c.q.Types) > 0 && a.Types>>c.q.Types[g]&1 == 0 {
					c.say(2, a.ID, "is on GPU %d in step %d, whose type it may not use", g, t)
				}
			}
			if len(now) < a.Min[t] || len(now) > a.Max[t] && !c.plan.Reserved {
				c.say(2, a.ID, "has %d GPUs in step %d; it may have %d to %d", len(now), t, a.Min[t], a.Max[t])
			}
			if c.plan.Reserved {
				continue
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
