package local

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// runName is the name of a run's directories.
func runName(r world.Run) string { return fmt.Sprintf("%d.%d", r.Job, r.Attempt) }

// parseRunName is the inverse of runName.
func parseRunName(s string) (r world.Run, ok bool) {
	job, attempt, found := strings.Cut(s, ".")
	a, err1 := strconv.ParseUint(job, 10, 32)
	b, err2 := strconv.ParseUint(attempt, 10, 32)
	if !found || err1 != nil || err2 != nil || a > math.MaxInt32 || b > math.MaxInt32 {
		return r, false
	}
	r = world.Run{Job: int32(a), Attempt: int32(b)}
	return r, runName(r) == s
}

// parseCause is the inverse of fact.Cause.String, none for what is unknown.
func parseCause(s string) fact.Cause {
	for c := fact.CauseNone; c <= fact.CauseMaintenance; c++ {
		if c.String() == s {
			return c
		}
	}
	return fact.CauseNone
}

// report is what an end record says to the loop.
func (e *endRecord) report(r world.Run) world.Report {
	x := world.Report{Run: r, Node: -1, Exit: int32(e.Exit), Text: e.Text, When: e.At}
	switch e.Kind {
	case fact.StartFailed.String():
		x.Kind, x.Node, x.Own, x.Exit = fact.StartFailed, e.Node, e.Own, 0
	case fact.JobStopped.String():
		x.Kind, x.Cause = fact.JobStopped, parseCause(e.Cause)
	default:
		o, ok := workload.ParseOutcome(e.Outcome)
		if !ok {
			o = workload.OutcomeUnknown
		}
		x.Kind, x.Outcome = fact.JobFinished, o
	}
	return x
}
