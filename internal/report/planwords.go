package report

import (
	"fmt"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/view"
)

// planFinding says what a plan comes to, in sentences.
func planFinding(r *PlanReport) []string {
	p := r.Plans[0]
	var out []string
	if len(r.Plans) == 2 {
		b := r.Plans[1]
		text := fmt.Sprintf("The plan puts %s of the GPU-steps to use where %s puts %s", percent(p.Score.Utilisation), b.Name(), percent(b.Score.Utilisation))
		if b.Score.Value > 0 {
			switch d := (p.Score.Value/b.Score.Value - 1) * 100; {
			case d >= 0.05:
				text += fmt.Sprintf("; the value of batch-like work is %.1f %% higher", d)
			case d <= -0.05:
				text += fmt.Sprintf("; the value of batch-like work is %.1f %% lower", -d)
			default:
				text += "; the value of batch-like work is the same"
			}
		}
		out = append(out, text+".")
	}
	if len(r.Problem.Apps) > 0 {
		if n := p.Score.Shortfall; n > 0 {
			out = append(out, fmt.Sprintf("Real-time work is short of %s, in %d of %s.", some(n, "GPU-step"), p.shortSteps(), some(r.Problem.Steps, "step")))
		} else {
			out = append(out, "Real-time demand is met in every step.")
		}
	}
	if n := len(p.LeftOut); n > 0 {
		verb := "have"
		if n == 1 {
			verb = "has"
		}
		out = append(out, fmt.Sprintf("%d of %s %s no place.", n, some(len(r.Problem.Jobs), "job"), verb))
	}
	if p.Policy == "" {
		out = append(out, gapSentence(p))
	}
	return out
}

func gapSentence(p *Planned) string {
	switch {
	case !p.bounded():
		return "How good a plan could be is not known: bound not computed."
	case p.Gap() == 0:
		return "No legal plan is better."
	}
	return "The objective is " + gapText(p, true) + "."
}

// whyLeftOut says why a job has no place.
func whyLeftOut(q *horizon.Problem, u *view.LeftOut) string {
	j, c := &q.Jobs[u.Job], planClock{q}
	block := "GPU"
	if u.Size > 1 {
		block = fmt.Sprintf("block of %d GPUs", u.Size)
	}
	switch u.Why {
	case view.LateRelease:
		return fmt.Sprintf("may start at %s, after the horizon", c.at(j.Release))
	case view.TooLong:
		return fmt.Sprintf("would end at %s at the earliest, and must end by %s", c.at(j.Release+j.Steps), c.at(q.Steps))
	case view.NoBlock:
		return fmt.Sprintf("no %s is open to it for %s: GPUs are closed, or of types it may not use", block, some(u.Need, "step"))
	case view.NoRoom:
		from := ""
		if j.Release > 0 {
			from = " once it may start, at " + c.at(j.Release)
		}
		if u.Longest == 0 {
			return fmt.Sprintf("no %s is idle in any step%s", block, from)
		}
		return fmt.Sprintf("no %s is idle for %s%s; the longest stretch is %s, from %s", block, some(u.Need, "step"), from, some(u.Longest, "step"), c.at(u.Since))
	case view.InOrder:
		return "there is room, but the order of arrival kept it out"
	}
	if j.Priority == 0 {
		return "there is room, but with priority 0 it is worth nothing"
	}
	return "there is room, but the planner left it out"
}

// worstText says how bad a shortfall gets, "" of other risks.
func worstText(q *horizon.Problem, a *view.App, r *view.Risk) string {
	if r.Kind != view.Short {
		return ""
	}
	worst := r.From
	for t := r.From; t < r.To; t++ {
		if a.Demand[t]-a.Held[t] > a.Demand[worst]-a.Held[worst] {
			worst = t
		}
	}
	text := fmt.Sprintf("holds %d of %d", a.Held[worst], a.Demand[worst])
	if r.To-r.From > 1 {
		text += " at " + planClock{q}.at(worst)
	}
	return text
}
