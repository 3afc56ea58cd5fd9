package metrics

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// typeTotals integrates, per GPU type, what is assigned and what is down. Money
// and watts hang on the type, which the gauge does not split.
type typeTotals struct {
	rows   []typeRow
	byNode []int32 // row of a node
	gpus   []int32 // GPUs of a node
	down   []bool
}

type typeRow struct {
	spec      cluster.Type
	installed int64 // milli-GPU
	// Now, and as it held since the last instant.
	assigned, down         int64
	heldAssigned, heldDown int64
	// Integrals, and as they stood at the last finish.
	total, atFinish struct {
		assigned, down area
		span           workload.Span
	}
}

func newTypeTotals(s *cluster.Spec) typeTotals {
	var t typeTotals
	if len(s.Nodes) == 0 {
		row := typeRow{installed: int64(s.Count) * 1000}
		if len(s.Types) == 1 { // a pool has no types of its own: the only one given is meant
			row.spec = s.Types[0]
		}
		t.rows = []typeRow{row}
		return t
	}
	index := make(map[string]int32)
	t.byNode = make([]int32, len(s.Nodes))
	t.gpus = make([]int32, len(s.Nodes))
	t.down = make([]bool, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		r, ok := index[n.GPUType]
		if !ok {
			r = int32(len(t.rows))
			index[n.GPUType] = r
			t.rows = append(t.rows, typeRow{spec: s.TypeOf(n.GPUType)})
		}
		t.byNode[i], t.gpus[i] = r, n.GPUs
		t.rows[r].installed += int64(n.GPUs) * 1000
	}
	return t
}

// milliOf is the GPU capacity of a grant in milli-GPU: of its set of GPUs, or of
// its count on a cluster without nodes.
func milliOf(g *fact.Grant) int64 {
	n := int64(g.Count)
	if g.GPUs != 0 {
		n = int64(bits.OnesCount64(g.GPUs))
	}
	return n * int64(g.Milli)
}

func (t *typeTotals) assign(node int32, milli int64) {
	if node < 0 {
		t.assignPool(milli)
	} else if int(node) < len(t.byNode) {
		t.rows[t.byNode[node]].assigned += milli
	}
}

func (t *typeTotals) assignPool(milli int64) {
	if t.byNode == nil {
		t.rows[0].assigned += milli
	}
}

func (t *typeTotals) nodeDown(node int32, down bool) {
	if node < 0 || int(node) >= len(t.byNode) || t.down[node] == down {
		return
	}
	t.down[node] = down
	m := int64(t.gpus[node]) * 1000
	if !down {
		m = -m
	}
	t.rows[t.byNode[node]].down += m
}

// add integrates the state that held since the last instant. Facts of the
// present instant have already changed "now", hence the held copies.
func (t *typeTotals) add(ms workload.Span) {
	for i := range t.rows {
		r := &t.rows[i]
		r.total.assigned.add(r.heldAssigned, ms)
		r.total.down.add(r.heldDown, ms)
		r.total.span += ms
	}
}

// settle makes what is assigned now hold from this instant on.
func (t *typeTotals) settle() {
	for i := range t.rows {
		r := &t.rows[i]
		r.heldAssigned, r.heldDown = r.assigned, r.down
	}
}

// mark notes the integrals at a finish.
func (t *typeTotals) mark() {
	for i := range t.rows {
		t.rows[i].atFinish = t.rows[i].total
	}
}
