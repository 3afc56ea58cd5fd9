package journal

import (
	"strconv"

	"github.com/escala-sched/escala/fact"
)

// appendWindow writes the fields of a window; one that is lifted has an ID alone.
func appendWindow(b []byte, f *fact.Fact) []byte {
	w := f.Window
	b = appendString(append(b, `,"id":`...), w.ID)
	if f.Kind == fact.WindowLifted {
		return b
	}
	b = append(b, `,"nodes":[`...)
	for i, n := range w.Nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = number(append(b, ']'), `,"from":`, w.From)
	b = number(b, `,"until":`, w.Until)
	b = appendTexts(b, `,"teams":[`, w.Teams)
	return appendTexts(b, `,"users":[`, w.Users)
}

// appendTexts writes a list of texts unless it is empty.
func appendTexts(b []byte, key string, list []string) []byte {
	for i, s := range list {
		if i == 0 {
			b = append(b, key...)
		} else {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	if len(list) > 0 {
		b = append(b, ']')
	}
	return b
}
