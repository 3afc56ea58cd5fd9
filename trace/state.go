package trace

import (
	"strings"

	"github.com/escala-sched/escala/workload"
)

// endState reads a job state as Slurm, Kubernetes and their logs spell it.
// known is false for a word that no log here uses.
func endState(s string) (o workload.Outcome, known bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ") // "CANCELLED by 1000"
	switch strings.ToUpper(strings.TrimSuffix(word, "+")) {
	case "COMPLETED", "SUCCEEDED", "PASS":
		return workload.OutcomeCompleted, true
	case "FAILED", "OUT_OF_MEMORY", "BOOT_FAIL", "LAUNCH_FAILED":
		return workload.OutcomeFailed, true
	case "CANCELLED", "CANCELED", "KILLED", "REVOKED", "STOPPED":
		return workload.OutcomeCancelled, true
	case "TIMEOUT", "DEADLINE":
		return workload.OutcomeTimeout, true
	case "NODE_FAIL":
		return workload.OutcomeNodeFail, true
	case "PREEMPTED":
		return workload.OutcomePreempted, true
	}
	return workload.OutcomeUnknown, false
}

// liveState tells whether a state is not an end.
func liveState(s string) bool {
	switch strings.ToUpper(s) {
	case "RUNNING", "COMPLETING", "SUSPENDED", "STOPPING", "SIGNALING", "STAGE_OUT", "RESIZING":
		return true
	}
	return false
}

// waitingState tells whether a state is before the start.
func waitingState(s string) bool {
	switch strings.ToUpper(s) {
	case "PENDING", "CONFIGURING", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT":
		return true
	}
	return false
}

// noTime tells whether a log says that a time is not known.
func noTime(s string) bool {
	switch s {
	case "", "Unknown", "None", "null", "NULL", "N/A", "NaT", "nan", "NaN", "INVALID":
		return true
	}
	return false
}
