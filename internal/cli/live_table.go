package cli

import (
	"strings"
	"unicode/utf8"
)

// Colours of what is told live: what goes well, what waits, what went wrong, what is less
// important.
const (
	styleNone  = ""
	styleGood  = "\x1b[32m"
	styleWait  = "\x1b[33m"
	styleBad   = "\x1b[31m"
	styleFaint = "\x1b[2m"
	styleBold  = "\x1b[1m"
	styleReset = "\x1b[0m"
)

// cell is a text with a colour.
type cell struct{ text, style string }

// column of a list; it is shown on outputs of at least so many columns.
type column struct {
	title string
	right bool
	wide  int
	// rest: what does not fit is cut, so that the list has a line for each entry.
	rest bool
}

// list is a table that fits the terminal: columns that matter less give way.
type list struct {
	columns []column
	rows    [][]cell
}

func (l *list) add(cells ...cell) { l.rows = append(l.rows, cells) }

// text lays the list out in a width, 0 = any.
func (l *list) text(width int, colored bool) string {
	var shown []int
	for i, c := range l.columns {
		if (width == 0 || width >= c.wide) && l.used(i) {
			shown = append(shown, i)
		}
	}
	widths := make([]int, len(l.columns))
	for _, i := range shown {
		widths[i] = utf8.RuneCountInString(l.columns[i].title)
		for _, row := range l.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	l.squeeze(shown, widths, width)
	var b strings.Builder
	head := make([]cell, len(l.columns))
	for i, c := range l.columns {
		head[i] = cell{c.title, styleBold}
	}
	for _, row := range append([][]cell{head}, l.rows...) {
		var line strings.Builder
		plain := 0
		for k, i := range shown {
			text := cut(row[i].text, widths[i])
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if colored && row[i].style != "" && text != "" {
				text = row[i].style + text + styleReset
			}
			if l.columns[i].right {
				text = fill + text
			} else if k < len(shown)-1 {
				text += fill
			}
			if row[i].text != "" {
				plain = line.Len() + len(text)
			}
			line.WriteString(text)
			if k < len(shown)-1 {
				line.WriteString("  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String()[:plain], " ") + "\n")
	}
	return b.String()
}

// used tells whether a column has anything to show.
func (l *list) used(i int) bool {
	for _, row := range l.rows {
		if row[i].text != "" {
			return true
		}
	}
	return len(l.rows) == 0
}

// squeeze takes from the columns that may be cut what does not fit.
func (l *list) squeeze(shown, widths []int, width int) {
	if width == 0 {
		return
	}
	all := 2 * (len(shown) - 1)
	for _, i := range shown {
		all += widths[i]
	}
	const least = 8
	for k := len(shown) - 1; k >= 0 && all > width; k-- {
		if i := shown[k]; l.columns[i].rest {
			less := min(all-width, max(widths[i]-least, 0))
			widths[i] -= less
			all -= less
		}
	}
}

// cut shortens a text to a width.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	return string([]rune(text)[:width-1]) + "…"
}

// showList writes a list to standard output.
func (s *State) showList(l *list) error {
	return s.print("%s", l.text(s.Stdout.width(), s.colored(s.Stdout)))
}

// paint colours a text for standard output.
func (s *State) paint(style, text string) string {
	if style == "" || !s.colored(s.Stdout) {
		return text
	}
	return style + text + styleReset
}

// stateStyle is the colour of a job's state.
func stateStyle(state string) string {
	switch state {
	case "running", "starting", "completed", "up":
		return styleGood
	case "stopping", "clearing", "draining", "drained", "waiting":
		return styleWait
	case "failed", "refused", "timeout", "node-fail", "preempted", "down":
		return styleBad
	}
	return styleFaint
}

// ordinal writes a place in line.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return grouped(int64(n)) + suffix
}

// unprintable replaces what would move a terminal's cursor: names are of people's choice.
func unprintable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, text)
}
