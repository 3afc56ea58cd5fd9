// Package worldtest is what every world has to pass: the contract of package world as tests.
package worldtest

import (
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/world"
)

// Harness is a machine with one world over it, made for one case.
type Harness struct {
	// World is open and has not begun.
	World world.World
	// Job prepares a job of that kind and returns the order that starts its first run, with a
	// number that no other job of the harness has.
	Job func(t *testing.T, k Kind) world.Order
	// Ready waits until a job that came up has made itself ready to be told to stop; nil = it always is.
	Ready func(t *testing.T, run world.Run)
	// Release ends a run of a kind that waits for it, with code 0.
	Release func(run world.Run)
	// Reopen opens another world over the same machine. The suite has closed the one before.
	Reopen func(t *testing.T) world.World
	// Lose takes a node down with all that runs there, Return brings it back empty. Nil = the
	// world cannot lose a node.
	Lose, Return func(node int32)
	// Hide makes a node go out of sight with what runs there, Show brings it back. Nil = the
	// world sees all that it runs.
	Hide, Show func(node int32)
	// Believes: the world runs nothing, and takes what is believed to be up for what is so. It has no
	// memory of its own that could know better.
	Believes bool
	// Keeps: the machine has a memory of its own, of which Settled takes nothing, and what it runs that is
	// not believed goes on: the world is a [world.Source].
	Keeps bool
	// Processes counts what is alive of a run; nil = it cannot be counted.
	Processes func(run world.Run) int
	// Patience is how long a report may take, Quiet how long to listen for one that must not come.
	Patience, Quiet time.Duration
	// Grace is a short one that a job that saves its state keeps with ease; Limit a short time limit.
	Grace, Limit time.Duration
}

// Kind is what a job does. The zero value runs until it is released, and leaves when it is
// told to stop.
type Kind struct {
	// Exits: it ends at once, with Code.
	Exits bool
	Code  int32
	// Fails: it cannot start, since there is no such program; or, with Node, since the node is at fault.
	Fails, Node bool
	// Slow: its start takes until long after it was ordered.
	Slow bool
	// Saves: told to stop, it takes a moment, and leaves with code 0.
	Saves bool
	// Ignores: told to stop, it goes on.
	Ignores bool
	// Forks: it has children, which do as it does when told to stop, and stay when it leaves.
	Forks bool
	// Yields: it ends at once, and asks to be resumed.
	Yields bool
	// Late: it runs longer than Limit.
	Late bool
}

// Cannot says of a kind of job that the harness has none.
const Cannot = -1

// Case is one demand on a world.
type Case struct {
	Name string
	run  func(*session)
}

// Run holds a world to the contract. The cases run side by side, each on a machine of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, open(t))
		})
	}
}

// Run holds the world of a harness to one demand, and closes it.
func (c *Case) Run(t *testing.T, h Harness) {
	s := &session{T: t, Harness: h, seen: newSink()}
	defer s.end()
	c.run(s)
}
