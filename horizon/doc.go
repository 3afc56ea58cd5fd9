// Package horizon plans a row of GPUs over the next steps of time: training, batch
// inference and quantization as blocks held without interruption, real-time
// inference as demand curves, in one grid of GPU x step. Of a plan the present step is
// meant to be committed; the rest shows what comes (docs/horizon.md).
//
// # The two halves
//
// A decoder turns an order of jobs into a grid. Whatever order it is given, the grid is
// legal by construction. A search tries orders, and with them how jobs choose among free
// blocks and whether they may move real-time work out of their way.
//
// Everything is integer arithmetic on sets of slots held as bits; equal input, work and
// seed give the same plan on every machine.
//
// # Where things are
//
// problem.go is what is asked, check.go what makes it impossible; plan.go is the answer
// and what it is worth. instance.go makes a problem ready; decode.go places jobs, push.go
// those that move real-time work, pieces.go those that may be interrupted; profile.go and
// layout.go place real-time work, insist.go does where they fail. search.go looks for orders,
// fifo.go has the baselines; bound.go and relax.go say how far from the best a plan is at most.
// Package legal checks plans with code of its own, package scenario reads and writes files,
// package view says what a plan means.
package horizon
