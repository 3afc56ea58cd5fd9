// Package journal keeps a run as JSON lines: a header that says on which
// cluster, under which policy and assumptions it ran, then every fact and every
// action in order. docs/journal.md is the format byte by byte.
//
// A journal is four things in one: a record to audit, state to fold ([Replay]),
// proof that deciding again comes to the same ([Replay] with verify), and a
// trace for the next what-if ([ToWorkload]). [Writer] is a sim.Observer.
package journal
