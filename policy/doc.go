// Package policy says what is wanted: in which order jobs go, what a blocked
// head does to the rest, where jobs are put, who may be stopped for whom. A
// policy is data, a strict YAML file that people share and diff; the shipped
// ones are such files, embedded here. The engine interprets it and has no
// policy of its own.
package policy
