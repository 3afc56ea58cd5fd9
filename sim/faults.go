package sim

import (
	"math"
	"math/rand/v2"

	"github.com/escala-sched/escala/workload"
)

// faults draws the failures of each node from its own stream, so that one node's
// luck does not depend on how many others there are.
type faults struct {
	f    Faults
	rand []*rand.Rand
}

func newFaults(f Faults, nodes int) *faults {
	x := &faults{f: f}
	for n := range nodes {
		x.rand = append(x.rand, rand.New(rand.NewPCG(f.Seed, uint64(n))))
	}
	return x
}

func (x *faults) draw(node int32, mean workload.Span) workload.Span {
	return max(workload.Span(math.Round(x.rand[node].ExpFloat64()*float64(mean))), 1)
}
