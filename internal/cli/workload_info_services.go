package cli

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/trace"
)

// servicesText says what the real-time applications of a workload need, and what
// holding their peaks costs.
func servicesText(list []trace.ServiceInfo) string {
	var peak int64
	var need, held float64
	for i := range list {
		peak += int64(list[i].Peak)
		need += list[i].GPUHours
		held += list[i].HeldGPUHours
	}
	return fmt.Sprintf("%s, peaks of %s in all; %s GPU-hours of demand, %s if each holds its peak, which the other figures count",
		plural(len(list), "application"), plural(int(peak), "GPU"), hours(need), hours(held))
}

// serviceLines shows them one by one.
func serviceLines(b *strings.Builder, list []trace.ServiceInfo) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-16s %12s %14s %8s\n", "Real-time", "mean GPUs", "GPU-hours", "peak")
	for i := range list {
		if i == mostNames {
			fmt.Fprintf(b, "and %s more (--output json has all)\n", grouped(int64(len(list)-mostNames)))
			return
		}
		a := &list[i]
		fmt.Fprintf(b, "%-16s %12s %14s %8s\n", a.Name, trimNumber(a.Mean, 1), hours(a.GPUHours), grouped(int64(a.Peak)))
	}
}
