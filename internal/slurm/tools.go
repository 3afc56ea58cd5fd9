package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Runner runs one of Slurm's tools. An error is a [*ToolError] where the tool ran and failed.
type Runner interface {
	Run(ctx context.Context, tool string, args ...string) ([]byte, error)
}

// Tools runs the tools that are installed.
type Tools struct {
	// Dir has the tools; "" = they are found in PATH.
	Dir string
	// Conf is the path of slurm.conf; "" = the tools' own default.
	Conf string
	// Timeout of one call; 0 = 30 s.
	Timeout time.Duration
	calls   atomic.Int64
}

// mostOutput is how much a tool may write: 100,000 jobs are some 30 MiB.
const mostOutput = 256 << 20

// Feeder is a [Runner] that can also give a tool lines to read, each of them a command.
type Feeder interface {
	Feed(ctx context.Context, tool string, lines []string) error
}

// Run implements [Runner].
func (t *Tools) Run(ctx context.Context, tool string, args ...string) ([]byte, error) {
	return t.run(ctx, nil, tool, args)
}

// Feed implements [Feeder].
func (t *Tools) Feed(ctx context.Context, tool string, lines []string) error {
	_, err := t.run(ctx, strings.NewReader(strings.Join(lines, "\n")+"\n"), tool, nil)
	return err
}

func (t *Tools) run(ctx context.Context, in io.Reader, tool string, args []string) ([]byte, error) {
	timeout := t.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t.calls.Add(1)
	path := tool
	if t.Dir != "" {
		path = filepath.Join(t.Dir, tool)
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // the tools and their arguments are ours
	// Times as seconds, lists in full, messages in English.
	cmd.Env = append(environment(os.Environ()), "LC_ALL=C", "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0")
	if t.Conf != "" {
		cmd.Env = append(cmd.Env, "SLURM_CONF="+t.Conf)
	}
	out, errs := &bounded{most: mostOutput}, &bounded{most: 64 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.WaitDelay = time.Second // what the tool started may keep its output open
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", tool, ctx.Err())
	case out.cut:
		return nil, fmt.Errorf("%s wrote more than %d MiB", tool, mostOutput>>20)
	case errors.As(err, &exit):
		return out.Bytes(), &ToolError{Tool: tool, Args: args, Exit: exit.ExitCode(), Text: firstLines(errs.String()), Lines: lines(errs.String())}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	return out.Bytes(), nil
}

// Calls is how many tools were run so far: each is one RPC to slurmctld, or a few.
func (t *Tools) Calls() int64 { return t.calls.Load() }

// bounded keeps so much of what is written to it, and says if there was more.
type bounded struct {
	bytes.Buffer
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if left := b.most - b.Len(); len(p) > left {
		b.cut = true
		b.Buffer.Write(p[:left])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// ToolError is a tool that failed.
type ToolError struct {
	Tool string
	Args []string
	Exit int
	// Text is what it said: the first lines. Lines are all.
	Text  string
	Lines []string
}

func (e *ToolError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s ended with code %d", e.Tool, e.Exit)
	}
	return e.Tool + ": " + e.Text
}

// Is tells which of the errors of this package it is.
func (e *ToolError) Is(target error) bool {
	text := strings.ToLower(e.Text)
	has := func(list ...string) bool {
		for _, s := range list {
			if strings.Contains(text, s) {
				return true
			}
		}
		return false
	}
	switch target {
	case ErrNoJob:
		return has("invalid job id specified")
	case ErrEnded:
		return has("already finished", "already completing", "job/step already")
	case ErrDenied:
		return has("permission denied", "invalid user id", "invalid account or account/partition", "doesn't have privilege", "not persistent, change nice instead")
	case ErrBusy:
		return has("try again later", "job is pending execution", "no longer pending execution", "in held state", "job/step already completing", "requested nodes are busy", "already exists", "duplicate reservation")
	case ErrInvalid:
		return has("invalid", "not supported", "not available", "must specify a reason", "not found", "illegal", "unrecognized", "not permitted") && !e.Is(ErrNoJob) && !e.Is(ErrDenied)
	case ErrAway:
		return has("unable to contact slurm controller", "connection refused", "connection timed out", "socket timed out", "controller not responding", "connect failure", "unexpected message received", "zero bytes were transmitted")
	}
	return false
}

// What a tool says, told apart.
var (
	ErrNoJob  = errors.New("there is no such job")
	ErrEnded  = errors.New("the job has ended")
	ErrDenied = errors.New("the rights for this are missing")
	ErrAway   = errors.New("slurmctld does not answer")
	// ErrBusy is for what cannot be now, ErrInvalid for what cannot be at all.
	ErrBusy    = errors.New("that cannot be done as things stand")
	ErrInvalid = errors.New("Slurm does not take that") //nolint:staticcheck // a name
)

// firstLines is what to tell of an error: the first three lines.
func firstLines(s string) string {
	l := lines(s)
	return strings.Join(l[:min(len(l), 3)], "; ")
}

// lines of what a tool said.
func lines(s string) (out []string) {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
