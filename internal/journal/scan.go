package journal

import (
	"encoding/json"
	"strconv"
)

// object goes through the members of one JSON object. It checks the syntax of
// all of it, unknown members included, and allocates nothing in the usual case.
type object struct {
	b   []byte
	i   int
	key []byte
	// val is the value's text: strings with their quotes.
	val []byte
	bad string
}

// begin opens the object that b holds.
func begin(b []byte) object {
	o := object{b: b}
	o.space()
	if o.i == len(b) || b[o.i] != '{' {
		o.bad = "no JSON object"
	}
	o.i++
	return o
}

// next steps to the next member; false at the end or at a fault, which bad then names.
func (o *object) next() bool {
	if o.bad != "" {
		return false
	}
	first := o.key == nil
	o.space()
	switch c := o.peek(); {
	case c == '}':
		o.i++
		if o.space(); o.i != len(o.b) {
			o.bad = "more text behind the object"
		}
		return false
	case !first && c != ',':
		return o.fail("no comma between two members")
	case !first:
		o.i++
		o.space()
	}
	from := o.i
	if o.peek() != '"' || !o.text() {
		return o.fail("no key")
	}
	o.key = o.b[from+1 : o.i-1]
	if o.space(); o.peek() != ':' {
		return o.fail("no colon behind the key " + quote(o.key))
	}
	o.i++
	o.space()
	from = o.i
	if !o.value(0) {
		return o.fail("no value behind the key " + quote(o.key))
	}
	o.val = o.b[from:o.i]
	return true
}

func (o *object) fail(msg string) bool {
	o.bad = msg
	return false
}

func (o *object) peek() byte {
	if o.i < len(o.b) {
		return o.b[o.i]
	}
	return 0
}

func (o *object) space() {
	for o.i < len(o.b) {
		switch o.b[o.i] {
		case ' ', '\t', '\r', '\n':
			o.i++
		default:
			return
		}
	}
}

// value steps over one value.
func (o *object) value(depth int) bool {
	const deepest = 100
	switch c := o.peek(); {
	case c == '"':
		return o.text()
	case c == '-' || c >= '0' && c <= '9':
		return o.number()
	case c == '{' || c == '[':
		return depth < deepest && o.nested(c, depth)
	}
	return o.literal("true") || o.literal("false") || o.literal("null")
}

func (o *object) nested(c byte, depth int) bool {
	end := c + 2 // ']' and '}' lie two behind '[' and '{'
	o.i++
	if o.space(); o.peek() == end {
		o.i++
		return true
	}
	for {
		if o.space(); c == '{' {
			if o.peek() != '"' || !o.text() {
				return false
			}
			if o.space(); o.peek() != ':' {
				return false
			}
			o.i++
			o.space()
		}
		if !o.value(depth + 1) {
			return false
		}
		o.space()
		switch o.peek() {
		case ',':
			o.i++
		case end:
			o.i++
			return true
		default:
			return false
		}
	}
}

func (o *object) literal(word string) bool {
	if len(o.b)-o.i < len(word) || string(o.b[o.i:o.i+len(word)]) != word {
		return false
	}
	o.i += len(word)
	return true
}

// text steps over a string.
func (o *object) text() bool {
	for o.i++; o.i < len(o.b); o.i++ {
		switch c := o.b[o.i]; {
		case c == '"':
			o.i++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if o.i++; o.i == len(o.b) {
				return false
			}
			switch o.b[o.i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if o.i++; o.i >= len(o.b) || !isHex(o.b[o.i]) {
						return false
					}
				}
			default:
				return false
			}
		}
	}
	return false
}

func isHex(c byte) bool { return c-'0' <= 9 || c|32 >= 'a' && c|32 <= 'f' }

func (o *object) digits() bool {
	from := o.i
	for o.peek()-'0' <= 9 {
		o.i++
	}
	return o.i > from
}

// number steps over a number of JSON's grammar.
func (o *object) number() bool {
	if o.peek() == '-' {
		o.i++
	}
	if o.peek() == '0' {
		o.i++
	} else if !o.digits() {
		return false
	}
	if o.peek() == '.' {
		if o.i++; !o.digits() {
			return false
		}
	}
	if o.peek()|32 == 'e' {
		if o.i++; o.peek() == '+' || o.peek() == '-' {
			o.i++
		}
		return o.digits()
	}
	return true
}

// whole reads a value that must be an integer.
func whole(val []byte) (int64, bool) {
	if len(val) <= 18 { // cannot overflow
		i, neg := 0, false
		if len(val) > 0 && val[0] == '-' {
			neg, i = true, 1
		}
		var v int64
		for ; i < len(val); i++ {
			d := val[i] - '0'
			if d > 9 {
				return 0, false
			}
			v = v*10 + int64(d)
		}
		if neg {
			v = -v
		}
		return v, true
	}
	v, err := strconv.ParseInt(string(val), 10, 64)
	return v, err == nil
}

// plain returns the text of a string value, and whether it is one. The bytes are
// part of the line unless it has escapes.
func plain(val []byte) ([]byte, bool) {
	if len(val) < 2 || val[0] != '"' {
		return nil, false
	}
	for _, c := range val {
		if c == '\\' {
			var s string
			err := json.Unmarshal(val, &s)
			return []byte(s), err == nil
		}
	}
	return val[1 : len(val)-1], true
}
