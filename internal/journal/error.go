package journal

import "strconv"

// Error is a journal that cannot be used: where, what is wrong, what would be right.
type Error struct {
	File string
	// Line is 1-based.
	Line int
	Msg  string
	// Want says what would be right; "" where nothing can be said.
	Want string
}

// Error returns "file:line: msg; want ...".
func (e *Error) Error() string {
	s := e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Msg
	if e.Want != "" {
		s += "; want " + e.Want
	}
	return s
}

// quote renders foreign text for a message, cut where it is long.
func quote[T string | []byte](s T) string {
	if len(s) > 60 {
		return strconv.Quote(string(s[:57])) + "..."
	}
	return strconv.Quote(string(s))
}
