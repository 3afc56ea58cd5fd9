package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/yamlx"
)

// poolsFit checks that the pools of a budgets file are the GPU types of a cluster. It
// returns those that the cluster does not have: a file may serve several clusters.
func poolsFit(path string, t *budget.Tree, s *cluster.Spec) (absent []string, err error) {
	if len(t.Pools) == 0 {
		return nil, nil
	}
	types := gpuTypes(s)
	absent = slices.DeleteFunc(slices.Clone(t.Pools), func(p string) bool { return slices.Contains(types, p) })
	root, err := yamlx.Parse(path, t.YAML())
	if err != nil {
		return nil, err
	}
	at := root.Get("pools")
	switch {
	case len(absent) == len(t.Pools) && !slices.ContainsFunc(types, func(s string) bool { return s != "" }):
		return nil, badInput(at.Errorf("drop the key, or give the nodes GPU types", "no GPU of cluster %s has a type, so that it has no pools", s.Name), "docs/budgets.md, Pools; docs/clusters.md, gpu")
	case len(absent) == len(t.Pools):
		return nil, badInput(at.Errorf("list "+quoted(types), "none of these is a GPU type of cluster %s", s.Name), "docs/budgets.md, Pools")
	}
	for _, have := range types {
		switch {
		case slices.Contains(t.Pools, have):
		case have == "":
			return nil, badInput(at.Errorf("give all nodes with GPUs a type, or drop the key", "cluster %s has GPUs without a type, which are in no pool", s.Name), "docs/budgets.md, Pools; docs/clusters.md, gpu")
		default:
			return nil, badInput(at.Errorf("list all of "+quoted(types), "cluster %s has GPUs of type %q, which is no pool here", s.Name, have), "docs/budgets.md, Pools")
		}
	}
	return absent, nil
}

// gpuTypes are the types of the GPUs of a cluster, in the order of its nodes; "" stands
// for GPUs without one.
func gpuTypes(s *cluster.Spec) []string {
	var out []string
	if s.Count > 0 {
		return []string{""}
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.GPUs > 0 && !slices.Contains(out, n.GPUType) {
			out = append(out, n.GPUType)
		}
	}
	return out
}

// quoted lists the types that have names.
func quoted(types []string) string {
	var out []string
	for _, t := range types {
		if t != "" {
			out = append(out, fmt.Sprintf("%q", t))
		}
	}
	return strings.Join(out, ", ")
}

// absentText says which pools a cluster does not have.
func absentText(absent []string, s *cluster.Spec) string {
	return fmt.Sprintf("%s: no GPU type of cluster %s", strings.Join(absent, ", "), s.Name)
}

// shareReport is the share of an account in one pool, or in all where there are none.
type shareReport struct {
	Pool string `json:"pool,omitempty"`
	// Share as the file has it, and as parts of 1: of its level, of everything.
	Share        float64 `json:"share"`
	ShareOfLevel float64 `json:"shareOfLevel"`
	ShareOfAll   float64 `json:"shareOfAll"`
}

// sharesOf returns an account's share in each pool, or its only one.
func sharesOf(t *budget.Tree, node int32) []shareReport {
	out := make([]shareReport, max(1, len(t.Pools)))
	for pool := range out {
		in := t.In(pool)
		n := &in.Nodes[node]
		num, den := in.ProductShare(node)
		r := &out[pool]
		*r = shareReport{Share: float64(n.Share) / 1000, ShareOfLevel: 1, ShareOfAll: float64(num) / float64(den)}
		if len(t.Pools) > 0 {
			r.Pool = t.Pools[pool]
		}
		if n.Parent < 0 {
			continue
		}
		var level int64
		for _, c := range in.Nodes[n.Parent].Children {
			level += in.Nodes[c].Share
		}
		r.ShareOfLevel = float64(n.Share) / float64(level)
	}
	return out
}

// alike writes one text where all are the same, else all.
func alike(shares []shareReport, text func(*shareReport) string) string {
	var out []string
	for i := range shares {
		out = append(out, text(&shares[i]))
	}
	if len(slices.Compact(slices.Clone(out))) == 1 {
		return out[0]
	}
	return strings.Join(out, " / ")
}
