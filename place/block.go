package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
)

// OnBlock lays a whole-GPU shape over the given GPUs of the given nodes, in their order, as
// a plan that has chosen the block wants it. i-th pool of the shape, nodes by their place
// in the pool; false if it does not fit there now.
func (p *Placer) OnBlock(f *cluster.Free, s *Shape, i int, nodes []int32, gpus []uint64, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c := s.cuts[i]
	from := len(buf)
	tasks, rest := int64(c.Tasks), c.Rest
	for k, at := range nodes {
		if f.Shut(at) {
			return buf[:from], false
		}
		have := gpus[k] & f.Mask(at)
		free := int32(bits.OnesCount64(have))
		t := s.units(f, i, at, min(tasks, int64(c.OnNode(free))), c.task())
		g := cluster.Grant{Node: f.Pool().Nodes[at], Milli: 1000, Count: int32(t) * c.GPUs, CPU: c.CPU * t, Memory: c.Memory * t}
		tasks -= t
		if left := free - g.Count; rest > 0 && left >= rest && f.CPU(at) >= g.CPU+c.restCPU && f.Memory(at) >= g.Memory+c.restMemory {
			g.Count += rest
			g.CPU, g.Memory = g.CPU+c.restCPU, g.Memory+c.restMemory
			rest = 0
		}
		if g.Count > 0 {
			g.GPUs = Lowest(have, g.Count)
			buf = append(buf, g)
		}
	}
	if tasks > 0 || rest > 0 || !s.together(f.Pool(), buf[from:]) {
		return buf[:from], false
	}
	return buf, true
}

// BlockOf is how many nodes and GPUs of the last of them the shape takes in its i-th pool
// where it is laid on nodes of size GPUs one after another: a part of a node, or whole
// nodes and what is left over. It takes no node where it does not fit one at all.
func (s *Shape) BlockOf(i int, size int32) (nodes, last int32) {
	c := s.cuts[i]
	if total := c.Tasks*c.GPUs + c.Rest; total <= size && c.Tasks <= c.PerNode {
		return 1, total
	}
	per := c.OnNode(size)
	if per == 0 || c.Rest > size {
		return 0, 0
	}
	nodes = (c.Tasks + per - 1) / per
	last = (c.Tasks - (nodes-1)*per) * c.GPUs
	switch {
	case c.Rest == 0:
	case last+c.Rest <= size:
		last += c.Rest
	default:
		nodes, last = nodes+1, c.Rest
	}
	return nodes, last
}

// together tells whether grants lie in one place of the level that the shape asks for.
func (s *Shape) together(pool *cluster.Pool, gs []cluster.Grant) bool {
	if s.level < 0 {
		return true
	}
	place := int32(-1)
	for i, n := range pool.Nodes {
		for k := range gs {
			if gs[k].Node != n {
				continue
			}
			if b := pool.Blocks[s.level][i]; place < 0 {
				place = b
			} else if b != place {
				return false
			}
		}
	}
	return true
}
