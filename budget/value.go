package budget

import (
	"math"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// most is the largest share and the largest number of GPU-hours in a file: 100,000
// GPUs for more than a year, and a balance of many periods still fits 64 bits.
const most = 1_000_000_000

// decimal is a number of either sign in thousandths.
type decimal int64

// UnmarshalNode reads a number with at most three decimals.
func (d *decimal) UnmarshalNode(n *yamlx.Node) error {
	f, err := n.AsFloat()
	if err != nil {
		return err
	}
	v := math.Round(f * 1000)
	switch {
	case math.Abs(f) > most:
		return n.Errorf("want at most 1000000000", "%s is out of range", n.Text)
	case math.Abs(f*1000-v) > 1e-12*math.Abs(v)+1e-9:
		return n.Errorf("want at most three decimals", "%s is too fine", n.Text)
	}
	*d = decimal(v)
	return nil
}

// gpuTime is the number taken as GPU-hours.
func (d decimal) gpuTime() int64 { return int64(d) * (GPUHour / 1000) }

// UnmarshalNode reads a share, or one for each pool by its name.
func (s *fileShare) UnmarshalNode(n *yamlx.Node) error {
	if n.Kind == yamlx.Map {
		return n.Decode(&s.each)
	}
	return s.all.UnmarshalNode(n)
}

// in is the share in a pool: 0 in one that is not named among others that are.
func (s *fileShare) in(pool string) decimal {
	if s.each == nil {
		return s.all
	}
	return s.each[pool]
}

// levelRef is a level by its name or its depth.
type levelRef struct {
	name  string
	depth int64
}

// UnmarshalNode reads either.
func (l *levelRef) UnmarshalNode(n *yamlx.Node) (err error) {
	switch n.Kind {
	case yamlx.Number:
		l.depth, err = n.AsInt(0, yamlx.MaxDepth)
	case yamlx.Text:
		l.name = n.Text
	default:
		err = n.Errorf("want the name of a level, or its depth (0 = the root)", "neither text nor a number")
	}
	return err
}

type periodWord Period

// UnmarshalNode reads one of the known words.
func (p *periodWord) UnmarshalNode(n *yamlx.Node) error {
	i, err := n.OneOf(periodNames)
	*p = periodWord(max(i, 0))
	return err
}

type exhaustionWord Exhaustion

// UnmarshalNode reads one of the known words.
func (e *exhaustionWord) UnmarshalNode(n *yamlx.Node) error {
	i, err := n.OneOf(exhaustionNames)
	*e = exhaustionWord(max(i, 0))
	return err
}

// carryOver is a part of what is left, in percent.
type carryOver int64

const wantCarryOver = "want none, all or a whole percentage such as 50%"

// UnmarshalNode reads a word or a percentage.
func (c *carryOver) UnmarshalNode(n *yamlx.Node) error {
	if n.Kind == yamlx.Number {
		hint := n.Text
		if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f > 0 && f < 1 {
			hint = strconv.FormatFloat(math.Round(f*100), 'f', -1, 64)
		}
		return n.Errorf("say the unit: "+hint+"%", "number %s has no unit", n.Text)
	}
	switch n.Text {
	case "none":
		return nil
	case "all":
		*c = 100
		return nil
	}
	v, err := yamlx.ParsePercent(n.Text)
	if n.Kind != yamlx.Text || err != nil || strings.Contains(n.Text, ".") {
		return n.Errorf(wantCarryOver, "%q does not say what is carried over", n.Text)
	}
	*c = carryOver(v / 10)
	return nil
}
