package place

import (
	"math"
	"math/bits"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
)

// scorer is a placement rule that gives every node a number, as those of FGD's
// study do (Weng et al., Beware of Fragmentation, USENIX ATC 2023): the node with
// the smallest takes the task, the first in cluster order on ties. The study's
// scores are whole hundredths, and so are these: near-equal nodes are equal, and
// the first of them fills up while the last stay empty.
type scorer interface {
	// prepare is called before a placement in pools that are filled as frees say.
	// While what it returns stays the same, so do the scores of unchanged nodes.
	prepare(frees []*cluster.Free) uint64
	// score says how bad it is to put a task of the shape's k-th cut on node i, on
	// which it fits, and which GPUs it would take.
	score(f *cluster.Free, i int32, s *Shape, k int) (bad int64, gpus uint64)
}

// unfit is the score of a node on which the task does not fit.
const unfit = math.MaxInt64

func newScorer(l *cluster.Layout, rule policy.Placement) scorer {
	switch rule.By {
	case policy.Random:
		return &randomScore{seed: rule.Seed}
	case policy.DotProduct:
		return dotProduct{newScale(l)}
	case policy.BestFitScore:
		return bestFit{newScale(l)}
	case policy.Clustering:
		return clustering{newScale(l)}
	case policy.Packing:
		return packing{}
	case policy.FGD:
		return newGradient(l)
	}
	return nil
}

// steady is the part of the rules that look at nothing but the node.
type steady struct{}

func (steady) prepare([]*cluster.Free) uint64 { return 0 }

// scorable tells whether nodes are scored for the shape; one that must lie in a
// place of the topology is filled into the tightest such place instead.
func (p *Placer) scorable(s *Shape) bool { return p.scorer != nil && s.level < 0 }

// placeByScore puts each task on the best node, given the tasks before it, in
// the pool where the sum of the scores is smallest.
func (p *Placer) placeByScore(frees []*cluster.Free, s *Shape, buf []cluster.Grant) ([]cluster.Grant, int32, bool) {
	if !s.asked {
		p.Asked(s)
	}
	p.room = p.room[:0]
	for _, pl := range s.Pools {
		p.room = append(p.room, frees[pl])
	}
	version := p.scorer.prepare(p.room)
	from, pool, best := len(buf), int32(-1), int64(0)
	for k, pl := range s.Pools {
		f, m := frees[pl], &s.memo[k]
		if m.noAt == f.Grown()+1 {
			continue
		}
		trial, sum, ok := p.scoreIn(f, s, k, &m.weights, version, p.trial[:0])
		p.trial = trial
		switch {
		case !ok:
			m.noAt = f.Grown() + 1
		case pool < 0 || sum < best || sum == best && trial[0].Node < buf[from].Node:
			pool, best = pl, sum
			buf = append(buf[:from], trial...)
		}
	}
	return buf, pool, pool >= 0
}

// scoreOnce is placeByScore in one pool that is filled as f says. It remembers nothing.
func (p *Placer) scoreOnce(f *cluster.Free, s *Shape, k int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	p.room = append(p.room[:0], f)
	version := p.scorer.prepare(p.room)
	p.once.of = nil
	buf, _, ok := p.scoreIn(f, s, k, &p.once, version, buf)
	p.once.of = nil
	return buf, ok
}

func (p *Placer) scoreIn(f *cluster.Free, s *Shape, k int, m *scoreMemo, version uint64, buf []cluster.Grant) (grants []cluster.Grant, sum int64, ok bool) {
	c, from := s.cuts[k], len(buf)
	if !p.countFits(f, s, c) {
		return buf, 0, false
	}
	for range c.Tasks {
		i := m.best(p.scorer, version, f, s, k, buf[from:])
		if i < 0 {
			f.Give(buf[from:])
			return buf[:from], 0, false
		}
		bad, gpus := p.scorer.score(f, i, s, k)
		sum += bad
		buf = append(buf, cluster.Grant{
			Node: f.Pool().Nodes[i], Milli: s.Need.MilliPerGPU(), GPUs: gpus, Count: c.GPUs, CPU: c.CPU, Memory: c.Memory,
		})
		if c.Tasks > 1 { // later tasks must see what earlier ones took
			f.Take(buf[len(buf)-1:])
		}
	}
	if c.Tasks > 1 {
		f.Give(buf[from:])
		if !s.Need.Fractional() {
			buf = joined(buf, from)
		}
	}
	return buf, sum, true
}

// joined makes one grant out of those of whole GPUs on one node.
func joined(gs []cluster.Grant, from int) []cluster.Grant {
	n := from
next:
	for _, g := range gs[from:] {
		for k := n - 1; k >= from; k-- {
			if h := &gs[k]; h.Node == g.Node {
				h.GPUs |= g.GPUs
				h.Count += g.Count
				h.CPU += g.CPU
				h.Memory += g.Memory
				continue next
			}
		}
		gs[n] = g
		n++
	}
	return gs[:n]
}

// fitsOn tells whether a task of the shape's k-th cut fits on node i.
func (s *Shape) fitsOn(f *cluster.Free, k int, i int32) bool {
	if f.Shut(i) {
		return false
	}
	switch {
	case s.Need.GPUs == 0:
	case s.Need.Fractional():
		if tightest(f, i, s.Need.Milli) == 0 {
			return false
		}
	case free(f, i) < s.cuts[k].GPUs:
		return false
	}
	return s.plain || s.units(f, k, i, 1, s.cuts[k].task()) > 0
}

// tightest is the GPU of node i with the least left that holds the part, lowest
// on ties; no GPU if none holds it.
func tightest(f *cluster.Free, i, milli int32) uint64 {
	var best uint64
	least := int32(1001)
	for m := f.Full(i); m != 0; m &= m - 1 {
		if left := f.Left(i, bits.TrailingZeros64(m)); left >= milli && left < least {
			best, least = m&-m, left
		}
	}
	return best
}

// usual are the GPUs that most rules give a task on node i: the tightest for a
// part of one, else the lowest free ones.
func (s *Shape) usual(f *cluster.Free, i int32, k int) uint64 {
	if s.Need.Fractional() {
		return tightest(f, i, s.Need.Milli)
	}
	return Lowest(f.Mask(i), s.cuts[k].GPUs)
}

// milliLeft is what is left of all GPUs of node i together.
func milliLeft(f *cluster.Free, i int32) int64 {
	var sum int64
	for m := f.Full(i); m != 0; m &= m - 1 {
		sum += int64(f.Left(i, bits.TrailingZeros64(m)))
	}
	return sum
}

// scoreMemo remembers the scores of a shape by node, and the best node of every
// 64. After a change only the changed nodes are scored anew.
type scoreMemo struct {
	of      *cluster.Free
	pos     uint64
	version uint64
	bad     []int64
	top     []int32
	dirty   []uint64
}

// best returns the node with the smallest score, -1 if the task fits on none. had are the tasks that are placed.
func (m *scoreMemo) best(r scorer, version uint64, f *cluster.Free, s *Shape, k int, had []cluster.Grant) int32 {
	m.refresh(r, version, f, s, k)
	c, nodes := &s.cuts[k], f.Pool().Nodes
	node, least := int32(-1), int64(unfit)
	for b, i := range m.top {
		if i >= 0 && c.full(had, nodes[i]) { // the next best of these 64
			i = -1
			for o := b << 6; o < min(b<<6+64, len(m.bad)); o++ {
				if m.bad[o] < unfit && (i < 0 || m.bad[o] < m.bad[i]) && !c.full(had, nodes[o]) {
					i = int32(o)
				}
			}
		}
		if i >= 0 && m.bad[i] < least {
			node, least = i, m.bad[i]
		}
	}
	return node
}

func (m *scoreMemo) refresh(r scorer, version uint64, f *cluster.Free, s *Shape, k int) {
	known := m.of == f && m.version == version
	if known {
		m.pos, known = f.ChangedSince(m.pos, func(i int32) { m.dirty[i>>6] |= 1 << (i & 63) })
	}
	n := int(f.Nodes())
	if !known {
		if len(m.bad) != n {
			m.bad, m.top, m.dirty = make([]int64, n), make([]int32, (n+63)/64), make([]uint64, (n+63)/64)
		}
		m.of, m.version = f, version
		for b := range m.dirty {
			m.dirty[b] = 1<<min(64, n-b<<6) - 1
		}
		m.pos, _ = f.ChangedSince(math.MaxUint64, nil)
	}
	for b, d := range m.dirty {
		if d == 0 {
			continue
		}
		for m.dirty[b] = 0; d != 0; d &= d - 1 {
			i := int32(b<<6 + bits.TrailingZeros64(d))
			m.bad[i] = unfit
			if s.fitsOn(f, k, i) {
				m.bad[i], _ = r.score(f, i, s, k)
			}
		}
		m.top[b] = -1
		least := int64(unfit)
		for i := b << 6; i < min(b<<6+64, n); i++ {
			if m.bad[i] < least {
				m.top[b], least = int32(i), m.bad[i]
			}
		}
	}
}
