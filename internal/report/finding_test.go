package report

import (
	"testing"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// TestFinding: the sentence is about all time in the queue, is honest where
// nothing is gained, and leaves waits alone where jobs do not end.
func TestFinding(t *testing.T) {
	run := func(name string, wait, queue float64, preemptions int64) Policy {
		d := func(mean float64) metrics.Dist {
			return metrics.Dist{Mean: mean, P50: mean / 2, P90: 2 * mean, N: 1000}
		}
		return Policy{Name: name, Metrics: metrics.Metrics{Jobs: 1000, Occupancy: 0.5, Wait: d(wait), QueueTime: d(queue), Preemptions: preemptions}}
	}
	open := func(p Policy, unstarted, unfinished int, allocated float64) Policy {
		p.Metrics.Cut, p.Metrics.Unstarted, p.Metrics.Unfinished, p.Metrics.AllocatedGPURatio = true, unstarted, unfinished, allocated
		return p
	}
	whole := func(p Policy) Policy {
		p.Metrics.Cut = false
		return p
	}
	owed := func(p Policy, delivered, worst float64) Policy {
		p.Metrics.Budget = &metrics.BudgetUse{DeliveredOfOwed: &delivered, WorstOfOwed: &worst}
		return p
	}
	for name, tc := range map[string]struct {
		policies []Policy
		forever  int // of 1,000 jobs
		want     string
	}{
		"nobody waits at first, and all wait later": {
			policies: []Policy{run("fifo", 60, 60, 0), run("las", 0, 1080, 737)},
			want:     "las does not shorten the mean queue time (for the first start and after each stop) of fifo: 1 min (median 30 s, 90th percentile 2 min); occupancy is 50.0 %. The mean wait for the first start goes from 1 min to 0 s under las."},
		"less in all": {
			policies: []Policy{run("fifo", 3600, 3600, 0), run("las", 0, 1800, 737)},
			want: "Under las the mean queue time (for the first start and after each stop) is 30 min instead of 1 h under fifo (x0.50); the median goes from 30 min to 15 min, " +
				"the 90th percentile from 2 h to 1 h, and occupancy stays at 50.0 %. It takes 737 preemptions. The mean wait for the first start goes from 1 h to 0 s under las."},
		"the first preempts": {
			policies: []Policy{run("las", 0, 3600, 5), run("fifo", 1800, 1800, 0)},
			want: "Under fifo the mean queue time (for the first start and after each stop) is 30 min instead of 1 h under las (x0.50); the median goes from 30 min to 15 min, " +
				"the 90th percentile from 2 h to 1 h, and occupancy stays at 50.0 %."},
		"too little to speak of": {
			policies: []Policy{run("fifo", 10000, 10000, 0), run("easy", 9999, 9999, 0)},
			want:     "easy does not make jobs wait less on average than fifo: jobs wait 2 h 47 min on average (median 1 h 23 min, 90th percentile 5 h 33 min); occupancy is 50.0 %."},
		"one, that preempts": {
			policies: []Policy{run("las", 0, 60, 3)},
			want:     "Under las, the mean queue time (for the first start and after each stop) is 1 min (median 30 s, 90th percentile 2 min), the mean wait for the first start 0 s; occupancy is 50.0 %."},
		"few are open": {
			policies: []Policy{open(run("fifo", 60, 60, 0), 4, 6, 0.8)},
			want:     "Under fifo, jobs wait 1 min on average (median 30 s, 90th percentile 2 min); occupancy is 50.0 %. Runs were cut before their end, so waits are lower bounds."},
		"many are open": {
			policies: []Policy{open(run("fifo", 60, 60, 0), 0, 5, 0.8), open(run("sjf", 30, 30, 0), 5, 6, 0.75)},
			want: "11 of 1,000 jobs had not ended under sjf when the run was cut, so waits say little. " +
				"Right after the last submission sjf does not have more of the GPUs allocated than fifo: 80.0 %."},
		"three, of which nobody has more": {
			policies: []Policy{open(run("fifo", 60, 60, 0), 11, 0, 0.8), open(run("sjf", 30, 30, 0), 0, 0, 0.75), open(run("las", 30, 30, 0), 0, 0, 0.75)},
			want: "11 of 1,000 jobs had not ended under fifo when the run was cut, so waits say little. " +
				"Right after the last submission none of the other 2 policies has more of the GPUs allocated than fifo: 80.0 %."},
		"jobs that never start in a run that nobody cut": {
			policies: []Policy{whole(open(run("fifo", 60, 60, 0), 20, 0, 0.8)), run("sjf", 30, 30, 0)},
			want: "Under sjf jobs wait 30 s on average instead of 1 min under fifo (x0.50); the median goes from 30 s to 15 s, the 90th percentile from 2 min to 1 min, and occupancy stays at 50.0 %. " +
				"Jobs that never started count with their wait up to the end of the run, a lower bound: 20 of 1,000 under fifo."},
		"sooner, and stopped": {
			policies: []Policy{run("legacy", 28800, 30180, 9), run("contract", 16800, 34000, 700)},
			want: "contract does not shorten the mean queue time (for the first start and after each stop) of legacy: 8 h 23 min (median 4 h 12 min, 90th percentile 16 h 46 min); " +
				"occupancy is 50.0 %. The mean wait for the first start goes from 8 h to 4 h 40 min under contract."},
		"none ends": {
			policies: []Policy{open(run("place-random", 60, 60, 0), 0, 0, 0.867), open(run("place-fgd", 30, 30, 0), 0, 0, 0.948)}, forever: 1000,
			want: "1,000 of 1,000 jobs never end, so waits say little. " +
				"Right after the last submission place-fgd has 94.8 % of the GPUs allocated instead of 86.7 % under place-random (+8.1 pp)."},
		"none ends, one policy": {
			policies: []Policy{open(run("place-fgd", 30, 30, 0), 0, 0, 0.948)}, forever: 11,
			want: "11 of 1,000 jobs never end, so waits say little. Right after the last submission place-fgd has 94.8 % of the GPUs allocated."},
		"more of what is owed": {
			policies: []Policy{owed(run("fifo", 60, 60, 0), 0.8, 0.3), run("sjf", 60, 60, 0), owed(run("contract", 60, 60, 0), 0.995, 0.98)},
			want: "None of the other 2 policies makes jobs wait less on average than fifo: jobs wait 1 min on average (median 30 s, 90th percentile 2 min); occupancy is 50.0 %. " +
				"Under contract accounts get 99.5 % of what they are owed instead of 80.0 % under fifo (+19.5 pp), the worst of them 98.0 % instead of 30.0 %."},
		"no more of what is owed": {
			policies: []Policy{owed(run("fifo", 60, 60, 0), 0.8, 0.3), owed(run("sjf", 60, 60, 0), 0.7, 0.4)},
			want: "sjf does not make jobs wait less on average than fifo: jobs wait 1 min on average (median 30 s, 90th percentile 2 min); occupancy is 50.0 %. " +
				"Under fifo accounts get 80.0 % of what they are owed, the worst of them 30.0 %."},
		"nothing was run": {want: "No policy was run."},
	} {
		t.Run(name, func(t *testing.T) {
			w := &workload.Workload{Jobs: make([]workload.Job, 1000), Actual: make([]workload.Actual, 1000)}
			for i := range tc.forever {
				w.Actual[i].Duration = 36525 * workload.Day
			}
			if got := Finding(&Comparison{Workload: w, Policies: tc.policies}); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
