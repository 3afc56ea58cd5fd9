package main

import (
	"errors"
	"fmt"
	"log"
	"testing"
)

// bench stands in for a test: what starts a real Slurm is made for tests. What it does not have is not called.
type bench struct {
	testing.TB
	ends   []func()
	failed bool
}

// gaveUp is what a bench panics with where a test would end.
type gaveUp struct{ error }

// onBench does something on a bench, and ends what it started. Where Slurm is not installed that is an error: a study
// has nothing to say then.
func onBench(do func(b *bench) error) (err error) {
	b := &bench{}
	defer func() {
		if r := recover(); r != nil {
			g, ok := r.(gaveUp)
			if !ok {
				b.failed = true
				b.end()
				panic(r)
			}
			err, b.failed = g.error, true
		}
		b.end()
	}()
	err = do(b)
	b.failed = err != nil
	return err
}

func (b *bench) end() {
	for i := len(b.ends) - 1; i >= 0; i-- {
		b.ends[i]()
	}
}

func (b *bench) Helper()          {}
func (b *bench) Cleanup(f func()) { b.ends = append(b.ends, f) }
func (b *bench) Failed() bool     { return b.failed }

// Fatal and the others end what is done on the bench.
func (b *bench) Fatal(args ...any)            { panic(gaveUp{errors.New(fmt.Sprint(args...))}) }
func (b *bench) Fatalf(f string, args ...any) { panic(gaveUp{fmt.Errorf(f, args...)}) }
func (b *bench) Skip(args ...any)             { b.Fatal(args...) }
func (b *bench) Skipf(f string, args ...any)  { b.Fatalf(f, args...) }
func (b *bench) Logf(f string, args ...any)   { log.Printf(f, args...) }
func (b *bench) Error(args ...any)            { b.Fatal(args...) }
func (b *bench) Errorf(f string, a ...any)    { b.Fatalf(f, a...) }
