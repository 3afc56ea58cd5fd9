package horizon

import "math/bits"

// chance is SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): a seed is its whole state, and the
// same seed gives the same numbers on every machine and in every version of Go.
type chance uint64

func (c *chance) next() uint64 {
	*c += 0x9e3779b97f4a7c15
	z := uint64(*c)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n).
func (c *chance) below(n int) int {
	hi, _ := bits.Mul64(c.next(), uint64(n))
	return int(hi)
}
