package report

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/horizon/view"
	"github.com/escala-sched/escala/workload"
)

// PlanReport is a horizon with its plan, and maybe one to compare it with.
type PlanReport struct {
	Version, Command string
	// Source is the file that the problem was read from.
	Source  string
	Problem *horizon.Problem
	// At is the moment of the workload's clock that the plan begins at, nil for a scenario.
	At *workload.Time
	// Exempt names running jobs that are pinned though they lie where no rule would put them.
	Exempt []string
	// Plans holds the plan, and behind it the one that it is compared with, if any.
	Plans []*Planned
}

// Planned is one plan and what is seen in it.
type Planned struct {
	// Mode is fast or full; "" for a baseline, whose name is Policy.
	Mode, Policy string
	Seed         uint64
	// Interrupted: it is the best that was found when somebody asked for an end.
	Interrupted bool
	horizon.Result
	Broken   []legal.Violation
	Coverage []view.App
	Idle     []view.IdleStep
	Windows  []view.Window
	LeftOut  []view.LeftOut
}

// Look checks a plan and sees what is to be seen in it.
func Look(r *horizon.Result) *Planned {
	return &Planned{Result: *r, Broken: legal.Check(r.Plan), Coverage: view.Coverage(r.Plan), Idle: view.IdleSteps(r.Plan),
		Windows: view.IdleWindows(r.Plan), LeftOut: view.Unplaced(r.Plan)}
}

// Name is how tables head the plan's column.
func (p *Planned) Name() string {
	if p.Policy != "" {
		return p.Policy
	}
	return p.Mode
}

// bounded tells whether it is known how good a plan can be at most.
func (p *Planned) bounded() bool { return p.BoundBy != "" }

// shortSteps counts the steps in which some application has less than it wants.
func (p *Planned) shortSteps() int {
	n := 0
	for t := range p.Plan.Problem.Steps {
		for i := range p.Coverage {
			if p.Coverage[i].At(t) == view.Short {
				n++
				break
			}
		}
	}
	return n
}

// idleGPUHours is the GPU-time that nothing uses.
func (p *Planned) idleGPUHours() float64 {
	n := 0
	for _, s := range p.Idle {
		n += s.GPUs
	}
	return gpuHoursOf(p.Plan.Problem, n)
}

// planHead lists what a plan rests on.
func (r *PlanReport) planHead() []headLine {
	q := r.Problem
	name := q.Name
	if name == "" {
		name = r.Source
	}
	out := []headLine{{"Horizon", fmt.Sprintf("%s: %s, %s from %s", visible(name), some(q.GPUs, "GPU"), stepsText(q), planClock{q}.at(0))},
		{"Wanted", some(len(q.Jobs), "job") + ", " + some(len(q.Apps), "real-time application")}}
	if text := closedText(q); text != "" {
		out = append(out, headLine{"Closed", text})
	}
	if n := len(r.Exempt); n > 0 {
		const few = 5
		text := some(n, "running job") + " where no rule would put it, pinned all the same: " + visible(strings.Join(r.Exempt[:min(n, few)], ", "))
		if n > few {
			text += fmt.Sprintf(" and %d more", n-few)
		}
		out = append(out, headLine{"Exempt", text})
	}
	out = append(out, headLine{"Reading", readingText(q.Reading)})
	for i, p := range r.Plans {
		title := "Planned"
		if i > 0 {
			title = "Against"
		}
		out = append(out, headLine{title, p.how()})
	}
	return out
}

// how says how a plan was made.
func (p *Planned) how() string {
	if p.Policy != "" {
		return p.Policy + ": " + baselineText[p.Policy]
	}
	text := fmt.Sprintf("%s mode, %s, %s, seed %d", p.Mode, p.Solver, some(p.Work, "attempt"), p.Seed)
	if p.Interrupted {
		text += "; interrupted, the best so far"
	}
	return text
}

var baselineText = map[string]string{
	horizon.FIFOStrict.String(): "no job starts before the one ahead of it; real-time work holds its peak throughout",
	horizon.FIFOSkip.String():   "in each step what fits starts, in order of arrival; real-time work holds its peak throughout",
	horizon.FIFOGrid.String():   "each job takes the first place in time that is left, in order of arrival; real-time work holds its peak throughout",
	horizon.FIFOBlock.String():  "no job starts before the one ahead of it, for good; real-time work holds its peak throughout",
}

func readingText(r horizon.Reading) string {
	blocks, sizes := "blocks begin at a multiple of their size", "sizes are rounded up to a power of two"
	if r.Unaligned {
		blocks = "blocks begin anywhere"
	}
	if r.AnySize {
		sizes = "jobs get the number of GPUs that they ask for"
		if !r.Unaligned {
			blocks = "blocks of a power of two begin at a multiple of it"
		}
	}
	ends, swaps := "jobs may run past the end", "swaps count GPUs gained and lost"
	if r.Complete {
		ends = "jobs end within the horizon"
	}
	if r.CountSwaps {
		swaps = "swaps count the change in number"
	}
	return blocks + "; " + sizes + "; " + ends + "; " + swaps
}

// closedText sums up the closed windows, "" for none.
func closedText(q *horizon.Problem) string {
	closed, absent := 0, 0
	for _, w := range q.Closed {
		n := w.Count * max(0, min(w.To, q.Steps)-w.From)
		if w.Absent {
			absent += n
		} else {
			closed += n
		}
	}
	switch {
	case closed == 0 && absent == 0:
		return ""
	case closed == 0:
		return fmt.Sprintf("%s GPU-hours that have no GPU", significant(gpuHoursOf(q, absent)))
	case absent == 0:
		return fmt.Sprintf("%s GPU-hours", significant(gpuHoursOf(q, closed)))
	}
	return fmt.Sprintf("%s GPU-hours, and %s that have no GPU", significant(gpuHoursOf(q, closed)), significant(gpuHoursOf(q, absent)))
}

// some writes a count with its noun.
func some(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(float64(n)) + " " + noun + "s"
}
