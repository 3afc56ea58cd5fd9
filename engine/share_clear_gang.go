package engine

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/place"
)

// option is a node that could be cleared, with what that takes.
type option struct {
	node     int32
	from, to int // its victims in the scratch list
}

// clearNodes clears as many nodes as a gang has tasks: node after node the one that
// adds least to the price of the set, a gang that is stopped already costing nothing
// more. Two ways to price a gang on one of its nodes are tried, in full and by node;
// the cheaper set wins, less whom it can spare.
func (e *Engine) clearNodes(d *decision, shape *place.Shape, k int, w *claimant, debug, allocated bool) ([]victim, bool) {
	s := e.sharing
	pool := shape.Pools[k]
	base := s.loose.of(pool, debug)
	if allocated {
		base = s.soft.of(pool, debug)
	}
	cut := shape.Cut(k)
	s.barNodes()
	var all []victim
	opts := s.options[:0]
	if !e.enoughNodes(w, base, k, shape, allocated) {
		s.unbarNodes()
		return nil, false
	}
	for free := cut.GPUs; free <= e.layout.Pools[pool].MaxGPUs; free++ {
		for at := base.NextWith(free, 0); at >= 0; at = base.NextWith(free, at+1) {
			node := e.layout.Pools[pool].Nodes[at]
			cand, within := e.candidatesOn(w, node, base.Mask(at), s.barOn[node], allocated, d.now)
			if _, chosen, ok := e.cheapest(cand, within, cut.GPUs, 1<<62); ok {
				opts = append(opts, option{node: node, from: len(all), to: len(all) + len(chosen)})
				all = append(all, chosen...)
			}
		}
	}
	s.options = opts
	s.unbarNodes()
	if int32(len(opts)) < cut.Tasks {
		return nil, false
	}
	var best []victim
	var bestCost setCost
	for _, byNode := range [...]bool{false, true} {
		set, cost := e.pickNodes(opts, all, cut.Tasks, byNode)
		if best == nil || cost.less(&bestCost) {
			best, bestCost = set, cost
		}
	}
	// A gang that was chosen later may have made an earlier one needless.
	e.sortPriced(best)
	s.barNodes()
	defer s.unbarNodes()
	return e.spare(e.without(pool, best), shape, k, best), true
}

// enoughNodes tells whether as many nodes as a gang has tasks could be cleared, without
// looking at what that costs.
func (e *Engine) enoughNodes(w *claimant, base *cluster.Free, k int, shape *place.Shape, allocated bool) bool {
	s := e.sharing
	pool, cut := shape.Pools[k], shape.Cut(k)
	nodes := int32(0)
	for free := cut.GPUs; free <= e.layout.Pools[pool].MaxGPUs; free++ {
		for at := base.NextWith(free, 0); at >= 0; at = base.NextWith(free, at+1) {
			node := e.layout.Pools[pool].Nodes[at]
			has := base.Mask(at) &^ s.barOn[node]
			if allocated {
				for _, v := range s.onNode[node] {
					if c := &s.jobs[v]; c.open && !e.givesWay(w, v, true) {
						has &^= touched(e.jobs[v].grants, node)
					}
				}
			}
			if count(has) >= cut.GPUs {
				if nodes++; nodes >= cut.Tasks {
					return true
				}
			}
		}
	}
	return false
}

// pickNodes picks that many options greedily and returns their victims.
func (e *Engine) pickNodes(opts []option, all []victim, tasks int32, byNode bool) (set []victim, cost setCost) {
	gone := map[int32]bool{}
	used := make([]bool, len(opts))
	set = []victim{}
	for range tasks {
		best, bestPrice := -1, setCost{}
		for i := range opts {
			if used[i] {
				continue
			}
			var p setCost
			for _, v := range all[opts[i].from:opts[i].to] {
				if gone[v.job] {
					continue
				}
				if byNode {
					on := int64(max(len(e.jobs[v.job].grants), 1))
					v.key, v.lost = v.key/on, v.lost/on
				}
				p.add(&v)
			}
			if best < 0 || p.less(&bestPrice) {
				best, bestPrice = i, p
			}
		}
		used[best] = true
		for _, v := range all[opts[best].from:opts[best].to] {
			if !gone[v.job] {
				gone[v.job] = true
				set = append(set, v)
				cost.add(&v)
			}
		}
	}
	return set, cost
}
