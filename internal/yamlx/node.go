package yamlx

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is what a value in a file is.
type Kind uint8

// Kinds of values.
const (
	Text Kind = iota
	Number
	Bool
	List
	Map
)

var kindNames = [...]string{"text", "a number", "true or false", "a list", "a map"}

// String returns the kind as error messages say it.
func (k Kind) String() string { return kindNames[k] }

// Node is a value in a file, with its place.
type Node struct {
	Kind Kind
	// Text of a scalar: decoded for text, as written for numbers.
	Text string
	// Items of a list.
	Items []*Node
	// Keys of a map in the order of the file, and the values that belong to them.
	Keys   []Key
	Values []*Node

	src       *source
	line, col int
	// style of a text, for places inside it: 0 plain, '"', '\'', '|' or '>'.
	style byte
}

// Key is a key of a map with its place.
type Key struct {
	Name      string
	line, col int
}

// source is what all nodes of a file share.
type source struct {
	file  string
	lines []string
}

func (s *source) errorAt(line, col int, want, msg string) *Error {
	line, col = min(max(line, 1), len(s.lines)), max(col, 1)
	return &Error{File: s.file, Line: line, Col: col, Msg: msg, Want: want, Excerpt: excerpt(s.lines, line, col)}
}

// Errorf returns an error at the node. want says what would be right, as a
// clause of its own ("want at least 1"); it may be empty.
func (n *Node) Errorf(want, format string, args ...any) *Error {
	return n.src.errorAt(n.line, n.col, want, fmt.Sprintf(format, args...))
}

// ErrorfIn is [Node.Errorf] for a place inside a text: line and col count from
// 1 in the decoded text. Where folding or escapes hide the place, it points at
// the text as a whole.
func (n *Node) ErrorfIn(line, col int, want, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	at := func(l, c int) *Error { return n.src.errorAt(l, c, want, msg) }
	textLine := line
	if line < 1 || line > strings.Count(n.Text, "\n")+1 {
		return at(n.line, n.col)
	}
	text := strings.Split(n.Text, "\n")[textLine-1]
	switch n.style {
	case '|':
		if raw := n.line + textLine; raw <= len(n.src.lines) {
			if i := strings.Index(n.src.lines[raw-1], text); i >= 0 {
				return at(raw, utf8.RuneCountInString(n.src.lines[raw-1][:i])+col)
			}
		}
	case 0, '"', '\'':
		if n.line <= len(n.src.lines) && textLine == 1 {
			start := n.col
			if n.style != 0 {
				start++
			}
			rest := []rune(n.src.lines[n.line-1])
			if start-1 <= len(rest) && strings.HasPrefix(string(rest[start-1:]), text) {
				return at(n.line, start+col-1)
			}
		}
	}
	return at(n.line, n.col)
}

// Get returns the value of a key of a map, nil where the key is absent.
func (n *Node) Get(key string) *Node {
	for i, k := range n.Keys {
		if k.Name == key {
			return n.Values[i]
		}
	}
	return nil
}

// At walks down by keys (string) and indexes (int). Where the path ends early
// it returns the last node there is: an error about a default points at what
// the default belongs to.
func (n *Node) At(path ...any) *Node {
	for _, step := range path {
		var next *Node
		switch s := step.(type) {
		case string:
			next = n.Get(s)
		case int:
			if s >= 0 && s < len(n.Items) {
				next = n.Items[s]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
