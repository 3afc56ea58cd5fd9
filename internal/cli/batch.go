package cli

import "runtime/debug"

// Memory of a command that reads, computes and ends: collecting rarely is
// cheaper, as long as it fits. What is reserved grows with the input, since a
// limit below what is alive would make the collector run without end.
const (
	batchPercent = 400
	batchLimit   = 600 << 20
	bytesPerByte = 10  // of a workload file, while it is read
	bytesPerJob  = 950 // of a workload with one run
)

// batch sets the garbage collector up for such a command. GOGC and GOMEMLIMIT
// have the last word.
func batch(s *State) {
	if s.Getenv("GOGC") == "" {
		debug.SetGCPercent(batchPercent)
	}
	s.room(batchLimit)
}

// room makes the limit at least that large.
func (s *State) room(bytes int64) {
	if s.Getenv("GOMEMLIMIT") == "" && bytes > s.limit {
		s.limit = bytes
		debug.SetMemoryLimit(bytes)
	}
}
