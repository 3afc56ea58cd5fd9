package place

import (
	"math/bits"

	"github.com/escala-sched/escala/cluster"
)

// randomScore draws a node, and for a part of a GPU the GPU, from a hash of the
// seed and of what is free: in the same state the draw is the same.
type randomScore struct {
	seed, salt uint64
}

// shake derives the salt of the next draw from all that is free in the pools of the shape.
func (r *randomScore) shake(s *Shape, frees []*cluster.Free, only ...*cluster.Free) {
	r.salt = mix(r.seed)
	for _, pl := range s.Pools {
		if frees != nil {
			r.stir(frees[pl])
		}
	}
	for _, f := range only {
		r.stir(f)
	}
}

func (r *randomScore) stir(f *cluster.Free) {
	sum := uint64(f.Milli())
	for i := range f.Nodes() {
		sum += uint64(f.CPU(i)) * 0x9e3779b97f4a7c15 // work without GPUs changes the state too
	}
	r.salt = mix(r.salt ^ sum)
}

func (r *randomScore) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	h := mix(r.salt ^ uint64(f.Pool().Nodes[i]))
	gpus := uint64(0)
	if s.Need.Fractional() {
		least := uint64(0)
		for m := f.Full(i); m != 0; m &= m - 1 {
			g := bits.TrailingZeros64(m)
			if f.Left(i, g) < s.Need.Milli {
				continue
			}
			if d := mix(h + uint64(g)); gpus == 0 || d < least {
				gpus, least = m&-m, d
			}
		}
	} else {
		gpus = s.usual(f, i, k)
	}
	return int64(h >> 2), gpus // small enough for the sums of any gang that is compared with another
}

// mix is the finaliser of SplitMix64 (Steele et al., OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
