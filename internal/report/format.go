package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// text writes a figure with its unit.
func (u unit) text(v float64) string {
	switch u {
	case ratioUnit:
		return percent(v)
	case secondsUnit:
		return duration(v)
	case hoursUnit:
		return significant(v) + " GPU-h"
	case countUnit:
		return count(v)
	case indexUnit:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case energyUnit:
		return significant(v) + " kWh"
	}
	return significant(v)
}

// text writes a figure with its unit, money with the currency of the cluster file.
func (c *Comparison) text(u unit, v float64) string {
	if u == moneyUnit && c.Cluster.Currency != "" {
		return u.text(v) + " " + c.Cluster.Currency
	}
	return u.text(v)
}

// difference writes how v compares to base, "" where nothing can be said, and
// gives the sign of what is written.
func (u unit) difference(base, v float64) (text string, sign int) {
	switch u {
	case ratioUnit:
		return signed((v-base)*100, 1, " pp")
	case indexUnit:
		return signed(v-base, 3, "")
	}
	switch {
	case base == v:
		return "=", 0
	case base <= 0 || v < 0:
		return "", 0
	}
	f := v / base
	text = factor(f)
	switch {
	case text == "x1.00":
		return text, 0
	case f > 1:
		return text, 1
	}
	return text, -1
}

func signed(d float64, digits int, unit string) (string, int) {
	s := strconv.FormatFloat(d, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return "=", 0
	}
	if d > 0 {
		return "+" + s + unit, 1
	}
	return s + unit, -1
}

func factor(f float64) string {
	switch {
	case f > 0 && f < 0.00095:
		return "x<0.001"
	case f < 0.0095:
		return "x" + strconv.FormatFloat(f, 'g', 1, 64)
	case f < 9.995:
		return "x" + strconv.FormatFloat(f, 'f', 2, 64)
	case f < 99.95:
		return "x" + strconv.FormatFloat(f, 'f', 1, 64)
	}
	return "x" + count(f)
}

func percent(v float64) string {
	p := v * 100
	if p != 0 && math.Abs(p) < 0.095 {
		return strconv.FormatFloat(p, 'g', 1, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// duration writes seconds in the two largest units that matter: "3 d 4 h".
func duration(s float64) string {
	switch {
	case s < 0:
		return "-" + duration(-s)
	case s == 0:
		return "0 s"
	case s < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 1, 64), ".0") + " s"
	case s < 59.5:
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	case s < 3599.5:
		return twoUnits(math.Round(s), 60, "min", "s", 10*60)
	case s < 48*3600-30:
		return twoUnits(math.Round(s/60), 60, "h", "min", 100*60)
	}
	return twoUnits(math.Round(s/3600), 24, "d", "h", 100*24)
}

// twoUnits writes n small units as large and small ones; from limit on the
// small ones no longer matter.
func twoUnits(n, per float64, large, small string, limit float64) string {
	if n >= limit {
		return count(math.Round(n/per)) + " " + large
	}
	whole := math.Floor(n / per)
	rest := n - whole*per
	if rest == 0 {
		return count(whole) + " " + large
	}
	return count(whole) + " " + large + " " + count(rest) + " " + small
}

// significant writes three digits, all of them before the point for large numbers.
func significant(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case a < 0.0095:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return count(v)
}

// count writes a whole number with separators: 1,234,567.
func count(v float64) string {
	s := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 && s != "0" {
		return "-" + s
	}
	return s
}

// moment writes a time of the input's clock: a date in UTC where the input has a
// calendar, else the time since its zero.
func moment(t, epoch workload.Time) string {
	if epoch != workload.Unknown {
		return time.UnixMilli(epoch + t).UTC().Format("2006-01-02 15:04:05 UTC")
	}
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	s := t / workload.Second
	return sign + "day " + strconv.FormatInt(s/86400, 10) + " " + two(s/3600%24) + ":" + two(s/60%60) + ":" + two(s%60)
}

func two(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// Moment writes a time of the input's clock as every report does.
func Moment(t, epoch workload.Time) string { return moment(t, epoch) }

// Duration writes seconds as every report does.
func Duration(seconds float64) string { return duration(seconds) }
