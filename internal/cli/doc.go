// Package cli is the command line of escala: one file per command, and the few
// things that commands share (inputs, assumptions, running policies, progress,
// output files, errors).
//
// A command sees the world through State alone, so that all of it runs inside a
// test. Results go to standard output, everything else to standard error; the
// exit codes stand in exitcode.go.
package cli
