package journal

import (
	"errors"
	"io"
)

// Rewrite copies a journal that r has just been opened on, line by line. edit
// returns what to write for a line: e.Raw, other bytes, or nothing to leave it
// out. It sees the header first, as an entry with line number 1 and no fact.
// Lines are copied as bytes, so fields that this version does not know survive.
func Rewrite(r *Reader, out io.Writer, edit func(e *Entry) ([]byte, error)) error {
	e := &Entry{Line: 1, Raw: r.first}
	for {
		b, err := edit(e)
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
		if e, err = r.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
