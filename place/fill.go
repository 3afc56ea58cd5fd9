package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
)

// area restricts a search to one place of a topology level.
type area struct {
	level int
	place int32
}

var anywhere = area{level: -1}

func (a area) has(p *cluster.Pool, i int32) bool {
	return a.level < 0 || p.Blocks[a.level][i] == a.place
}

// fill puts the tasks of a cut on nodes one by one: the rule says from which
// end of the index (by free GPUs) they are taken; lowest index on ties.
func (p *Placer) fill(f *cluster.Free, s *Shape, k int, in area, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c := s.cuts[k]
	from := len(buf)
	var ok bool
	switch {
	case s.Need.GPUs == 0:
		buf, ok = p.fillCores(f, s, k, in, buf)
	case s.Need.Fractional():
		buf, ok = p.fillParts(f, s, k, in, buf)
	case p.rule.By == policy.FirstFit:
		buf, ok = p.fillByIndex(f, s, k, in, buf)
	case p.rule.By == policy.Spread:
		buf, ok = p.fillSpread(f, s, k, in, buf)
	default:
		buf, ok = p.fillTight(f, s, k, in, c.task(), int64(c.Tasks), c.PerNode, buf)
	}
	if ok && c.Rest > 0 {
		buf, ok = p.placeRest(f, s, k, from, buf)
	}
	if !ok {
		return buf[:from], false
	}
	return buf, true
}

// fillTight is best fit: the node with the least free GPUs that still hold a
// task takes as many as it can and may, then the next.
func (p *Placer) fillTight(f *cluster.Free, s *Shape, k int, in area, x piece, tasks int64, most int32, buf []cluster.Grant) ([]cluster.Grant, bool) {
	pool, g := f.Pool(), x.gpus
	for n := g; n <= pool.MaxGPUs; n++ {
		if f.CountWith(n) == 0 {
			continue
		}
		for i := f.NextWith(n, 0); i >= 0; i = f.NextWith(n, i+1) {
			if in.level >= 0 && !in.has(pool, i) {
				continue
			}
			t := min(tasks, int64(min(n/g, most)))
			if !s.plain {
				if t = s.units(f, k, i, t, x); t == 0 {
					continue
				}
			}
			buf = append(buf, grant(f, i, int32(t), x))
			if tasks -= t; tasks == 0 {
				return buf, true
			}
		}
	}
	return buf, false
}

// fillByIndex is first fit: the lowest node that holds a task takes as many as it can.
func (p *Placer) fillByIndex(f *cluster.Free, s *Shape, k int, in area, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c, pool := s.cuts[k], f.Pool()
	tasks := int64(c.Tasks)
	for at := int32(0); ; {
		best := int32(-1)
		for n := c.GPUs; n <= pool.MaxGPUs; n++ {
			if f.CountWith(n) > 0 {
				if i := f.NextWith(n, at); i >= 0 && (best < 0 || i < best) {
					best = i
				}
			}
		}
		if best < 0 {
			return buf, false
		}
		at = best + 1
		if !in.has(pool, best) {
			continue
		}
		t := s.units(f, k, best, min(tasks, int64(c.OnNode(free(f, best)))), c.task())
		if t == 0 {
			continue
		}
		buf = append(buf, grant(f, best, int32(t), c.task()))
		if tasks -= t; tasks == 0 {
			return buf, true
		}
	}
}

// fillSpread puts each task on the node with the most free GPUs: in rounds, from
// the top of the index down, as many tasks a node as keep it level with the rest.
func (p *Placer) fillSpread(f *cluster.Free, s *Shape, k int, in area, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c, pool := s.cuts[k], f.Pool()
	from, tasks := len(buf), int64(c.Tasks)
	got := map[int32]int32{} // tasks by node, for nodes that took one
	var order []int32
	for n := pool.MaxGPUs; n >= c.GPUs && tasks > 0; n-- {
		// Nodes that took tasks and are now down to n free come before untouched ones only by index.
		var level []int32
		for _, i := range order {
			if free(f, i)-got[i]*c.GPUs == n {
				level = append(level, i)
			}
		}
		for i := f.NextWith(n, 0); i >= 0; i = f.NextWith(n, i+1) {
			if in.has(pool, i) && got[i] == 0 {
				level = insertSorted(level, i)
			}
		}
		for _, i := range level {
			if got[i] == c.PerNode || s.units(f, k, i, int64(got[i])+1, c.task()) <= int64(got[i]) {
				continue
			}
			if got[i] == 0 {
				order = append(order, i)
			}
			got[i]++
			if tasks--; tasks == 0 {
				break
			}
		}
	}
	if tasks > 0 {
		return buf[:from], false
	}
	for _, i := range order {
		buf = append(buf, grant(f, i, got[i], c.task()))
	}
	return buf, true
}

func insertSorted(s []int32, v int32) []int32 {
	i := len(s)
	for i > 0 && s[i-1] > v {
		i--
	}
	s = append(s, 0)
	copy(s[i+1:], s[i:])
	s[i] = v
	return s
}

// fillCores places work without GPUs: nodes in cluster order, each as many tasks as its cores hold.
func (p *Placer) fillCores(f *cluster.Free, s *Shape, k int, in area, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c, pool := s.cuts[k], f.Pool()
	tasks := int64(c.Tasks)
	for i := int32(0); i < f.Nodes(); i++ {
		if f.Shut(i) || !in.has(pool, i) {
			continue
		}
		t := s.units(f, k, i, min(tasks, int64(c.PerNode)), c.task())
		if t == 0 {
			continue
		}
		buf = append(buf, grant(f, i, int32(t), c.task()))
		if tasks -= t; tasks == 0 {
			return buf, true
		}
	}
	return buf, false
}

// fillParts places parts of GPUs, one task at a time: on the shared GPU with
// the least left that holds the part, else on a whole GPU by best fit.
func (p *Placer) fillParts(f *cluster.Free, s *Shape, k int, in area, buf []cluster.Grant) ([]cluster.Grant, bool) {
	from := len(buf)
	for range s.cuts[k].Tasks {
		g, ok := p.part(f, s, k, in, buf[from:])
		if !ok {
			f.Give(buf[from:])
			return buf[:from], false
		}
		buf = append(buf, g)
		// Later tasks must see what earlier ones took; all is given back below.
		f.Take(buf[len(buf)-1:])
	}
	f.Give(buf[from:])
	return buf, true
}

// part finds a place for one more; had are those that the gang has already.
func (p *Placer) part(f *cluster.Free, s *Shape, k int, in area, had []cluster.Grant) (cluster.Grant, bool) {
	pool, milli, c := f.Pool(), s.Need.Milli, s.cuts[k]
	bestNode, bestGPU, bestLeft := int32(-1), 0, int32(1001)
	least := f.PartFor(milli)
	if least == 0 {
		return p.partOfWhole(f, s, k, in, had)
	}
	for i := f.NextPartial(0); i >= 0; i = f.NextPartial(i + 1) {
		if !in.has(pool, i) || s.units(f, k, i, 1, c.task()) == 0 || c.full(had, pool.Nodes[i]) {
			continue
		}
		for g := range bits.Len64(f.Full(i)) {
			if left := f.Left(i, g); left < 1000 && left >= milli && left < bestLeft {
				bestNode, bestGPU, bestLeft = i, g, left
			}
		}
		if bestLeft == least {
			break // no other fits better
		}
	}
	if bestNode < 0 {
		return p.partOfWhole(f, s, k, in, had)
	}
	return partGrant(f, bestNode, bestGPU, milli, &c), true
}

// partOfWhole takes a part of a GPU that is wholly free, by best fit.
func (p *Placer) partOfWhole(f *cluster.Free, s *Shape, k int, in area, had []cluster.Grant) (cluster.Grant, bool) {
	pool, c := f.Pool(), s.cuts[k]
	for n := int32(1); n <= pool.MaxGPUs; n++ {
		for i := f.NextWith(n, 0); i >= 0; i = f.NextWith(n, i+1) {
			if in.has(pool, i) && s.units(f, k, i, 1, c.task()) > 0 && !c.full(had, pool.Nodes[i]) {
				return partGrant(f, i, bits.TrailingZeros64(f.Mask(i)), s.Need.Milli, &c), true
			}
		}
	}
	return cluster.Grant{}, false
}

// full tells whether a node has all the tasks that one may have; had are grants of one task each.
func (c *Cut) full(had []cluster.Grant, node int32) bool {
	if int64(c.PerNode) > int64(len(had)) {
		return false
	}
	n := int32(0)
	for i := range had {
		if had[i].Node == node {
			n++
		}
	}
	return n >= c.PerNode
}

func partGrant(f *cluster.Free, i int32, gpu int, milli int32, c *Cut) cluster.Grant {
	return cluster.Grant{Node: f.Pool().Nodes[i], Milli: milli, GPUs: 1 << gpu, Count: 1, CPU: c.CPU, Memory: c.Memory}
}

// placeRest puts the last, smaller piece of a consolidated job on the node that
// it fits best among those the whole nodes left over.
func (p *Placer) placeRest(f *cluster.Free, s *Shape, k, from int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	f.Take(buf[from:])
	var ok bool
	whole := len(buf)
	buf, ok = p.fillTight(f, s, k, anywhere, s.cuts[k].rest(), 1, cluster.Unbounded, buf)
	f.Give(buf[from:whole])
	return buf, ok
}

func free(f *cluster.Free, i int32) int32 { return int32(bits.OnesCount64(f.Mask(i))) }

// grant gives t such pieces of node i, lowest free GPUs first.
func grant(f *cluster.Free, i, t int32, x piece) cluster.Grant {
	n := t * x.gpus
	return cluster.Grant{Node: f.Pool().Nodes[i], Milli: 1000, GPUs: Lowest(f.Mask(i), n), Count: n,
		CPU: x.cpu * int64(t), Memory: x.memory * int64(t)}
}

// Lowest returns the n lowest members of a set.
func Lowest(m uint64, n int32) uint64 {
	if int32(bits.OnesCount64(m)) == n {
		return m
	}
	var out uint64
	for ; n > 0; n-- {
		b := m & -m
		out |= b
		m &^= b
	}
	return out
}
