package journal

import (
	"math"

	"github.com/escala-sched/escala/fact"
)

// window reads the window of a line; of one that is lifted the ID alone.
func (l *line) window(kind fact.Kind) (w *fact.Window, msg, want string) {
	id, ok := plain(l.text[fID-fPlace])
	if !ok || len(id) == 0 {
		return nil, "id is " + quote(l.text[fID-fPlace]), "a text that is not empty"
	}
	w = &fact.Window{ID: string(id)}
	if kind == fact.WindowLifted {
		return w, "", ""
	}
	w.From, w.Until = l.num[fFrom], l.num[fUntil]
	ok = elements(l.text[fNodes-fPlace], func(val []byte) bool {
		n, ok := whole(val)
		w.Nodes = append(w.Nodes, int32(n))
		return ok && n >= 0 && n <= math.MaxInt32
	})
	if !ok {
		return nil, "nodes is " + quote(l.text[fNodes-fPlace]), "a list of numbers of nodes"
	}
	for _, x := range [...]struct {
		f  field
		to *[]string
	}{{fTeams, &w.Teams}, {fUsers, &w.Users}} {
		if !l.given(x.f) {
			continue
		}
		ok = elements(l.text[x.f-fPlace], func(val []byte) bool {
			s, ok := plain(val)
			*x.to = append(*x.to, string(s))
			return ok
		})
		if !ok {
			return nil, fieldNames[x.f] + " is " + quote(l.text[x.f-fPlace]), "a list of texts"
		}
	}
	return w, "", ""
}

// elements visits the elements of a list; false if it is none, or one is not as it should be.
func elements(val []byte, visit func(val []byte) bool) bool {
	o := object{b: val}
	if o.peek() != '[' {
		return false
	}
	o.i++
	if o.space(); o.peek() == ']' {
		return true
	}
	for ; ; o.i++ {
		o.space()
		from := o.i
		if !o.value(0) || !visit(o.b[from:o.i]) {
			return false
		}
		o.space()
		switch o.peek() {
		case ',':
		case ']':
			return true
		default:
			return false
		}
	}
}
