package trace

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonScan reads JSON bit by bit, in one pass and a fixed amount of memory, and passes
// over what nobody asks for without looking into it: of gigabytes of accounting most
// are steps and texts that are not needed.
type jsonScan struct {
	in       io.Reader
	buf      []byte
	pos, end int
	// lines were passed before buf[counted].
	lines, counted int
	eof            bool
	depth          int
	text           []byte
	names          map[string]string
}

// errJSON is broken JSON; its text says what is wrong.
type errJSON string

func (e errJSON) Error() string { return string(e) }

const errJSONEnd = errJSON("the JSON ends in the middle")

func newJSONScan(in io.Reader) *jsonScan {
	return &jsonScan{in: in, buf: make([]byte, blockSize/4), lines: 1, names: map[string]string{}}
}

// line is the present one.
func (s *jsonScan) line() int {
	s.lines += bytes.Count(s.buf[s.counted:s.pos], []byte("\n"))
	s.counted = s.pos
	return s.lines
}

// fill reads the next block; what was before pos is gone.
func (s *jsonScan) fill() error {
	if s.eof {
		return errJSONEnd
	}
	s.line()
	s.pos, s.end, s.counted = 0, 0, 0
	for range 100 { // a reader that gives nothing for ever
		n, err := s.in.Read(s.buf)
		s.end = n
		switch {
		case n > 0:
			return nil
		case errors.Is(err, io.EOF):
			s.eof = true
			return errJSONEnd
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

// peek is the next byte that is no white space.
func (s *jsonScan) peek() (byte, error) {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\n', '\t', '\r':
				s.pos++
			default:
				return c, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// take wants a byte.
func (s *jsonScan) take(want byte) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != want {
		return errJSON("a " + strconv.Quote(string(want)) + " is missing before " + strconv.Quote(string(rune(c))))
	}
	s.pos++
	return nil
}

// object calls field with each key, which has to read or skip the value.
func (s *jsonScan) object(field func(key string) error) error {
	return s.list('{', '}', func() error {
		key, err := s.str()
		if err != nil {
			return err
		}
		name, known := s.names[string(key)]
		if !known {
			name = string(key)
			if len(s.names) < 10_000 {
				s.names[name] = name
			}
		}
		if err := s.take(':'); err != nil {
			return err
		}
		return field(name)
	})
}

// array calls item before each value, which it has to read or skip.
func (s *jsonScan) array(item func() error) error { return s.list('[', ']', item) }

// mostDepth is how deep lists and objects that are looked into may lie in each other.
const mostDepth = 32

func (s *jsonScan) list(begin, end byte, item func() error) error {
	if err := s.take(begin); err != nil {
		return err
	}
	if s.depth++; s.depth > mostDepth {
		return errJSON("lists within lists, more than anybody writes")
	}
	defer func() { s.depth-- }()
	if c, err := s.peek(); err != nil || c == end {
		s.pos++
		return err
	}
	for {
		if err := item(); err != nil {
			return err
		}
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case c == end:
			s.pos++
			return nil
		}
		if err := s.take(','); err != nil {
			return err
		}
	}
}

// skip passes over a value. Of what is within it only strings and brackets are looked at.
func (s *jsonScan) skip() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch c {
	case '"':
		return s.skipString()
	case '{', '[':
	default:
		_, err := s.word()
		return err
	}
	depth := 0
	for {
		for s.pos < s.end {
			switch jsonBytes[s.buf[s.pos]] {
			case opens:
				depth++
			case closes:
				if depth--; depth == 0 {
					s.pos++
					return nil
				}
			case quotes:
				if err := s.skipString(); err != nil {
					return err
				}
				continue
			}
			s.pos++
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// What a byte is to who passes over a value.
const (
	opens = iota + 1
	closes
	quotes
	escapes
)

var jsonBytes = [256]uint8{'{': opens, '[': opens, '}': closes, ']': closes, '"': quotes, '\\': escapes}

// quote is how far the end of a string, or a backslash in it, is; -1 for further than the block.
func (s *jsonScan) quote() int {
	for i, c := range s.buf[s.pos:s.end] {
		if jsonBytes[c] >= quotes {
			return i
		}
	}
	return -1
}

func (s *jsonScan) skipString() error {
	s.pos++
	for {
		at := s.quote()
		switch {
		case at < 0:
			s.pos = s.end
			if err := s.fill(); err != nil {
				return err
			}
		case s.buf[s.pos+at] == '"':
			s.pos += at + 1
			return nil
		default: // the character behind a backslash is no end
			s.pos += at + 1
			if s.pos == s.end {
				if err := s.fill(); err != nil {
					return err
				}
			}
			s.pos++
		}
	}
}

// word reads a number, true, false or null. It holds until the next call.
func (s *jsonScan) word() ([]byte, error) {
	s.text = s.text[:0]
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ',', '}', ']', ' ', '\n', '\t', '\r', ':', '{', '[', '"':
				if len(s.text) == 0 {
					return nil, errJSON("a value is missing before " + strconv.Quote(string(rune(c))))
				}
				return s.text, nil
			default:
				if len(s.text) > 400 {
					return nil, errJSON("a number of more than 400 digits")
				}
				s.text = append(s.text, c)
				s.pos++
			}
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// mostText bounds one text.
const mostText = 64 << 20

// str reads a string. It holds until the next call.
func (s *jsonScan) str() ([]byte, error) {
	if err := s.take('"'); err != nil {
		return nil, err
	}
	s.text = s.text[:0]
	for {
		at := s.quote()
		if at < 0 {
			s.text = append(s.text, s.buf[s.pos:s.end]...)
			s.pos = s.end
			if len(s.text) > mostText {
				return nil, errJSON("a text of more than 64 MiB")
			}
			if err := s.fill(); err != nil {
				return nil, err
			}
			continue
		}
		s.text = append(s.text, s.buf[s.pos:s.pos+at]...)
		c := s.buf[s.pos+at]
		s.pos += at + 1
		if c == '"' {
			return s.text, nil
		}
		if err := s.escape(); err != nil {
			return nil, err
		}
	}
}

// byte reads one byte of a string.
func (s *jsonScan) byte() (byte, error) {
	if s.pos == s.end {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.pos++
	return s.buf[s.pos-1], nil
}

func (s *jsonScan) escape() error {
	c, err := s.byte()
	if err != nil {
		return err
	}
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		return s.unicode()
	}
	s.text = append(s.text, c)
	return nil
}

func (s *jsonScan) unicode() error {
	r, err := s.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) && s.pos+2 <= s.end && s.buf[s.pos] == '\\' && s.buf[s.pos+1] == 'u' {
		s.pos += 2
		low, err := s.hex()
		if err != nil {
			return err
		}
		r = utf16.DecodeRune(r, low)
	}
	s.text = utf8.AppendRune(s.text, r)
	return nil
}

func (s *jsonScan) hex() (rune, error) {
	var r rune
	for range 4 {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errJSON(`\u wants four hexadecimal digits`)
		}
	}
	return r, nil
}
