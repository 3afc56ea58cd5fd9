package slurmhist

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// A gang lies on GPUs of one type. Slurm lays a job that names none over nodes of all types, and
// where such jobs are larger than all nodes of a type they could never run here. Where they matter,
// the nodes have no types in the cluster, and jobs that name one are bound to its nodes by name.

// untype tells whether types would keep jobs from running that really ran, and more than one
// GPU-hour in a hundred with them.
func (h *History) untype(deduced []Node) bool {
	of := map[string]int64{} // GPUs by partition and type, "" being all
	add := func(n *Node, partition string) {
		for _, t := range n.GPUs {
			of[partition+"|"+t.Name] += t.Count
			if t.Name != "" {
				of[partition+"|"] += t.Count
			}
		}
	}
	types := map[string]bool{}
	for i := range len(h.site.Nodes) + len(deduced) {
		var n *Node
		if i < len(h.site.Nodes) {
			n = &h.site.Nodes[i]
		} else {
			n = &deduced[i-len(h.site.Nodes)]
		}
		for _, t := range n.GPUs {
			types[t.Name] = true
		}
		add(n, "")
		for _, p := range n.Partitions {
			add(n, p)
		}
	}
	if len(types) < 2 {
		return false
	}
	var wide, all float64
	for i := range h.drafts {
		d := &h.drafts[i]
		all += d.hours
		if d.need.GPUTypes != "" {
			continue
		}
		p := h.g.words.get(d.last.partition)
		if of[p+"|"] == 0 {
			p = ""
		}
		most := int64(0)
		for t := range types {
			if t != "" {
				most = max(most, of[p+"|"+t])
			}
		}
		if n := d.need.TotalGPUs(); int64(n) > most && int64(n) <= of[p+"|"] {
			wide += d.hours
		}
	}
	return wide > all/100
}

// withoutTypes forgets the types of the site's nodes, and notes which nodes had which.
func (h *History) withoutTypes(n *Node) Node {
	x := *n
	x.GPUs = nil
	for _, t := range n.GPUs {
		if t.Name != "" {
			h.typed[t.Name] = append(h.typed[t.Name], n.Name)
		}
	}
	if sum := n.gpus(); sum > 0 {
		x.GPUs = append(x.GPUs, n.GPUs[0])
		x.GPUs[0].Name, x.GPUs[0].Count = "", sum
	}
	return x
}

// named are the nodes that have one of some types, of those given; "" where they are none, or too
// many.
func (h *History) named(types, of string) string {
	key := [2]string{types, of}
	list, known := h.lists[key]
	if known {
		return list
	}
	var names []string
	for t := range strings.SplitSeq(types, "|") {
		names = append(names, h.typed[t]...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) <= mostNamed {
		list = strings.Join(names, "|")
	}
	if of != "" {
		list = both(of, list)
	}
	h.lists[key] = list
	return list
}

// byName binds a job to the nodes that have its types, where the cluster has none.
func (h *History) byName(j *workload.Job, d *draft, simple *tally) {
	if h.typed == nil || j.Need.GPUTypes == "" {
		return
	}
	list := h.named(j.Need.GPUTypes, j.Need.Nodes)
	j.Need.GPUTypes = ""
	if list == "" {
		simple.add("asks for a GPU type, and the nodes that have it cannot be named: bound to none", d.hours, j.ID)
		return
	}
	j.Need.Nodes = list
	simple.add("asks for a GPU type: bound to its nodes by name, since others ran over several types", d.hours, j.ID)
}
