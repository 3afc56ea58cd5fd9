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
	case j.Licenses != "":
		return n, "asks for licences (" + j.Licenses + ")"
	case j.Reservation != "":
		return n, "is for the reservation " + j.Reservation
	}
	where, why := w.allowed(j, excluded)
	if why != "" {
		return n, why
	}
	least, most := w.nodeSizes(where)
	n.GPUTypes = ask.Types
	switch {
	case j.Exclusive && least != most:
		return n, "asks for whole nodes, which are not all of one size"
	case j.Exclusive && nodes*most >= total:
		n.Tasks, n.GPUs = int32(nodes), int32(most)
	case ask.PerNode > 0 && (nodes > 1 || total <= most):
		n.Tasks, n.GPUs, n.PerNode = int32(nodes), int32(ask.PerNode), 1
	case least == most && (nodes > 1 && total == nodes*most || nodes == 1 && total > most && total%most == 0):
		n.Tasks, n.GPUs = int32(total/most), int32(most)
	default:
		return n, fmt.Sprintf("asks for %d GPUs that Slurm may divide over its nodes as it likes", total)
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
	wants, ok := features(j.Features)
	if !ok {
		return nil, "asks for features of nodes in a way that is not understood (" + j.Features + ")"
	}
	for i := range w.spec.Nodes {
		name := w.spec.Nodes[i].Name
		if slices.Contains(not, name) || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		if wants(w.features[name]) && slices.ContainsFunc(j.Partitions, func(p string) bool { return w.inPartition[p][name] }) {
			where = append(where, name)
		}
	}
	if len(where) == 0 {
		return nil, "may run on no node with GPUs"
	}
	return where, ""
}

// features reads what is wanted of nodes: all of "a&b", any of "a|b". Counts of nodes and brackets, by which nodes
// of a job depend on each other, are not understood.
func features(text string) (wants func(has []string) bool, ok bool) {
	if text == "" {
		return func([]string) bool { return true }, true
	}
	all, each := strings.Split(text, "&"), strings.Split(text, "|")
	if strings.ContainsAny(text, "[]()*,!\"'") || len(all) > 1 && len(each) > 1 {
		return nil, false
	}
	if len(each) > 1 {
		return func(has []string) bool {
			return slices.ContainsFunc(each, func(f string) bool { return slices.Contains(has, f) })
		}, true
	}
	return func(has []string) bool {
		return !slices.ContainsFunc(all, func(f string) bool { return !slices.Contains(has, f) })
	}, true
}

// nodeSizes are the numbers of GPUs of the smallest and the largest of the nodes.
func (w *World) nodeSizes(where []string) (least, most int64) {
	for _, name := range where {
		g := int64(w.spec.Nodes[w.nodeOf[name]].GPUs)
		if most = max(most, g); least == 0 || g < least {
			least = g
		}
	}
	return least, most
}

// jobOf is what is told of a job.
func (w *World) jobOf(j *slurm.Job, need workload.Need, t slurm.Terms) *workload.Job {
	labels := map[string]string{}
	for k, v := range map[string]string{"qos": j.QOS, "partition": strings.Join(j.Partitions, ",")} {
		if v != "" {
			labels[k] = v
		}
	}
	out := &workload.Job{User: j.User, Team: j.Account, Need: need, Limit: j.Limit.Milliseconds(), Labels: labels}
	t.Apply(out)
	out.Priority = w.priority(j)
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
	out := w.jobOf(j, workload.Need{GPUs: int32(gpus), Span: true}, slurm.Terms{})
	out.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: safe, NotResumable: true}
	out.Labels[leftLabel] = why
	return out
}
