package trace

import (
	"errors"
	"io"
	"strings"
	"unsafe"
)

// sacctRecords cuts the text of sacct into records. A field may hold line
// breaks (a comment, a submit line), so a record is as many lines as it takes to
// reach the header's number of fields; a line that has them all begins afresh,
// which is where a fragment before it is given up.
//
// The text is read block by block. Blocks are never written again, so that fields
// stay what they are.
type sacctRecords struct {
	in    io.Reader
	text  string
	ended bool
	err   error
	delim string
	want  int
	pos   int
	line  int
	buf   []string
}

// blockSize is how much text is read at once, mostRecord the longest record that is
// looked for: what is longer is no record.
const (
	blockSize  = 1 << 20
	mostRecord = 64 << 20
)

// more reads on, keeping the text from a place on. It returns false at the end.
func (r *sacctRecords) more(keep int) bool {
	if r.ended {
		return false
	}
	rest := r.text[keep:]
	block := make([]byte, len(rest), len(rest)+blockSize)
	copy(block, rest)
	n, err := io.ReadFull(r.in, block[len(rest):cap(block)])
	block = block[:len(rest)+n]
	if err != nil {
		r.ended = true
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			r.err = err
		}
	}
	r.text = unsafe.String(unsafe.SliceData(block), len(block))
	r.pos -= keep
	return n > 0
}

// cut finds the end of the line at pos, and what comes after it. keep is where the
// record begins, which may move.
func (r *sacctRecords) cut(keep *int) (end, after int) {
	for {
		if at := strings.IndexByte(r.text[r.pos:], '\n'); at >= 0 {
			return r.pos + at, r.pos + at + 1
		}
		from := r.pos
		if *keep >= 0 {
			from = *keep
		}
		if r.ended || len(r.text)-from > mostRecord {
			return len(r.text), len(r.text)
		}
		got := r.more(from)
		if *keep >= 0 {
			*keep = 0
		}
		if !got {
			return len(r.text), len(r.text)
		}
	}
}

// skipLine passes over the header.
func (r *sacctRecords) skipLine() error {
	none := -1
	_, r.pos = r.cut(&none)
	r.line++
	return r.err
}

// next returns the fields of the next record and its first line. whole is false
// for a fragment. more is false at the end.
func (r *sacctRecords) next() (fields []string, line int, whole, more bool) {
	start, fieldsSoFar := -1, 0
	for r.err == nil && (r.pos < len(r.text) || r.more(r.begin(&start))) {
		end, after := r.cut(&start)
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
	return nil, line, false, start >= 0 && r.err == nil
}

// begin is where the text that is still needed begins; a record that has begun moves there.
func (r *sacctRecords) begin(start *int) int {
	if *start < 0 {
		return r.pos
	}
	keep := *start
	*start = 0
	return keep
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
