package metrics

import (
	"math"
	"sort"
)

// The grid of the wait's distribution is logarithmic: perDecade points a decade
// from one second to three years.
const (
	cdfPerDecade = 40
	cdfPoints    = 8*cdfPerDecade + 1
)

// CDFPoint is the wait in seconds at index i of [Metrics.WaitCDF]. The grid is
// the same for all runs, so that curves can be compared point by point.
func CDFPoint(i int) float64 { return math.Pow(10, float64(i)/cdfPerDecade) }

// cdf returns the part of the sorted waits (ms) at or below each grid point.
func cdf(sorted []uint64) []float64 {
	if len(sorted) == 0 {
		return nil
	}
	out := make([]float64, cdfPoints)
	for i := range out {
		x := uint64(CDFPoint(i) * 1000)
		n := sort.Search(len(sorted), func(k int) bool { return sorted[k] > x })
		out[i] = float64(n) / float64(len(sorted))
	}
	return out
}
