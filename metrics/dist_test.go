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

// TestBoundsByRank: a percentile is a bound only if it turns on how large the bounds
// come to be. Compared with what comes out with each bound as infinite.
func TestBoundsByRank(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[bool]int{}
	for range 2000 {
		s := sample{decode: milliseconds}
		var open []uint64
		for range 1 + r.IntN(40) {
			key, bound := uint64(r.IntN(12)+300*r.IntN(3)), r.IntN(4) == 0
			s.add(key, bound)
			if bound {
				key = 1 << 60
			}
			open = append(open, key)
		}
		slices.Sort(open)
		d := s.dist(make([]uint64, len(open)))
		for _, x := range []struct {
			percent int
			v       float64
			bound   bool
		}{{50, d.P50, d.Bounds.P50}, {90, d.P90, d.Bounds.P90}, {99, d.P99, d.Bounds.P99}, {100, d.Max, d.Bounds.Max}} {
			want := milliseconds(open[max(1, (len(open)*x.percent+99)/100)-1]) > 1.01*x.v
			seen[want]++
			if x.bound != want {
				t.Fatalf("p%d of %v with bounds %v: bound %v, want %v", x.percent, s.keys, s.bounds, x.bound, want)
			}
			if x.bound && x.v < d.ExactUpTo {
				t.Fatalf("p%d = %v is a bound, though exact up to %v", x.percent, x.v, d.ExactUpTo)
			}
		}
	}
	if seen[true] < 100 || seen[false] < 100 {
		t.Error(seen)
	}
}

// TestOneLateJobLeavesTheMedian: a job submitted seconds before the cut moves the
// percentiles of many by one rank, and nothing turns on it but the largest value.
func TestOneLateJobLeavesTheMedian(t *testing.T) {
	s := sample{decode: milliseconds}
	for i := range 999 {
		s.add(uint64(i)*100, false)
	}
	s.add(2000, true)
	d := s.dist(make([]uint64, 1000))
	if d.P50 != 49.8 || d.ExactUpTo != 2 || d.LowerBounds != 1 || d.Bounds != (Bounded{Max: true}) || !d.MeanBound() {
		t.Errorf("%+v", d)
	}
	if d.Bound(d.P50) || d.Bound(d.P99) || !d.Bound(d.Max) {
		t.Errorf("%+v", d)
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
