package report

import (
	"fmt"
	"strconv"
	"strings"
)

// planRow is one figure of all plans.
type planRow struct {
	label, definition string
	cells             []cell
}

// planFigures lists what plans are worth. Differences are those of the plan to the one
// that it is compared with: it is the plan that is judged.
func (r *PlanReport) planFigures() []planRow {
	var out []planRow
	// add makes a row of texts; diff, if set, compares two values, of which more (better
	// > 0) or less (< 0) is wanted.
	add := func(label, definition string, text func(p *Planned) string, value func(p *Planned) float64, better int, diff func(base, v float64) (string, int)) {
		row := planRow{label: label, definition: definition}
		for _, p := range r.Plans {
			row.cells = append(row.cells, cell{text: text(p), ok: true})
		}
		if len(r.Plans) == 2 && diff != nil {
			text, sign := diff(value(r.Plans[1]), value(r.Plans[0]))
			row.cells[0].diff, row.cells[0].good = text, sign*better
		}
		out = append(out, row)
	}
	add("Utilisation", "GPU-steps that serve batch-like work or wanted real-time work, of those of all GPUs.",
		func(p *Planned) string { return percent(p.Score.Utilisation) },
		func(p *Planned) float64 { return p.Score.Utilisation }, 1, ratioUnit.difference)
	add("Value", "Sum over the GPU-steps of batch-like work of priority x decay^step.",
		func(p *Planned) string { return worth(p.Score.Value) },
		func(p *Planned) float64 { return p.Score.Value }, 1, relative)
	add("Shortfall", "GPU-steps of real-time demand that are not met.", shortfallText,
		func(p *Planned) float64 { return float64(p.Score.Shortfall) }, -1, absolute)
	if r.any(func(p *Planned) bool { return p.Score.Penalty > 0 }) {
		add("Penalty", "What the shortfall costs, by the penalties of the applications.",
			func(p *Planned) string { return worth(p.Score.Penalty) },
			func(p *Planned) float64 { return p.Score.Penalty }, -1, absolute)
	}
	add("Objective", "Value minus penalty: what plans are judged by.",
		func(p *Planned) string { return worth(p.Score.Objective) },
		func(p *Planned) float64 { return p.Score.Objective }, 1, relative)
	if r.any(func(p *Planned) bool { return p.Policy == "" }) {
		add("Bound", "No legal plan has a larger objective.", boundText, nil, 0, nil)
		if r.any((*Planned).bounded) {
			add("Gap", "How far the plan is below the best possible at most, as a part of the bound.",
				func(p *Planned) string { return gapText(p, len(r.Plans) == 1) }, nil, 0, nil)
		}
	}
	jobs := len(r.Problem.Jobs)
	add("Jobs started", "Jobs that have a place in the horizon, those that ran before included.",
		func(p *Planned) string { return fmt.Sprintf("%d of %d", p.Score.Started, jobs) },
		func(p *Planned) float64 { return float64(p.Score.Started) }, 1, absolute)
	add("Jobs done", "Jobs that end within the horizon.",
		func(p *Planned) string { return strconv.Itoa(p.Score.Done) },
		func(p *Planned) float64 { return float64(p.Score.Done) }, 1, absolute)
	add("Jobs not placed", "Jobs without a place in the horizon.",
		func(p *Planned) string { return strconv.Itoa(len(p.LeftOut)) },
		func(p *Planned) float64 { return float64(len(p.LeftOut)) }, -1, absolute)
	if r.deadlines() {
		add("Jobs late", "Jobs that end after their deadline.",
			func(p *Planned) string { return strconv.Itoa(p.Score.Late) },
			func(p *Planned) float64 { return float64(p.Score.Late) }, -1, absolute)
	}
	if len(r.Problem.Apps) > 0 {
		add("Swaps", "GPUs that real-time applications gain and lose.",
			func(p *Planned) string { return strconv.Itoa(p.Score.Swaps) },
			func(p *Planned) float64 { return float64(p.Score.Swaps) }, 0, absolute)
	}
	add("Idle", "GPU-hours that nothing uses; what a reservation holds is not idle.",
		func(p *Planned) string { return significant(p.idleGPUHours()) + " GPU-h" },
		(*Planned).idleGPUHours, 0, absolute)
	add("Legal", "Whether a checker that knows nothing of the planner finds all rules kept.", legalText, nil, 0, nil)
	return out
}

func (r *PlanReport) any(is func(p *Planned) bool) bool {
	for _, p := range r.Plans {
		if is(p) {
			return true
		}
	}
	return false
}

func (r *PlanReport) deadlines() bool {
	for i := range r.Problem.Jobs {
		if r.Problem.Jobs[i].Deadline > 0 {
			return true
		}
	}
	return false
}

// worth writes a value or a cost: priorities times GPU-steps, to a tenth.
func worth(v float64) string {
	whole, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', 1, 64), ".")
	sign := ""
	if whole[0] == '-' {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + "." + rest
}

// relative writes by how many per cent v is above base.
func relative(base, v float64) (string, int) {
	if base <= 0 {
		return absolute(base, v)
	}
	return signed((v/base-1)*100, 1, " %")
}

// absolute writes by how much v is above base.
func absolute(base, v float64) (string, int) {
	text, sign := signed(v-base, 1, "")
	return strings.TrimSuffix(text, ".0"), sign
}

func shortfallText(p *Planned) string {
	if p.Score.Shortfall == 0 {
		return "none"
	}
	return some(p.Score.Shortfall, "GPU-step") + " in " + some(p.shortSteps(), "step")
}

func boundText(p *Planned) string {
	switch {
	case p.Policy != "":
		return "-"
	case !p.bounded():
		return "not computed"
	}
	return worth(p.Bound) + " (" + p.BoundBy + ")"
}

// gapText writes the gap, in full words or in short.
func gapText(p *Planned, full bool) string {
	var text string
	switch gap := p.Gap(); {
	case p.Policy != "" || !p.bounded():
		return "-"
	case gap == 0:
		return "none"
	case gap < 0.0005:
		text = "less than 0.1 %"
	default:
		text = "at most " + percent(gap)
	}
	if full {
		text += " below the best possible"
	}
	return text
}

func legalText(p *Planned) string {
	switch {
	case len(p.Broken) > 0:
		return "NO: " + p.Broken[0].String()
	case p.Policy != "":
		return "yes, as a reservation" // maxima and swaps do not bind it
	}
	return "yes"
}
