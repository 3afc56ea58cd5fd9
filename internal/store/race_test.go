//go:build race

package store

// The race detector slows what flips bits down by ten.
const slow = 10
