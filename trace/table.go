package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// table reads a foreign CSV file with a header. '#' lines are comments.
type table struct {
	in  *Input
	r   *csv.Reader
	col map[string]int
	rec []string
}

// openTable reads the header and checks that the columns named are there.
func openTable(in *Input, required ...string) (*table, error) {
	t := &table{in: in, r: csv.NewReader(bytes.NewReader(in.Data)), col: map[string]int{}}
	t.r.Comment = '#'
	t.r.FieldsPerRecord = -1
	t.r.LazyQuotes = true
	t.r.ReuseRecord = true
	head, err := t.r.Read()
	if err != nil {
		return nil, in.fail(0, "no header in the file", "a first line with "+strings.Join(required, ","))
	}
	for i, name := range head {
		name = strings.TrimSpace(name)
		if _, dup := t.col[name]; !dup {
			t.col[strings.Clone(name)] = i
		}
	}
	line, _ := t.r.FieldPos(0)
	for _, name := range required {
		if _, ok := t.col[name]; !ok {
			return nil, in.fail(line, "column "+name+" is missing", "a header with "+strings.Join(required, ","))
		}
	}
	t.rec = make([]string, len(head))
	return t, nil
}

// next reads a row. ok is false for one that has not as many fields as the header.
func (t *table) next() (line int, ok bool, err error) {
	width := len(t.rec)
	rec, err := t.r.Read()
	var broken *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return 0, false, io.EOF
	case errors.As(err, &broken):
		return broken.StartLine, false, nil
	case err != nil:
		return 0, false, err
	}
	line, _ = t.r.FieldPos(0)
	if len(rec) != width {
		return line, false, nil
	}
	copy(t.rec, rec)
	return line, true, nil
}

// get returns the field of a column, "" where the file does not have it.
func (t *table) get(name string) string {
	if i, ok := t.col[name]; ok {
		return strings.TrimSpace(t.rec[i])
	}
	return ""
}

// keep is get for text that outlives the row: the record's bytes are shared.
func (t *table) keep(name string) string { return strings.Clone(t.get(name)) }

// each calls row for every row that is whole, and counts the others.
func (t *table) each(b *builder, row func(line int)) error {
	for {
		line, ok, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b.w.Rows++
		if !ok {
			b.drop(line, causeFields)
			continue
		}
		row(line)
	}
}

// headerHas tells whether the head's first data line is a CSV header with all those columns.
func headerHas(head []byte, names ...string) bool {
	cols := map[string]bool{}
	for name := range strings.SplitSeq(dataLine(head), ",") {
		cols[strings.Trim(name, " \"")] = true
	}
	for _, n := range names {
		if !cols[n] {
			return false
		}
	}
	return true
}
