package yamlx

import (
	"fmt"
	"strings"
)

// Error is what is wrong in a file, where, and what would be right.
type Error struct {
	File string
	// Line and Col count from 1, Col in characters.
	Line, Col int
	// Msg says what is wrong, Want what would be right ("" where Msg says it all).
	Msg, Want string
	// Excerpt is the source line with a caret below the column.
	Excerpt string
}

// Error renders "file:line:col: what is wrong; want what would be right" and
// the excerpt on the lines after it.
func (e *Error) Error() string {
	s := e.Head()
	if e.Excerpt != "" {
		s += "\n" + e.Excerpt
	}
	return s
}

// Head is the error on one line, without the excerpt.
func (e *Error) Head() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
	if e.Want != "" {
		s += "; " + e.Want
	}
	return s
}

// excerpt draws line and caret. A tab before the column is kept in the caret's
// line, so that both move by the same width. Long lines are cut around the caret.
func excerpt(lines []string, line, col int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	const widest = 120
	text := []rune(lines[line-1])
	at := min(max(col-1, 0), len(text))
	from := 0
	if at > widest-20 {
		from = at - widest/2
	}
	shown := text[from:min(len(text), from+widest)]
	var pad strings.Builder
	for _, r := range text[from:at] {
		if r == '\t' {
			pad.WriteRune('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return fmt.Sprintf("%5d | %s\n      | %s^", line, string(shown), pad.String())
}
