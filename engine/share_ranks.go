package engine

import (
	"sort"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/policy"
)

// ranks answers how much allocated work, past its protection, the guard would let a
// leaf have, without looking at every other leaf: the children of each node sorted by
// usage / share, with sums of what may be stopped below them. They are made once in a
// decision, where needed; a question costs O(depth x log children).
type ranks struct {
	// stamp of the sums, by node.
	stamp uint64
	below []int64
	// by node, its children in order and the sums from each of them on.
	at    []uint64
	order [][]int32
	sums  [][]int64
	// total of all leaves.
	total int64
}

func (r *ranks) init(n int) {
	*r = ranks{below: make([]int64, n+1), at: make([]uint64, n+1), order: make([][]int32, n+1), sums: make([][]int64, n+1)}
}

// sum adds up the work that may be stopped: under the window guard that of leaves
// which are not entitled.
func (s *sharing) sum() {
	r := &s.ranks
	if r.stamp == s.stamp {
		return
	}
	r.stamp, r.total = s.stamp, 0
	clear(r.below)
	for l := int(s.outside) - 1; l >= 0; l-- {
		if open := s.leaves[l].open; open > 0 && (s.pol.Guard != policy.GuardWindow || s.stands(int32(l)) != budget.Entitled) {
			r.below[l] += open
			r.total += open
		}
		if up := s.tree.Nodes[l].Parent; up >= 0 {
			r.below[up] += r.below[l]
		}
	}
}

// sorted returns a node's children by usage / share and the sums from each on.
func (s *sharing) sorted(node int32) ([]int32, []int64) {
	r := &s.ranks
	if r.at[node] == s.stamp {
		return r.order[node], r.sums[node]
	}
	r.at[node] = s.stamp
	order := r.order[node][:0]
	for _, c := range s.tree.Nodes[node].Children {
		if r.below[c] > 0 {
			order = append(order, c)
		}
	}
	sort.Slice(order, func(i, k int) bool {
		a, b := order[i], order[k]
		return budget.CompareRatio(s.used(a), s.tree.Nodes[a].Share, s.used(b), s.tree.Nodes[b].Share) < 0
	})
	sums := append(r.sums[node][:0], make([]int64, len(order)+1)...)
	for i := len(order) - 1; i >= 0; i-- {
		sums[i] = sums[i+1] + r.below[order[i]]
	}
	r.order[node], r.sums[node] = order, sums
	return order, sums
}

// mightHave is what the guard would let the claimant have, in milli-GPU, wherever it
// runs: exact under the window guard, but for the leaf's own work; an upper bound else.
func (s *sharing) mightHave(w *claimant) (milli int64) {
	s.sum()
	if s.ranks.total == 0 || w.leaf == s.outside {
		return 0
	}
	if s.pol.InTeam || w.dated {
		milli = s.leaves[w.leaf].open
	}
	if s.pol.Guard == policy.GuardEntitlement {
		return s.ranks.total
	}
	nodes := s.tree.Nodes
	for a := w.leaf; a > 0; a = nodes[a].Parent {
		order, sums := s.sorted(nodes[a].Parent)
		mine := s.mine(a, w)
		passes := func(b int32) bool {
			return budget.CompareRatio(mine, nodes[a].Share, s.used(b), nodes[b].Share) <= 0
		}
		i := sort.Search(len(order), func(i int) bool { return passes(order[i]) })
		milli += sums[i]
		if s.ranks.below[a] > 0 && passes(a) {
			milli -= s.ranks.below[a] // it is among them, and no sibling of its own
		}
	}
	return milli
}
