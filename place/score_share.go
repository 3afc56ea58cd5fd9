package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
)

// packing takes shared GPUs first, the fullest; then free GPUs of nodes in use,
// the fewest; then idle nodes, the smallest.
type packing struct{}

func (packing) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	gpus := s.usual(f, i, k)
	switch {
	case s.Need.GPUs == 0:
		return 0, 0
	case f.Mask(i) == f.Full(i):
		return 1<<20 + int64(free(f, i)), gpus
	case gpus&f.Mask(i) != 0:
		return 1<<10 + int64(bits.OnesCount64(gpus&f.Mask(i))), gpus
	}
	return int64(f.Left(i, bits.TrailingZeros64(gpus))) / PackGrain, gpus
}

var PackGrain int64 = 1

// clustering takes nodes that only hold tasks of the same kind (parts of GPUs, or
// whole ones), then those that hold both kinds, then idle ones, then those of
// the other kind; the one with the least left of its GPUs among equals. A GPU
// that is shared out to the last thousandth looks like one that is taken whole.
type clustering scale

func (c clustering) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	if s.Need.GPUs == 0 {
		return 0, 0
	}
	var parts, whole bool
	for m := f.Full(i) &^ f.Mask(i); m != 0; m &= m - 1 {
		if f.Left(i, bits.TrailingZeros64(m)) > 0 {
			parts = true
		} else {
			whole = true
		}
	}
	same, other := whole, parts
	if s.Need.Fractional() {
		same, other = parts, whole
	}
	rank := int64(0)
	switch {
	case same && other:
		rank = 1
	case !same && !other:
		rank = 2
	case !same:
		rank = 3
	}
	sc := scale(c)
	return rank<<22 + sc.gpus(milliLeft(f, i)) / (Grain*ClusterGrain), s.usual(f, i, k)
}

var ClusterGrain int64 = 1
