// Package engine decides: which job starts where, who gives way, who is promised
// what. It is a pure state machine. [Engine.Apply] takes facts, [Engine.Commit]
// takes the actions the caller has written down, [Engine.Decide] reads the state
// and returns actions with typed reasons and the time at which it wants to be
// asked again. No clock, no I/O, no goroutine, no randomness, no map iteration:
// the same facts give the same actions, bit for bit, in every world.
//
// # How a decision costs what changed, not what exists
//
// Waiting jobs with equal needs form a class, kept in order in a treap; what
// refuses one refuses all. A decision merges the heads of the classes through a
// small heap, refuses by counting (package place), and remembers a refusal until
// capacity grows. So a decision costs O(classes + starts x log waiting), whatever
// the length of the queue.
//
// # Decide is read-only
//
// A decision of several starts tries them one after another on the real indexes
// and takes all of it back before it returns. The caller journals the actions,
// commits them, then sends them.
package engine
