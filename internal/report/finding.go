package report

import (
	"fmt"

	"github.com/escala-sched/escala/metrics"
)

// Finding is what the numbers say, in a sentence or two: the policy with the
// least mean wait against the first, with median, p90 and occupancy beside the
// mean, which never stands alone.
func Finding(c *Comparison) string {
	s := finding(c)
	for i := range c.Policies {
		if c.Policies[i].Metrics.Cut {
			return s + " Runs were cut before their end, so waits are lower bounds."
		}
	}
	return s
}

func finding(c *Comparison) string {
	if len(c.Policies) == 0 {
		return "No policy was run."
	}
	first := &c.Policies[0]
	if len(c.Policies) == 1 {
		return "Under " + first.Name + ", " + waits(&first.Metrics) + "; occupancy is " + percent(first.Metrics.Occupancy) + "."
	}
	best := first
	for i := range c.Policies {
		if p := &c.Policies[i]; p.Metrics.Wait.Mean < best.Metrics.Wait.Mean {
			best = p
		}
	}
	if best == first {
		return fmt.Sprintf("None of the %d policies waits less on average than %s: %s; occupancy is %s.",
			len(c.Policies), first.Name, waits(&first.Metrics), percent(first.Metrics.Occupancy))
	}
	a, b := &first.Metrics, &best.Metrics
	s := fmt.Sprintf("Under %s jobs wait %s on average instead of %s under %s (%s); the median goes from %s to %s, the 90th percentile from %s to %s",
		best.Name, duration(b.Wait.Mean), duration(a.Wait.Mean), first.Name, factor(b.Wait.Mean/a.Wait.Mean),
		duration(a.Wait.P50), duration(b.Wait.P50), duration(a.Wait.P90), duration(b.Wait.P90))
	if d, sign := ratioUnit.difference(a.Occupancy, b.Occupancy); sign != 0 {
		s += fmt.Sprintf(", and occupancy from %s to %s (%s)", percent(a.Occupancy), percent(b.Occupancy), d)
	} else {
		s += ", and occupancy stays at " + percent(a.Occupancy)
	}
	return s + price(a, b) + "."
}

// price names what the gain was paid with.
func price(a, b *metrics.Metrics) string {
	switch {
	case b.Preemptions > a.Preemptions:
		s := fmt.Sprintf(". It takes %s preemptions", count(float64(b.Preemptions)))
		if b.LossGPUHours > a.LossGPUHours {
			s += " and loses " + hoursUnit.text(b.LossGPUHours)
		}
		return s
	case b.Starvation.Longest > a.Starvation.Longest:
		return fmt.Sprintf(". The longest wait grows from %s to %s", duration(a.Starvation.Longest), duration(b.Starvation.Longest))
	}
	return ""
}

func waits(m *metrics.Metrics) string {
	return fmt.Sprintf("jobs wait %s on average (median %s, 90th percentile %s)", duration(m.Wait.Mean), duration(m.Wait.P50), duration(m.Wait.P90))
}
