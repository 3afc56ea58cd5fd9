package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/escala-sched/escala/internal/report"
)

// outputs are the files that a command writes. All are begun before the work, so
// that a path that cannot be written is known at once, and all appear when
// everything has gone well, or none does. Different files may be written at once.
type outputs struct {
	s     *State
	files []outputFile
}

type outputFile struct {
	path string
	file File
}

// begin begins files; "" is none.
func (s *State) begin(paths ...string) (*outputs, error) {
	o := &outputs{s: s}
	for _, path := range paths {
		if path == "" {
			continue
		}
		if path == "-" {
			o.abort()
			return nil, noStdout()
		}
		if o.find(path) != nil {
			o.abort()
			return nil, badUsage("another path for one of them", "%s would be written twice", path)
		}
		f, err := s.Create(path)
		if err != nil {
			o.abort()
			var p *fs.PathError
			if errors.As(err, &p) {
				err = fmt.Errorf("%s cannot be written: %w", path, p.Err)
			}
			return nil, badInput(err, "a path in a folder that exists and can be written to")
		}
		o.files = append(o.files, outputFile{path, f})
	}
	return o, nil
}

// noStdout refuses standard output for a file: --output decides what it gets.
func noStdout() error {
	return badUsage("the path of a file; /dev/stdout where a pipe must have it", "a file cannot be called \"-\": standard output takes what --output says")
}

// find returns the file of a path, nil if it was not begun.
func (o *outputs) find(path string) File {
	for _, f := range o.files {
		if f.path == path {
			return f.file
		}
	}
	return nil
}

// write fills one of the files.
func (o *outputs) write(path string, fill func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(o.find(path), 1<<18)
	err := fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, noFile(err))
	}
	return nil
}

// paths lists the files not committed yet.
func (o *outputs) paths() []string {
	var out []string
	for _, f := range o.files {
		out = append(out, f.path)
	}
	return out
}

// commit gives all files their names.
func (o *outputs) commit() error {
	for len(o.files) > 0 {
		f := o.files[0]
		o.files = o.files[1:]
		if err := f.file.Commit(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// abort throws away what was not committed.
func (o *outputs) abort() {
	for _, f := range o.files {
		f.file.Abort()
	}
	o.files = nil
}

// cut adds to an interrupted run what it would have written.
func (o *outputs) cut(err error) error {
	if errors.Is(err, context.Canceled) {
		return &interrupted{err: err, unwritten: o.paths()}
	}
	return err
}

// withPolicy puts a policy's name before the ending of a path.
func withPolicy(path, name string) string {
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`@/\: `, r) {
			return '-'
		}
		return r
	}, name)
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "." + safe + ext
}

// show writes the comparison to standard output.
func (s *State) show(format string, c *report.Comparison) error {
	w := bufio.NewWriter(s.Stdout)
	var err error
	switch format {
	case "json":
		err = report.WriteJSON(w, c)
	case "csv":
		err = report.WriteCSV(w, c)
	default:
		err = report.WriteTable(w, c, report.TableOptions{Color: s.colored(s.Stdout), Width: s.Stdout.width()})
	}
	if err != nil {
		return err
	}
	return w.Flush()
}
