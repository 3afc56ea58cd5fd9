// Package scenario reads and writes horizons as JSON files (docs/horizon.md).
//
// format.go is what a file looks like, read.go and write.go turn it into a problem and back,
// errors.go says in plain words, with a line, what is wrong with one.
package scenario
