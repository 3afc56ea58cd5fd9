package metrics

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// accountPools says what lies in which pool of a tree whose pools have shares of their
// own, and what of each can be used. A tree without pools, or with a single one, has
// pool 0 alone, whose usable capacity the gauge tells.
type accountPools struct {
	tree   *budget.Tree
	layout *cluster.Layout // nil with one pool
	// weight is what each pool has installed, in milli-GPU.
	weight []int64
	nodes  []poolNode
	usable []int64
	// windows are those of maintenance that are not over.
	windows []maintenance
}

// poolNode is a node as far as it can be used: all of it while it is up and takes
// work, what is busy while it is drained or under maintenance.
type poolNode struct {
	pool                   int
	installed, busy, shown int64
	down, drained          bool
	rests                  int
}

func newAccountPools(t *budget.Tree, s *cluster.Spec) accountPools {
	n := max(1, len(t.Pools))
	p := accountPools{tree: t, weight: make([]int64, n), usable: make([]int64, n)}
	if n == 1 {
		return p
	}
	p.layout, p.nodes = cluster.NewLayout(s), make([]poolNode, len(s.Nodes))
	for i := range s.Nodes {
		x := &p.nodes[i]
		x.pool, x.installed = p.of(s.Nodes[i].GPUType), int64(s.Nodes[i].GPUs)*1000
		p.weight[x.pool] += x.installed
		p.show(x)
	}
	return p
}

func (p *accountPools) count() int { return len(p.usable) }

// of returns the pool of a GPU type; what none lists has no GPUs, and belongs to the first.
func (p *accountPools) of(gpuType string) int { return max(0, p.tree.PoolOf(gpuType)) }

// first returns the first pool, in the order of the tree, that a job may run in.
func (p *accountPools) first(j *workload.Job) int {
	if p.layout == nil {
		return 0
	}
	first := -1
	for _, n := range p.layout.Eligible(&j.Need, j.Partition) {
		if of := p.of(p.layout.Pools[n].GPUType); first < 0 || of < first {
			first = of
		}
	}
	return max(0, first)
}

// where returns the pool that a run is in: all of its nodes are of one GPU type.
func (p *accountPools) where(place []fact.Grant) int {
	if p.layout == nil || len(place) == 0 || place[0].Node < 0 || int(place[0].Node) >= len(p.nodes) {
		return 0
	}
	return p.nodes[place[0].Node].pool
}

// assign adds to what is busy on the nodes of a run, or takes it away.
func (p *accountPools) assign(place []fact.Grant, sign int64) {
	if p.layout == nil {
		return
	}
	for i := range place {
		if n := place[i].Node; n >= 0 && int(n) < len(p.nodes) {
			p.nodes[n].busy += sign * milliOf(&place[i])
			p.show(&p.nodes[n])
		}
	}
}

// fact takes in what becomes of a node.
func (p *accountPools) fact(f *fact.Fact) {
	if f.Kind == fact.WindowSet || f.Kind == fact.WindowLifted {
		p.window(f)
		return
	}
	if f.Node < 0 || int(f.Node) >= len(p.nodes) {
		return
	}
	n := &p.nodes[f.Node]
	switch f.Kind {
	case fact.NodeDown, fact.NodeUp:
		n.down = f.Kind == fact.NodeDown
	case fact.NodeDrained, fact.NodeResumed:
		n.drained = f.Kind == fact.NodeDrained
	}
	p.show(n)
}

// show makes the usable capacity of a node's pool follow the node.
func (p *accountPools) show(n *poolNode) {
	now := n.installed
	switch {
	case n.down:
		now = 0
	case n.drained || n.rests > 0:
		now = n.busy
	}
	p.usable[n.pool] += now - n.shown
	n.shown = now
}

// share is a reported account's part of everything: with pools, its shares weighted by
// what they have installed.
func (p *accountPools) share(node int32) float64 {
	if p.count() == 1 {
		return p.shareIn(0, node)
	}
	var sum, all float64
	for i, w := range p.weight {
		sum += p.shareIn(i, node) * float64(w)
		all += float64(w)
	}
	return ratio(sum, all)
}

// shareIn is an account's part of one pool.
func (p *accountPools) shareIn(pool int, node int32) float64 {
	num, den := p.tree.In(pool).ProductShare(node)
	return float64(num) / float64(den)
}
