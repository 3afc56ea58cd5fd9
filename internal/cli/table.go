package cli

import (
	"strings"
	"unicode/utf8"
)

// table is a list with aligned columns.
type table struct {
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// alignRight puts the columns from one on to the right, as numbers are.
func (t *table) alignRight(from int) {
	rows := append([][]string{t.header}, t.rows...)
	for i := from; i < len(t.header); i++ {
		most := 0
		for _, row := range rows {
			most = max(most, utf8.RuneCountInString(row[i]))
		}
		for _, row := range rows {
			row[i] = strings.Repeat(" ", most-utf8.RuneCountInString(row[i])) + row[i]
		}
	}
}

const columnGap = 3

// showTable writes a table to standard output. Where a terminal is too narrow for
// it, the last column goes below the one before it, and both are wrapped.
func (s *State) showTable(t *table) error {
	bold, faint, reset := "", "", ""
	if s.colored(s.Stdout) {
		bold, faint, reset = "\x1b[1m", "\x1b[2m", "\x1b[0m"
	}
	last := len(t.header) - 1
	widths := make([]int, last)
	all := 0
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i := range last {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		all = max(all, utf8.RuneCountInString(row[last]))
	}
	before := 0 // columns left of the last but one
	for i := range last - 1 {
		before += widths[i] + columnGap
	}
	limit := s.Stdout.width()
	stacked := limit > 0 && before+widths[last-1]+columnGap+all > limit
	var b strings.Builder
	for n, row := range append([][]string{t.header}, t.rows...) {
		line := ""
		for i := range last - 1 {
			line += pad(row[i], widths[i]+columnGap)
		}
		switch {
		case !stacked:
			line += pad(row[last-1], widths[last-1]+columnGap) + row[last]
		case n == 0:
			line += row[last-1] + ", " + row[last]
		default:
			line += strings.Join(wrap(row[last-1], limit-before), "\n"+strings.Repeat(" ", before))
			if row[last] != "" {
				line += "\n" + strings.Repeat(" ", before) + faint + strings.Join(wrap(row[last], limit-before), "\n"+strings.Repeat(" ", before)) + reset
			}
		}
		line = strings.TrimRight(line, " ")
		if n == 0 {
			line = bold + line + reset
		}
		b.WriteString(line + "\n")
	}
	return s.print("%s", b.String())
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// wrap cuts a text into lines at blanks; a longer word stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
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
