package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// inputError is an error of the command line or of an input file.
type inputError struct {
	err error
	// hint is what to try; "" where the message says it all.
	hint string
}

func (e *inputError) Error() string { return e.err.Error() }

func (e *inputError) Unwrap() error { return e.err }

// badInput marks an error as the input's, with what to try.
func badInput(err error, hint string) error {
	var already *inputError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &inputError{err: err, hint: hint}
}

// hinted is an error that is not the input's fault, with what to try.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }

func (e *hinted) Unwrap() error { return e.err }

// ended carries the exit code of a job to the end of the program. Nothing is left to say.
type ended struct{ code int }

func (e *ended) Error() string { return "the job ended with a code of its own" }

// badUsage is an error of the command line.
func badUsage(hint, format string, args ...any) error {
	return &inputError{err: fmt.Errorf(format, args...), hint: hint}
}

// noFile shortens the error of a file that cannot be opened: the operating
// system's verb and its call are no help to the reader.
func noFile(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}

// showError writes the error as its reader needs it.
func (s *State) showError(err error) {
	var done *ended
	if errors.As(err, &done) {
		return
	}
	red, bold, reset := "", "", ""
	if s.colored(s.Stderr) {
		red, bold, reset = "\x1b[1;31m", "\x1b[1m", "\x1b[0m"
	}
	if errors.Is(err, context.Canceled) {
		text := "Interrupted."
		var cut *interrupted
		if errors.As(err, &cut) && len(cut.unwritten) > 0 {
			text = "Interrupted. Not written: " + strings.Join(cut.unwritten, ", ") + "."
		}
		s.say("%s%s%s\n", red, text, reset)
		return
	}
	s.say("%sError:%s %s\n", red, reset, err)
	hint := ""
	var bad *inputError
	var other *hinted
	if errors.As(err, &bad) {
		hint = bad.hint
	} else if errors.As(err, &other) {
		hint = other.hint
	}
	if hint != "" {
		s.say("%sTry:%s %s\n", bold, reset, hint)
	}
}

// interrupted is a run that was stopped, with the files that it would have written.
type interrupted struct {
	err       error
	unwritten []string
}

func (e *interrupted) Error() string { return "interrupted" }

func (e *interrupted) Unwrap() error { return e.err }

// allBroken makes one error of those of several files: nil for none, the error
// itself for one.
func allBroken(errs []error, try string) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	lines := make([]string, len(errs))
	for i, e := range errs {
		lines[i] = e.Error()
	}
	return badInput(errors.New(strings.Join(lines, "\nError: ")), try)
}
