package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/budget"
)

// groups of jobs that figures are told of.
var groups = []struct {
	name string
	want func(*job) bool
}{
	{"all", func(*job) bool { return true }},
	{large, func(j *job) bool { return j.account == large }},
	{middle, func(j *job) bool { return j.account == middle }},
	{small, func(j *job) bool { return j.account == small }},
	{free, func(j *job) bool { return j.account == free }},
	{"debug", func(j *job) bool { return j.debug }},
	{"a node or more", func(j *job) bool { return j.all() >= perNode }},
}

// window of occupancy and of what is owed: the day, without its first tenth, in which an empty cluster fills.
func (o *options) window() (from, to time.Duration) { return o.day / 10, o.day }

func (o *options) writeDay(b *strings.Builder, jobs []job, all []*outcome) {
	from, to := o.window()
	fmt.Fprintf(b, "## The day: %d jobs over %.0f s, seed %d, %.0f %% of the cluster; window %.0f s to %.0f s\n\n", len(jobs), o.day.Seconds(), o.seed, 100*o.load, from.Seconds(), to.Seconds())
	fmt.Fprintln(b, "| | occupancy | makespan | owed GPU-h | delivered of owed | preemptions |\n|---|---|---|---|---|---|")
	for _, x := range all {
		t := budget.Total(x.owed(jobs, from, to))
		fmt.Fprintf(b, "| %s | %.1f %% | %.0f s | %.1f | %.1f %% | %d |\n", x.name, 100*x.occupancy(jobs, from, to), x.makespan().Seconds(), t.Owed.GPUHours(), part(t), x.figuresOf(jobs, groups[0].want).preemptions)
	}
	fmt.Fprintln(b, "\n| | team | owed GPU-h | charged | delivered of owed |\n|---|---|---|---|---|")
	for _, x := range all {
		for i, d := range x.owed(jobs, from, to) {
			if !d.Owed.Zero() {
				fmt.Fprintf(b, "| %s | %s | %.1f | %.1f | %.1f %% |\n", x.name, accounts[i], d.Owed.GPUHours(), d.Charged.GPUHours(), part(d))
			}
		}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n| %s, %d jobs | wait p50 | p90 | JCT mean | p50 | p90 | bounded slowdown mean | p50 | p90 | preemptions |\n|---|---|---|---|---|---|---|---|---|---|\n", g.name, all[0].figuresOf(jobs, g.want).jobs)
		for _, x := range all {
			f := x.figuresOf(jobs, g.want)
			fmt.Fprintf(b, "| %s | %.0f s | %.0f s | %.0f s | %.0f s | %.0f s | %.2f | %.2f | %.2f | %d |\n", x.name, f.waitP50.Seconds(), f.waitP90.Seconds(),
				f.jctMean.Seconds(), f.jctP50.Seconds(), f.jctP90.Seconds(), f.slowMean, f.slowP50, f.slow9, f.preemptions)
		}
	}
	fmt.Fprintln(b)
	for _, x := range all {
		if x.diag == nil {
			continue
		}
		fmt.Fprintf(b, "%s: Slurm's records: ", x.name)
		for i, s := range slices.Sorted(maps.Keys(x.states)) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%d %s", x.states[s], s)
		}
		fmt.Fprintf(b, "; slurmctld's main cycle %.1f ms on average, backfill %.1f ms", x.diag.Main.Mean.Seconds()*1000, x.diag.Backfill.Mean.Seconds()*1000)
		if n := x.diag.Users[operator].Count; n > 0 {
			fmt.Fprintf(b, "; %d calls of escala's, %.1f a job, of them %d changes", n, float64(n)/float64(len(jobs)), x.diag.Calls["REQUEST_UPDATE_JOB"].Count)
		}
		b.WriteString(".\n\n")
		if x.fidelity != "" {
			fmt.Fprintf(b, "%s\n\n", x.fidelity)
		}
		if x.delays != nil {
			fmt.Fprintln(b, "| under load | median | p90 | max |\n|---|---|---|---|")
			spread(b, "submission until escala knows it", x.delays.seen)
			spread(b, "escala's decision to start", x.delays.begun)
			fmt.Fprintf(b, "\n%d of the starts were decided, %d of these in vain; %d were Slurm's own before escala had looked.\n\n", x.delays.decided, x.delays.failed, x.delays.adopted)
		}
	}
}

// part is what was delivered of what was owed, in percent.
func part(d budget.Due) float64 {
	if d.Owed.Zero() {
		return 100
	}
	return 100 * d.Delivered.GPUHours() / d.Owed.GPUHours()
}
