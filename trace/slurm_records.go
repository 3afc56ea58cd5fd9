package trace

import "strings"

// sacctRecords cuts the text of sacct into records. A field may hold line
// breaks (a comment, a submit line), so a record is as many lines as it takes to
// reach the header's number of fields; a line that has them all begins afresh,
// which is where a fragment before it is given up.
type sacctRecords struct {
	text  string
	delim string
	want  int
	pos   int
	line  int
	buf   []string
}

// next returns the fields of the next record and its first line. whole is false
// for a fragment. more is false at the end.
func (r *sacctRecords) next() (fields []string, line int, whole, more bool) {
	start, fieldsSoFar := -1, 0
	for r.pos < len(r.text) {
		end := strings.IndexByte(r.text[r.pos:], '\n')
		after := len(r.text)
		if end < 0 {
			end = len(r.text)
		} else {
			end += r.pos
			after = end + 1
		}
		one := r.text[r.pos:end]
		if start < 0 && strings.TrimSpace(one) == "" {
			r.pos = after
			r.line++
			continue
		}
		n := strings.Count(one, r.delim) + 1
		switch {
		case start < 0:
			start, fieldsSoFar, line = r.pos, n, r.line
		case n == r.want || fieldsSoFar+n-1 > r.want:
			return nil, line, false, true
		default:
			fieldsSoFar += n - 1
		}
		r.pos = after
		r.line++
		switch {
		case fieldsSoFar == r.want:
			return r.split(strings.TrimSuffix(r.text[start:end], "\r")), line, true, true
		case fieldsSoFar > r.want:
			return nil, line, false, true
		}
	}
	return nil, line, false, start >= 0
}

func (r *sacctRecords) split(s string) []string {
	r.buf = r.buf[:0]
	for {
		f, rest, more := strings.Cut(s, r.delim)
		r.buf = append(r.buf, f)
		if !more {
			return r.buf
		}
		s = rest
	}
}
