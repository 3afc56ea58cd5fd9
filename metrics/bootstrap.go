package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples of the bootstrap: enough for two digits of a 95 % bound.
const resamples = 10_000

// DiffCI returns the mean of b[i]-a[i] and its 95 % percentile-bootstrap
// interval (Efron, Ann. Statist. 1979). a and b are one figure of two policies,
// paired by the seed of the run; they must be equally long. Fewer than two pairs
// have no interval: lo and hi are NaN then. Equal arguments give equal results.
func DiffCI(a, b []float64, seed uint64) (lo, mean, hi float64) {
	if len(a) != len(b) {
		panic("metrics: DiffCI of unpaired samples")
	}
	d := make([]float64, len(a))
	for i := range d {
		d[i] = b[i] - a[i]
	}
	mean = average(d)
	if len(d) < 2 {
		return math.NaN(), mean, math.NaN()
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(d))))
	means := make([]float64, resamples)
	for k := range means {
		var sum float64
		for range d {
			sum += d[rng.IntN(len(d))]
		}
		means[k] = sum / float64(len(d))
	}
	slices.Sort(means)
	return means[resamples/40-1], mean, means[resamples-resamples/40]
}

func average(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
