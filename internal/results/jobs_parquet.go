package results

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// jobRow has the columns of the CSV file. Seconds are float64, which holds every
// millisecond of 285,000 years exactly.
type jobRow struct {
	ID             string   `parquet:"job_id"`
	Submit         float64  `parquet:"submit"`
	GPUs           float64  `parquet:"gpus"`
	Start          *float64 `parquet:"start,optional"`
	Finish         *float64 `parquet:"finish,optional"`
	User           string   `parquet:"user,dict"`
	Team           string   `parquet:"team,dict"`
	Wait           *float64 `parquet:"wait,optional"`
	Queued         float64  `parquet:"queued"`
	Ran            float64  `parquet:"ran"`
	Starts         int32    `parquet:"starts"`
	Preemptions    int32    `parquet:"preemptions"`
	NodeFailures   int32    `parquet:"node_failures"`
	LostSeconds    float64  `parquet:"lost_gpu_seconds"`
	RestartSeconds float64  `parquet:"restart_gpu_seconds"`
	Estimate       *float64 `parquet:"estimate,optional"`
	Outcome        string   `parquet:"outcome,dict"`
	State          string   `parquet:"state,dict"`
	Tasks          int32    `parquet:"tasks"`
}

// WriteJobsParquet writes the rows of [WriteJobsCSV] as Parquet, compressed with snappy.
func WriteJobsParquet(out io.Writer, w *workload.Workload, res *sim.Result) error {
	if err := check(w, res); err != nil {
		return err
	}
	const batch = 1024
	var rows [batch]jobRow
	var cells [4 * batch]float64 // what the pointers of the batch point at
	p := newParquet[jobRow](out)
	for from := 0; from < len(w.Jobs); from += batch {
		n := min(batch, len(w.Jobs)-from)
		for k := range n {
			i := from + k
			fillJobRow(&rows[k], cells[4*k:4*k+4], &w.Jobs[i], &res.Jobs[i], estimateOf(res, i))
		}
		if _, err := p.Write(rows[:n]); err != nil {
			return err
		}
	}
	return p.Close()
}

// newParquet names the writer, so that a file says where it came from; nothing
// of it depends on the day or the machine.
func newParquet[T any](out io.Writer) *parquet.GenericWriter[T] {
	return parquet.NewGenericWriter[T](out, parquet.CreatedBy("escala", "", ""), parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(1<<18))
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

func fillJobRow(row *jobRow, cells []float64, j *workload.Job, r *sim.JobResult, estimate workload.Span) {
	cell := func(i int, ok bool, ms int64) *float64 {
		if !ok {
			return nil
		}
		cells[i] = seconds(ms)
		return &cells[i]
	}
	started := r.FirstStart != workload.Unknown
	finish, finished := finishOf(r)
	*row = jobRow{
		ID: validText(j.ID), Submit: seconds(j.Submit), GPUs: seconds(j.Need.TotalMilli()),
		Start: cell(0, started, r.FirstStart), Finish: cell(1, finished, finish),
		User: validText(j.User), Team: validText(j.Team), Wait: cell(2, started, r.FirstStart-j.Submit),
		Queued: seconds(r.Queued), Ran: seconds(r.Ran), Starts: r.Starts, Preemptions: r.Preemptions, NodeFailures: r.NodeFailures,
		LostSeconds: float64(r.Lost) / 1e6, RestartSeconds: float64(r.Restart) / 1e6, Estimate: cell(3, estimate > 0, estimate),
		Outcome: outcomeOf(r), State: stateNames[r.State], Tasks: tasksOf(j, r),
	}
}
