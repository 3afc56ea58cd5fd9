package slurmworld

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// A journal is about one cluster, so that nodes cannot come, or get other GPUs, under it. What Slurm has otherwise by now
// is said, and not used: a node that nobody knows to be idle is worse than one that is.

// leaves says why a node is left to Slurm, "" = it is not.
func (w *World) leaves(n *slurm.Node) string {
	given := w.opts.Partitions
	switch {
	case n.GPUs.Count == 0:
		return "it has no GPUs"
	case len(n.GPUs.Types) > 1:
		return "its GPUs are of several types"
	case n.GPUs.Count > 64:
		return "it has more than 64 GPUs"
	case len(given) > 0 && !slices.ContainsFunc(n.Partitions, func(p string) bool { return slices.Contains(given, p) }):
		return "it is in none of the partitions " + strings.Join(given, ", ")
	}
	return ""
}

// compare finds nodes that are others than at the start.
func (w *World) compare(nodes []slurm.Node) {
	there, seen := make([]bool, len(w.spec.Nodes)), map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		seen[n.Name] = true
		k, known := w.nodeOf[n.Name]
		if !known {
			if w.leaves(n) == "" {
				w.remark(n.Name, fmt.Sprintf("Slurm has it now, with %d GPUs, and this journal does not: it stays idle, or Slurm's", n.GPUs.Count))
			} else {
				w.remark(n.Name, "")
			}
			continue
		}
		there[k] = true
		was := &w.spec.Nodes[k]
		if n.GPUs.Count == int64(was.GPUs) && n.GPUs.TypeNames() == was.GPUType {
			w.remark(n.Name, "")
		} else {
			w.remark(n.Name, fmt.Sprintf("it has %d GPUs %s in Slurm, and %d %s in this journal", n.GPUs.Count, n.GPUs.TypeNames(), was.GPUs, was.GPUType))
		}
	}
	for name := range w.remarks {
		if _, known := w.nodeOf[name]; !known && !seen[name] {
			w.remark(name, "")
		}
	}
	for k, ok := range there {
		if !ok && !w.down[k] {
			w.down[k] = true
			w.tell(world.Report{Kind: fact.NodeDown, Node: int32(k), Text: "Slurm has no such node any more"})
		}
	}
}

// remark logs what is to be said of a node, once.
func (w *World) remark(node, text string) {
	if w.remarks[node] == text {
		return
	}
	if w.remarks[node] = text; text == "" {
		w.log.Info("a node is again what it was", "node", node)
		return
	}
	w.log.Warn("a node is not what it was when the daemon started; a cluster with other nodes needs a journal of its own (--state)", "node", node, "what", text)
}

// other says why a node of the journal cannot be used as it is in Slurm now, "" = it can.
func (w *World) other(n *slurm.Node, k int32) string {
	was := &w.spec.Nodes[k]
	switch {
	case n.GPUs.Count < int64(was.GPUs):
		return fmt.Sprintf("it has %d GPUs in Slurm, and %d in this journal", n.GPUs.Count, was.GPUs)
	case n.GPUs.TypeNames() != was.GPUType:
		return fmt.Sprintf("its GPUs are %s in Slurm, and %s in this journal", n.GPUs.TypeNames(), was.GPUType)
	}
	return ""
}
