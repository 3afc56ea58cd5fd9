package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
)

// packing takes shared GPUs first, the fullest (by tenths of a GPU); then free
// GPUs of nodes in use, as few as possible; then idle nodes, the smallest. Work
// without GPUs goes to the first node.
type packing struct{ steady }

func (packing) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	gpus := s.usual(f, i, k)
	idle := gpus & f.Mask(i)
	switch {
	case s.Need.GPUs == 0:
		return 0, 0
	case f.Mask(i) == f.Full(i):
		return 1000 + int64(free(f, i)), gpus
	case idle != 0:
		return 100 + int64(bits.OnesCount64(idle)), gpus
	}
	return int64(f.Left(i, bits.TrailingZeros64(gpus))) / 100, gpus
}

// clustering takes nodes that hold only tasks of the same kind (parts of GPUs,
// or whole ones), then those that hold both kinds, then idle ones, then those of
// the other kind; among these the one with the least left of its GPUs. Work
// without GPUs goes to the first node.
//
// The kinds are read off the GPUs, not off the jobs: a GPU that is shared out to
// the last thousandth counts as taken whole, and tasks of one, two or more whole
// GPUs, which the study tells apart, are one kind.
type clustering struct{ scale }

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
	var bad int64
	switch {
	case same && other:
		bad = 100
	case !same && !other:
		bad = 200
	case other:
		bad = 300
	}
	return bad + steps(milliLeft(f, i), c.gpu, 25), s.usual(f, i, k)
}
