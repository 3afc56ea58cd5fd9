package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/workload"
)

// noNodeOpen is the code of a job that waits for a node to be put back into use.
const noNodeOpen = "no-node-open"

// rooms tells which nodes may serve a job, and which of them are in use. It is made for one answer.
type rooms struct {
	s     *Server
	state []live.Node
}

// mayServe tells whether a node may serve a need, were it free.
func mayServe(n *cluster.Node, need *workload.Need, partition string) bool {
	return (need.GPUs == 0 || n.GPUs > 0 && need.AllowsType(n.GPUType)) && need.AllowsNode(n.Name) &&
		(partition == "" || len(n.Partitions) == 0 || slices.Contains(n.Partitions, partition))
}

// closed says that no node that may serve a job is in use, and why not; "" where one is.
func (r *rooms) closed(j *live.Job) string {
	nodes := r.s.cfg.World.Cluster().Nodes
	if r.state == nil {
		r.state = r.s.d.Nodes()
	}
	var of []int
	for i := range nodes {
		if !mayServe(&nodes[i], &j.Spec.Need, j.Spec.Partition) {
			continue
		}
		if x := &r.state[i]; !x.Down && !x.Drained {
			return ""
		}
		of = append(of, i)
	}
	if len(of) == 0 {
		return ""
	}
	head := "No node is open"
	if len(of) < len(nodes) {
		head = fmt.Sprintf("None of the %d nodes that it may use is open", len(of))
		if len(of) == 1 {
			head = "The one node that it may use, " + nodes[of[0]].Name + ", is not open"
		}
	}
	return head + ": " + whyClosed(r.state, of) + "."
}

// whyClosed counts nodes by why they are out of use.
func whyClosed(state []live.Node, of []int) string {
	var order []string
	counts := map[string]int{}
	for _, i := range of {
		x := &state[i]
		why := "down"
		if !x.Down {
			if why = "drained"; x.By != "" {
				why += " by " + x.By
			}
		}
		if x.Text != "" {
			why += " (" + strings.TrimSuffix(x.Text, ".") + ")"
		}
		if counts[why]++; counts[why] == 1 {
			order = append(order, why)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	const most = 3
	rest := 0
	for len(order) > most {
		rest += counts[order[len(order)-1]]
		order = order[:len(order)-1]
	}
	for i, why := range order {
		order[i] = fmt.Sprintf("%d %s", counts[why], why)
	}
	if rest > 0 {
		order = append(order, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(order, ", ")
}
