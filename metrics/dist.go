package metrics

import "sort"

// Dist sums up one quantity over jobs. Times are seconds. Percentiles are by
// nearest rank: the smallest value that at least p % of the values do not exceed.
type Dist struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	// N is the number of values.
	N int `json:"n"`
	// LowerBounds counts values of jobs that the end of the run cut short; each
	// enters with what it had reached by then. The mean is a lower bound then, and so
	// are the percentiles of Bounds. Figures up to ExactUpTo, the least of these
	// values, are exact in any case.
	LowerBounds int     `json:"lower_bounds,omitempty"`
	ExactUpTo   float64 `json:"exact_up_to,omitempty"`
	// Bounds tells which percentiles are lower bounds: those that would be larger by more
	// than 1 % if all that was cut short were without end.
	Bounds Bounded `json:"bounds,omitzero"`
}

// Bounded tells which figures of a distribution are only lower bounds.
type Bounded struct {
	P50 bool `json:"p50"`
	P90 bool `json:"p90"`
	P99 bool `json:"p99"`
	Max bool `json:"max"`
}

// Bound tells whether the figure v of d is only a lower bound. Of two percentiles of
// one value it knows only the smaller: [Dist.Bounds] knows each.
func (d *Dist) Bound(v float64) bool {
	switch v {
	case d.P50:
		return d.Bounds.P50
	case d.P90:
		return d.Bounds.P90
	case d.P99:
		return d.Bounds.P99
	case d.Max:
		return d.Bounds.Max
	}
	return d.LowerBounds > 0 && v > d.ExactUpTo
}

// MeanBound tells whether the mean is only a lower bound.
func (d *Dist) MeanBound() bool { return d.LowerBounds > 0 }

// sample collects values as sortable keys: non-negative integers as they are.
type sample struct {
	keys []uint64
	// bounds are those of keys that are lower bounds.
	bounds []uint64
	sum    float64
	// without counts members that have no value.
	without int
	decode  func(uint64) float64
}

func (s *sample) add(key uint64, bound bool) {
	s.keys = append(s.keys, key)
	s.sum += s.decode(key)
	if bound {
		s.bounds = append(s.bounds, key)
	}
}

// slack is by how much, relative, the values that were cut short may move a percentile
// that is not called a lower bound: one of them among many moves each by a rank.
const slack = 0.01

// rank returns the nearest-rank percentile, in hundredths, of sorted keys, and whether
// it is only a lower bound: with all bounds counted as larger than anything it would be
// larger by more than the slack.
func (s *sample) rank(percent int) (float64, bool) {
	n := len(s.keys)
	rank := max(1, (n*percent+99)/100)
	v := s.decode(s.keys[rank-1])
	if len(s.bounds) == 0 {
		return v, false
	}
	at := sort.Search(n, func(i int) bool { return upTo(s.keys, s.keys[i])-upTo(s.bounds, s.keys[i]) >= rank })
	return v, at == n || s.decode(s.keys[at]) > v*(1+slack)
}

// upTo counts the sorted keys that are no larger than one.
func upTo(keys []uint64, key uint64) int {
	return sort.Search(len(keys), func(i int) bool { return keys[i] > key })
}

// dist sorts the sample and sums it up.
func (s *sample) dist(tmp []uint64) Dist {
	n := len(s.keys)
	if n == 0 {
		return Dist{}
	}
	sortKeys(s.keys, tmp)
	sortKeys(s.bounds, tmp)
	d := Dist{Mean: s.sum / float64(n), N: n, LowerBounds: len(s.bounds)}
	d.P50, d.Bounds.P50 = s.rank(50)
	d.P90, d.Bounds.P90 = s.rank(90)
	d.P99, d.Bounds.P99 = s.rank(99)
	d.Max, d.Bounds.Max = s.rank(100)
	if len(s.bounds) > 0 {
		d.ExactUpTo = s.decode(s.bounds[0])
	}
	return d
}

func milliseconds(k uint64) float64 { return float64(k) / 1000 }
