// Package fact is the closed list of what can happen (facts) and what can be
// decided (actions). Worlds emit facts, the engine returns actions, the journal
// keeps both; docs/facts.md says each in full, with the world that may emit it.
//
// A job is named by its number: its position in the journal's submissions,
// dense from 0, which is also the last tie-break of every order. A node is named
// by its index in the cluster.
package fact
