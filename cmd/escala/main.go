// Command escala replays the jobs of GPU clusters under other scheduling policies.
package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/escala-sched/escala/internal/atomicfile"
	"github.com/escala-sched/escala/internal/cli"
	"github.com/escala-sched/escala/internal/world/local"
)

// version is set by releases; without it the module's version counts.
var version string

func main() {
	if len(os.Args) > 1 && os.Args[1] == local.Command { // beside a job, for as long as it runs
		os.Exit(local.Supervise(os.Args[2:], time.Now))
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second Ctrl-C kills at once
	return cli.Run(ctx, &cli.State{
		Args:     os.Args[1:],
		Getenv:   os.Getenv,
		Stdin:    os.Stdin,
		Stdout:   stream(os.Stdout),
		Stderr:   stream(os.Stderr),
		ReadFile: os.ReadFile,
		Open:     func(path string) (io.ReadCloser, error) { return os.Open(path) },
		Create:   func(path string) (cli.File, error) { return atomicfile.Create(path) },
		MkdirAll: func(path string) error { return os.MkdirAll(path, fs.FileMode(0o777)) },
		Build:    cli.ReadBuild(version),
	})
}

// stream says of an output whether it is a terminal, and how wide.
func stream(f *os.File) cli.Stream {
	fd := int(f.Fd())
	return cli.Stream{Writer: f, TTY: term.IsTerminal(fd), Width: func() int {
		w, _, err := term.GetSize(fd)
		if err != nil {
			return 0
		}
		return w
	}}
}
