// Package place answers where a job could go: it cuts a need over the nodes of
// a pool, refuses by counting before it searches, and chooses nodes and GPUs by
// the policy's placement rule. It changes nothing: the caller takes what it is
// offered.
//
// A [Shape] is a need resolved against a cluster; jobs with equal needs share
// one, and what was found out about it ("does not fit as things stand") is
// remembered in it until something grows.
package place
