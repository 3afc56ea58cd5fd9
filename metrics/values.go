package metrics

import "github.com/escala-sched/escala/workload"

// DistOf sums up lengths of time; those of bounds are lower bounds.
func DistOf(values, bounds []workload.Span) Dist {
	s := sample{decode: milliseconds}
	for _, v := range values {
		s.add(key(v), false)
	}
	for _, v := range bounds {
		s.add(key(v), true)
	}
	return s.dist(make([]uint64, len(s.keys)))
}

// IsDebug tells whether a job is a debug job: short and small by its own declaration.
func IsDebug(j *workload.Job) bool { return isDebug(j) }
