package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/metrics"
)

// occupied is the occupancy that a finding speaks of: with applications the served one,
// since they may hold much and serve little with it.
func occupied(m *metrics.Metrics) (name string, v float64) {
	if m.ServedOccupancy != nil {
		return "served occupancy", *m.ServedOccupancy
	}
	return "occupancy", m.Occupancy
}

// jobless tells whether there are applications alone, so that there is no wait to compare.
func jobless(c *Comparison) bool {
	for i := range c.Policies {
		if m := &c.Policies[i].Metrics; m.Jobs > 0 || m.Services == nil {
			return false
		}
	}
	return true
}

// servedMost compares the served occupancy.
func servedMost(c *Comparison) string {
	first := &c.Policies[0]
	best := first
	for i := range c.Policies {
		if p := &c.Policies[i]; *p.Metrics.ServedOccupancy > *best.Metrics.ServedOccupancy {
			best = p
		}
	}
	a, b := *first.Metrics.ServedOccupancy, *best.Metrics.ServedOccupancy
	d, sign := ratioUnit.difference(a, b)
	switch {
	case len(c.Policies) == 1:
		return fmt.Sprintf("Under %s served occupancy is %s.", first.Name, percent(a))
	case sign <= 0:
		return capitalized(fmt.Sprintf("%s a higher served occupancy than %s: %s.", c.noOther("has", "does not have"), first.Name, percent(a)))
	}
	return fmt.Sprintf("Under %s served occupancy is %s instead of %s under %s (%s).", best.Name, percent(b), percent(a), first.Name, d)
}

// mostLacks is how many policies are named with what applications lack under each.
const mostLacks = 4

// demanded says how much of their demand applications lack, "" without any.
func demanded(c *Comparison) string {
	var parts []string
	var all []float64
	for i := range c.Policies {
		if u := c.Policies[i].Metrics.Services; u != nil && u.ShortfallOfAsked != nil {
			all = append(all, *u.ShortfallOfAsked)
			parts = append(parts, percent(*u.ShortfallOfAsked)+" under "+c.Policies[i].Name)
		}
	}
	const lack = " Real-time applications lack "
	const asked = " of what they ask for"
	switch {
	case len(parts) == 0:
		return ""
	case slices.Max(all) == 0:
		return lack + "nothing of what they ask for."
	case len(parts) > mostLacks:
		return lack + strings.Replace(parts[0], " %", " %"+asked, 1) + ", and between " +
			percent(slices.Min(all[1:])) + " and " + percent(slices.Max(all[1:])) + " under the others."
	}
	parts[0] = strings.Replace(parts[0], " %", " %"+asked, 1)
	if n := len(parts); n > 1 {
		return lack + strings.Join(parts[:n-1], ", ") + " and " + parts[n-1] + "."
	}
	return lack + parts[0] + "."
}
