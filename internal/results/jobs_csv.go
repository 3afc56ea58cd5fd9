package results

import (
	"io"
	"strconv"

	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// jobsHeader begins with the five columns that every version writes.
const jobsHeader = "job_id,submit,gpus,start,finish," +
	"user,team,wait,queued,ran,starts,preemptions,node_failures,lost_gpu_seconds,restart_gpu_seconds,estimate,outcome,state,tasks\n"

// WriteJobsCSV writes one row per job, in the order of the workload.
func WriteJobsCSV(out io.Writer, w *workload.Workload, res *sim.Result) error {
	if err := check(w, res); err != nil {
		return err
	}
	const full = 1 << 18
	b := append(make([]byte, 0, full+4096), jobsHeader...)
	for i := range w.Jobs {
		b = appendJobRow(b, &w.Jobs[i], &res.Jobs[i], estimateOf(res, i))
		if len(b) >= full {
			if _, err := out.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := out.Write(b)
	return err
}

func appendJobRow(b []byte, j *workload.Job, r *sim.JobResult, estimate workload.Span) []byte {
	b = append(appendText(b, j.ID), ',')
	b = append(appendSeconds(b, j.Submit), ',')
	b = append(appendDecimal(b, j.Need.TotalMilli(), 3), ',')
	started := r.FirstStart != workload.Unknown
	if started {
		b = appendSeconds(b, r.FirstStart)
	}
	b = append(b, ',')
	if at, ok := finishOf(r); ok {
		b = appendSeconds(b, at)
	}
	b = append(b, ',')
	b = append(appendText(b, j.User), ',')
	b = append(appendText(b, j.Team), ',')
	if started {
		b = appendSeconds(b, r.FirstStart-j.Submit)
	}
	b = append(b, ',')
	b = append(appendSeconds(b, r.Queued), ',')
	b = append(appendSeconds(b, r.Ran), ',')
	for _, n := range [...]int32{r.Starts, r.Preemptions, r.NodeFailures} {
		b = append(strconv.AppendInt(b, int64(n), 10), ',')
	}
	b = append(appendDecimal(b, r.Lost, 6), ',')
	b = append(appendDecimal(b, r.Restart, 6), ',')
	if estimate > 0 {
		b = appendSeconds(b, estimate)
	}
	b = append(b, ',')
	b = append(append(b, outcomeOf(r)...), ',')
	b = append(append(b, stateNames[r.State]...), ',')
	b = strconv.AppendInt(b, int64(tasksOf(j, r)), 10)
	return append(b, '\n')
}
