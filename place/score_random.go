package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/splitmix"
)

// randomScore draws a node, and for a part of a GPU the GPU, from a hash of the
// seed and of what is free: in the same state the draw is the same.
type randomScore struct {
	seed, salt uint64
}

// prepare derives the salt of the next draw from all that is free.
func (r *randomScore) prepare(frees []*cluster.Free) uint64 {
	r.salt = splitmix.Mix(r.seed)
	for _, f := range frees {
		sum := uint64(f.Milli())
		for i := range f.Nodes() {
			sum += uint64(f.CPU(i)) * 0x9e3779b97f4a7c15 // work without GPUs changes the state too
		}
		r.salt = splitmix.Mix(r.salt ^ sum)
	}
	return r.salt
}

func (r *randomScore) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	h := splitmix.Mix(r.salt ^ uint64(f.Pool().Nodes[i]))
	bad := int64(h >> 32) // leaves room for the sum over a gang
	if !s.Need.Fractional() {
		return bad, s.usual(f, i, k)
	}
	var gpus, least uint64
	for m := f.Full(i); m != 0; m &= m - 1 {
		g := bits.TrailingZeros64(m)
		if f.Left(i, g) < s.Need.Milli {
			continue
		}
		if d := splitmix.Mix(h + uint64(g)); gpus == 0 || d < least {
			gpus, least = m&-m, d
		}
	}
	return bad, gpus
}
