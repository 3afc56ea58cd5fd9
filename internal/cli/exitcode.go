package cli

import (
	"context"
	"errors"
)

// Exit codes. They are a contract with scripts and stand in docs/cli.md.
const (
	// exitOK: the command did what it was asked to do.
	exitOK = 0
	// exitInternal: something went wrong that is not the user's doing: a full disk, a defect.
	exitInternal = 1
	// exitBadInput: the command line or an input file cannot be used; the message
	// says where and what would be right. Nothing was written.
	exitBadInput = 2
	// exitTimeout: a limit of time passed first: that of a job that was waited for, or of wait --timeout.
	exitTimeout = 124
	// exitInterrupted: stopped by Ctrl-C or SIGTERM. No half-written file is left.
	exitInterrupted = 130
)

// exitCode is the code that an error ends the program with.
func exitCode(err error) int {
	var bad *inputError
	var done *ended
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &done):
		return done.code
	case errors.As(err, &bad):
		return exitBadInput
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}
