package slurmhist

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// features turns what jobs ask of nodes (--constraint) into GPU types or names of nodes.
type features struct {
	h *History
	// known are constraints that were looked at.
	known map[word]feature
	// of are the features of nodes of the cluster.
	of map[string][]int32
}

type feature struct {
	types, nodes string
	cause        string
}

// mostNamed bounds how many nodes a job may name: longer lists cost more than they tell.
const mostNamed = 256

func newFeatures(h *History) *features {
	f := &features{h: h, known: map[word]feature{}, of: map[string][]int32{}}
	for i := range h.site.Nodes {
		for _, name := range h.site.Nodes[i].Features {
			f.of[name] = append(f.of[name], h.nodes[h.site.Nodes[i].Name]...)
		}
	}
	return f
}

func (f *features) apply(j *workload.Job, d *draft, simple *tally) {
	c := d.last.constraints
	if c == 0 {
		return
	}
	x, ok := f.known[c]
	if !ok {
		x = f.read(f.h.g.words.get(c))
		f.known[c] = x
	}
	if x.cause != "" {
		simple.add(x.cause, d.hours, j.ID)
		return
	}
	if x.types != "" && j.Need.GPUTypes == "" && j.Need.GPUs > 0 {
		j.Need.GPUTypes = x.types
	}
	if x.nodes != "" {
		j.Need.Nodes = x.nodes
	}
}

// read understands features joined by & and |.
func (f *features) read(text string) feature {
	text = strings.Trim(text, "[]")
	switch {
	case len(f.of) == 0:
		return feature{cause: "asks for features of nodes, and nothing tells which nodes have them: not modelled"}
	case strings.ContainsAny(text, "[]()*,"):
		return feature{cause: "asks for features of nodes in counts or groups: not modelled"}
	}
	var any []int32
	for alternative := range strings.SplitSeq(text, "|") {
		var all []int32
		for i, name := range strings.Split(alternative, "&") {
			have := f.of[strings.TrimSpace(name)]
			if i == 0 {
				all = slices.Clone(have)
				continue
			}
			all = slices.DeleteFunc(all, func(n int32) bool { return !slices.Contains(have, n) })
		}
		any = append(any, all...)
	}
	slices.Sort(any)
	any = slices.Compact(any)
	nodes := f.h.Cluster.Nodes
	switch {
	case len(any) == 0:
		return feature{cause: "asks for features that no node has any more: not modelled"}
	case len(any) == len(nodes):
		return feature{}
	}
	// All nodes of some types are these types.
	var types []string
	for _, n := range any {
		if t := nodes[n].GPUType; !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	of := 0
	for i := range nodes {
		if slices.Contains(types, nodes[i].GPUType) {
			of++
		}
	}
	if of == len(any) && !slices.Contains(types, "") {
		slices.Sort(types)
		return feature{types: strings.Join(types, "|")}
	}
	if len(any) > mostNamed {
		return feature{cause: "asks for features that more than 256 nodes have: not modelled"}
	}
	names := make([]string, len(any))
	for i, n := range any {
		names[i] = nodes[n].Name
	}
	return feature{nodes: strings.Join(names, "|")}
}
