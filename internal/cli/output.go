package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/escala-sched/escala/internal/report"
)

// outputs are the files that a command writes: all of them appear when
// everything has gone well, or none does. Its methods may be called at once.
type outputs struct {
	s     *State
	mu    sync.Mutex
	files []outputFile
}

type outputFile struct {
	path string
	file File
}

// writer is a buffered file; the caller flushes it.
func (o *outputs) create(path string) (File, error) {
	f, err := o.s.Create(path)
	if err != nil {
		return nil, badInput(noFile(err), "a path in a folder that exists and can be written to")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files = append(o.files, outputFile{path, f})
	return f, nil
}

// write makes one file with what fill writes.
func (o *outputs) write(path string, fill func(w *bufio.Writer) error) error {
	f, err := o.create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<18)
	if err := fill(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("%s: %w", path, noFile(err))
	}
	return nil
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
func cut(err error, paths []string) error {
	if errors.Is(err, context.Canceled) {
		return &interrupted{err: err, unwritten: paths}
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
