//go:build !highs || !(amd64 || arm64) || !(linux || darwin || freebsd || netbsd || windows)

package highs

import "context"

// Available returns nil if this program has the solver, else ErrNotBuilt.
func Available() error { return ErrNotBuilt }

// Solver solves models. It may be used by several goroutines at a time.
type Solver struct{}

// New returns ErrNotBuilt.
func New(context.Context) (*Solver, error) { return nil, ErrNotBuilt }

// Solve returns ErrNotBuilt.
func (*Solver) Solve(context.Context, *Model, Options) (Result, error) { return Result{}, ErrNotBuilt }

// Close does nothing.
func (*Solver) Close() error { return nil }
