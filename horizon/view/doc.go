// Package view reads off a plan what people ask of the hours to come: where real-time
// work runs short or has no margin, when which GPUs are idle, and why a job has no place.
//
// Everything here looks at the plan's cells alone, never at how they were found, so that
// it says the same of every planner and baseline. Times are steps, a stretch is [From, To).
package view

import "github.com/escala-sched/escala/horizon"

// idleCells tells for each step and slot whether nothing is there, and it is not closed.
func idleCells(p *horizon.Plan) [][]bool {
	q := p.Problem
	idle := make([][]bool, q.Steps)
	for t := range idle {
		idle[t] = make([]bool, q.GPUs)
	}
	for g, row := range p.Grid() {
		for t, what := range row {
			idle[t][g] = what == horizon.Idle
		}
	}
	return idle
}

// typeOf is the GPU type of a slot, 0 where there is one type.
func typeOf(q *horizon.Problem, slot int) int {
	if len(q.Types) == 0 {
		return 0
	}
	return q.Types[slot]
}

// mayUse tells whether work that may use types (a bit for each, 0 = any) may use a slot.
func mayUse(q *horizon.Problem, types uint64, slot int) bool {
	return types == 0 || len(q.Types) == 0 || types>>q.Types[slot]&1 == 1
}
