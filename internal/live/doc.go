// Package live runs the engine on real time: one loop that ties world, engine and
// journal together, and what people ask it about.
//
// # The loop
//
// Everything that happens (a person's request, a world's report, a timer) goes to one
// goroutine (loop.go). It takes what has come at one instant, makes facts of it (tx.go,
// report.go), asks the engine, and writes all of it to the store as one batch. Only when
// that is on disk are callers answered and orders sent to the world (orders.go). So what
// was promised is never lost, and what the journal does not know never ran.
//
// # State
//
// The engine's state is the fold of the journal (fold.go); a segment of it begins with a
// snapshot (segment.go), so that start-up reads the last segment alone. The [Book] is what
// people read: jobs with their runs, nodes, users. It is folded from the same lines.
//
// # Looking ahead
//
// forecast.go runs the simulator forward from the present state to say when each waiting
// job will start, with the odds; whatif.go replays the journal under another policy.
package live
