package view

import "github.com/escala-sched/escala/horizon"

// App is how well a real-time application is covered, step by step.
type App struct {
	// App is its index in the problem.
	App int
	// Demand, Held and Spare are GPUs in each step. Spare is how many more it could have
	// had: GPUs that it may use and that are idle, as far as its swap cap lets it take
	// them from the step before. Applications do not share: what is spare to one may be
	// spare to another too.
	Demand, Held, Spare []int
	// Risks are the maximal stretches of one kind, in order of time.
	Risks []Risk
}

// Risk is a stretch of steps in which an application is not safely covered.
type Risk struct {
	Kind     RiskKind
	From, To int
	// Short is the number of GPU-steps of demand not met.
	Short int
}

// RiskKind says what the risk is.
type RiskKind uint8

// The kinds of risk.
const (
	// Short: less is held than is wanted.
	Short RiskKind = iota + 1
	// NoMargin: just what is wanted is held, and not one GPU more could be had if more
	// were wanted.
	NoMargin
)

// String returns the kind's name.
func (k RiskKind) String() string {
	switch k {
	case Short:
		return "short"
	case NoMargin:
		return "no-margin"
	}
	return "covered"
}

// At is the kind of risk in a step, 0 = none.
func (a *App) At(step int) RiskKind {
	switch d := a.Held[step] - a.Demand[step]; {
	case d < 0:
		return Short
	case d == 0 && a.Demand[step] > 0 && a.Spare[step] == 0:
		return NoMargin
	}
	return 0
}

// Steps counts the steps of a kind.
func (a *App) Steps(kind RiskKind) int {
	n := 0
	for i := range a.Risks {
		if a.Risks[i].Kind == kind {
			n += a.Risks[i].To - a.Risks[i].From
		}
	}
	return n
}

// Coverage looks at every real-time application of a plan, in the problem's order.
func Coverage(p *horizon.Plan) []App {
	q := p.Problem
	idle := idleCells(p)
	list := make([]App, len(q.Apps))
	for i := range q.Apps {
		a := &list[i]
		*a = App{App: i, Demand: q.Apps[i].Demand, Held: make([]int, q.Steps), Spare: make([]int, q.Steps)}
		before := make([]bool, q.GPUs)
		for _, g := range q.Apps[i].Current {
			before[g] = true
		}
		for t := range q.Steps {
			now := make([]bool, q.GPUs)
			for _, g := range p.Held[i][t].Slots() {
				now[g] = true
			}
			a.Held[t], a.Spare[t] = p.Held[i][t].Len(), spare(q, &q.Apps[i], swapCap(&q.Apps[i], t), before, now, idle[t])
			before = now
		}
		a.findRisks(q.Steps)
	}
	return list
}

// swapCap is how many GPUs may change into a step.
func swapCap(app *horizon.App, step int) int {
	if step == 0 {
		return max(0, app.SwapCap-app.Used)
	}
	return app.SwapCap
}

// spare counts the idle slots that an application could hold besides those it has now,
// given what it had before. To keep a slot that it gives up takes a swap back; any
// other costs one.
func spare(q *horizon.Problem, app *horizon.App, swaps int, before, now, idle []bool) int {
	kept, fresh, gained, lost := 0, 0, 0, 0
	for g := range idle {
		switch {
		case now[g] && !before[g]:
			gained++
		case before[g] && !now[g]:
			lost++
		}
		if !idle[g] || !mayUse(q, app.Types, g) {
			continue
		}
		if before[g] {
			kept++
		} else {
			fresh++
		}
	}
	if q.Reading.CountSwaps {
		return max(0, min(kept+fresh, swaps-(gained-lost)))
	}
	return kept + max(0, min(fresh, swaps-gained-lost+kept))
}

func (a *App) findRisks(steps int) {
	for t := range steps {
		kind := a.At(t)
		if kind == 0 {
			continue
		}
		if n := len(a.Risks); n == 0 || a.Risks[n-1].Kind != kind || a.Risks[n-1].To != t {
			a.Risks = append(a.Risks, Risk{Kind: kind, From: t})
		}
		r := &a.Risks[len(a.Risks)-1]
		r.To = t + 1
		r.Short += max(0, a.Demand[t]-a.Held[t])
	}
}
