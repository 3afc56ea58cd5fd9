// Package splitmix is SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): a seed is its whole state,
// and the same seed gives the same numbers on every machine and in every version of Go.
package splitmix

import "math/bits"

const golden = 0x9e3779b97f4a7c15

// Mix is the finaliser: near numbers become unlike ones.
func Mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Source is a stream of numbers; its value is the seed.
type Source uint64

// Next returns the next number.
func (s *Source) Next() uint64 {
	x := Mix(uint64(*s))
	*s += golden
	return x
}

// Below returns a number in [0, n).
func (s *Source) Below(n int) int {
	hi, _ := bits.Mul64(s.Next(), uint64(n))
	return int(hi)
}
