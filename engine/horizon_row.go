package engine

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/horizon"
)

// row is the GPUs of the cluster in one line, as a plan of the horizon sees them: those of
// a node together, each node on a number of slots that is a power of two, nodes of a
// topology place together and aligned. So a block of slots is a good place for a gang.
type row struct {
	slots int
	// by slot: node index, -1 for padding; GPU of the node; kind of node.
	node []int32
	gpu  []uint8
	kind []int
	// first[node] is its first slot, -1 without GPUs. width[pool] is the slots of its nodes.
	first []int32
	width []int
	gaps  []horizon.Window
}

func newRow(l *cluster.Layout) *row {
	r := &row{first: make([]int32, len(l.Spec.Nodes)), width: make([]int, len(l.Pools))}
	for i := range r.first {
		r.first[i] = -1
	}
	for p := range l.Pools {
		pool := &l.Pools[p]
		if pool.MaxGPUs == 0 {
			continue
		}
		r.width[p] = powerOfTwo(int(pool.MaxGPUs))
		r.align(r.width[p])
		r.place(l, p, pool.Nodes, len(pool.Blocks)-1)
	}
	r.slots = len(r.node)
	r.findGaps()
	return r
}

// place lines up nodes of pool p that share a place of every level above lvl.
func (r *row) place(l *cluster.Layout, p int, nodes []int32, lvl int) {
	pool := &l.Pools[p]
	if lvl < 0 {
		for _, n := range nodes {
			r.first[n] = int32(len(r.node))
			for g := range r.width[p] {
				if g < int(l.Spec.Nodes[n].GPUs) {
					r.add(n, uint8(g), p)
				} else {
					r.add(-1, 0, p)
				}
			}
		}
		return
	}
	var order []int32 // places, as they first come
	in := map[int32][]int32{}
	for _, n := range nodes {
		b := pool.Blocks[lvl][l.Local[n]]
		if in[b] == nil {
			order = append(order, b)
		}
		in[b] = append(in[b], n)
	}
	for _, b := range order {
		r.align(min(powerOfTwo(len(in[b])*r.width[p]), maxAlign))
		r.place(l, p, in[b], lvl-1)
	}
}

// maxAlign bounds the slots that the alignment of places may cost.
const maxAlign = 4096

func (r *row) add(node int32, gpu uint8, kind int) {
	r.node, r.gpu, r.kind = append(r.node, node), append(r.gpu, gpu), append(r.kind, kind)
}

// align fills up to a multiple of n.
func (r *row) align(n int) {
	for len(r.node)%n != 0 {
		r.add(-1, 0, 0)
	}
}

// findGaps lists the slots that are no GPUs.
func (r *row) findGaps() {
	for s := 0; s < r.slots; s++ {
		if r.node[s] >= 0 {
			continue
		}
		from := s
		for s < r.slots && r.node[s] < 0 {
			s++
		}
		r.gaps = append(r.gaps, horizon.Window{First: from, Count: s - from, From: 0, To: 1, Absent: true})
	}
}

// slotsOf returns the slots of grants, ascending within each.
func (r *row) slotsOf(gs []cluster.Grant) []int {
	var list []int
	for i := range gs {
		for m := gs[i].GPUs; m != 0; m &= m - 1 {
			list = append(list, int(r.first[gs[i].Node])+bits.TrailingZeros64(m))
		}
	}
	return list
}

// split turns slots [first, first+n) into nodes, by their place in the pool, and sets of GPUs.
func (r *row) split(l *cluster.Layout, first, n int) (nodes []int32, gpus []uint64) {
	for s := first; s < first+n; s++ {
		g := r.node[s]
		if g < 0 {
			continue
		}
		at := l.Local[g]
		if k := len(nodes); k == 0 || nodes[k-1] != at {
			nodes, gpus = append(nodes, at), append(gpus, 0)
		}
		gpus[len(gpus)-1] |= 1 << r.gpu[s]
	}
	return nodes, gpus
}

func powerOfTwo(n int) int {
	k := 1
	for k < n {
		k <<= 1
	}
	return k
}
