package engine

import (
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/workload"
)

// exactUpTo is the number of candidates on a node up to which every set is looked at.
const exactUpTo = 16

// clearNode clears GPUs of one node at the least price. Exact up to 16 candidates a
// node; with more, the cheapest ones come in question.
func (e *Engine) clearNode(d *decision, shape *place.Shape, k int, w *claimant, debug, allocated bool) (set []victim, hold []cluster.Grant, ok bool) {
	s := e.sharing
	pool := shape.Pools[k]
	f, base := e.frees[pool], s.loose.of(pool, debug)
	if allocated {
		base = s.soft.of(pool, debug)
	}
	g := shape.Cut(k).GPUs
	limit := int64(1) << 62
	if s.pol.OverKill > 0 && w.milli <= s.pol.OverKillGPUs*1000 {
		limit = s.pol.OverKill * w.milli
	}
	s.barNodes()
	var best setCost
	bestNode := none
	var bestFree uint64
	for free := g; free <= e.layout.Pools[pool].MaxGPUs; free++ {
		if base.CountWith(free) == 0 {
			continue
		}
		for at := base.NextWith(free, 0); at >= 0; at = base.NextWith(free, at+1) {
			node := e.layout.Pools[pool].Nodes[at]
			cand, within := e.candidatesOn(w, node, base.Mask(at), s.barOn[node], allocated, d.now)
			if bestNode != none && dearer(cand, within, g, &best) {
				continue
			}
			if cost, chosen, ok := e.cheapest(cand, within, g, limit); ok && (bestNode == none || cost.less(&best)) {
				best, bestNode = cost, node
				set = append(set[:0], chosen...)
				bestFree = within
				for i := range cand {
					if !slices.ContainsFunc(chosen, func(x victim) bool { return x.job == cand[i].job }) {
						bestFree &^= cand[i].gpus
					}
				}
				if cost.count == 0 {
					break // nobody has to go: it only waits for those who leave
				}
			}
		}
		if bestNode != none && s.debug[bestNode] {
			break // debug nodes are filled tightly: whole ones are for those who need one
		}
	}
	s.unbarNodes()
	if bestNode == none {
		return nil, nil, false
	}
	// What is free now first, then what is being left, then what the victims have.
	now := f.Mask(e.layout.Local[bestNode]) & bestFree
	pick := place.Lowest(now, min(g, count(now)))
	left := bestFree &^ now
	for i := range set {
		left &^= set[i].gpus
	}
	pick |= place.Lowest(left, min(g-count(pick), count(left)))
	rest := bestFree &^ pick
	pick |= place.Lowest(rest, min(g-count(pick), count(rest)))
	from := len(d.arena)
	d.arena = append(d.arena, cluster.WholeGrant(bestNode, pick))
	return set, d.arena[from : from+1 : from+1], true
}

// candidatesOn lists who may have to go on a node, and the GPUs there that would be
// free if they all went: not barred, and held by nobody else. base is what would be
// free of the node if everybody went who is of that kind.
func (e *Engine) candidatesOn(w *claimant, node int32, base, barred uint64, allocated bool, now workload.Time) (cand []victim, within uint64) {
	s := e.sharing
	cand, within = e.victims[:0], base&^barred
	for _, v := range s.onNode[node] {
		j := &e.jobs[v]
		if e.givesWay(w, v, allocated) {
			if m := touched(j.grants, node); m&within != 0 && (len(cand) == 0 || cand[len(cand)-1].job != v) {
				x := e.priceOf(v, now)
				x.gpus = m
				cand = append(cand, x)
			}
		} else if r := &s.jobs[v]; r.open || r.unallocated && j.state != stopping && !j.leaving {
			within &^= touched(j.grants, node)
		}
	}
	e.victims = cand
	return cand, within
}

// touched is the set of GPUs of a node that a place has, or has a part of.
func touched(gs []cluster.Grant, node int32) (m uint64) {
	for i := range gs {
		if gs[i].Node == node {
			m |= gs[i].GPUs
		}
	}
	return m
}

// count of GPUs in a set.
func count(m uint64) int32 { return int32(bits.OnesCount64(m)) }

// cheapest finds the cheapest candidates without whom g GPUs of those within reach are
// free, none of whom could be spared. Their capacity in all is at most limit.
func (e *Engine) cheapest(cand []victim, within uint64, g int32, limit int64) (best setCost, chosen []victim, ok bool) {
	if count(within) < g {
		return best, nil, false
	}
	if len(cand) == 0 {
		return best, nil, true
	}
	if count(within) == g { // all of it is needed: nobody there can stay
		var milli int64
		for i := range cand {
			best.add(&cand[i])
			milli += e.jobs[cand[i].job].milli
		}
		if milli > limit {
			e.sharing.rejected = true
			return best, nil, false
		}
		return best, slices.Clone(cand), true
	}
	if len(cand) > exactUpTo {
		return e.greedy(cand, within, g, limit)
	}
	all := uint32(1)<<len(cand) - 1
	// freeOf is what is free when a set has gone: all within reach less what the others touch.
	freeOf := func(set uint32) int32 {
		m := within
		for rest := all &^ set; rest != 0; rest &= rest - 1 {
			m &^= cand[bits.TrailingZeros32(rest)].gpus
		}
		return count(m)
	}
	if freeOf(0) >= g {
		return setCost{}, nil, true
	}
	bestSet := uint32(0)
search:
	for set := uint32(1); set <= all; set++ {
		got := freeOf(set)
		if got < g {
			continue
		}
		var cost setCost
		var milli int64
		for m := set; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			cost.add(&cand[i])
			milli += e.jobs[cand[i].job].milli
		}
		if cost.excess = got - g; ok && !cost.less(&best) {
			continue
		}
		if milli > limit {
			e.sharing.rejected = true
			continue
		}
		for m := set; m != 0; m &= m - 1 {
			if freeOf(set&^(m&-m)) >= g {
				continue search // one could be spared
			}
		}
		best, bestSet, ok = cost, set, true
	}
	for m := bestSet; m != 0; m &= m - 1 {
		chosen = append(chosen, cand[bits.TrailingZeros32(m)])
	}
	return best, chosen, ok
}

// greedy is cheapest for many candidates: the cheapest go until there is room, then those
// are spared who need not, the dearest first.
func (e *Engine) greedy(cand []victim, within uint64, g int32, limit int64) (cost setCost, chosen []victim, ok bool) {
	e.sortPriced(cand)
	stay := make([]bool, len(cand))
	for i := range stay {
		stay[i] = true
	}
	free := func() int32 {
		m := within
		for i := range cand {
			if stay[i] {
				m &^= cand[i].gpus
			}
		}
		return count(m)
	}
	n := 0
	for ; n < len(cand) && free() < g; n++ {
		stay[n] = false
	}
	for i := n - 1; i >= 0; i-- {
		if stay[i] = true; free() < g {
			stay[i] = false
		}
	}
	var milli int64
	for i := range cand {
		if !stay[i] {
			cost.add(&cand[i])
			milli += e.jobs[cand[i].job].milli
			chosen = append(chosen, cand[i])
		}
	}
	if milli > limit {
		e.sharing.rejected = true
		return cost, nil, false
	}
	cost.excess = free() - g
	return cost, chosen, true
}
