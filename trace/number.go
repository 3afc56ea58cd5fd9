package trace

import (
	"math"
	"strconv"
	"strings"
)

// maxWhole bounds the whole part of any amount: 9e12 seconds are 9e15 ms, which
// leaves room in an int64 for every sum the simulator forms.
const maxWhole = 9_000_000_000_000

// parseMilli reads a decimal number and returns its thousandths: seconds to
// milliseconds, cores to milli-cores. Digits beyond the third round half up.
// Exponents are refused: nobody writes them by hand, and they hide mistakes.
func parseMilli(s string) (int64, bool) {
	i, neg := 0, false
	if len(s) > 0 && s[0] == '-' {
		neg, i = true, 1
	}
	var v int64
	digits := i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		v = v*10 + int64(s[i]-'0')
		if v > maxWhole {
			return 0, false
		}
	}
	digits = i - digits
	v *= 1000
	if i < len(s) && s[i] == '.' {
		scale := int64(100)
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			d := int64(s[i] - '0')
			switch {
			case scale > 0:
				v += d * scale
			case scale == 0 && d >= 5:
				v++
			}
			// After the third digit scale is 0, which lets exactly one more decide the rounding.
			if scale == 0 {
				scale = -1
			} else if scale > 0 {
				scale /= 10
			}
			digits++
		}
	}
	if digits == 0 || i != len(s) {
		return 0, false
	}
	if neg {
		v = -v
	}
	return v, true
}

// parseMilliLoose is parseMilli for foreign logs, where programs write exponents.
func parseMilliLoose(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if v, ok := parseMilli(s); ok {
		return v, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > maxWhole {
		return 0, false
	}
	return int64(math.Round(f * 1000)), true
}

// parseWhole reads a whole number; "8.0", as data-frame tools write it, is 8.
func parseWhole(s string) (int64, bool) {
	v, ok := parseMilli(s)
	if !ok || v%1000 != 0 {
		return 0, false
	}
	return v / 1000, true
}

// parseCount reads a count that fits an int32: GPUs, tasks, nodes. Negative
// numbers are returned as they are, for the caller to name.
func parseCount(s string) (int32, bool) {
	v, ok := parseWhole(s)
	if !ok || v > math.MaxInt32 || v < math.MinInt32 {
		return 0, false
	}
	return int32(v), true
}

// appendSeconds writes milliseconds as decimal seconds, without trailing zeros.
func appendSeconds(b []byte, ms int64) []byte {
	if ms < 0 {
		b, ms = append(b, '-'), -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	frac := ms % 1000
	if frac == 0 {
		return b
	}
	b = append(b, '.', byte('0'+frac/100))
	if frac %= 100; frac > 0 {
		b = append(b, byte('0'+frac/10))
		if frac %= 10; frac > 0 {
			b = append(b, byte('0'+frac))
		}
	}
	return b
}
