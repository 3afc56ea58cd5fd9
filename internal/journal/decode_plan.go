package journal

import (
	"math"

	"github.com/escala-sched/escala/fact"
)

// plan reads the proposed plan of a line.
func (l *line) plan() (p *fact.Plan, msg, want string) {
	p = &fact.Plan{Until: l.num[fUntil], Objective: l.num[fObjective], Bound: l.num[fBound]}
	for _, t := range [...]struct {
		f  field
		to *string
	}{{fInputs, &p.Inputs}, {fSolver, &p.Solver}} {
		if !l.given(t.f) {
			continue
		}
		text, ok := plain(l.text[t.f-fPlace])
		if !ok {
			return nil, fieldNames[t.f] + " is " + quote(l.text[t.f-fPlace]), "a text"
		}
		*t.to = string(text)
	}
	if !l.given(fStarts) {
		return p, "", ""
	}
	var ok bool
	if p.Starts, ok = parseStarts(l.text[fStarts-fPlace]); !ok {
		return nil, "starts is " + quote(l.text[fStarts-fPlace]), "a list of [job,at,place], by time; the place is that of a start action, and left out where there is none"
	}
	return p, "", ""
}

// parseStarts reads what appendPlan writes; spaces are allowed between elements.
func parseStarts(val []byte) ([]fact.PlannedStart, bool) {
	var list []fact.PlannedStart
	o := object{b: val}
	if o.peek() != '[' {
		return nil, false
	}
	o.i++
	if o.space(); o.peek() == ']' {
		return nil, true
	}
	for ; ; o.i++ {
		s, ok := o.start()
		if !ok {
			return nil, false
		}
		list = append(list, s)
		o.space()
		switch o.peek() {
		case ',':
		case ']':
			return list, true
		default:
			return nil, false
		}
	}
}

// start reads one element of a plan's starts. The syntax is known to be that of JSON.
func (o *object) start() (s fact.PlannedStart, ok bool) {
	if o.space(); o.peek() != '[' {
		return s, false
	}
	for n := 0; ; n++ {
		o.i++
		o.space()
		from := o.i
		if !o.value(0) {
			return s, false
		}
		val := o.b[from:o.i]
		switch n {
		case 0:
			var v int64
			v, ok = whole(val)
			s.Job, ok = int32(v), ok && v >= 0 && v <= math.MaxInt32
		case 1:
			s.At, ok = whole(val)
			ok = ok && s.At >= -maxTime && s.At <= maxTime
		case 2:
			s.Place, ok = parsePlace(val, nil)
		default:
			return s, false
		}
		if !ok {
			return s, false
		}
		o.space()
		if o.peek() == ']' {
			o.i++
			return s, n > 0
		}
	}
}
