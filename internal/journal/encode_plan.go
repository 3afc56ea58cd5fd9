package journal

import (
	"strconv"

	"github.com/escala-sched/escala/fact"
)

// appendPlan writes the fields of a proposed plan. A start is [job, at, place], without the
// place where the plan names none.
func appendPlan(b []byte, p *fact.Plan) []byte {
	b = number(b, `,"until":`, p.Until)
	b = text(b, `,"inputs":`, p.Inputs)
	b = text(b, `,"solver":`, p.Solver)
	b = nonZero(b, `,"objective":`, p.Objective)
	b = nonZero(b, `,"bound":`, p.Bound)
	if len(p.Starts) == 0 {
		return b
	}
	b = append(b, `,"starts":[`...)
	for i := range p.Starts {
		s := &p.Starts[i]
		b = strconv.AppendInt(append(b, '['), int64(s.Job), 10)
		b = strconv.AppendInt(append(b, ','), s.At, 10)
		if len(s.Place) > 0 {
			b = appendPlace(append(b, ',', '['), s.Place)
		}
		b = append(b, ']', ',')
	}
	b[len(b)-1] = ']'
	return b
}
