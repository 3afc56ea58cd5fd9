package results

import (
	"fmt"

	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// stateNames are what the files call a job's state at the end of the run.
var stateNames = [...]string{sim.Ended: "ended", sim.Unstarted: "waiting", sim.Requeued: "requeued", sim.Running: "running",
	sim.Refused: "refused", sim.NeverReady: "never-ready", sim.Withdrawn: "withdrawn"}

// outcomeOf is how a job ended, "" while it has not.
func outcomeOf(r *sim.JobResult) string {
	if r.State == sim.Ended || r.State == sim.Withdrawn {
		return r.Outcome.String()
	}
	return ""
}

// finishOf is the finish of the last run, and whether there is one.
func finishOf(r *sim.JobResult) (workload.Time, bool) {
	return r.Finish, r.State == sim.Ended && r.Finish != workload.Unknown
}

// tasksOf is the number of tasks of the last start, or of the declared gang.
func tasksOf(j *workload.Job, r *sim.JobResult) int32 {
	if r.Tasks > 0 {
		return r.Tasks
	}
	return j.Need.Tasks
}

// check holds that the result belongs to the workload.
func check(w *workload.Workload, res *sim.Result) error {
	if len(res.Jobs) != len(w.Jobs) {
		return fmt.Errorf("results: %d jobs in the workload, %d in the result", len(w.Jobs), len(res.Jobs))
	}
	return nil
}

// estimateOf is the estimate that the engine was given, 0 for none.
func estimateOf(res *sim.Result, i int) workload.Span {
	if i < len(res.Estimates) {
		return res.Estimates[i]
	}
	return 0
}
