package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// How many rows the lists on a terminal have at most; page and JSON have all.
const (
	planJobs    = 80
	planLeftOut = 12
	planRisks   = 16
	planWindows = 8
)

// WritePlanText writes a plan for people at a terminal: what it rests on, figures, the
// grid, and what there is to know of the hours to come.
func WritePlanText(w io.Writer, r *PlanReport, o TableOptions) error {
	t := &planWriter{tableWriter: tableWriter{Writer: bufio.NewWriter(w), o: o}, r: r, l: r.labelled()}
	for _, l := range r.planHead() {
		t.field(l.name, l.value)
	}
	t.WriteString("\n")
	for _, line := range t.wrap(strings.Join(planFinding(r), " "), 0) {
		t.WriteString(line + "\n")
	}
	t.WriteString("\n")
	t.figures()
	for _, p := range r.Plans {
		t.title("The grid" + t.under(p))
		for _, line := range newPlanGrid(r, p, t.l, o.Color).lines(o.Width) {
			t.line(line)
		}
	}
	t.signs()
	t.jobs()
	for _, p := range r.Plans {
		t.leftOut(p)
	}
	if len(r.Problem.Apps) > 0 {
		for _, p := range r.Plans {
			t.coverage(p)
		}
	}
	for _, p := range r.Plans {
		t.idle(p)
	}
	return t.Flush()
}

type planWriter struct {
	tableWriter
	r *PlanReport
	l *planLabels
}

// under names the plan where there are two.
func (t *planWriter) under(p *Planned) string {
	if len(t.r.Plans) == 1 {
		return ""
	}
	return " under " + p.Name()
}

func (t *planWriter) title(text string) {
	t.WriteString("\n")
	t.line(t.style("1", text))
}

// figures writes one column for each plan, and one for the difference.
func (t *planWriter) figures() {
	rows := t.r.planFigures()
	n := len(t.r.Plans)
	widths, label, diff := make([]int, n), 0, width("difference")
	for i, p := range t.r.Plans {
		widths[i] = width(p.Name())
	}
	for _, row := range rows {
		label = max(label, width(row.label))
		for i, x := range row.cells {
			widths[i] = max(widths[i], width(x.text))
		}
		diff = max(diff, width(row.cells[0].diff))
	}
	if n == 2 {
		line := padRight("", label)
		for i, p := range t.r.Plans {
			line += "   " + padLeft(p.Name(), widths[i])
		}
		t.line(t.style("1", line+"   "+padLeft("difference", diff)))
	}
	for _, row := range rows {
		line := padRight(row.label, label)
		for i, x := range row.cells {
			text := x.text
			if n == 2 {
				text = padLeft(text, widths[i])
			}
			if strings.HasPrefix(x.text, "NO") {
				text = t.style("1;31", text)
			}
			line += "   " + text
		}
		if n == 2 && row.cells[0].diff != "" {
			line += "   " + t.mark(row.cells[0], padLeft(row.cells[0].diff, diff))
		}
		t.line(line)
	}
}

// signs says what the grid's signs mean, those that occur.
func (t *planWriter) signs() {
	parts := []string{"[A--] a job", ". idle"}
	if t.o.Color {
		parts[0] = "filled: a job"
	}
	if t.r.any(func(p *Planned) bool { return p.Plan.Problem.GPUs > gridRows }) {
		parts = append(parts, "A+ other work beside it", "A. idle GPUs beside it")
	}
	if len(t.r.Problem.Apps) > 0 {
		parts = append(parts, "=1= real-time")
	}
	if len(t.r.Problem.Closed) > 0 {
		parts = append(parts, "## closed")
	}
	parts = append(parts, "< runs since before", "> goes on after")
	if len(t.r.Problem.Apps) > 0 {
		parts = append(parts, "! short of demand", "* just met, nothing idle to grow into")
	}
	text := strings.Join(parts, ",  ")
	t.WriteString("\n")
	for _, line := range t.wrap(text, 0) {
		t.line(t.style("2", line))
	}
}

func (t *planWriter) jobs() {
	tab := t.r.jobsTable(t.l, true)
	if len(tab.Rows) == 0 {
		return
	}
	t.title("Jobs")
	t.columns(tab, planJobs, func(i int, cell string) string {
		j := t.l.order[i]
		return t.style(jobStyle(jobFamily(t.r.Problem.Jobs[j].Kind), t.l.shade[j]), " "+cell+" ")
	})
}

func (t *planWriter) leftOut(p *Planned) {
	if len(p.LeftOut) == 0 {
		return
	}
	t.title(fmt.Sprintf("Not placed%s: %d of %s", t.under(p), len(p.LeftOut), some(len(t.r.Problem.Jobs), "job")))
	t.columns(leftOutTable(p), planLeftOut, nil)
}

func (t *planWriter) coverage(p *Planned) {
	t.title("Real-time coverage risk" + t.under(p))
	tab := coverageTable(p)
	if len(tab.Rows) == 0 {
		t.line("None: in every step more is held or could be had than is wanted.")
		return
	}
	for _, line := range t.wrap("short: less is held than wanted.  no margin: just what is wanted, and nothing idle that the swap cap would let it grow into.", 0) {
		t.line(t.style("2", line))
	}
	t.columns(tab, planRisks, nil)
}

func (t *planWriter) idle(p *Planned) {
	t.title("Idle windows" + t.under(p))
	tab, rest := idleTable(p, planWindows)
	if len(tab.Rows) == 0 {
		t.line("None: every GPU is in use in every step.")
		return
	}
	n := len(p.Windows) - len(tab.Rows)
	t.columns(tab, planWindows, nil)
	if n > 0 {
		t.line(fmt.Sprintf("and %s of %s GPU-hours together", some(n, "smaller window"), significant(rest)))
	}
}

// columns writes a table in aligned columns, numbers to the right, and says how many
// rows there are besides most. paint, if set, styles the first cell of a row.
func (t *planWriter) columns(tab *textTable, most int, paint func(i int, cell string) string) {
	more := max(0, len(tab.Rows)-most)
	rows := tab.Rows[:len(tab.Rows)-more]
	widths, right := make([]int, len(tab.Head)), make([]bool, len(tab.Head))
	for c, h := range tab.Head {
		widths[c], right[c] = width(h), c > 0
		for _, row := range rows {
			widths[c] = max(widths[c], width(row[c]))
			right[c] = right[c] && numeric(row[c])
		}
	}
	if paint != nil && t.o.Color {
		widths[0] += 2 // a blank on each side of the label
	}
	line := func(cells []string, first func(string) string) string {
		text := ""
		for c, s := range cells {
			switch {
			case c == 0 && first != nil:
				s = first(s) + strings.Repeat(" ", max(0, widths[0]-2-width(s)))
			case right[c]:
				s = padLeft(s, widths[c])
			case c < len(cells)-1:
				s = padRight(s, widths[c])
			}
			if c > 0 {
				text += "  "
			}
			text += s
		}
		return strings.TrimRight(text, " ")
	}
	t.line(t.style("2", line(tab.Head, nil)))
	last := 0
	for c := range widths[:len(widths)-1] {
		last += widths[c] + 2
	}
	for i, row := range rows {
		var first func(string) string
		if paint != nil && t.o.Color {
			first = func(s string) string { return paint(i, s) }
		}
		// A last column of words is wrapped below itself.
		parts := []string{row[len(row)-1]}
		if !right[len(row)-1] && last < t.o.Width/2 {
			parts = t.wrap(row[len(row)-1], last)
		}
		t.line(line(append(append([]string{}, row[:len(row)-1]...), parts[0]), first))
		for _, p := range parts[1:] {
			t.line(strings.Repeat(" ", last) + p)
		}
	}
	if more > 0 {
		t.line(fmt.Sprintf("and %d more: --output json has all", more))
	}
}

// numeric tells a count from a time or a word.
func numeric(s string) bool {
	return s == "-" || s != "" && strings.Trim(s, "0123456789.,") == ""
}
