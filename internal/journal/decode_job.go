package journal

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// names keeps one copy of each name: millions of jobs have a few hundred users.
type names map[string]string

func (t names) get(val []byte) string {
	if s, ok := t[string(val)]; ok {
		return s
	}
	s := string(val)
	t[s] = s
	return s
}

// spec reads a job as appendJob writes it. Members it does not know are ignored.
func (t names) spec(raw []byte) (j *workload.Job, msg, want string) {
	j = &workload.Job{}
	o := begin(raw)
	var submit bool
	for o.next() {
		ok := true
		n, c := &j.Need, &j.Contract
		switch string(o.key) {
		case "id":
			var v []byte
			v, ok = plain(o.val)
			j.ID = string(v)
		case "user":
			ok = t.text(&j.User, o.val)
		case "team":
			ok = t.text(&j.Team, o.val)
		case "partition":
			ok = t.text(&j.Partition, o.val)
		case "gpu_types":
			ok = t.text(&n.GPUTypes, o.val)
		case "within":
			ok = t.text(&n.Within, o.val)
		case "nodes":
			ok = t.text(&n.Nodes, o.val)
		case "kind":
			var v []byte
			if v, ok = plain(o.val); ok {
				j.Kind, ok = workload.ParseKind(string(v))
			}
		case "submit_ms":
			submit = true
			ok = amount(&j.Submit, o.val, -maxTime)
		case "deadline_ms":
			ok = amount(&j.Deadline, o.val, -maxTime)
		case "estimate_ms":
			ok = amount(&j.Estimate, o.val, 0)
		case "limit_ms":
			ok = amount(&j.Limit, o.val, 0)
		case "priority":
			j.Priority, ok = whole(o.val)
		case "tasks":
			ok = count(&n.Tasks, o.val)
		case "gpus":
			ok = count(&n.GPUs, o.val)
		case "gpu_milli":
			ok = count(&n.Milli, o.val)
		case "min_tasks":
			ok = count(&n.MinTasks, o.val)
		case "max_tasks":
			ok = count(&n.MaxTasks, o.val)
		case "tasks_per_node":
			ok = count(&n.PerNode, o.val)
		case "cpu_milli":
			ok = amount(&n.CPU, o.val, 0)
		case "memory_mib":
			ok = amount(&n.Memory, o.val, 0)
		case "span":
			n.Span, ok = yes(o.val)
		case "contract":
			ok = contract(c, o.val)
		case "service":
			j.Service, ok = service(o.val)
		case "after":
			ok = after(j, o.val)
		case "speed":
			ok = speed(j, o.val)
		case "labels":
			ok = json.Unmarshal(o.val, &j.Labels) == nil
		}
		if !ok {
			return j, "spec: " + string(o.key) + " is " + quote(o.val), "a value as in docs/journal.md"
		}
	}
	switch {
	case o.bad != "":
		return j, "spec: " + o.bad, "one JSON object"
	case j.ID == "":
		return j, "spec: no id", `"id":"..."`
	case !submit:
		return j, "spec: no submit_ms", `"submit_ms":0`
	case int64(j.Need.GPUs)*int64(max(j.Need.Tasks, j.Need.MaxTasks, 1)) > math.MaxInt32:
		return j, "spec: tasks x gpus is too large", "at most 2147483647 GPUs"
	}
	if err := j.Need.Check(); err != nil {
		msg, want, _ := strings.Cut(err.Error(), "; want ")
		return j, "spec: " + msg, want
	}
	return j, "", ""
}

func (t names) text(to *string, val []byte) bool {
	v, ok := plain(val)
	*to = t.get(v)
	return ok
}

func amount(to *int64, val []byte, lo int64) bool {
	v, ok := whole(val)
	*to = v
	return ok && v >= lo && v <= maxTime
}

func count(to *int32, val []byte) bool {
	v, ok := whole(val)
	*to = int32(v)
	return ok && v >= 0 && v <= math.MaxInt32
}

func yes(val []byte) (v, ok bool) {
	v = string(val) == "true"
	return v, v || string(val) == "false"
}

func contract(c *workload.Contract, val []byte) bool {
	o := begin(val)
	ok := true
	for ok && o.next() {
		switch string(o.key) {
		case "min_runtime_ms":
			c.HasMinRuntime = true
			ok = amount(&c.MinRuntime, o.val, 0)
		case "checkpoint_interval_ms":
			ok = amount(&c.CheckpointInterval, o.val, 0)
		case "checkpoint_on_stop":
			c.CheckpointOnStop, ok = yes(o.val)
		case "resumable":
			var resumable bool
			resumable, ok = yes(o.val)
			c.NotResumable = !resumable
		case "restart_cost_ms":
			ok = amount(&c.RestartCost, o.val, 0)
		case "grace_ms":
			ok = amount(&c.Grace, o.val, 0)
		}
	}
	return ok && o.bad == ""
}

func after(j *workload.Job, val []byte) bool {
	var list []struct{ Job, When string }
	if json.Unmarshal(val, &list) != nil {
		return false
	}
	for _, d := range list {
		when, ok := workload.ParseCondition(d.When)
		if !ok || d.Job == "" {
			return false
		}
		j.After = append(j.After, workload.Dependency{Job: d.Job, When: when})
	}
	return true
}

func speed(j *workload.Job, val []byte) bool {
	var list []struct {
		GPUType string `json:"gpu_type"`
		Milli   int32  `json:"milli"`
	}
	if json.Unmarshal(val, &list) != nil {
		return false
	}
	for _, s := range list {
		if s.Milli <= 0 {
			return false
		}
		j.Speed = append(j.Speed, workload.Speed(s))
	}
	return true
}
