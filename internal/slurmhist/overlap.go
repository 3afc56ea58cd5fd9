package slurmhist

import (
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// A gang lies within one pool, nodes of one GPU type and the same partitions. Where Slurm's
// partitions share some of their nodes, as a debug partition on two nodes of all does, these nodes
// would be pools of their own, and no large job could have them with the others. So partitions
// that share nodes become one, and jobs of the smaller are bound to its nodes by name.

// overlap joins partitions that share some of their nodes, and notes the nodes of the smaller.
func (h *History) overlap() {
	nodes := h.Cluster.Nodes
	of := map[string][]int32{} // nodes of partitions
	for i := range nodes {
		for _, p := range nodes[i].Partitions {
			of[p] = append(of[p], int32(i))
		}
	}
	h.bound, h.within = map[string]string{}, map[string]map[int32]bool{}
	done := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(of)) {
		if done[p] {
			continue
		}
		// All that is to be had from p by way of nodes that are shared.
		parts, in := []string{p}, map[int32]bool{}
		done[p] = true
		for k := 0; k < len(parts); k++ {
			for _, n := range of[parts[k]] {
				in[n] = true
				for _, q := range nodes[n].Partitions {
					if !done[q] {
						done[q] = true
						parts = append(parts, q)
					}
				}
			}
		}
		h.join(parts, slices.Sorted(maps.Keys(in)), of)
	}
}

// join makes one of partitions, unless one of them is no whole and too large to be named by its
// nodes.
func (h *History) join(parts []string, in []int32, of map[string][]int32) {
	bound := map[string]string{}
	for _, p := range parts {
		switch {
		case len(of[p]) == len(in):
		case len(of[p]) > mostNamed:
			return
		default:
			names := make([]string, len(of[p]))
			for i, n := range of[p] {
				names[i] = h.Cluster.Nodes[n].Name
			}
			bound[p] = strings.Join(names, "|")
		}
	}
	if len(bound) == 0 {
		return
	}
	slices.Sort(parts)
	for _, n := range in {
		h.Cluster.Nodes[n].Partitions = parts
	}
	maps.Copy(h.bound, bound)
	for p := range bound {
		h.within[p] = map[int32]bool{}
		for _, n := range of[p] {
			h.within[p][n] = true
		}
	}
}

// bind binds a job to the nodes of its partition where that is part of a larger one.
func (h *History) bind(j *workload.Job, d *draft, simple *tally) {
	names := h.bound[j.Partition]
	if names == "" {
		return
	}
	if j.Need.Nodes != "" {
		key := [2]string{"partition " + j.Partition, j.Need.Nodes}
		list, known := h.lists[key]
		if !known {
			list = both(names, j.Need.Nodes)
			h.lists[key] = list
		}
		names = list
	}
	if names == "" {
		simple.add("asks for features that no node of its partition has: bound to the partition", d.hours, j.ID)
		names = h.bound[j.Partition]
	}
	j.Need.Nodes = names
	simple.add("its partition shares some nodes with a larger one: bound to its nodes by name", d.hours, j.ID)
}

// both are the names of two lists.
func both(a, b string) string {
	in := strings.Split(b, "|")
	list := slices.DeleteFunc(strings.Split(a, "|"), func(n string) bool { return !slices.Contains(in, n) })
	return strings.Join(list, "|")
}
