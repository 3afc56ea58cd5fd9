package services

import (
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// bound is the least or the most that an application can do with, in one of four forms.
type bound struct {
	form boundForm
	// value is GPUs (fixed), GPUs more than the demand (relative), or thousandths of it (part).
	value int64
	list  []int32
}

type boundForm uint8

const (
	fixed boundForm = iota
	relative
	part
	listed
)

const wantBound = "want a number of GPUs (4), one relative to the demand (+1), a part of it (50%), or a list with a number for each step"

// UnmarshalNode tells the forms apart by how they are written: a sign makes a number
// relative.
func (b *bound) UnmarshalNode(n *yamlx.Node) error {
	switch n.Kind {
	case yamlx.List:
		b.form = listed
		return n.Decode(&b.list)
	case yamlx.Number:
		v, err := n.AsInt(-maxGPUs, maxGPUs)
		if b.value = v; strings.HasPrefix(n.Text, "+") || strings.HasPrefix(n.Text, "-") {
			b.form = relative
		}
		return err
	case yamlx.Text:
		v, ok := thousandths(n.Text)
		if !ok {
			return n.Errorf(wantBound, "%q is none of these", n.Text)
		}
		b.form, b.value = part, v
		return nil
	}
	return n.Errorf(wantBound, "%s here", n.Kind)
}

// thousandths reads a percentage with at most one decimal, up to ten times the whole.
func thousandths(s string) (int64, bool) {
	number, unit := strings.CutSuffix(s, "%")
	whole, tenth, dotted := strings.Cut(number, ".")
	if !dotted {
		tenth = "0"
	}
	w, errWhole := strconv.ParseUint(whole, 10, 16)
	t, errTenth := strconv.ParseUint(tenth, 10, 8)
	v := int64(w)*10 + int64(t)
	return v, unit && errWhole == nil && errTenth == nil && len(tenth) == 1 && v <= 10_000
}

// at is the bound in a step with that demand. Parts are rounded up.
func (b *bound) at(step int, demand int32) int64 {
	switch b.form {
	case relative:
		return max(int64(demand)+b.value, 0)
	case part:
		return (int64(demand)*b.value + 999) / 1000
	case listed:
		return int64(b.list[step])
	}
	return b.value
}

// curve is the bound in the steps of the demand, as one value where all are equal.
func (b *bound) curve(c *workload.Curve, value func(step int, demand int32) (int64, error)) (workload.Curve, error) {
	out := workload.Curve{Start: c.Start, Step: c.Step, Values: make([]int32, len(c.Values)), Repeat: c.Repeat}
	for i, d := range c.Values {
		v, err := value(i, d)
		if err != nil {
			return out, err
		}
		out.Values[i] = int32(v)
	}
	if slices.Max(out.Values) == slices.Min(out.Values) {
		out.Values, out.Repeat = out.Values[:1:1], false
	}
	return out, nil
}

// fits refuses a list that does not go with the demand's steps.
func (b *bound) fits(n *yamlx.Node, c *workload.Curve) error {
	if b.form != listed {
		return nil
	}
	if len(b.list) != len(c.Values) {
		return n.Errorf("want one for each step of the demand", "%s for a demand of %s", count(len(b.list), "number", "numbers"), steps(len(c.Values)))
	}
	return checkGPUs(n, b.list)
}

// least makes the curve of min. A fixed number that is more than the demand asks for
// no more than the demand.
func (b *bound) least(n *yamlx.Node, c *workload.Curve) (workload.Curve, error) {
	if err := b.fits(n, c); err != nil {
		return workload.Curve{}, err
	}
	return b.curve(c, func(i int, demand int32) (int64, error) {
		v := b.at(i, demand)
		if v > int64(demand) && b.form != fixed {
			return 0, n.At(i).Errorf("want no more than the demand", "min is %d where the demand is %d", v, demand)
		}
		return min(v, int64(demand)), nil
	})
}

// most makes the curve of max.
func (b *bound) most(n *yamlx.Node, c *workload.Curve) (workload.Curve, error) {
	if err := b.fits(n, c); err != nil {
		return workload.Curve{}, err
	}
	return b.curve(c, func(i int, demand int32) (int64, error) {
		v := b.at(i, demand)
		if v < int64(demand) {
			return 0, n.At(i).Errorf("want at least the demand; +1 is one more than it", "max is %d where the demand is %d", v, demand)
		}
		return v, nil
	})
}

func steps(n int) string { return count(n, "step", "steps") }
