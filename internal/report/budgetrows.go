package report

import (
	"strings"

	"github.com/escala-sched/escala/metrics"
)

const (
	classSection  = "Waiting by class"
	budgetSection = "Budgets"
)

// budgeted tells whether policies are judged by budgets.
func budgeted(c *Comparison) bool {
	for i := range c.Policies {
		if c.Policies[i].Metrics.Budget != nil {
			return true
		}
	}
	return false
}

// ofBudget makes an accessor for a figure that runs have with budgets.
func ofBudget(f func(*metrics.BudgetUse) *float64) func(*metrics.Metrics) (float64, bool) {
	return optional(func(m *metrics.Metrics) *float64 {
		if m.Budget == nil {
			return nil
		}
		return f(m.Budget)
	})
}

// ofCount makes an accessor for a number that a run with budgets has.
func ofCount(f func(*metrics.BudgetUse) float64) func(*metrics.Metrics) (float64, bool) {
	return ofBudget(func(u *metrics.BudgetUse) *float64 { v := f(u); return &v })
}

// budgetRows are the figures of budgets.
func budgetRows() []row {
	return marked(true, []row{
		{section: budgetSection, label: "Delivered of owed", key: "budget.delivered_of_owed", unit: ratioUnit, better: 1, always: true,
			get:        ofBudget(func(u *metrics.BudgetUse) *float64 { return u.DeliveredOfOwed }),
			definition: "Owed: hour by hour, an account's share of usable capacity, but no more than its allocated work asked for. Delivered: what each account was charged, up to what it was owed."},
		{section: budgetSection, label: "Worst account", key: "budget.worst_of_owed", unit: ratioUnit, better: 1, always: true,
			get:        ofBudget(func(u *metrics.BudgetUse) *float64 { return u.WorstOfOwed }),
			definition: "The same of the account that got the least part of what it was owed."},
		{section: budgetSection, label: "Accounts with 95 %", key: "budget.got_95", unit: countUnit, better: 1, always: true,
			get:        ofCount(func(u *metrics.BudgetUse) float64 { return float64(u.Got95) }),
			definition: "Accounts that got at least 95 % of what they were owed."},
		{section: budgetSection, label: "Accounts owed anything", key: "budget.accounts", unit: countUnit, always: true,
			get:        ofCount(func(u *metrics.BudgetUse) float64 { return float64(u.Accounts) }),
			definition: "Accounts that were owed anything in the window."},
		{section: budgetSection, label: "Delivered, strict", key: "budget.strict_of_owed", unit: ratioUnit, better: 1, always: true,
			get:        ofBudget(func(u *metrics.BudgetUse) *float64 { return u.StrictOfOwed }),
			definition: "Delivered of owed where what an hour lacked is made good only by later hours of the share window. Surplus used first and repaid later does not count, so it stays below 100 % by nature."},
		{section: budgetSection, label: "Owed", key: "budget.owed_gpu_hours", unit: hoursUnit, always: true,
			get:        ofCount(func(u *metrics.BudgetUse) float64 { return u.Owed }),
			definition: "GPU-hours owed to all accounts. It depends on the policy: what waits is asked for."},
		{section: budgetSection, label: "Owed of capacity", key: "budget.owed_of_capacity", unit: ratioUnit, always: true,
			get:        ofCount(func(u *metrics.BudgetUse) float64 { return u.OwedOfCapacity }),
			definition: "Owed / usable capacity: the regime. Where it is 100 %, delivered of owed cannot exceed occupancy by allocated work."},
		{section: budgetSection, label: "Charged", key: "budget.charged_gpu_hours", unit: hoursUnit,
			get:        ofCount(func(u *metrics.BudgetUse) float64 { return u.Charged }),
			definition: "GPU-hours charged to all accounts, from the confirmed start to the request to stop or the end."},
		{section: budgetSection, label: "Unallocated share", key: "unallocated_share", unit: ratioUnit, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.UnallocatedShare }),
			definition: "GPU-time of unallocated work (not charged, not protected) / GPU-time of allocated and unallocated work."},
	})
}

// stopRows are figures of stops, promises and parked jobs.
func stopRows() []row {
	return append(marked(true, []row{
		{section: lossSection, label: "Allocated preemptions", key: "allocated_preemptions", unit: countUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.AllocatedPreemptions) }),
			definition: "Stops of allocated work in the window."},
		{section: lossSection, label: "the same per 1,000 GPU-h", key: "allocated_preemptions_per_1000_gpu_hours", unit: numberUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return m.AllocatedPreemptionsPer1000GPUHours }),
			definition: "Stops of allocated work per 1,000 GPU-hours assigned to any work in the window."},
		{section: lossSection, label: "Stopped again within 3 h", key: "thrash", unit: countUnit, better: -1, always: true,
			get:        plain(func(m *metrics.Metrics) float64 { return float64(m.Thrash) }),
			definition: "Stops of allocated work within 3 h of the job's previous one."},
	}), marked(false, []row{
		{section: lossSection, label: "Parked jobs", key: "squat_gpu_hours", unit: hoursUnit, better: -1,
			get:        plain(func(m *metrics.Metrics) float64 { return m.SquatGPUHours }),
			definition: "GPU-hours held in the window by jobs labelled squat=yes, which do nothing: they are no demand, and lost for goodput."},
		{section: lossSection, label: "Dates promised", key: "dates.made", unit: countUnit, always: true,
			get:        optional(dates(func(d *metrics.Dates) int64 { return d.Made })),
			definition: "Starts promised for a time at which the place is certainly clear."},
		{section: lossSection, label: "Dates broken", key: "dates.broken", unit: countUnit, better: -1, always: true,
			get:        optional(dates(func(d *metrics.Dates) int64 { return d.Broken })),
			definition: "Of these, those whose job started after the first date it was promised, or had not by then."},
		{section: lossSection, label: "Drain time, mean", key: "drains.mean", unit: secondsUnit, better: -1, always: true,
			get:        optional(drains(func(d *metrics.Drains) float64 { return d.Mean })),
			definition: "From the drain of a node until nothing ran on it."},
		{section: lossSection, label: "Drain time, longest", key: "drains.max", unit: secondsUnit, better: -1, always: true,
			get:        optional(drains(func(d *metrics.Drains) float64 { return d.Max })),
			bound:      func(m *metrics.Metrics) bool { return m.Drains != nil && m.Drains.Open > 0 },
			definition: "The same of the node that took longest."},
	})...)
}

func dates(f func(*metrics.Dates) int64) func(*metrics.Metrics) *float64 {
	return func(m *metrics.Metrics) *float64 {
		if m.Dates == nil {
			return nil
		}
		v := float64(f(m.Dates))
		return &v
	}
}

func drains(f func(*metrics.Drains) float64) func(*metrics.Metrics) *float64 {
	return func(m *metrics.Metrics) *float64 {
		if m.Drains == nil {
			return nil
		}
		v := f(m.Drains)
		return &v
	}
}

// classes are the classes of jobs that waits are shown of.
var classes = []struct{ name, label, definition string }{
	{"debug", "Debug", "Jobs of at most 8 GPUs that declare a minimum runtime of at most 15 minutes, and not 0."},
	{"allocated", "Allocated", "All other work that does not declare a minimum runtime of 0."},
	{"large", "Over 64 GPUs", "Allocated jobs of more than 64 GPUs."},
	{"unallocated", "Unallocated", "Jobs that declare a minimum runtime of 0: they may always be stopped and are not charged."},
}

// classRows are the waits of classes of jobs.
func classRows() []row {
	var out []row
	for _, k := range classes {
		of := func(m *metrics.Metrics) *metrics.Dist {
			if w := classWait(m.Classes, k.name); w != nil {
				return &w.Dist
			}
			return nil
		}
		rows := distRows(classSection, k.label, "classes."+k.name, secondsUnit, true, of, k.definition+" Jobs that never started enter with their wait so far, a lower bound.")
		out = append(out, rows[1:]...) // the mean is nothing where many are bounds
	}
	return marked(true, out)
}

// classWait returns the class of a name, nil where it has no jobs.
func classWait(list []metrics.ClassWait, name string) *metrics.ClassWait {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// marked makes rows later additions, which CSV has behind the others; budgets: shown
// only with budgets.
func marked(budgets bool, list []row) []row {
	for i := range list {
		list[i].added, list[i].budgets = true, budgets
	}
	return list
}

// behind puts more rows behind the last one of a section.
func behind(list []row, section string, more []row) []row {
	at := 0
	for i := range list {
		if list[i].section == section {
			at = i + 1
		}
	}
	return append(append(append([]row(nil), list[:at]...), more...), list[at:]...)
}

// worst names the account that each policy serves worst, "" without budgets.
func (c *Comparison) worst() string {
	var parts []string
	for i := range c.Policies {
		if u := c.Policies[i].Metrics.Budget; u != nil && u.WorstOfOwed != nil && *u.WorstOfOwed < 1 {
			parts = append(parts, c.Policies[i].Name+" "+u.Worst)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Worst account: " + strings.Join(parts, ", ") + "."
}
