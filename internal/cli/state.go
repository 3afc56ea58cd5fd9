package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// Stream is an output with what is known of its other end.
type Stream struct {
	io.Writer
	// TTY tells whether people read it as it comes.
	TTY bool
	// Width of the terminal in columns; nil or 0 = unlimited.
	Width func() int
}

func (s Stream) width() int {
	if s.Width == nil {
		return 0
	}
	return s.Width()
}

// File is an output file: it appears whole with Commit, or not at all.
type File interface {
	io.Writer
	Commit() error
	Abort()
}

// State is everything that a command knows of the world it runs in.
type State struct {
	// Args is the command line without the program's name.
	Args []string
	// Getenv returns an environment variable, "" where it is not set.
	Getenv func(string) string
	// Environ, Now and Zone are the whole environment, the clock and the time zone of whoever
	// asks; nil = the process's own.
	Environ func() []string
	Now     func() time.Time
	Zone    *time.Location
	Stdin   io.Reader
	Stdout  Stream
	Stderr  Stream
	// ReadFile reads a whole file, Open reads one bit by bit, Create begins one,
	// MkdirAll makes a folder.
	ReadFile func(path string) ([]byte, error)
	Open     func(path string) (io.ReadCloser, error)
	Create   func(path string) (File, error)
	MkdirAll func(path string) error
	// Build says what this program was built from.
	Build Build

	color string
	// ranOn is the cluster of a workload that was read from a journal.
	ranOn map[*workload.Workload]*cluster.Spec
	// limit of the memory, as set by room.
	limit int64
}

// say writes to standard error. A message that cannot be shown cannot be reported either.
func (s *State) say(format string, args ...any) { _, _ = fmt.Fprintf(s.Stderr, format, args...) }

// print writes to standard output.
func (s *State) print(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Stdout, format, args...)
	return err
}

// colored tells whether colour goes to a stream.
func (s *State) colored(to Stream) bool {
	switch s.color {
	case "always":
		return true
	case "never":
		return false
	}
	return to.TTY && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}
