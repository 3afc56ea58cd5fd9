package results

import (
	"strconv"
	"unicode/utf8"
)

// appendDecimal writes v thousandths (digits 3) or millionths (digits 6) as a
// decimal number without trailing zeros: 12500 thousandths are 12.5.
func appendDecimal(b []byte, v int64, digits int) []byte {
	unit := int64(1000)
	if digits == 6 {
		unit = 1_000_000
	}
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	b = strconv.AppendInt(b, v/unit, 10)
	if v %= unit; v == 0 {
		return b
	}
	b = append(b, '.')
	for v > 0 {
		v *= 10
		b = append(b, byte('0'+v/unit))
		v %= unit
	}
	return b
}

// appendSeconds writes milliseconds as seconds.
func appendSeconds(b []byte, ms int64) []byte { return appendDecimal(b, ms, 3) }

// appendText writes a CSV field, in quotes where RFC 4180 asks for them. Bytes
// that are no UTF-8 stay as they are.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		switch s[i] {
		case ',', '"', '\n', '\r':
			return appendQuoted(b, s)
		}
	}
	if s != "" && (s[0] == ' ' || s[len(s)-1] == ' ') {
		return appendQuoted(b, s) // some readers trim
	}
	return append(b, s...)
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// validText makes text fit for formats that hold UTF-8 alone.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s)) // each bad byte becomes U+FFFD
}
