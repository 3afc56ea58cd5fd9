package report

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/view"
)

const (
	// gridRows is how many rows a grid on a terminal has at most; of more GPUs several
	// share a row, whole nodes at least.
	gridRows = 64
	gridNode = 8
	// gridSteps is how many steps stand side by side where the width is not known.
	gridSteps = 48
)

// planGrid draws one plan as text: GPUs down, time across.
type planGrid struct {
	p     *Planned
	q     *horizon.Problem
	l     *planLabels
	clock planClock
	color bool
	grid  [][]int
	// fold GPUs share a row.
	fold int
	// label and cell are the widths of the first column and of a step.
	label, cell int
	// over: the job runs past the horizon.
	over map[int]bool
}

func newPlanGrid(r *PlanReport, p *Planned, l *planLabels, color bool) *planGrid {
	q := r.Problem
	g := &planGrid{p: p, q: q, l: l, clock: planClock{q}, color: color, grid: p.Plan.Grid(), fold: 1, over: map[int]bool{}}
	if q.GPUs > gridRows {
		for g.fold = gridNode; (q.GPUs+g.fold-1)/g.fold > gridRows; {
			g.fold *= 2
		}
	}
	for i := range p.Plan.Placed {
		if s := &p.Plan.Placed[i]; s.End() > q.Steps {
			g.over[s.Job] = true
		}
	}
	g.cell = max(3, l.width+2)
	if g.fold > 1 {
		g.cell = l.width + 3
	}
	most := 0
	for t := range q.Steps {
		most = max(most, p.Idle[t].GPUs)
		for i := range p.Coverage {
			most = max(most, p.Coverage[i].Held[t], p.Coverage[i].Demand[t])
		}
	}
	g.cell = max(g.cell, len(strconv.Itoa(most))+1)
	g.label = len("  holds") + 1
	for first := 0; first < q.GPUs; first += g.fold {
		g.label = max(g.label, utf8.RuneCountInString(g.rowName(first))+1)
	}
	return g
}

func (g *planGrid) rowName(first int) string {
	return rowOf(g.q, first, min(g.fold, g.q.GPUs-first))
}

// lines draws the grid in as many parts, one below the other, as the width asks for.
func (g *planGrid) lines(width int) []string {
	per := gridSteps
	if width > 0 {
		per = max(1, (width-g.label)/g.cell)
	}
	parts := (g.q.Steps + per - 1) / per
	per = (g.q.Steps + parts - 1) / parts
	var out []string
	for from := 0; from < g.q.Steps; from += per {
		if from > 0 {
			out = append(out, "")
		}
		out = append(out, g.part(from, min(g.q.Steps, from+per))...)
	}
	return out
}

func (g *planGrid) part(from, to int) []string {
	head := padRight("", g.label)
	for t := from; t < to; t++ {
		head += padRight(g.clock.hour(t), g.cell)
	}
	out := []string{g.style("1", strings.TrimRight(head, " "))}
	for first := 0; first < g.q.GPUs; first += g.fold {
		line := padRight(g.rowName(first), g.label)
		if g.fold == 1 {
			line += g.bars(first, from, to)
		} else {
			line += g.folded(first, min(g.fold, g.q.GPUs-first), from, to)
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	out = append(out, g.numbers("idle", from, to, func(t int) (int, string) { return g.p.Idle[t].GPUs, "" }))
	for i := range g.p.Coverage {
		out = append(out, g.app(&g.p.Coverage[i], from, to)...)
	}
	return out
}

// bars draws the row of one GPU: what follows on itself is one bar.
func (g *planGrid) bars(gpu, from, to int) string {
	line := ""
	for t := from; t < to; {
		end := t + 1
		for end < to && g.grid[gpu][end] == g.grid[gpu][t] {
			end++
		}
		line += g.bar(gpu, t, end)
		t = end
	}
	return line
}

// bar draws what is on a GPU for steps [from, to).
func (g *planGrid) bar(gpu, from, to int) string {
	what, n := g.grid[gpu][from], (to-from)*g.cell
	same := func(gpu, t int) bool {
		return gpu >= 0 && t >= 0 && t < g.q.Steps && g.grid[gpu][t] == what
	}
	switch what {
	case horizon.Idle:
		return strings.Repeat(padRight(" .", g.cell), to-from)
	case horizon.Shut:
		return g.style("2", strings.Repeat(padRight("##", g.cell), to-from))
	}
	name := "" // in the first row of a block alone
	if what < 0 {
		if !same(gpu-1, from) {
			name = g.q.Apps[-2-what].ID
		}
		app := -2 - what
		return g.style(appStyle(app), framed(g.l.app[app], name, "=", "=", '=', n))
	}
	if !same(gpu-1, from) {
		name = g.q.Jobs[what].ID
	}
	open, shut, fill := "[", "]", '-'
	if g.color { // the colour shows where a bar begins and ends
		open, shut, fill = " ", " ", ' '
	}
	if same(gpu, from-1) || from == 0 && g.q.Jobs[what].Running != nil {
		open = "<"
	}
	if same(gpu, to) || to == g.q.Steps && g.over[what] {
		shut = ">"
	}
	return g.style(jobStyle(jobFamily(g.q.Jobs[what].Kind), g.l.shade[what]), framed(g.l.job[what], name, open, shut, fill, n))
}

// framed writes a label, and a name where there is room, between two ends. Names must
// not make a picture wider than it is.
func framed(label, name, open, shut string, fill rune, n int) string {
	text := open + label
	if name = visible(name); name != "" && name != label && width(text)+1+width(name)+1 <= n {
		text += " " + name
	}
	return text + strings.Repeat(string(fill), max(0, n-width(text)-width(shut))) + shut
}

// app draws what an application wants and holds, and by how much it is short.
func (g *planGrid) app(a *view.App, from, to int) []string {
	name := g.style(appStyle(a.App)+";1", g.l.app[a.App]) + " " + visible(g.q.Apps[a.App].ID)
	out := []string{name,
		g.numbers("  wants", from, to, func(t int) (int, string) { return a.Demand[t], "" }),
		g.numbers("  holds", from, to, func(t int) (int, string) { return a.Held[t], riskMark(a.At(t)) })}
	for t := range a.Held { // in every part of a grid, or in none
		if a.At(t) == view.Short {
			return append(out, g.numbers("  short", from, to, func(t int) (int, string) {
				if n := a.Demand[t] - a.Held[t]; n > 0 {
					return n, "!"
				}
				return 0, ""
			}))
		}
	}
	return out
}

// riskMark is how a risk is marked behind a number.
func riskMark(kind view.RiskKind) string {
	switch kind {
	case view.Short:
		return "!"
	case view.NoMargin:
		return "*"
	}
	return ""
}

// numbers draws a row of numbers, 0 as a dot.
func (g *planGrid) numbers(name string, from, to int, at func(t int) (int, string)) string {
	line := padRight(name, g.label)
	for t := from; t < to; t++ {
		n, mark := at(t)
		text := "."
		if n > 0 {
			text = strconv.Itoa(n)
		}
		text = padLeft(text, max(2, g.cell-1))
		code := ""
		switch mark {
		case "!":
			code = "1;31"
		case "*":
			code = "33"
		}
		line += g.style(code, text+mark) + strings.Repeat(" ", max(0, g.cell-width(text+mark)))
	}
	return strings.TrimRight(line, " ")
}
