package journal

import (
	"maps"
	"slices"
	"strconv"

	"github.com/escala-sched/escala/workload"
)

// appendJob writes what a job declares, under the names of the "escala" workload
// format: a submission line's spec, plus what really happened, is a line of it.
func appendJob(b []byte, j *workload.Job) []byte {
	b = appendString(append(b, `{"id":`...), j.ID)
	b = text(b, `,"user":`, j.User)
	b = text(b, `,"team":`, j.Team)
	b = text(b, `,"partition":`, j.Partition)
	if j.Kind != workload.KindUnspecified {
		b = word(b, `,"kind":"`, j.Kind.String())
	}
	b = number(b, `,"submit_ms":`, j.Submit)
	n := &j.Need
	b = nonZero(b, `,"tasks":`, int64(n.Tasks))
	b = nonZero(b, `,"gpus":`, int64(n.GPUs))
	b = nonZero(b, `,"gpu_milli":`, int64(n.Milli))
	b = nonZero(b, `,"min_tasks":`, int64(n.MinTasks))
	b = nonZero(b, `,"max_tasks":`, int64(n.MaxTasks))
	b = nonZero(b, `,"tasks_per_node":`, int64(n.PerNode))
	b = nonZero(b, `,"cpu_milli":`, n.CPU)
	b = nonZero(b, `,"memory_mib":`, n.Memory)
	b = text(b, `,"gpu_types":`, n.GPUTypes)
	b = text(b, `,"within":`, n.Within)
	b = text(b, `,"nodes":`, n.Nodes)
	if n.Span {
		b = append(b, `,"span":true`...)
	}
	b = nonZero(b, `,"priority":`, j.Priority)
	b = nonZero(b, `,"estimate_ms":`, j.Estimate)
	b = nonZero(b, `,"limit_ms":`, j.Limit)
	b = nonZero(b, `,"deadline_ms":`, j.Deadline)
	if j.Contract != (workload.Contract{}) {
		b = appendContract(b, &j.Contract)
	}
	if j.Service != nil {
		b = appendService(b, j.Service)
	}
	for i, d := range j.After {
		b = appendString(append(b, open(i, `,"after":[`, `{"job":`)...), d.Job)
		if d.When != workload.AfterAny {
			b = word(b, `,"when":"`, d.When.String())
		}
		b = append(b, '}')
	}
	b = closed(b, len(j.After), ']')
	for i, s := range j.Speed {
		b = appendString(append(b, open(i, `,"speed":[`, `{"gpu_type":`)...), s.GPUType)
		b = append(number(b, `,"milli":`, int64(s.Milli)), '}')
	}
	b = closed(b, len(j.Speed), ']')
	if len(j.Labels) > 0 {
		for i, k := range slices.Sorted(maps.Keys(j.Labels)) {
			b = appendString(append(b, open(i, `,"labels":{`, "")...), k)
			b = appendString(append(b, ':'), j.Labels[k])
		}
	}
	b = closed(b, len(j.Labels), '}')
	return append(b, '}')
}

// open is what stands in front of element i of a list.
func open(i int, list, element string) string {
	if i == 0 {
		return list + element
	}
	return "," + element
}

func closed(b []byte, n int, end byte) []byte {
	if n == 0 {
		return b
	}
	return append(b, end)
}

func appendContract(b []byte, c *workload.Contract) []byte {
	b = append(b, `,"contract":{`...)
	from := len(b)
	if c.HasMinRuntime {
		b = number(b, `"min_runtime_ms":`, c.MinRuntime)
		b = append(b, ',')
	}
	if c.CheckpointInterval != 0 {
		b = append(number(b, `"checkpoint_interval_ms":`, c.CheckpointInterval), ',')
	}
	if c.CheckpointOnStop {
		b = append(b, `"checkpoint_on_stop":`...)
		b = append(strconv.AppendBool(b, true), ',')
	}
	if c.NotResumable {
		b = append(b, `"resumable":false,`...)
	}
	if c.RestartCost != 0 {
		b = append(number(b, `"restart_cost_ms":`, c.RestartCost), ',')
	}
	if c.Grace != 0 {
		b = append(number(b, `"grace_ms":`, c.Grace), ',')
	}
	if len(b) > from {
		b = b[:len(b)-1]
	}
	return append(b, '}')
}
