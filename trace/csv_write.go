package trace

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// writeCSV writes the seven basic columns and, of the others, those in use.
// Speeds and labels have no column; the escala format carries them.
func writeCSV(out io.Writer, w *workload.Workload) error {
	cols := usedColumns(w)
	cw := csv.NewWriter(out)
	rec := make([]string, len(cols))
	for i, c := range cols {
		rec[i] = csvColumnNames[c]
	}
	if err := cw.Write(rec); err != nil {
		return err
	}
	for n := range w.Jobs {
		for i, c := range cols {
			s, err := csvField(c, &w.Jobs[n], &w.Actual[n])
			if err != nil {
				return err
			}
			rec[i] = s
		}
		if err := cw.Write(rec); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}

// usedColumns are the basic ones and those with a value in some job. Where team
// and partition differ anywhere, both get their own column instead of vc.
func usedColumns(w *workload.Workload) []csvColumn {
	var used [csvColumns]bool
	split := false
	for n := range w.Jobs {
		j, a := &w.Jobs[n], &w.Actual[n]
		split = split || j.Team != j.Partition
		for c := csvKind; c < csvColumns; c++ {
			if !used[c] {
				s, err := csvField(c, j, a)
				used[c] = err != nil || s != ""
			}
		}
	}
	cols := []csvColumn{csvID, csvSubmit, csvGPUs, csvDuration, csvEstimate, csvUser}
	if split {
		cols = append(cols, csvTeam, csvPartition)
	} else {
		cols = append(cols, csvVC)
	}
	for c := csvKind; c < csvColumns; c++ {
		if used[c] {
			cols = append(cols, c)
		}
	}
	return cols
}

// csvField renders one field; "" for a value that is the default.
func csvField(c csvColumn, j *workload.Job, a *workload.Actual) (string, error) {
	switch c {
	case csvID:
		return j.ID, nil
	case csvSubmit:
		return seconds(j.Submit), nil
	case csvGPUs:
		return strconv.Itoa(int(j.Need.GPUs)), nil
	case csvDuration:
		return seconds(a.Duration), nil
	case csvEstimate:
		return seconds(j.Estimate), nil
	case csvUser:
		return j.User, nil
	case csvVC, csvTeam:
		return j.Team, nil
	case csvPartition:
		return j.Partition, nil
	case csvKind:
		return j.Kind.String(), nil
	case csvPriority:
		return nonZero(j.Priority), nil
	case csvLimit:
		return nonZeroSeconds(j.Limit), nil
	case csvDeadline:
		return nonZeroSeconds(j.Deadline), nil
	case csvTasks:
		return nonZero(int64(j.Need.Tasks)), nil
	case csvMinTasks:
		return nonZero(int64(j.Need.MinTasks)), nil
	case csvMaxTasks:
		return nonZero(int64(j.Need.MaxTasks)), nil
	case csvPerNode:
		return nonZero(int64(j.Need.PerNode)), nil
	case csvGPUMilli:
		return nonZero(int64(j.Need.Milli)), nil
	case csvCPU:
		return nonZeroSeconds(j.Need.CPU), nil
	case csvMemory:
		return nonZero(j.Need.Memory), nil
	case csvGPUType:
		return j.Need.GPUTypes, nil
	case csvWithin:
		return j.Need.Within, nil
	case csvNodes:
		return j.Need.Nodes, nil
	case csvSpan:
		return ifTrue(j.Need.Span), nil
	case csvMinRuntime:
		if j.Contract.HasMinRuntime {
			return seconds(j.Contract.MinRuntime), nil
		}
	case csvCheckpointInterval:
		return nonZeroSeconds(j.Contract.CheckpointInterval), nil
	case csvCheckpointOnStop:
		return ifTrue(j.Contract.CheckpointOnStop), nil
	case csvResumable:
		if j.Contract.NotResumable {
			return "false", nil
		}
	case csvRestartCost:
		return nonZeroSeconds(j.Contract.RestartCost), nil
	case csvGrace:
		return nonZeroSeconds(j.Contract.Grace), nil
	case csvAfter:
		return afterField(j)
	case csvOutcome:
		if a.Outcome != workload.OutcomeCompleted {
			return a.Outcome.String(), nil
		}
	case csvCancelAfter:
		return nonZeroSeconds(a.CancelAfter), nil
	case csvStart:
		return known(a.Start), nil
	case csvEnd:
		return known(a.End), nil
	}
	return "", nil
}

// afterField joins the dependencies; the condition is always named, so that an
// ID with a colon cannot be taken for one.
func afterField(j *workload.Job) (string, error) {
	var parts []string
	for _, d := range j.After {
		if strings.Contains(d.Job, ";") {
			return "", fmt.Errorf("job %q waits for %q: the csv format cannot hold ';' in a dependency; write the escala format", j.ID, d.Job)
		}
		parts = append(parts, d.When.String()+":"+d.Job)
	}
	return strings.Join(parts, ";"), nil
}

func seconds(ms int64) string { return string(appendSeconds(nil, ms)) }

func nonZeroSeconds(ms int64) string {
	if ms == 0 {
		return ""
	}
	return seconds(ms)
}

func nonZero(v int64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatInt(v, 10)
}

func known(t workload.Time) string {
	if t == workload.Unknown {
		return ""
	}
	return seconds(t)
}

func ifTrue(b bool) string {
	if b {
		return "true"
	}
	return ""
}
