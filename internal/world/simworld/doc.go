// Package simworld is a world of pretended runs: what they do is scripted, and their reports
// may be late, doubled and out of order. It is for tests and demonstrations of what stands
// above a world, and works in a [testing/synctest] bubble, where its time is the bubble's.
package simworld
