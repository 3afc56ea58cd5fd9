package report

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

const (
	serviceSection = "Real-time applications"
	lackSection    = "Shortfall by application"
	valueSection   = "Value"
)

// lackRows is how many applications have a row of their own, those that ask for most.
const lackRows = 8

// applications counts the real-time applications of a workload.
func applications(w *workload.Workload) int {
	n := 0
	for i := range w.Jobs {
		if w.Jobs[i].Service != nil {
			n++
		}
	}
	return n
}

// jobs counts the others.
func (c *Comparison) jobs() int { return len(c.Workload.Jobs) - applications(c.Workload) }

// jobsText counts both in words: jobs, and applications where there are any.
func (c *Comparison) jobsText() []string {
	text := []string{count(float64(c.jobs())) + " jobs"}
	switch n := applications(c.Workload); n {
	case 0:
		return text
	case 1:
		return append(text, "1 real-time application")
	default:
		return append(text, count(float64(n))+" real-time applications")
	}
}

// served tells whether policies are judged by what applications got.
func served(c *Comparison) bool {
	return slices.ContainsFunc(c.Policies, func(p Policy) bool { return p.Metrics.Services != nil })
}

// ofServices makes an accessor for a figure that runs with applications have.
func ofServices(f func(*metrics.Services) *float64) func(*metrics.Metrics) (float64, bool) {
	return optional(func(m *metrics.Metrics) *float64 {
		if m.Services == nil {
			return nil
		}
		return f(m.Services)
	})
}

func ofServiceSum(f func(*metrics.Services) float64) func(*metrics.Metrics) (float64, bool) {
	return ofServices(func(u *metrics.Services) *float64 { v := f(u); return &v })
}

// onDemand makes rows that only runs with such figures have, in CSV too.
func onDemand(list []row) []row {
	for i := range list {
		list[i].onDemand = true
	}
	return list
}

// servedRows stand beside the occupancy.
func servedRows() []row {
	return onDemand([]row{
		{section: useSection, label: "Served occupancy", key: "served_occupancy", unit: ratioUnit, better: 1, always: true,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.ServedOccupancy }),
			definition: "(GPU-time assigned to batch work + GPU-time with which real-time applications met their demand) / available GPU-time, over the observation window: occupancy without what applications held for nothing."},
		{section: useSection, label: "Served occupancy, makespan", key: "served_occupancy_makespan", unit: ratioUnit, better: 1, always: true,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.ServedOccupancyMakespan }),
			definition: "The same over the makespan."},
	})
}

// serviceRows are the figures of real-time applications, and of value.
func serviceRows() []row {
	return onDemand([]row{
		{section: serviceSection, label: "Applications", key: "services.count", unit: countUnit, always: true,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return float64(u.Count) }),
			definition: "Real-time applications that lived in the window. They are no jobs: no wait, slowdown or count of jobs has them."},
		{section: serviceSection, label: "Refused applications", key: "services.refused", unit: countUnit, better: -1,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return float64(u.Refused) }),
			definition: "Applications whose peak the empty cluster could not hold. They ask for nothing."},
		{section: serviceSection, label: "Asked", key: "services.asked_gpu_hours", unit: hoursUnit, always: true,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return u.Asked }),
			definition: "What applications needed over their lives, in the window."},
		{section: serviceSection, label: "Shortfall of asked", key: "services.shortfall_of_asked", unit: ratioUnit, better: -1, always: true,
			get:        ofServices(func(u *metrics.Services) *float64 { return u.ShortfallOfAsked }),
			definition: "The part of it that was not served: the GPUs that were up did not meet the demand."},
		{section: serviceSection, label: "Shortfall", key: "services.shortfall_gpu_hours", unit: hoursUnit, better: -1, always: true,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return u.Shortfall }),
			definition: "The same in GPU-hours."},
		{section: serviceSection, label: "Hours with a shortfall", key: "services.hours_short", unit: countUnit, better: -1, always: true,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return float64(u.HoursShort) }),
			definition: "Hours of the input's clock in which any application lacked something at some time."},
		{section: serviceSection, label: "Over-provision", key: "services.over_provision_gpu_hours", unit: hoursUnit, better: -1, always: true,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return u.Over }),
			definition: "What applications held and met no demand with."},
		{section: serviceSection, label: "Swaps", key: "services.swaps", unit: countUnit, better: -1,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return float64(u.Swaps) }),
			definition: "GPUs gained and lost by applications while they ran; one that moves is both."},
		{section: serviceSection, label: "Stops", key: "services.stops", unit: countUnit, better: -1,
			get:        ofServiceSum(func(u *metrics.Services) float64 { return float64(u.Stops) }),
			definition: "Runs of applications that ended before the application did: for other work, for repair, or by the failure of a node."},
		{section: valueSection, label: "Value", key: "value", unit: numberUnit, better: 1,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.Value }),
			definition: "GPU-hours of batch work in the window x priority (at least 1), without lost work and restarts, less shortfall x penalty of applications that declare one."},
		{section: valueSection, label: "Finished value", key: "finished_value", unit: numberUnit, better: 1,
			get:        optional(func(m *metrics.Metrics) *float64 { return m.FinishedValue }),
			definition: "The same of jobs alone that ended in the window."},
	})
}

// lacks are a row for each of several applications.
func lacks(c *Comparison) []*row {
	var list []metrics.Application
	for i := range c.Policies {
		if u := c.Policies[i].Metrics.Services; u != nil {
			list = slices.Clone(u.Applications)
			break
		}
	}
	if len(list) < 2 {
		return nil
	}
	definition := "The part of what an application asked for that was not served."
	if len(list) > lackRows {
		definition += " The " + count(lackRows) + " that asked for most."
	}
	slices.SortStableFunc(list, func(a, b metrics.Application) int { return cmp.Compare(b.Asked, a.Asked) })
	var out []*row
	for _, a := range list[:min(len(list), lackRows)] {
		out = append(out, &row{section: lackSection, label: clip(a.Name), unit: ratioUnit, better: -1, always: true, definition: definition,
			get: ofServices(func(u *metrics.Services) *float64 {
				for i := range u.Applications {
					if u.Applications[i].Name == a.Name {
						return u.Applications[i].ShortfallOfAsked
					}
				}
				return nil
			})})
	}
	return out
}
