package report

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// TableOptions say how a table is written.
type TableOptions struct {
	// Color marks better figures green and worse ones red.
	Color bool
	// Width of the terminal in columns; policies that do not fit go into a
	// further block. 0 = unlimited.
	Width int
	// Groups: teams, users or partitions follow, each with its own figures.
	Groups bool
}

// cell is a figure and its difference to the first policy.
type cell struct {
	text, diff string
	good       int // +1 better than the first policy, -1 worse
	ok         bool
}

// cellOf makes the cell of a policy.
func (r *row) cellOf(c *Comparison, i int) cell {
	m := &c.Policies[i].Metrics
	v, ok := r.get(m)
	if !ok {
		return cell{text: "-"}
	}
	out := cell{text: c.text(r.unit, v), ok: true}
	if r.isBound(m) {
		out.text = ">=" + out.text
	}
	if base, ok := r.get(&c.Policies[0].Metrics); i > 0 && ok {
		var sign int
		out.diff, sign = r.unit.difference(base, v)
		if !r.isBound(m) && !r.isBound(&c.Policies[0].Metrics) { // bounds say nothing about better or worse
			out.good = sign * r.better
		}
	}
	return out
}

// WriteTable writes the comparison as aligned text: figures as rows, policies as columns.
func WriteTable(w io.Writer, c *Comparison, o TableOptions) error {
	t := tableWriter{Writer: bufio.NewWriter(w), c: c, o: o, rows: shownRows(c)}
	t.head()
	t.check()
	t.finding()
	t.measure()
	for from := 0; from < len(c.Policies); {
		from = t.block(from)
	}
	if len(c.Policies) > 1 {
		t.WriteString("\nDifferences are to " + c.Policies[0].Name + ": percentage points (pp), and factors (x).\n")
	}
	t.closing()
	if o.Groups {
		t.groups()
	}
	return t.Flush()
}

// closing writes what is to be known of the figures above.
func (t *tableWriter) closing() {
	if worst := t.c.worst(); worst != "" {
		if len(t.c.Policies) == 1 {
			t.WriteString("\n")
		}
		for _, line := range t.wrap(worst, 0) {
			t.WriteString(line + "\n")
		}
	}
	cut, bound, withdrawn, open := false, false, false, false
	for i := range t.c.Policies {
		m := &t.c.Policies[i].Metrics
		cut = cut || m.Cut
		withdrawn, open = withdrawn || m.Withdrawn > 0, open || m.Unstarted+m.Unfinished > 0
		for _, r := range t.rows {
			bound = bound || r.isBound(m)
		}
	}
	if cut {
		t.WriteString("The run was cut: figures marked >= are lower bounds.\n")
	} else if bound {
		t.WriteString("Figures marked >= are lower bounds" + boundCause(withdrawn, open) + ".\n")
	}
}

// boundCause says why figures of runs that nobody cut are bounds.
func boundCause(withdrawn, open bool) string {
	switch {
	case withdrawn && open:
		return ": jobs were withdrawn before they started, or had not started or ended when the run did"
	case withdrawn:
		return ": jobs were withdrawn before they started"
	case open:
		return ": jobs had not started or ended when the run did"
	}
	return ""
}

type tableWriter struct {
	*bufio.Writer
	c     *Comparison
	o     TableOptions
	rows  []*row
	label int // width of the first column
	cells [][]cell
	text  []int // widths by policy
	diff  []int
}

// head writes what a reader must know to read the figures, and what they say;
// the whole of it is in JSON and HTML.
func (t *tableWriter) head() {
	shown := map[string]bool{"Workload": true, "Licence": true, "Cluster": true, "Window": true, "Rows dropped": true, "Note": true, "Budgets": true, "No account": true}
	for _, a := range t.c.Assumptions {
		if a.Source != "default" {
			shown[a.Name] = true
		}
	}
	for _, l := range t.c.head() {
		if shown[l.name] {
			t.field(l.name, l.value)
		}
	}
	t.WriteString("\n")
}

// finding says in a sentence what came of it.
func (t *tableWriter) finding() {
	if len(t.c.Policies) > 1 {
		for _, line := range t.wrap(Finding(t.c), 0) {
			t.WriteString(line + "\n")
		}
		t.WriteString("\n")
	}
}

// field writes a name and a value, which is wrapped to the width.
func (t *tableWriter) field(name, value string) {
	const column = 14
	for i, line := range t.wrap(value, column) {
		if i > 0 {
			name = ""
		}
		t.WriteString(padRight(name, column) + line + "\n")
	}
}

// wrap cuts a text at blanks so that it fits the width behind an indent. Very
// narrow terminals cut it themselves.
func (t *tableWriter) wrap(text string, indent int) []string {
	if t.o.Width == 0 || t.o.Width < indent+40 {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && indent+width(line)+1+width(word) > t.o.Width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

func (t *tableWriter) measure() {
	n := len(t.c.Policies)
	t.text, t.diff = make([]int, n), make([]int, n)
	t.cells = make([][]cell, len(t.rows))
	for k, r := range t.rows {
		t.label = max(t.label, width(r.label)+1)
		t.cells[k] = make([]cell, n)
		for i := range n {
			x := r.cellOf(t.c, i)
			t.cells[k][i] = x
			t.text[i], t.diff[i] = max(t.text[i], width(x.text)), max(t.diff[i], width(x.diff))
		}
	}
	for i := range n {
		if d := width(t.c.Policies[i].Name) - t.column(i); d > 0 {
			t.text[i] += d
		}
	}
}

// column is the width of a policy's column.
func (t *tableWriter) column(i int) int {
	if t.diff[i] == 0 {
		return t.text[i]
	}
	return t.text[i] + 1 + t.diff[i]
}

// block writes the policies from one on that fit the width, and returns the next.
func (t *tableWriter) block(from int) int {
	const gap = 3
	to, used := from, t.label
	for to < len(t.c.Policies) && (to == from || t.o.Width == 0 || used+gap+t.column(to) <= t.o.Width) {
		used += gap + t.column(to)
		to++
	}
	if from > 0 {
		t.WriteString("\n")
	}
	line := padRight("", t.label)
	for i := from; i < to; i++ {
		name := t.c.Policies[i].Name
		line += strings.Repeat(" ", gap) + padLeft(name, min(t.column(i), max(t.text[i], width(name)))) +
			strings.Repeat(" ", max(0, t.column(i)-max(t.text[i], width(name))))
	}
	t.line(t.style("1", strings.TrimRight(line, " ")))
	section := ""
	for k, r := range t.rows {
		if r.section != section {
			section = r.section
			t.line(t.style("1", section))
		}
		line := " " + padRight(r.label, t.label-1)
		for i := from; i < to; i++ {
			x := t.cells[k][i]
			line += strings.Repeat(" ", gap) + padLeft(x.text, t.text[i])
			if t.diff[i] > 0 {
				line += " " + t.mark(x, padLeft(x.diff, t.diff[i]))
			}
		}
		t.line(strings.TrimRight(line, " "))
	}
	return to
}

func (t *tableWriter) line(s string) { t.WriteString(s + "\n") }

func (t *tableWriter) mark(x cell, s string) string {
	switch {
	case x.good > 0:
		return t.style("32", s)
	case x.good < 0:
		return t.style("31", s)
	}
	return t.style("2", s)
}

func (t *tableWriter) style(code, s string) string {
	if !t.o.Color || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func width(s string) int { return utf8.RuneCountInString(s) }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }
