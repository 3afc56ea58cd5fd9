package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// MaxGPUsPerNode is the largest number of GPUs of one node: a node's GPUs are
// one 64-bit mask.
const MaxGPUsPerNode = 64

// Spec describes a cluster. Either Nodes or Count is set.
type Spec struct {
	Name string
	// Nodes in their order; the order is the last tie-break of every placement.
	Nodes []Node
	// Count is the number of GPUs of a cluster without nodes ("pool:256"): GPUs
	// are interchangeable, and placements that need nodes are an error.
	Count int32
	// Levels names the topology levels that nodes carry, innermost first ("rack", "block").
	Levels []string
	// Types gives money and watts per GPU type.
	Types []Type
	// Currency of the prices ("USD"), "" where the file names none.
	Currency string
	// PUE multiplies the energy of the GPUs (power usage effectiveness); 0 = 1.
	PUE float64
	// Outages are planned or recorded changes of node health.
	Outages []Outage
	// Hash is the SHA-256 (hex) of the file it came from, "" where there is none.
	Hash string
}

// Node is one machine.
type Node struct {
	Name    string
	GPUType string
	GPUs    int32
	// CPU in milli-cores and Memory in MiB; 0 on a node with GPUs = not counted.
	CPU, Memory int64
	// Partitions the node belongs to (virtual clusters); empty = open to all.
	Partitions []string
	// Places[i] is where the node lies at Levels[i]; empty = nowhere.
	Places []string
}

// Type is what one GPU of a type costs and draws.
type Type struct {
	Name string
	// PricePerHour of one GPU, in the currency of the file.
	PricePerHour float64
	// IdleWatts and ActiveWatts of one GPU, assigned or not.
	IdleWatts, ActiveWatts float64
}

// Outage is a change of one node's health at a time of the cluster's clock.
type Outage struct {
	At   workload.Time
	Node string
	// Change is "down", "up", "drain" or "resume".
	Change string
	// Planned: it is known in advance, so that plans may go by it (maintenance).
	Planned bool
}

// ParseShort reads the two forms that fit a command line: "16x8" (nodes x GPUs)
// and "pool:256" (a count of GPUs, no nodes). ok is false for anything else,
// which is then a file name.
func ParseShort(s string) (spec *Spec, ok bool, err error) {
	if rest, found := strings.CutPrefix(s, "pool:"); found {
		n, err := strconv.ParseInt(rest, 10, 32)
		if err != nil || n < 1 {
			return nil, true, fmt.Errorf("cluster %q: %q is not a count of GPUs; want for example pool:256", s, rest)
		}
		return &Spec{Name: s, Count: int32(n)}, true, nil
	}
	a, b, found := strings.Cut(s, "x")
	if !found || strings.Trim(s, "0123456789x") != "" {
		return nil, false, nil
	}
	nodes, err1 := strconv.ParseInt(a, 10, 32)
	gpus, err2 := strconv.ParseInt(b, 10, 32)
	if err1 != nil || err2 != nil || nodes < 1 || gpus < 1 {
		return nil, true, fmt.Errorf("cluster %q: want NODESxGPUS such as 16x8, each at least 1", s)
	}
	if nodes > maxNodes {
		return nil, true, fmt.Errorf("cluster %q: %d nodes; at most %d", s, nodes, maxNodes)
	}
	if gpus > MaxGPUsPerNode {
		return nil, true, fmt.Errorf("cluster %q: %d GPUs in one node; at most %d", s, gpus, MaxGPUsPerNode)
	}
	return Uniform(s, int(nodes), int32(gpus)), true, nil
}

// Uniform returns a cluster of equal nodes without CPU or memory accounting.
func Uniform(name string, nodes int, gpus int32) *Spec {
	s := &Spec{Name: name, Nodes: make([]Node, nodes)}
	for i := range s.Nodes {
		s.Nodes[i] = Node{Name: "n" + strconv.Itoa(i+1), GPUs: gpus}
	}
	return s
}

// GPUs is the number of GPUs installed.
func (s *Spec) GPUs() int64 {
	if s.Count > 0 {
		return int64(s.Count)
	}
	var n int64
	for i := range s.Nodes {
		n += int64(s.Nodes[i].GPUs)
	}
	return n
}

// TypeOf returns money and watts of a GPU type, zero where the file gives none.
func (s *Spec) TypeOf(name string) Type {
	for _, t := range s.Types {
		if t.Name == name {
			return t
		}
	}
	return Type{Name: name}
}

// Check returns the first thing that makes the cluster unusable.
func (s *Spec) Check() error {
	if (s.Count > 0) == (len(s.Nodes) > 0) {
		return fmt.Errorf("cluster %s: want either nodes or a pool, and at least one GPU or core", s.Name)
	}
	names := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch {
		case n.Name == "":
			return fmt.Errorf("cluster %s: node %d has no name", s.Name, i)
		case names[n.Name]:
			return fmt.Errorf("cluster %s: node %q appears twice; names must be unique", s.Name, n.Name)
		case n.GPUs < 0 || n.GPUs > MaxGPUsPerNode:
			return fmt.Errorf("cluster %s: node %q has %d GPUs; want 0..%d", s.Name, n.Name, n.GPUs, MaxGPUsPerNode)
		case n.CPU < 0 || n.Memory < 0:
			return fmt.Errorf("cluster %s: node %q has negative cpu or memory", s.Name, n.Name)
		case n.GPUs == 0 && n.CPU == 0:
			return fmt.Errorf("cluster %s: node %q has neither GPUs nor cores", s.Name, n.Name)
		case len(n.Places) != 0 && len(n.Places) != len(s.Levels):
			return fmt.Errorf("cluster %s: node %q names %d places for %d topology levels", s.Name, n.Name, len(n.Places), len(s.Levels))
		case strings.ContainsAny(n.Name+n.GPUType, "|"):
			return fmt.Errorf("cluster %s: node %q: '|' must not stand in a node name or GPU type", s.Name, n.Name)
		}
		names[n.Name] = true
	}
	for _, o := range s.Outages {
		if !names[o.Node] {
			return fmt.Errorf("cluster %s: outage names the unknown node %q", s.Name, o.Node)
		}
		switch o.Change {
		case "down", "up", "drain", "resume":
		default:
			return fmt.Errorf("cluster %s: outage of %q: change %q; want down, up, drain or resume", s.Name, o.Node, o.Change)
		}
	}
	return nil
}
