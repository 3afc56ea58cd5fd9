package metrics

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNearestRank(t *testing.T) {
	tests := map[string]struct {
		values   []uint64
		p50, p90 float64
	}{
		"one":    {[]uint64{7000}, 7, 7},
		"two":    {[]uint64{2000, 1000}, 1, 2},
		"ten":    {[]uint64{10000, 9000, 8000, 7000, 6000, 5000, 4000, 3000, 2000, 1000}, 5, 9},
		"eleven": {[]uint64{11000, 10000, 9000, 8000, 7000, 6000, 5000, 4000, 3000, 2000, 1000}, 6, 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := sample{decode: milliseconds}
			for _, v := range tc.values {
				s.add(v, false)
			}
			d := s.dist(make([]uint64, len(tc.values)))
			if d.P50 != tc.p50 || d.P90 != tc.p90 {
				t.Errorf("p50 %v, p90 %v; want %v, %v", d.P50, d.P90, tc.p50, tc.p90)
			}
		})
	}
}

func TestSortKeysSorts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shift := range []int{0, 1, 20, 40, 63} {
		keys := make([]uint64, 5000)
		for i := range keys {
			keys[i] = r.Uint64() >> shift
		}
		want := slices.Clone(keys)
		slices.Sort(want)
		sortKeys(keys, make([]uint64, len(keys)))
		if !slices.Equal(keys, want) {
			t.Errorf("shift %d: not sorted", shift)
		}
	}
	sortKeys(nil, nil)
}

func TestCDFCountsUpToEachPoint(t *testing.T) {
	f := cdf([]uint64{0, 1000, 10_000, 10_001})
	if f[0] != 0.5 || f[cdfPerDecade] != 0.75 || f[cdfPerDecade+1] != 1 {
		t.Errorf("F(1 s) = %v, F(10 s) = %v, next = %v", f[0], f[cdfPerDecade], f[cdfPerDecade+1])
	}
}
