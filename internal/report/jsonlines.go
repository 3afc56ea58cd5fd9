package report

import (
	"bufio"
	"bytes"
	"encoding/json"
)

// jsonLines writes objects with a line for each key. The encoder's own layout would
// put each cell of a grid on a line.
type jsonLines struct {
	w     *bufio.Writer
	depth int
	more  bool
	err   error
}

func (j *jsonLines) key(name string) {
	if j.more {
		j.w.WriteString(",")
	}
	if j.depth > 0 {
		j.w.WriteString("\n")
		j.indent()
	}
	if name != "" {
		j.encode(name)
		j.w.WriteString(": ")
	}
	j.more = true
}

func (j *jsonLines) indent() {
	for range j.depth {
		j.w.WriteString("  ")
	}
}

func (j *jsonLines) open(name string) {
	j.key(name)
	j.w.WriteString("{")
	j.depth, j.more = j.depth+1, false
}

func (j *jsonLines) close() {
	j.depth, j.more = j.depth-1, true
	j.w.WriteString("\n")
	j.indent()
	j.w.WriteString("}")
}

func (j *jsonLines) value(name string, v any) {
	j.key(name)
	j.encode(v)
}

// list writes a list with a line for each element.
func list[T any](j *jsonLines, name string, elements []T) {
	j.key(name)
	if len(elements) == 0 {
		j.w.WriteString("[]")
		return
	}
	j.w.WriteString("[")
	for i := range elements {
		if i > 0 {
			j.w.WriteString(",")
		}
		j.w.WriteString("\n  ")
		j.indent()
		j.encode(&elements[i])
	}
	j.w.WriteString("\n")
	j.indent()
	j.w.WriteString("]")
}

func (j *jsonLines) encode(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil && j.err == nil {
		j.err = err
	}
	j.w.Write(bytes.TrimRight(b.Bytes(), "\n"))
}
