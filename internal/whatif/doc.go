// Package whatif goes through a stretch of a journal again under other policies: from the
// state that the scheduler had, with what was submitted and what people and nodes did, and
// with the run times that jobs turned out to have. So that one knows how far to believe it,
// it goes through it under the recorded policy too, and says how far that is from what
// happened. docs/what-if.md says what is taken as given.
package whatif
