package slurmhist

import (
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// Anonymize hides all names of a history as [trace.Anonymize] does, in the workload, the cluster
// and the report alike. Without keepTimes the first submission becomes time 0.
func (h *History) Anonymize(key []byte, keepTimes bool) {
	names := trace.NewNames(key)
	by := workload.Span(0)
	if !keepTimes {
		by = -h.Workload.Jobs[0].Submit
	}
	h.Workload = trace.Anonymize(h.Workload, key, !keepTimes)
	c := h.Cluster
	c.Name = "anonymized"
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Name = names.Node(n.Name)
		parts := make([]string, len(n.Partitions))
		for k, p := range n.Partitions {
			parts[k] = names.Partition(p)
		}
		n.Partitions = parts
	}
	for i := range c.Outages {
		o := &c.Outages[i]
		o.Node, o.At = names.Node(o.Node), max(o.At+by, 0)
	}
	if h.since != 0 {
		h.since += by
	}
	r := h.Report
	r.Cluster.Name, r.Warnings = c.Name, nil
	if !keepTimes {
		r.From, r.To = "", ""
	}
	for i := range r.Inputs {
		r.Inputs[i].Name, r.Inputs[i].SHA256 = "", ""
	}
	lists := [][]Item{r.LeftOut, r.Simplified, r.Requeues, r.BrokenComments, r.Limits}
	if r.Fidelity != nil {
		lists = append(lists, r.Fidelity.Placements.Illegal, r.Fidelity.RefusedJobs)
	}
	for _, l := range lists {
		for i := range l {
			l[i].Example = ""
		}
	}
}
