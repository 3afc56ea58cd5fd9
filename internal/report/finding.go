package report

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// Finding is what the numbers say, in a sentence or two: the policy under which
// jobs spend the least time in the queue against the first, with median, p90 and
// occupancy beside the mean, which never stands alone, and what real-time applications
// lack. Where the queue time differs from the wait for the first start, it says what
// becomes of either. Where runs were cut with too many jobs open for waits to mean
// anything, or jobs never end, it compares how much of the cluster is allocated.
func Finding(c *Comparison) string {
	if len(c.Policies) == 0 {
		return "No policy was run."
	}
	if why := c.endless(); why != "" {
		return why + " " + allocation(c) + demanded(c)
	}
	s := waiting(c) + demanded(c) + delivered(c)
	for i := range c.Policies {
		if c.Policies[i].Metrics.Cut {
			return s + " Runs were cut before their end, so waits are lower bounds."
		}
	}
	return s + stranded(c)
}

// stranded names jobs that a run which nobody cut left behind, "" without any.
func stranded(c *Comparison) string {
	var parts []string
	for i := range c.Policies {
		if p := &c.Policies[i]; p.Metrics.Unstarted > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s under %s", count(float64(p.Metrics.Unstarted)), count(float64(p.Metrics.Jobs)), p.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Jobs that never started count with their wait up to the end of the run, a lower bound: " + strings.Join(parts, ", ") + "."
}

const (
	// openShare is the part of the jobs, one in so many, from which on jobs without
	// an end make waits meaningless.
	openShare = 100
	// forever is a run that no study sees the end of.
	forever = 3650 * workload.Day
)

// endless says that more than one job in a hundred has no end, "" if that is not so.
func (c *Comparison) endless() string {
	long := 0
	for i := range c.Workload.Actual {
		if c.Workload.Actual[i].Duration >= forever && c.Workload.Jobs[i].Service == nil {
			long++
		}
	}
	if long*openShare > c.jobs() {
		return fmt.Sprintf("%s of %s jobs never end, so waits say little.", count(float64(long)), count(float64(c.jobs())))
	}
	for i := range c.Policies {
		p := &c.Policies[i]
		if open := p.Metrics.Unstarted + p.Metrics.Unfinished; p.Metrics.Cut && open*openShare > p.Metrics.Jobs {
			return fmt.Sprintf("%s of %s jobs had not ended under %s when the run was cut, so waits say little.",
				count(float64(open)), count(float64(p.Metrics.Jobs)), p.Name)
		}
	}
	return ""
}

// allocation compares the GPUs assigned right after the last submission.
func allocation(c *Comparison) string {
	first := &c.Policies[0]
	best := first
	for i := range c.Policies {
		if p := &c.Policies[i]; p.Metrics.AllocatedGPURatio > best.Metrics.AllocatedGPURatio {
			best = p
		}
	}
	a, b := first.Metrics.AllocatedGPURatio, best.Metrics.AllocatedGPURatio
	d, sign := ratioUnit.difference(a, b)
	switch {
	case len(c.Policies) == 1:
		return fmt.Sprintf("Right after the last submission %s has %s of the GPUs allocated.", first.Name, percent(a))
	case sign <= 0:
		return fmt.Sprintf("Right after the last submission %s more of the GPUs allocated than %s: %s.",
			c.noOther("has", "does not have"), first.Name, percent(a))
	}
	return fmt.Sprintf("Right after the last submission %s has %s of the GPUs allocated instead of %s under %s (%s).",
		best.Name, percent(b), percent(a), first.Name, d)
}

// noOther says that what holds for no policy but the first.
func (c *Comparison) noOther(does, doesNot string) string {
	if len(c.Policies) == 2 {
		return c.Policies[1].Name + " " + doesNot
	}
	return fmt.Sprintf("none of the other %d policies %s", len(c.Policies)-1, does)
}

// waiting compares the time in the queue.
func waiting(c *Comparison) string {
	if jobless(c) {
		return servedMost(c)
	}
	first := &c.Policies[0]
	occupancy, was := occupied(&first.Metrics)
	if len(c.Policies) == 1 {
		return "Under " + first.Name + ", " + waits(&first.Metrics) + "; " + occupancy + " is " + percent(was) + "."
	}
	best, soonest := first, first
	for i := range c.Policies {
		p := &c.Policies[i]
		if p.Metrics.QueueTime.Mean < best.Metrics.QueueTime.Mean {
			best = p
		}
		if p.Metrics.Wait.Mean < soonest.Metrics.Wait.Mean {
			soonest = p
		}
	}
	a, b := &first.Metrics, &best.Metrics
	if _, sign := secondsUnit.difference(a.QueueTime.Mean, b.QueueTime.Mean); sign >= 0 {
		if !requeues(a, &soonest.Metrics) {
			return capitalized(fmt.Sprintf("%s jobs wait less on average than %s: %s; %s is %s.",
				c.noOther("makes", "does not make"), first.Name, waits(a), occupancy, percent(was)))
		}
		return capitalized(fmt.Sprintf("%s the mean %s of %s: %s (median %s, 90th percentile %s); %s is %s.",
			c.noOther("shortens", "does not shorten"), queueTime, first.Name,
			duration(a.QueueTime.Mean), duration(a.QueueTime.P50), duration(a.QueueTime.P90), occupancy, percent(was))) + firstStarts(first, soonest)
	}
	gain, starts := "jobs wait %s on average instead of %s under %s (%s)", ""
	if requeues(a, b) {
		gain, starts = "the mean "+queueTime+" is %s instead of %s under %s (%s)", firstStarts(first, best)
	}
	s := "Under " + best.Name + " " + fmt.Sprintf(gain, duration(b.QueueTime.Mean), duration(a.QueueTime.Mean), first.Name, factor(b.QueueTime.Mean/a.QueueTime.Mean)) +
		fmt.Sprintf("; the median goes from %s to %s, the 90th percentile from %s to %s",
			duration(a.QueueTime.P50), duration(b.QueueTime.P50), duration(a.QueueTime.P90), duration(b.QueueTime.P90))
	_, is := occupied(b)
	if d, sign := ratioUnit.difference(was, is); sign != 0 {
		s += fmt.Sprintf(", and %s from %s to %s (%s)", occupancy, percent(was), percent(is), d)
	} else {
		s += ", and " + occupancy + " stays at " + percent(was)
	}
	return s + price(a, b) + "." + starts
}

// firstStarts says what becomes of the wait for the first start, which the table has
// beside the queue time; "" where that is next to nothing.
func firstStarts(a, b *Policy) string {
	x, y := a.Metrics.Wait.Mean, b.Metrics.Wait.Mean
	if _, sign := secondsUnit.difference(x, y); sign == 0 {
		return ""
	}
	return fmt.Sprintf(" The mean wait for the first start goes from %s to %s under %s.", duration(x), duration(y), b.Name)
}

// delivered compares what accounts got of what they were owed, "" without budgets.
func delivered(c *Comparison) string {
	var first, best *Policy
	for i := range c.Policies {
		p := &c.Policies[i]
		switch u := p.Metrics.Budget; {
		case u == nil || u.DeliveredOfOwed == nil:
		case first == nil:
			first, best = p, p
		case *u.DeliveredOfOwed > *best.Metrics.Budget.DeliveredOfOwed:
			best = p
		}
	}
	if first == nil {
		return ""
	}
	a, b := first.Metrics.Budget, best.Metrics.Budget
	d, sign := ratioUnit.difference(*a.DeliveredOfOwed, *b.DeliveredOfOwed)
	if sign <= 0 {
		return fmt.Sprintf(" Under %s accounts get %s of what they are owed, the worst of them %s.", first.Name, percent(*a.DeliveredOfOwed), percent(*a.WorstOfOwed))
	}
	return fmt.Sprintf(" Under %s accounts get %s of what they are owed instead of %s under %s (%s), the worst of them %s instead of %s.",
		best.Name, percent(*b.DeliveredOfOwed), percent(*a.DeliveredOfOwed), first.Name, d, percent(*b.WorstOfOwed), percent(*a.WorstOfOwed))
}

// queueTime is a row of the table. A policy that stops jobs could start all at once
// and still leave them waiting, so it is what policies are compared by.
const queueTime = "queue time (for the first start and after each stop)"

// requeues tells whether queue times are not just waits for the first start.
func requeues(runs ...*metrics.Metrics) bool {
	for _, m := range runs {
		if m.Preemptions > 0 || m.QueueTime.Mean != m.Wait.Mean {
			return true
		}
	}
	return false
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
	d := &m.QueueTime
	spread := fmt.Sprintf("(median %s, 90th percentile %s)", duration(d.P50), duration(d.P90))
	if requeues(m) {
		return "the mean " + queueTime + " is " + duration(d.Mean) + " " + spread + ", the mean wait for the first start " + duration(m.Wait.Mean)
	}
	return "jobs wait " + duration(d.Mean) + " on average " + spread
}

func capitalized(s string) string {
	if strings.HasPrefix(s, "none") {
		return "N" + s[1:] // a name stays as it is
	}
	return s
}
