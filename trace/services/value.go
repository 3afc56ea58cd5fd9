package services

import (
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// oneOrMore is a text or a list of texts.
type oneOrMore []string

// UnmarshalNode reads either form.
func (o *oneOrMore) UnmarshalNode(n *yamlx.Node) error {
	if n.Kind == yamlx.List {
		return n.Decode((*[]string)(o))
	}
	s, err := n.AsText()
	*o = oneOrMore{s}
	return err
}

// aggregateWord says which of the rates within a step counts.
type aggregateWord uint8

const (
	aggregateMax aggregateWord = iota
	aggregateMean
)

var aggregateNames = []string{"max", "mean"}

// UnmarshalNode reads one of the known words.
func (a *aggregateWord) UnmarshalNode(n *yamlx.Node) error {
	i, err := n.OneOf(aggregateNames)
	*a = aggregateWord(max(i, 0))
	return err
}

// gapsWord says what a time without requests means.
type gapsWord uint8

const (
	gapsKeep gapsWord = iota
	gapsInterpolate
)

var gapsNames = []string{"keep", "interpolate"}

// UnmarshalNode reads one of the known words.
func (g *gapsWord) UnmarshalNode(n *yamlx.Node) error {
	i, err := n.OneOf(gapsNames)
	*g = gapsWord(max(i, 0))
	return err
}

// swaps is how many GPUs may be gained or lost in a length of time.
type swaps struct {
	GPUs  int32           `yaml:"gpus"`
	Every *yamlx.Duration `yaml:"every"`
}

const wantSwaps = "want a number of GPUs in a length of time, such as 4 per 1h"

// UnmarshalNode reads "4 per 1h", or the same as a map.
func (s *swaps) UnmarshalNode(n *yamlx.Node) error {
	switch n.Kind {
	case yamlx.Map:
		type plain swaps // without this method
		if err := n.Decode((*plain)(s)); err != nil {
			return err
		}
	case yamlx.Text:
		gpus, every, ok := strings.Cut(n.Text, " per ")
		v, err := strconv.ParseInt(strings.TrimSpace(gpus), 10, 32)
		d, badSpan := yamlx.ParseDuration(strings.TrimSpace(every))
		if !ok || err != nil || badSpan != nil {
			return n.Errorf(wantSwaps, "%q does not say how many GPUs may change in which time", n.Text)
		}
		s.GPUs, s.Every = int32(v), &d
	case yamlx.Number:
		return n.Errorf("say in which time: "+n.Text+" per 1h", "number %s has no time", n.Text)
	default:
		return n.Errorf(wantSwaps, "%s here", n.Kind)
	}
	switch {
	case s.GPUs < 1 || s.GPUs > maxGPUs:
		return n.At("gpus").Errorf("want 1.."+strconv.Itoa(maxGPUs)+", or no swaps at all for any number", "%d GPUs may change", s.GPUs)
	case s.Every == nil || *s.Every <= 0:
		return n.At("every").Errorf("want a length of time above 0, such as 1h", "the time in which %d GPUs may change is not given", s.GPUs)
	}
	return nil
}
