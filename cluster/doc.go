// Package cluster says what there is: nodes, GPU types, topology, health, money
// and watts; and it answers "where does this shape fit" without scanning nodes.
//
// [Spec] is the description that files carry. [Pools] groups its nodes into
// pools (equal in GPU type and partition, SEMANTICS 12) and [Free] indexes what
// is free in them. Both halves are plain data: no clock, no I/O, no randomness.
package cluster
