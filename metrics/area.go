package metrics

import (
	"math"
	"math/bits"
)

// milliMsPerGPUHour is one GPU-hour in milli-GPU x ms.
const milliMsPerGPUHour = 1000 * 3_600_000

// area is an exact sum of milli-GPU x ms. 64 bits would hold 3.6 years of a
// cluster of 80,000 GPUs, which a long history of a large site exceeds.
type area struct{ hi, lo uint64 }

// add adds milli for a time of ms. Neither can be negative in a legal run;
// a negative product is taken as zero rather than as an enormous one.
func (a *area) add(milli, ms int64) {
	if milli <= 0 || ms <= 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(milli), uint64(ms))
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, lo, 0)
	a.hi, _ = bits.Add64(a.hi, hi, carry)
}

// plus adds another sum.
func (a *area) plus(b area) {
	var carry uint64
	a.lo, carry = bits.Add64(a.lo, b.lo, 0)
	a.hi, _ = bits.Add64(a.hi, b.hi, carry)
}

// minus returns a less b, and zero where that is negative.
func (a area) minus(b area) area {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow != 0 {
		return area{}
	}
	return area{hi, lo}
}

// times returns n times the sum, the largest number there is where that is more.
func (a area) times(n int64) area {
	if n <= 0 {
		return area{}
	}
	over, hi := bits.Mul64(a.hi, uint64(n))
	carry, lo := bits.Mul64(a.lo, uint64(n))
	hi, c := bits.Add64(hi, carry, 0)
	if over+c > 0 {
		return area{math.MaxUint64, math.MaxUint64}
	}
	return area{hi, lo}
}

// float returns the sum in milli-GPU x ms, rounded once.
func (a area) float() float64 { return float64(a.hi)*(1<<64) + float64(a.lo) }

// gpuHours returns the sum in GPU-hours.
func (a area) gpuHours() float64 { return a.float() / milliMsPerGPUHour }

// ratio returns a/b, or zero where b is zero.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
