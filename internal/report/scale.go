package report

import (
	"math"
	"strconv"
)

// scale maps values to 0..1 along an axis.
type scale struct {
	from, to float64
	log      bool
}

// at returns where v lies, clamped to the axis.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		from, to, v = math.Log10(from), math.Log10(to), math.Log10(max(v, s.from))
	}
	if to <= from {
		return 0
	}
	return min(1, max(0, (v-from)/(to-from)))
}

// niceMax returns the end of a linear axis from zero that shows v: 1, 2, 2.5, 4,
// 5, 6, 8 or 10 times a power of ten, so that four steps have round labels.
func niceMax(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 6, 8, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

// grid is the size of a picture's own coordinates: the browser stretches them.
const grid = 1000

// coordinate writes a position in 0..1 in the picture's coordinates, to a tenth.
func coordinate(b []byte, v float64) []byte {
	return strconv.AppendFloat(b, math.Round(v*grid*10)/10, 'f', -1, 64)
}
