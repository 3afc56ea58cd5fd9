package metrics

import "math/bits"

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
