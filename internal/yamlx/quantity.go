package yamlx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Duration is a length of time in milliseconds, written "90s", "15m", "8h",
// "7d", "250ms" or joined as "1h30m". A bare number is refused: its unit would
// be a guess.
type Duration int64

// durationUnits from large to small.
var durationUnits = []struct {
	name string
	ms   int64
}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}, {"ms", 1}}

const wantDuration = `want a length of time such as 90s, 15m, 8h, 7d or 1h30m`

// UnmarshalNode reads a duration.
func (d *Duration) UnmarshalNode(n *Node) error {
	switch n.Kind {
	case Number:
		return n.Errorf(fmt.Sprintf("say the unit: %ss, %sm, %sh or %sd", n.Text, n.Text, n.Text, n.Text), "%s has no unit", n.show())
	case Text:
	default:
		return n.Errorf(wantDuration, "%s here", n.show())
	}
	v, err := ParseDuration(n.Text)
	if err != nil {
		return n.Errorf(wantDuration, "%s", err.Error())
	}
	*d = v
	return nil
}

// ParseDuration reads the text form; the sign is never part of it.
func ParseDuration(s string) (Duration, error) {
	bad := func() (Duration, error) { return 0, fmt.Errorf("%q is not a length of time", s) }
	var total float64
	rest := s
	last := int64(math.MaxInt64)
	for rest != "" {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789."))]
		rest = rest[len(number):]
		name := rest[:len(rest)-len(strings.TrimLeft(rest, "dhms"))]
		rest = rest[len(name):]
		num, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return bad()
		}
		unit := int64(0)
		for _, u := range durationUnits {
			if name == u.name {
				unit = u.ms
			}
		}
		// Units must fall, so that "5m1h" or "1h1h" is seen as the slip it is.
		if unit == 0 || unit >= last {
			return bad()
		}
		last = unit
		total += num * float64(unit)
	}
	if s == "" || total > 1<<53 {
		return bad()
	}
	return Duration(math.Round(total)), nil
}

// String renders the duration in the form that files use, largest units first.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	rest := int64(d)
	for _, u := range durationUnits {
		if n := rest / u.ms; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			rest -= n * u.ms
		}
	}
	return b.String()
}

// Size is an amount of memory in MiB, written "512MiB", "384GiB" or "1.5TiB".
type Size int64

var sizeUnits = []struct {
	name string
	mib  float64
}{{"TiB", 1 << 20}, {"GiB", 1 << 10}, {"MiB", 1}}

const wantSize = "want a size such as 512MiB, 384GiB or 2TiB"

// UnmarshalNode reads a size.
func (s *Size) UnmarshalNode(n *Node) error {
	switch n.Kind {
	case Number:
		return n.Errorf(fmt.Sprintf("say the unit: %sGiB or %sMiB", n.Text, n.Text), "%s has no unit", n.show())
	case Text:
	default:
		return n.Errorf(wantSize, "%s here", n.show())
	}
	for _, u := range sizeUnits {
		num, ok := strings.CutSuffix(n.Text, u.name)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		mib := f * u.mib
		if err != nil || strings.Trim(num, "0123456789. ") != "" || mib < 0 || mib > 1<<40 {
			break
		}
		if mib != math.Trunc(mib) {
			return n.Errorf("want whole MiB", "%q is not a whole number of MiB", n.Text)
		}
		*s = Size(mib)
		return nil
	}
	return n.Errorf(wantSize, "%q is not a size", n.Text)
}

// String renders the size with the largest unit that keeps it whole.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if m := int64(u.mib); s != 0 && int64(s)%m == 0 {
			return fmt.Sprintf("%d%s", int64(s)/m, u.name)
		}
	}
	return "0MiB"
}

// Milli is a decimal number in thousandths: cores, factors, GPU-seconds.
type Milli int64

// UnmarshalNode reads a decimal number of 0 or more with at most three decimals.
func (m *Milli) UnmarshalNode(n *Node) error {
	f, err := n.AsFloat()
	if err != nil {
		return err
	}
	v := math.Round(f * 1000)
	switch {
	case f < 0 || v > 1<<53:
		return n.Errorf("want a number of 0 or more", "%s is out of range", n.show())
	case math.Abs(f*1000-v) > 1e-6*math.Max(1, v):
		return n.Errorf("want at most three decimals", "%s is too fine", n.show())
	}
	*m = Milli(v)
	return nil
}

// String renders the number with as few decimals as it needs.
func (m Milli) String() string { return strconv.FormatFloat(float64(m)/1000, 'f', -1, 64) }

// Percent is a part of a whole in thousandths, 0..1000, written "25%" or "2.5%".
type Percent int64

const wantPercent = `want 0% to 100% with at most one decimal, such as 25% or 2.5%`

// UnmarshalNode reads a percentage. A bare number is refused: it may be a part of 1.
func (p *Percent) UnmarshalNode(n *Node) error {
	switch n.Kind {
	case Number:
		return n.Errorf("say the unit: "+n.Text+"%", "%s has no unit", n.show())
	case Text:
	default:
		return n.Errorf(wantPercent, "%s here", n.show())
	}
	v, err := ParsePercent(n.Text)
	if err != nil {
		return n.Errorf(wantPercent, "%s", err.Error())
	}
	*p = v
	return nil
}

// ParsePercent reads the text form, from 0% to 100% with at most one decimal.
func ParsePercent(s string) (Percent, error) {
	number, unit := strings.CutSuffix(s, "%")
	whole, tenth, dotted := strings.Cut(number, ".")
	if !dotted {
		tenth = "0"
	}
	w, errWhole := strconv.ParseUint(whole, 10, 8)
	t, errTenth := strconv.ParseUint(tenth, 10, 8)
	v := Percent(w*10 + t)
	if !unit || errWhole != nil || errTenth != nil || len(tenth) != 1 || v > 1000 {
		return 0, fmt.Errorf("%q is no percentage", s)
	}
	return v, nil
}

// String renders the percentage with as few decimals as it needs.
func (p Percent) String() string { return strconv.FormatFloat(float64(p)/10, 'f', -1, 64) + "%" }

// Decimal writes a number so that it is read back exactly.
func Decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
