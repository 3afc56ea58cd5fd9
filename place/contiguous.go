package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
)

// runsMemo remembers which aligned runs of nodes could take the gang, brought up
// to date by looking at changed nodes only, as placesMemo is.
type runsMemo struct {
	of    *cluster.Free
	pos   uint64
	ready []bool
	// nodes[r] counts the ready nodes of run r that the gang would use; good the runs that are complete.
	nodes []int32
	good  int
}

// alignedRun returns the lowest set of g adjacent free GPUs that starts at a
// multiple of the power of two >= g, or 0. This is the buddy rule: blocks of
// powers of two never straddle.
func alignedRun(mask uint64, g int32) uint64 {
	if g >= 64 {
		if mask == ^uint64(0) {
			return mask
		}
		return 0
	}
	step := int(ceilPow2(g))
	run := uint64(1)<<g - 1
	for at := 0; at+int(g) <= 64; at += step {
		if mask>>at&run == run {
			return run << at
		}
	}
	return 0
}

func ceilPow2(n int32) int32 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len32(uint32(n-1))
}

func (m *runsMemo) refresh(f *cluster.Free, c Cut) {
	size := ceilPow2(c.Tasks)
	see := func(i int32) {
		now := !f.Shut(i) && alignedRun(f.Mask(i), c.GPUs) != 0
		if now == m.ready[i] {
			return
		}
		m.ready[i] = now
		r := i / size
		if i%size >= c.Tasks {
			return
		}
		if now {
			if m.nodes[r]++; m.nodes[r] == c.Tasks {
				m.good++
			}
		} else {
			if m.nodes[r] == c.Tasks {
				m.good--
			}
			m.nodes[r]--
		}
	}
	if m.of == f {
		if pos, ok := f.ChangedSince(m.pos, see); ok {
			m.pos = pos
			return
		}
	}
	n := f.Nodes()
	if m.ready == nil {
		m.ready, m.nodes = make([]bool, n), make([]int32, (n+size-1)/size)
	}
	clear(m.ready)
	clear(m.nodes)
	m.of, m.good = f, 0
	for i := range n {
		see(i)
	}
	m.pos, _ = f.ChangedSince(^uint64(0), nil)
}

// placeContiguous gives each task an aligned run of GPUs in its node, and a gang
// of several nodes an aligned run of nodes. Among nodes for a single task the
// one with the least free GPUs is taken, among runs of nodes the first.
func (p *Placer) placeContiguous(f *cluster.Free, s *Shape, k int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c := s.cuts[k]
	m := &s.memo[k].runs
	m.refresh(f, c)
	if m.good == 0 {
		return buf, false
	}
	pool := f.Pool()
	if c.Tasks == 1 {
		for n := c.GPUs; n <= pool.MaxGPUs; n++ {
			for i := f.NextWith(n, 0); i >= 0; i = f.NextWith(n, i+1) {
				if m.ready[i] {
					return append(buf, cluster.WholeGrant(pool.Nodes[i], alignedRun(f.Mask(i), c.GPUs))), true
				}
			}
		}
		return buf, false
	}
	size := ceilPow2(c.Tasks)
	for r, n := range m.nodes {
		if n < c.Tasks {
			continue
		}
		for i := int32(r) * size; i < int32(r)*size+c.Tasks; i++ {
			buf = append(buf, cluster.WholeGrant(pool.Nodes[i], alignedRun(f.Mask(i), c.GPUs)))
		}
		return buf, true
	}
	return buf, false
}
