package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/workload"
)

// figures of some jobs of an outcome. docs/metrics.md defines each.
type figures struct {
	jobs                     int
	waitP50, waitP90         time.Duration
	jctMean, jctP50, jctP90  time.Duration
	slowMean, slowP50, slow9 float64
	preemptions              int
}

// figuresOf the jobs that are wanted.
func (out *outcome) figuresOf(jobs []job, want func(*job) bool) figures {
	type fate struct {
		first, last, ran time.Duration
		runs             int
	}
	fates := make([]fate, len(jobs))
	for _, r := range out.runs {
		f := &fates[r.job]
		if f.runs == 0 || r.from < f.first {
			f.first = r.from
		}
		f.last, f.ran = max(f.last, r.to), f.ran+r.to-r.from
		f.runs++
	}
	var f figures
	var waits, jcts []time.Duration
	var slows []float64
	for i := range jobs {
		j := &jobs[i]
		if !want(j) {
			continue
		}
		x, at := fates[i], out.submitted[i]
		jct := max(x.last-at, 0)
		waits, jcts = append(waits, max(x.first-at, 0)), append(jcts, jct)
		queued := max(jct-x.ran, 0)
		slows = append(slows, max(1, float64(queued+j.length)/float64(max(j.length, 10*time.Second))))
		f.preemptions += x.runs - 1
	}
	f.jobs = len(waits)
	f.waitP50, f.waitP90 = rank(waits, 50), rank(waits, 90)
	f.jctMean, f.jctP50, f.jctP90 = mean(jcts), rank(jcts, 50), rank(jcts, 90)
	f.slowMean, f.slowP50, f.slow9 = mean(slows), rank(slows, 50), rank(slows, 90)
	return f
}

// occupancy is GPU-time in use / GPU-time installed, between two times.
func (out *outcome) occupancy(jobs []job, from, to time.Duration) float64 {
	used := 0.0
	for _, r := range out.runs {
		used += float64(jobs[r.job].all()) * max(min(r.to, to)-max(r.from, from), 0).Seconds()
	}
	return used / (nodes * perNode * (to - from).Seconds())
}

// makespan is the last end.
func (out *outcome) makespan() (last time.Duration) {
	for _, r := range out.runs {
		last = max(last, r.to)
	}
	return last
}

// owed is what accounts were owed between two times and what they got, hour by hour of the day that is compressed. A job that
// waits asks for its GPUs, for no longer than it has work left.
func (out *outcome) owed(jobs []job, from, to time.Duration) []budget.Due {
	tree := budget.Equal("lab", accounts)
	type step struct {
		at      time.Duration
		account int
		demand  int
		charged int
	}
	var steps []step
	stretch := func(j *job, begin, end time.Duration, demand, charged int) {
		if begin, end = max(begin, from), min(end, to); end > begin {
			a := slices.Index(accounts, j.account)
			steps = append(steps, step{begin, a, demand, charged}, step{end, a, -demand, -charged})
		}
	}
	runs := slices.Clone(out.runs)
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	last, left := slices.Clone(out.submitted), make([]time.Duration, len(jobs))
	for i := range jobs {
		left[i] = jobs[i].length
	}
	for _, r := range runs {
		j := &jobs[r.job]
		if j.account == free {
			continue
		}
		waited := min(max(r.from-last[r.job], 0), left[r.job])
		stretch(j, last[r.job], last[r.job]+waited, j.all(), 0)
		stretch(j, r.from, r.to, j.all(), j.all())
		last[r.job], left[r.job] = r.to, max(left[r.job]-(r.to-r.from), 0)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	clock := func(at time.Duration) workload.Time { return (at - from).Milliseconds() * compressed }
	x := budget.NewOwed(tree, 0, 7*workload.Day)
	x.Usable(0, nodes*perNode*1000)
	demand, charged := make([]int, len(accounts)), make([]int, len(accounts))
	for _, s := range steps {
		demand[s.account], charged[s.account] = demand[s.account]+s.demand, charged[s.account]+s.charged
		x.Demand(int32(s.account), clock(s.at), int64(demand[s.account])*1000)
		x.Charged(int32(s.account), clock(s.at), int64(charged[s.account])*1000)
	}
	return x.Results(clock(to))
}

type number interface{ ~int64 | ~float64 }

// rank is a percentile by nearest rank.
func rank[T number](v []T, p int) T {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[max((len(v)*p+99)/100, 1)-1]
}

func mean[T number](v []T) T {
	var sum T
	for _, x := range v {
		sum += x
	}
	return sum / T(max(len(v), 1))
}
