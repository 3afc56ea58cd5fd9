package workload

import "fmt"

// Curve is a number of GPUs over time, in steps of equal length.
type Curve struct {
	// Start is when Values[0] begins to hold; before it the first value holds.
	Start Time
	// Step is how long each value holds.
	Step Span
	// Values; after the last it goes on holding, or with Repeat the first comes again (a
	// profile of a day or of a week).
	Values []int32
	Repeat bool
}

// At is the value that holds at t; 0 for an empty curve.
func (c *Curve) At(t Time) int32 {
	if len(c.Values) == 0 {
		return 0
	}
	return c.Values[c.index(t)]
}

func (c *Curve) index(t Time) int {
	if t < c.Start || c.Step <= 0 {
		return 0
	}
	i := (t - c.Start) / c.Step
	if n := int64(len(c.Values)); i >= n {
		if !c.Repeat {
			return int(n - 1)
		}
		i %= n
	}
	return int(i)
}

// Max is the largest value in [from, to), that at from where the interval is empty.
// O(steps of the interval, at most those of the curve).
func (c *Curve) Max(from, to Time) int32 {
	top := c.At(from)
	n := 0
	for t := c.edge(from); t < to && n < len(c.Values); t = c.edge(t) {
		top = max(top, c.At(t))
		n++
	}
	return top
}

// edge is the next time after t at which a step of the curve begins, [Never] for none.
func (c *Curve) edge(t Time) Time {
	if len(c.Values) == 0 || c.Step <= 0 {
		return Never
	}
	if t < c.Start {
		return c.Start
	}
	next := c.Start + ((t-c.Start)/c.Step+1)*c.Step
	if !c.Repeat && next >= c.Start+int64(len(c.Values))*c.Step {
		return Never
	}
	return next
}

// Next is the first time after t at which the value is another than at t, [Never] for none.
func (c *Curve) Next(t Time) Time {
	v := c.At(t)
	for n := 0; n <= len(c.Values); n++ {
		if t = c.edge(t); t == Never || c.At(t) != v {
			return t
		}
	}
	return Never
}

// Peak is the largest value of all.
func (c *Curve) Peak() int32 {
	top := int32(0)
	for _, v := range c.Values {
		top = max(top, v)
	}
	return top
}

// Check returns what is wrong with the curve in itself, nil if nothing.
func (c *Curve) Check() error {
	if len(c.Values) == 0 {
		return fmt.Errorf("a curve without values")
	}
	if c.Step <= 0 {
		return fmt.Errorf("a curve with steps of %d ms; a step lasts longer than that", c.Step)
	}
	for i, v := range c.Values {
		if v < 0 {
			return fmt.Errorf("value %d of a curve is %d GPUs; it cannot be negative", i, v)
		}
	}
	return nil
}

// Service is what a real-time application declares: a number of GPUs that rises and
// falls. Such a job runs until it is withdrawn; its Need is the highest demand, which
// is what a policy without a horizon holds for it all the time.
type Service struct {
	// Demand is the forecast, in GPUs.
	Demand Curve
	// Min is the least it can live with; empty = nothing. Max is the most it can use;
	// empty = any number.
	Min, Max Curve
	// Swaps is how many GPUs may be gained or lost in a span of SwapEvery; 0 = any number.
	Swaps     int32
	SwapEvery Span
	// Penalty is what an hour of a GPU below the demand costs, in the units in which a
	// priority values an hour of a GPU of batch work.
	Penalty int64
}

// Check returns what is wrong with the service in itself, nil if nothing.
func (s *Service) Check() error {
	if err := s.Demand.Check(); err != nil {
		return fmt.Errorf("demand: %w", err)
	}
	for _, c := range []struct {
		name string
		c    *Curve
	}{{"min", &s.Min}, {"max", &s.Max}} {
		if len(c.c.Values) == 0 {
			continue
		}
		if err := c.c.Check(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	switch {
	case s.Demand.Peak() == 0:
		return fmt.Errorf("demand: 0 GPUs all the time; a service needs one at some time")
	case s.Swaps < 0 || s.SwapEvery < 0 || s.Swaps > 0 && s.SwapEvery == 0:
		return fmt.Errorf("swaps: %d GPUs every %d ms; both are positive, or both 0", s.Swaps, s.SwapEvery)
	case s.Penalty < 0:
		return fmt.Errorf("penalty: %d is negative", s.Penalty)
	}
	return nil
}
