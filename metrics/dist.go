package metrics

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
	// enters with what it had reached by then. Figures up to ExactUpTo are exact
	// all the same, larger ones and the mean are lower bounds.
	LowerBounds int     `json:"lower_bounds,omitempty"`
	ExactUpTo   float64 `json:"exact_up_to,omitempty"`
}

// Bound tells whether the figure v of d is only a lower bound.
func (d *Dist) Bound(v float64) bool { return d.LowerBounds > 0 && v > d.ExactUpTo }

// MeanBound tells whether the mean is only a lower bound.
func (d *Dist) MeanBound() bool { return d.LowerBounds > 0 }

// sample collects values as sortable keys: non-negative integers as they are.
type sample struct {
	keys  []uint64
	bound int
	least uint64 // the least lower bound
	sum   float64
	// without counts members that have no value.
	without int
	decode  func(uint64) float64
}

func (s *sample) add(key uint64, bound bool) {
	s.keys = append(s.keys, key)
	s.sum += s.decode(key)
	if bound {
		if s.bound == 0 || key < s.least {
			s.least = key
		}
		s.bound++
	}
}

// rank returns the nearest-rank percentile, in hundredths, of sorted keys.
func (s *sample) rank(percent int) float64 {
	n := len(s.keys)
	return s.decode(s.keys[max(1, (n*percent+99)/100)-1])
}

// dist sorts the sample and sums it up.
func (s *sample) dist(tmp []uint64) Dist {
	n := len(s.keys)
	if n == 0 {
		return Dist{}
	}
	sortKeys(s.keys, tmp)
	return Dist{
		Mean: s.sum / float64(n), P50: s.rank(50), P90: s.rank(90), P99: s.rank(99),
		Max: s.decode(s.keys[n-1]), N: n, LowerBounds: s.bound, ExactUpTo: s.exactUpTo(),
	}
}

func (s *sample) exactUpTo() float64 {
	if s.bound == 0 {
		return 0
	}
	return s.decode(s.least)
}

func milliseconds(k uint64) float64 { return float64(k) / 1000 }
