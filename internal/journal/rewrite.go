package journal

import "io"

// Rewrite copies a journal behind its header line, which the caller writes, line
// by line. edit returns what to write for a line: e.Raw, other bytes, or nothing.
// Lines are copied as bytes, so fields that this version does not know survive.
func Rewrite(r *Reader, out io.Writer, edit func(e *Entry) ([]byte, error)) error {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := edit(e)
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
}
