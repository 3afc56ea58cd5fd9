package trace

import (
	"strconv"
	"strings"

	"github.com/escala-sched/escala/workload"
)

const csvExample = "job_id,submit,gpus,duration,estimate,user,vc"

// csvColumn is a column of the plain table. docs/trace-formats.md has their meaning.
type csvColumn uint8

const (
	csvID csvColumn = iota
	csvSubmit
	csvGPUs
	csvDuration
	csvEstimate
	csvUser
	csvVC
	csvTeam
	csvPartition
	csvKind
	csvPriority
	csvLimit
	csvDeadline
	csvTasks
	csvMinTasks
	csvMaxTasks
	csvPerNode
	csvGPUMilli
	csvCPU
	csvMemory
	csvGPUType
	csvWithin
	csvNodes
	csvSpan
	csvMinRuntime
	csvCheckpointInterval
	csvCheckpointOnStop
	csvResumable
	csvRestartCost
	csvGrace
	csvAfter
	csvOutcome
	csvCancelAfter
	csvStart
	csvEnd
	csvColumns
	csvIgnored
)

var csvColumnNames = [csvColumns]string{
	"job_id", "submit", "gpus", "duration", "estimate", "user", "vc", "team", "partition", "kind",
	"priority", "limit", "deadline", "tasks", "min_tasks", "max_tasks", "tasks_per_node", "gpu_milli", "cpu", "memory_mib",
	"gpu_type", "within", "nodes", "span", "min_runtime", "checkpoint_interval", "checkpoint_on_stop",
	"resumable", "restart_cost", "grace", "after", "outcome", "cancel_after", "start", "end",
}

var csvColumnByName = func() map[string]csvColumn {
	m := make(map[string]csvColumn, csvColumns)
	for c, name := range csvColumnNames {
		m[name] = csvColumn(c)
	}
	return m
}()

// set reads one field into its place.
func (r *csvRows) set(c csvColumn, s string, j *workload.Job, a *workload.Actual) error {
	switch c {
	case csvID:
		if s == "" {
			return r.fail("job_id is empty", "a name or number")
		}
		j.ID = s
	case csvSubmit:
		return r.seconds(c, s, &j.Submit, true)
	case csvDuration:
		return r.seconds(c, s, &a.Duration, true)
	case csvGPUs:
		if s == "" {
			return r.number(c, s)
		}
		return r.count(c, s, &j.Need.GPUs)
	case csvEstimate:
		return r.seconds(c, s, &j.Estimate, false)
	case csvUser:
		j.User = r.names.get(s)
	case csvVC:
		j.Team = r.names.get(s)
		j.Partition = j.Team
	case csvTeam:
		j.Team = r.names.get(s)
	case csvPartition:
		j.Partition = r.names.get(s)
	case csvGPUType:
		j.Need.GPUTypes = r.names.get(s)
	case csvWithin:
		j.Need.Within = r.names.get(s)
	case csvNodes:
		j.Need.Nodes = r.names.get(s)
	case csvTasks:
		return r.count(c, s, &j.Need.Tasks)
	case csvMinTasks:
		return r.count(c, s, &j.Need.MinTasks)
	case csvMaxTasks:
		return r.count(c, s, &j.Need.MaxTasks)
	case csvPerNode:
		return r.count(c, s, &j.Need.PerNode)
	case csvGPUMilli:
		return r.count(c, s, &j.Need.Milli)
	case csvCPU:
		return r.seconds(c, s, &j.Need.CPU, false)
	case csvLimit:
		return r.seconds(c, s, &j.Limit, false)
	case csvDeadline:
		return r.seconds(c, s, &j.Deadline, false)
	case csvRestartCost:
		return r.seconds(c, s, &j.Contract.RestartCost, false)
	case csvGrace:
		return r.seconds(c, s, &j.Contract.Grace, false)
	case csvCheckpointInterval:
		return r.seconds(c, s, &j.Contract.CheckpointInterval, false)
	case csvCancelAfter:
		return r.seconds(c, s, &a.CancelAfter, false)
	case csvMinRuntime:
		j.Contract.HasMinRuntime = s != ""
		return r.seconds(c, s, &j.Contract.MinRuntime, false)
	case csvStart:
		if s != "" {
			return r.seconds(c, s, &a.Start, false)
		}
	case csvEnd:
		if s != "" {
			return r.seconds(c, s, &a.End, false)
		}
	default:
		return r.setRare(c, s, j, a)
	}
	return nil
}

// setRare reads the columns that are neither numbers of their own nor names.
func (r *csvRows) setRare(c csvColumn, s string, j *workload.Job, a *workload.Actual) error {
	if s == "" || c == csvIgnored {
		return nil
	}
	var ok bool
	switch c {
	case csvPriority:
		v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return r.fail("priority: "+quote(s)+" is not a whole number", "for example 0 or -10")
		}
		j.Priority = v
	case csvMemory:
		v, whole := parseWhole(s)
		if !whole {
			return r.number(c, s)
		}
		if v < 0 {
			return r.negative(c, s)
		}
		j.Need.Memory = v
	case csvKind:
		if j.Kind, ok = workload.ParseKind(s); !ok {
			return r.fail("kind: unknown kind "+quote(s), "training, batch-inference, quantization, realtime or interactive")
		}
	case csvOutcome:
		if a.Outcome, ok = workload.ParseOutcome(s); !ok {
			return r.fail("outcome: unknown outcome "+quote(s), "completed, failed, cancelled, timeout, node-fail, preempted or unknown")
		}
	case csvSpan:
		return r.truth(c, s, &j.Need.Span)
	case csvCheckpointOnStop:
		return r.truth(c, s, &j.Contract.CheckpointOnStop)
	case csvResumable:
		resumable := true
		err := r.truth(c, s, &resumable)
		j.Contract.NotResumable = !resumable
		return err
	case csvAfter:
		for item := range strings.SplitSeq(s, ";") {
			dep := workload.Dependency{Job: item}
			if cond, id, found := strings.Cut(item, ":"); found {
				if when, known := workload.ParseCondition(cond); known && cond != "" {
					dep = workload.Dependency{Job: id, When: when}
				}
			}
			if dep.Job == "" {
				return r.fail("after: "+quote(s)+" names no job", "job IDs joined by ';', each with an optional any:, ok: or notok:")
			}
			j.After = append(j.After, dep)
		}
		r.after = true
	}
	return nil
}

// seconds reads decimal seconds (or cores) into thousandths.
func (r *csvRows) seconds(c csvColumn, s string, to *int64, required bool) error {
	v, ok := parseMilli(s)
	if !ok {
		trimmed := strings.TrimSpace(s)
		if trimmed == "" && !required {
			return nil
		}
		if v, ok = parseMilli(trimmed); !ok {
			return r.number(c, s)
		}
	}
	if v < 0 {
		return r.negative(c, s)
	}
	*to = v
	return nil
}

// count reads a whole number; "" is 0.
func (r *csvRows) count(c csvColumn, s string, to *int32) error {
	v, ok := parseCount(s)
	if !ok {
		trimmed := strings.TrimSpace(s)
		if trimmed == "" {
			return nil
		}
		if v, ok = parseCount(trimmed); !ok {
			return r.fail(csvColumnNames[c]+": "+quote(s)+" is not a whole number", "for example 8")
		}
	}
	if v < 0 {
		return r.negative(c, s)
	}
	*to = v
	return nil
}

func (r *csvRows) truth(c csvColumn, s string, to *bool) error {
	switch s {
	case "true", "1":
		*to = true
	case "false", "0":
		*to = false
	default:
		return r.fail(csvColumnNames[c]+": "+quote(s)+" is neither true nor false", "true or false")
	}
	return nil
}

func (r *csvRows) number(c csvColumn, s string) error {
	return r.fail(csvColumnNames[c]+": "+quote(s)+" is not a number", "for example 90 or 90.5")
}

func (r *csvRows) negative(c csvColumn, s string) error {
	return r.fail(csvColumnNames[c]+": "+s+" is negative", "0 or more")
}

func itoa(n int) string { return strconv.Itoa(n) }
