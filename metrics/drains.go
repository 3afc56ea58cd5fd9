package metrics

import "github.com/escala-sched/escala/workload"

// Drains tell how long drained nodes took to become empty.
type Drains struct {
	// Nodes drained in the window that became empty, or were still not at the end of the run (Open).
	Nodes int64 `json:"nodes"`
	Open  int64 `json:"open,omitempty"`
	// Mean and Max from the drain until nothing ran on the node, in seconds.
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`

	sum, max workload.Span
}

func (d *Drains) add(took workload.Span) {
	d.Nodes++
	d.sum += took
	d.max = max(d.max, took)
}

// nodeRuns counts the runs on each node, and which nodes are to be emptied since when.
type nodeRuns struct {
	runs  []int32
	since []workload.Time // workload.Unknown = is not drained
}

func newNodeRuns(nodes int) nodeRuns {
	n := nodeRuns{runs: make([]int32, nodes), since: make([]workload.Time, nodes)}
	for i := range n.since {
		n.since[i] = workload.Unknown
	}
	return n
}

// drain begins to watch a node.
func (c *Collector) drain(node int32, at workload.Time) {
	n := &c.nodes
	if node < 0 || int(node) >= len(n.runs) || n.since[node] != workload.Unknown {
		return
	}
	n.since[node] = at
	if n.runs[node] == 0 {
		c.emptied(node, at)
	}
}

// resume gives up watching: the node is wanted again.
func (c *Collector) resume(node int32) {
	if node >= 0 && int(node) < len(c.nodes.since) {
		c.nodes.since[node] = workload.Unknown
	}
}

// ranOn adds runs to a node, or takes them away.
func (c *Collector) ranOn(node, runs int32, at workload.Time) {
	n := &c.nodes
	if node < 0 || int(node) >= len(n.runs) {
		return
	}
	n.runs[node] += runs
	if n.runs[node] == 0 && n.since[node] != workload.Unknown {
		c.emptied(node, at)
	}
}

func (c *Collector) emptied(node int32, at workload.Time) {
	since := c.nodes.since[node]
	c.nodes.since[node] = workload.Unknown
	for _, s := range c.stretches(since) {
		s.drains.add(at - since)
	}
}

// drains adds the nodes that are not empty yet, nil where none was drained.
func (v *view) drains(s *stretch) *Drains {
	d := s.drains
	for node, since := range v.c.nodes.since {
		if since != workload.Unknown && v.c.nodes.runs[node] > 0 && (s == &v.all || since >= v.c.from && since < v.c.to) {
			d.Open++
			d.add(v.end - since)
		}
	}
	if d.Nodes == 0 {
		return nil
	}
	d.Mean, d.Max = seconds(d.sum)/float64(d.Nodes), seconds(d.max)
	return &d
}
