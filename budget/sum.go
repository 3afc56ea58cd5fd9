package budget

import (
	"cmp"
	"math/bits"
)

// Sum is an exact sum of GPU-time in milli-GPU x ms, 0 or more. 64 bits would hold
// 2.9 years of 100,000 GPUs; demand is a multiple of that.
type Sum struct{ hi, lo uint64 }

func product(a, b uint64) Sum {
	hi, lo := bits.Mul64(a, b)
	return Sum{hi, lo}
}

func (s *Sum) add(v Sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, v.lo, 0)
	s.hi, _ = bits.Add64(s.hi, v.hi, carry)
}

// Cmp is -1 where s is less than v, 0 where equal, 1 where more.
func (s Sum) Cmp(v Sum) int {
	if c := cmp.Compare(s.hi, v.hi); c != 0 {
		return c
	}
	return cmp.Compare(s.lo, v.lo)
}

// Zero tells whether nothing was added.
func (s Sum) Zero() bool { return s == Sum{} }

// GPUHours is the sum for display, rounded once.
func (s Sum) GPUHours() float64 { return (float64(s.hi)*(1<<64) + float64(s.lo)) / float64(GPUHour) }

func smaller(a, b Sum) Sum {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}
