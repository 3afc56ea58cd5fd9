package place

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// Cut is how a need is laid over the nodes of one pool: Tasks pieces of GPUs
// each, at most PerNode of them on one node, and one more of Rest GPUs.
type Cut struct {
	Tasks, GPUs, Rest int32
	PerNode           int32
	// CPU and Memory of each piece; of the rest what is left of the job's.
	CPU, Memory         int64
	restCPU, restMemory int64
}

// piece is what one task, or the rest, takes of a node.
type piece struct {
	gpus        int32
	cpu, memory int64
}

func (c *Cut) task() piece { return piece{c.GPUs, c.CPU, c.Memory} }
func (c *Cut) rest() piece { return piece{c.Rest, c.restCPU, c.restMemory} }

// Shape is a need resolved against a layout. Not safe for concurrent use.
type Shape struct {
	Need workload.Need
	// Pools that may serve it, in cluster order; a job lies in one of them.
	Pools []int32
	// Milli is the capacity of the (smallest) gang in milli-GPU, GPUs the devices it touches.
	Milli int64
	GPUs  int32
	cuts  []Cut
	// plain: counting whole GPUs decides; no cores, memory, parts or named nodes to look at.
	plain bool
	level int // of Need.Within, -1 = none
	allow [][]bool
	memo  []memo
	// min is the shape of the smallest gang of an elastic need, nil for a rigid one.
	sizes []*Shape
	// asked: it was counted among what is asked for, see Placer.Asked.
	asked bool
}

// memo is what is known of a shape in one pool. Each fact about it is void when
// the pool's counter has moved.
type memo struct {
	noAt    uint64 // Grown()+1 at the last "no", 0 = none
	places  placesMemo
	runs    runsMemo
	weights scoreMemo
}

// Shape resolves a need; jobs of the same need and partition may share the result.
func (p *Placer) Shape(n workload.Need, partition string) *Shape { return p.ShapeIn(n, partition, nil) }

// ShapeIn resolves a need in some of the pools that may serve it; nil = all.
func (p *Placer) ShapeIn(n workload.Need, partition string, in func(pool int32) bool) *Shape {
	s := &Shape{Need: n, Pools: p.layout.Eligible(&n, partition), level: -1}
	if in != nil {
		s.Pools = slices.DeleteFunc(slices.Clone(s.Pools), func(pool int32) bool { return !in(pool) })
	}
	s.Milli, s.GPUs = n.TotalMilli(), n.TotalGPUs()
	s.plain = !n.Fractional() && n.GPUs > 0 && n.Nodes == "" &&
		(n.CPU == 0 || !p.layout.CountsCPU) && (n.Memory == 0 || !p.layout.CountsMemory)
	if n.Within != "" {
		if s.level = p.layout.Level(n.Within); s.level < 0 {
			s.Pools = nil // no such level: nowhere
		}
	}
	s.memo = make([]memo, len(s.Pools))
	for _, pool := range s.Pools {
		s.cuts = append(s.cuts, p.cut(&n, pool))
		if n.Nodes != "" {
			s.allow = append(s.allow, p.allowed(&n, pool))
		}
	}
	if n.MaxTasks > 0 {
		for t := max(min(n.MaxTasks, p.mostTasks(&n)), n.MinTasks); t >= n.MinTasks; t-- {
			rigid := n
			rigid.Tasks, rigid.MinTasks, rigid.MaxTasks = t, 0, 0
			s.sizes = append(s.sizes, p.ShapeIn(rigid, partition, in))
		}
		smallest := s.sizes[len(s.sizes)-1]
		s.Milli, s.GPUs = smallest.Milli, smallest.GPUs
	}
	return s
}

// mostTasks is more tasks than any pool of the cluster could hold at once, or one more.
func (p *Placer) mostTasks(n *workload.Need) int32 {
	var most int64
	for i := range p.layout.Pools {
		pool := &p.layout.Pools[i]
		var tasks int64
		switch {
		case n.GPUs > 0:
			tasks = pool.GPUs * 1000 / (int64(n.GPUs) * int64(n.MilliPerGPU()))
		case n.CPU > 0:
			for _, node := range pool.Nodes {
				tasks += p.layout.Spec.Nodes[node].CPU / n.CPU
			}
		default:
			tasks = int64(len(pool.Nodes)) * 1000
		}
		most = max(most, tasks)
	}
	return int32(min(most+1, 1<<20))
}

func (p *Placer) allowed(n *workload.Need, pool int32) []bool {
	nodes := p.layout.Pools[pool].Nodes
	allow := make([]bool, len(nodes))
	for _, name := range strings.Split(n.Nodes, "|") {
		if g := p.layout.Node(name); g >= 0 && p.layout.PoolOf[g] == pool {
			allow[p.layout.Local[g]] = true
		}
	}
	return allow
}

// cut lays a need over nodes of a pool (SEMANTICS 13). Cores and memory of a job
// without tasks are divided as its GPUs are.
func (p *Placer) cut(n *workload.Need, pool int32) Cut {
	c := p.cutGPUs(n, pool)
	if c.PerNode = cluster.Unbounded; n.PerNode > 0 {
		c.PerNode = n.PerNode
	}
	c.CPU, c.Memory = n.CPU, n.Memory
	if n.Tasks == 0 && n.GPUs > 0 {
		c.CPU, c.restCPU = divide(n.CPU, &c, n.GPUs)
		c.Memory, c.restMemory = divide(n.Memory, &c, n.GPUs)
	}
	return c
}

// divide gives each piece its part of a total, rounded up, and the rest what remains.
func divide(total int64, c *Cut, gpus int32) (each, rest int64) {
	each = (total*int64(c.GPUs) + int64(gpus) - 1) / int64(gpus)
	return each, max(total-each*int64(c.Tasks), 0)
}

func (p *Placer) cutGPUs(n *workload.Need, pool int32) Cut {
	size := p.layout.Pools[pool].MaxGPUs
	total := n.GPUs
	switch {
	case n.Tasks > 0:
		return Cut{Tasks: n.Tasks, GPUs: n.GPUs}
	case p.layout.Counted() || total == 0:
		return Cut{Tasks: 1, GPUs: total}
	case n.Span:
		return Cut{Tasks: total, GPUs: 1}
	case total <= size:
		return Cut{Tasks: 1, GPUs: total}
	case p.consolidate:
		return Cut{Tasks: total / size, GPUs: size, Rest: total % size}
	}
	g := size
	for total%g != 0 {
		g--
	}
	return Cut{Tasks: total / g, GPUs: g}
}

// Cut returns how the shape is laid over nodes of its i-th pool.
func (s *Shape) Cut(i int) Cut { return s.cuts[i] }

// Sized returns the rigid shape with that many tasks of an elastic one.
func (s *Shape) Sized(tasks int32) *Shape { return s.sizes[s.sizes[0].Need.Tasks-tasks] }

// Rigid returns the shapes an elastic need may start with, largest first; nil for a rigid one.
func (s *Shape) Rigid() []*Shape { return s.sizes }

// PoolIndex returns the place of a pool among the shape's pools, -1 if it is not one.
func (s *Shape) PoolIndex(pool int32) int {
	for i, p := range s.Pools {
		if p == pool {
			return i
		}
	}
	return -1
}

// units is how many such pieces node i could hold for its cores, memory and name, at most want.
func (s *Shape) units(f *cluster.Free, k int, i int32, want int64, x piece) int64 {
	if s.allow != nil && !s.allow[k][i] {
		return 0
	}
	if x.cpu > 0 {
		want = min(want, f.CPU(i)/x.cpu)
	}
	if x.memory > 0 {
		want = min(want, f.Memory(i)/x.memory)
	}
	return max(want, 0)
}

// Plain tells whether counting whole GPUs of nodes decides: no cores, memory, parts
// of GPUs, named nodes or topology level to look at.
func (s *Shape) Plain() bool { return s.plain && s.level < 0 }

// OnNode is how many tasks a node with that many free GPUs takes.
func (c *Cut) OnNode(free int32) int32 { return min(free/max(c.GPUs, 1), c.PerNode) }

// NodesAtLeast is how many nodes of that many GPUs the tasks take at least, 0 where one holds none.
func (c *Cut) NodesAtLeast(size int32) int32 {
	each := c.OnNode(size)
	if each == 0 {
		return 0
	}
	return (c.Tasks + each - 1) / each
}

// OnOneNode tells whether counting the whole GPUs of single nodes decides.
func (s *Shape) OnOneNode() bool {
	return s.plain && s.level < 0 && len(s.cuts) > 0 && s.cuts[0].Tasks == 1 && s.cuts[0].Rest == 0
}
