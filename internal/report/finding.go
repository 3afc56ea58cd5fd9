package report

import (
	"fmt"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// Finding is what the numbers say, in a sentence or two: the policy under which
// jobs spend the least time in the queue against the first, with median, p90 and
// occupancy beside the mean, which never stands alone. Where too many jobs never
// end for waits to mean anything, it compares how much of the cluster is allocated.
func Finding(c *Comparison) string {
	if len(c.Policies) == 0 {
		return "No policy was run."
	}
	if why := c.endless(); why != "" {
		return why + " " + allocation(c)
	}
	s := waiting(c) + delivered(c)
	for i := range c.Policies {
		if c.Policies[i].Metrics.Cut {
			return s + " Runs were cut before their end, so waits are lower bounds."
		}
	}
	return s
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
		if c.Workload.Actual[i].Duration >= forever {
			long++
		}
	}
	if long*openShare > len(c.Workload.Jobs) {
		return fmt.Sprintf("%s of %s jobs never end, so waits say little.", count(float64(long)), count(float64(len(c.Workload.Jobs))))
	}
	for i := range c.Policies {
		p := &c.Policies[i]
		if open := p.Metrics.Unstarted + p.Metrics.Unfinished; open*openShare > p.Metrics.Jobs {
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
		return fmt.Sprintf("Right after the last submission none of the %d policies has more of the GPUs allocated than %s: %s.",
			len(c.Policies), first.Name, percent(a))
	}
	return fmt.Sprintf("Right after the last submission %s has %s of the GPUs allocated instead of %s under %s (%s).",
		best.Name, percent(b), percent(a), first.Name, d)
}

// waiting compares the time in the queue.
func waiting(c *Comparison) string {
	first := &c.Policies[0]
	if len(c.Policies) == 1 {
		return "Under " + first.Name + ", " + waits(&first.Metrics) + "; occupancy is " + percent(first.Metrics.Occupancy) + "."
	}
	best := first
	for i := range c.Policies {
		if p := &c.Policies[i]; p.Metrics.QueueTime.Mean < best.Metrics.QueueTime.Mean {
			best = p
		}
	}
	a, b := &first.Metrics, &best.Metrics
	if _, sign := secondsUnit.difference(a.QueueTime.Mean, b.QueueTime.Mean); sign >= 0 {
		return fmt.Sprintf("None of the %d policies makes jobs wait less on average than %s: %s; occupancy is %s.",
			len(c.Policies), first.Name, waits(a), percent(a.Occupancy))
	}
	s := fmt.Sprintf("Under %s jobs wait %s%s on average instead of %s under %s (%s); the median goes from %s to %s, the 90th percentile from %s to %s",
		best.Name, duration(b.QueueTime.Mean), inAll(a, b), duration(a.QueueTime.Mean), first.Name, factor(b.QueueTime.Mean/a.QueueTime.Mean),
		duration(a.QueueTime.P50), duration(b.QueueTime.P50), duration(a.QueueTime.P90), duration(b.QueueTime.P90))
	if d, sign := ratioUnit.difference(a.Occupancy, b.Occupancy); sign != 0 {
		s += fmt.Sprintf(", and occupancy from %s to %s (%s)", percent(a.Occupancy), percent(b.Occupancy), d)
	} else {
		s += ", and occupancy stays at " + percent(a.Occupancy)
	}
	return s + price(a, b) + "."
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

// inAll tells that waits are those before the first start and after each stop:
// a policy that stops jobs could start all at once and still leave them waiting.
func inAll(runs ...*metrics.Metrics) string {
	for _, m := range runs {
		if m.Preemptions > 0 || m.QueueTime.Mean != m.Wait.Mean {
			return " in all"
		}
	}
	return ""
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
	return fmt.Sprintf("jobs wait %s%s on average (median %s, 90th percentile %s)",
		duration(m.QueueTime.Mean), inAll(m), duration(m.QueueTime.P50), duration(m.QueueTime.P90))
}
