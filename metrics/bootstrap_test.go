package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDiffCI(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := make([]float64, 40), make([]float64, 40)
	for i := range a {
		a[i] = 100 * r.Float64()
		b[i] = a[i] + 5 + r.NormFloat64()
	}
	lo, mean, hi := DiffCI(a, b, 1)
	// Standard error 1/sqrt(40): the interval is about mean +- 0.31.
	if !(lo < mean && mean < hi) || math.Abs(mean-5) > 0.6 || hi-lo < 0.35 || hi-lo > 0.9 {
		t.Errorf("lo %v, mean %v, hi %v", lo, mean, hi)
	}
	if lo2, _, hi2 := DiffCI(a, b, 1); lo2 != lo || hi2 != hi {
		t.Error("the same seed gave another interval")
	}
	if lo, mean, hi := DiffCI([]float64{1}, []float64{3}, 1); !math.IsNaN(lo) || mean != 2 || !math.IsNaN(hi) {
		t.Errorf("one pair: %v %v %v; want no interval", lo, mean, hi)
	}
	if lo, mean, hi := DiffCI([]float64{1, 2}, []float64{2, 3}, 9); lo != 1 || mean != 1 || hi != 1 {
		t.Errorf("constant difference: %v %v %v", lo, mean, hi)
	}
}
