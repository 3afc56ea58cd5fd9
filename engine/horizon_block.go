package engine

import "github.com/escala-sched/escala/place"

// block is the piece of the row that a class of jobs takes, size 0 where a plan has no form
// for it: no GPUs, a part of one, or nodes of different sizes that make no row.
type block struct {
	size, align int
	types       uint64 // pools it may lie in, a bit for each
	shape       *place.Shape
	tasks       int32 // of an elastic gang
	pool        int32 // the first of those it may lie in
	// others: its jobs could also go to pools that the block cannot lie in.
	others bool
}

// block of a class: the largest gang that some part of the row could hold, were it empty.
func (h *ahead) block(e *Engine, c *class) block {
	if b, ok := h.blocks[c.shape]; ok {
		return b
	}
	b := block{}
	if n := &c.shape.Need; n.GPUs > 0 && !n.Fractional() {
		b = h.blockOf(e, c.shape, 0)
		for _, s := range c.shape.Rigid() {
			if b = h.blockOf(e, s, s.Need.Tasks); b.size > 0 {
				break
			}
		}
	}
	h.blocks[c.shape] = b
	return b
}

// blockOf takes the first pool, and those whose nodes are as large: a block has one size.
func (h *ahead) blockOf(e *Engine, s *place.Shape, tasks int32) block {
	for k, pool := range s.Pools {
		gpus := e.layout.Pools[pool].MaxGPUs
		width := h.row.width[pool]
		nodes, last := s.BlockOf(k, gpus)
		if nodes == 0 || s.Need.Nodes != "" {
			continue
		}
		b := block{size: (int(nodes)-1)*width + int(last), align: width, shape: s, tasks: tasks, pool: pool}
		if nodes == 1 || e.pol.Horizon.PowerOfTwo || s.Need.Within != "" {
			b.align = powerOfTwo(b.size)
		}
		if e.pol.Horizon.PowerOfTwo {
			b.size = b.align
		}
		for _, p := range s.Pools {
			if h.row.width[p] == width && e.layout.Pools[p].MaxGPUs == gpus {
				b.types |= 1 << p
			} else {
				b.others = true
			}
		}
		if h.holds(b) {
			if len(e.layout.Pools) == 1 { // nothing to look at
				b.types = 0
			}
			return b
		}
	}
	return block{}
}

// holds tells whether the empty row has a place for a block: slots of one pool that
// are GPUs.
func (h *ahead) holds(b block) bool {
	for o := 0; o+b.size <= h.row.slots; o += b.align {
		k, kind := 0, h.row.kind[o]
		if b.types>>kind&1 == 0 {
			continue
		}
		for k < b.size && h.row.node[o+k] >= 0 && h.row.kind[o+k] == kind {
			k++
		}
		if k == b.size {
			return true
		}
	}
	return false
}
