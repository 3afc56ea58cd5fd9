package slurmworld

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/workload"
)

// need is what the engine is told that a job needs, or why it cannot be told: such a job is left to
// Slurm, and what it runs on is taken from what there is.
func (w *World) need(j *slurm.Job, excluded string) (n workload.Need, why string) {
	ask, err := j.GPUs()
	total, nodes := ask.Total, int64(max(j.NumNodes, 1))
	switch {
	case err != nil:
		return n, "asks for GPUs in a way that is not understood (" + err.Error() + ")"
	case total == 0:
		return n, "asks for no GPUs"
	case j.Het != 0:
		return n, "is a part of a heterogeneous job"
	case strings.Contains(ask.Types, "|"):
		return n, "asks for GPUs of several types"
	case j.Features != "":
		return n, "asks for features of nodes (" + j.Features + ")"
	case j.Licenses != "":
		return n, "asks for licences (" + j.Licenses + ")"
	case j.Reservation != "":
		return n, "is for the reservation " + j.Reservation
	}
	where, why := w.allowed(j, excluded)
	if why != "" {
		return n, why
	}
	size := w.nodeSize(where)
	n.GPUTypes = ask.Types
	switch {
	case size == 0:
		return n, "may run on no node with GPUs"
	case j.Exclusive && nodes*size >= total, nodes > 1 && total == nodes*size, nodes == 1 && total > size && total%size == 0:
		if j.Exclusive {
			total = nodes * size
		}
		n.Tasks, n.GPUs = int32(total/size), int32(size)
	case nodes == 1 && total <= size:
		n.GPUs = int32(total)
	default:
		return n, fmt.Sprintf("asks for %d GPUs on %d nodes, a part of each", total, nodes)
	}
	n.CPU = int64(j.NumCPUs) * 1000 / int64(max(n.Tasks, 1))
	if len(where) < len(w.spec.Nodes) {
		n.Nodes = strings.Join(where, "|")
	}
	return n, ""
}

// allowed lists the nodes of the cluster on which Slurm would let a job run.
func (w *World) allowed(j *slurm.Job, excluded string) (where []string, why string) {
	not, err := slurm.Hosts(excluded)
	if err != nil {
		return nil, "excludes nodes that cannot be read"
	}
	only, err := slurm.Hosts(j.Where)
	if err != nil {
		return nil, "names nodes that cannot be read"
	}
	if len(only) > 0 && len(only) < j.NumNodes {
		return nil, "names some of its nodes"
	}
	for i := range w.spec.Nodes {
		name := w.spec.Nodes[i].Name
		if slices.Contains(not, name) || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		if slices.ContainsFunc(j.Partitions, func(p string) bool { return w.inPartition[p][name] }) {
			where = append(where, name)
		}
	}
	if len(where) == 0 {
		return nil, "may run on no node with GPUs"
	}
	return where, ""
}

// nodeSize is the number of GPUs of the nodes, 0 where they differ.
func (w *World) nodeSize(where []string) int64 {
	size := int32(0)
	for _, name := range where {
		g := w.spec.Nodes[w.nodeOf[name]].GPUs
		if size != 0 && g != size {
			return 0
		}
		size = g
	}
	return int64(size)
}

// jobOf is what is told of a job.
func (w *World) jobOf(j *slurm.Job, need workload.Need, d *slurm.Declared) *workload.Job {
	team := j.Account
	if d.Team != "" {
		team = d.Team
	}
	labels := map[string]string{}
	for k, v := range map[string]string{"qos": j.QOS, "partition": strings.Join(j.Partitions, ",")} {
		if v != "" {
			labels[k] = v
		}
	}
	out := &workload.Job{User: j.User, Team: team, Need: need, Limit: j.Limit.Milliseconds(), Estimate: d.Estimate, Contract: d.Contract, Labels: labels}
	if !j.Requeue || !j.Batch {
		out.Contract.NotResumable = true
	}
	return out
}

// leftLabel says of a job why it was left to Slurm.
const leftLabel = "left-to-slurm"

// foreign is what is told of a job that was left to Slurm and runs: it has what it has, and is never stopped.
func (w *World) foreign(j *slurm.Job, gpus int64, why string) *workload.Job {
	safe := j.Limit.Milliseconds()
	if safe == 0 {
		safe = 365 * workload.Day
	}
	out := w.jobOf(j, workload.Need{GPUs: int32(gpus), Span: true}, &slurm.Declared{})
	out.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: safe, NotResumable: true}
	out.Labels[leftLabel] = why
	return out
}
