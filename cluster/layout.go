package cluster

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// Layout is a cluster cut into pools: what never changes while it runs.
type Layout struct {
	Spec  *Spec
	Pools []Pool
	// PoolOf and Local say in which pool a node lies, and at which place in Pool.Nodes.
	PoolOf, Local []int32
	// Partitioned: some node names a partition, so that jobs' partitions bind.
	Partitioned bool
	// CountsCPU and CountsMemory tell whether any node declares them.
	CountsCPU, CountsMemory bool
	// CPUOnly: some node has no GPUs; CPU-only work goes there.
	CPUOnly bool
	index   map[string]int32
}

// Pool is a maximal set of nodes equal in GPU type and partitions (SEMANTICS
// 12), or the whole of a cluster without nodes.
type Pool struct {
	GPUType    string
	Partitions []string
	// Nodes are the pool's nodes in cluster order; nil on a cluster without nodes.
	Nodes []int32
	// GPUs installed; MaxGPUs is the size of its largest node.
	GPUs    int64
	MaxGPUs int32
	// Blocks[l][i] is the number of the place at topology level l of node Nodes[i],
	// BlockCount[l] how many places there are; nil without topology.
	Blocks     [][]int32
	BlockCount []int32
	blockNames [][]string
}

// NewLayout cuts a checked spec into pools.
func NewLayout(s *Spec) *Layout {
	l := &Layout{Spec: s}
	if s.Count > 0 {
		l.Pools = []Pool{{GPUs: int64(s.Count), MaxGPUs: s.Count}}
		return l
	}
	l.PoolOf = make([]int32, len(s.Nodes))
	l.Local = make([]int32, len(s.Nodes))
	l.index = make(map[string]int32, len(s.Nodes))
	byKey := map[string]int32{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		l.index[n.Name] = int32(i)
		parts := slices.Clone(n.Partitions)
		slices.Sort(parts)
		key := n.GPUType + "|" + strings.Join(parts, ",")
		if n.GPUs == 0 {
			key = "cpu|" + key
			l.CPUOnly = true
		}
		p, ok := byKey[key]
		if !ok {
			p = int32(len(l.Pools))
			byKey[key] = p
			l.Pools = append(l.Pools, Pool{GPUType: n.GPUType, Partitions: parts})
		}
		pool := &l.Pools[p]
		l.PoolOf[i], l.Local[i] = p, int32(len(pool.Nodes))
		pool.Nodes = append(pool.Nodes, int32(i))
		pool.GPUs += int64(n.GPUs)
		pool.MaxGPUs = max(pool.MaxGPUs, n.GPUs)
		l.Partitioned = l.Partitioned || len(n.Partitions) > 0
		l.CountsCPU = l.CountsCPU || n.CPU > 0
		l.CountsMemory = l.CountsMemory || n.Memory > 0
	}
	if len(s.Levels) > 0 {
		for p := range l.Pools {
			l.Pools[p].index(s)
		}
	}
	return l
}

func (p *Pool) index(s *Spec) {
	for lvl := range s.Levels {
		number := map[string]int32{}
		blocks := make([]int32, len(p.Nodes))
		var names []string
		for i, n := range p.Nodes {
			place := ""
			if pl := s.Nodes[n].Places; len(pl) > lvl {
				// A place is told apart by its whole path: rack 1 of block A is not rack 1 of block B.
				place = strings.Join(pl[lvl:], "\x00")
			}
			b, ok := number[place]
			if !ok {
				b = int32(len(number))
				number[place] = b
				names = append(names, strings.ReplaceAll(place, "\x00", " of "))
			}
			blocks[i] = b
		}
		p.Blocks = append(p.Blocks, blocks)
		p.BlockCount = append(p.BlockCount, int32(len(number)))
		p.blockNames = append(p.blockNames, names)
	}
}

// Counted tells whether the cluster is a mere count of GPUs.
func (l *Layout) Counted() bool { return l.Spec.Count > 0 }

// Node returns the index of a node by name, -1 if there is none.
func (l *Layout) Node(name string) int32 {
	if i, ok := l.index[name]; ok {
		return i
	}
	return -1
}

// Level returns the number of a topology level, -1 if the cluster has none of that name.
func (l *Layout) Level(name string) int { return slices.Index(l.Spec.Levels, name) }

// Eligible returns the pools that may serve a need of that partition, in cluster order.
func (l *Layout) Eligible(n *workload.Need, partition string) []int32 {
	if l.Counted() {
		return []int32{0}
	}
	var out []int32
	for i := range l.Pools {
		p := &l.Pools[i]
		switch {
		case n.GPUs > 0 && p.MaxGPUs == 0, n.GPUs == 0 && l.CPUOnly && p.MaxGPUs > 0:
			continue
		case l.Partitioned && len(p.Partitions) > 0 && partition != "" && !slices.Contains(p.Partitions, partition):
			continue
		case n.GPUs > 0 && !n.AllowsType(p.GPUType):
			continue
		case n.Nodes != "" && !l.hasNamed(n, int32(i)):
			continue
		}
		out = append(out, int32(i))
	}
	return out
}

// hasNamed tells whether one of the nodes that a need names is in a pool.
func (l *Layout) hasNamed(n *workload.Need, pool int32) bool {
	for _, name := range strings.Split(n.Nodes, "|") {
		if g := l.Node(name); g >= 0 && l.PoolOf[g] == pool {
			return true
		}
	}
	return false
}
