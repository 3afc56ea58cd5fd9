package trace

import "strconv"

// Error is an input that cannot be used: where, what is wrong, what would be right.
type Error struct {
	File string
	// Line is 1-based; 0 where the fault has no line.
	Line int
	Msg  string
	// Want says what would be right; "" where nothing can be said.
	Want string
}

// Error returns "file:line: msg; want ...".
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	s += ": " + e.Msg
	if e.Want != "" {
		s += "; want " + e.Want
	}
	return s
}
