package metrics

import (
	"math"
	"math/bits"

	"github.com/escala-sched/escala/workload"
)

// worth sums up what batch work is worth: milli-GPU x ms x weight.
type worth struct {
	// from and to bound the time that counts.
	from, to workload.Time
	// sum of runs that have ended or changed, finished that of jobs which ended in time.
	sum, finished area
	// least and most are the weights seen; 0 = none.
	least, most int64
}

// init takes the window, all time where that is empty.
func (w *worth) init(from, to workload.Time) {
	if w.from, w.to = from, to; to <= from {
		w.from, w.to = -workload.Never, workload.Never
	}
}

// weightOf is what a GPU-hour of a job is worth: its priority, at least 1, so that work
// without one is not worth nothing. Applications are paid for by what they lack, and
// parked jobs do nothing.
func weightOf(j *workload.Job) int64 {
	if j.Service != nil || classOf(j) == squat {
		return 0
	}
	return max(1, j.Priority)
}

func (w *worth) saw(weight int64) {
	if weight == 0 {
		return
	}
	if w.most = max(w.most, weight); w.least == 0 || weight < w.least {
		w.least = weight
	}
}

// of is what a run is worth up to a time, without work that is lost at its end and
// restart overhead at its beginning.
func (w *worth) of(j *jobState, at workload.Time, lost, restart workload.Span) (a area) {
	hi, lo := bits.Mul64(uint64(max(0, j.milli)), uint64(j.weight))
	if hi > 0 || lo > math.MaxInt64 {
		lo = math.MaxInt64
	}
	a.add(int64(lo), overlap(j.start+restart, at-lost, w.from, w.to))
	return a
}

// earn books a run that ends, or changes.
func (c *Collector) earn(j *jobState, at workload.Time, lost, restart workload.Span) {
	if j.weight == 0 {
		return
	}
	a := c.worth.of(j, at, lost, restart)
	j.earned.plus(a)
	c.worth.sum.plus(a)
}

// finish books a job that has ended.
func (w *worth) finish(j *jobState, at workload.Time) {
	if at <= w.to {
		w.finished.plus(j.earned)
	}
}

// value fills in what the window was worth, where there is anything to tell apart.
func (m *Metrics) value(v *view) {
	w := &v.c.worth
	switch {
	case m.Services == nil && w.least == w.most:
		return
	case v.to <= v.from && w.from == v.c.from && w.to > w.from: // it was cut before the window began
		return
	}
	var penalty area
	for i := range v.services {
		s := &v.services[i]
		short := s.sums(v).shortfall()
		penalty.plus(short.times(s.spec.Service.Penalty))
	}
	value, finished := difference(v.earned, penalty), difference(w.finished, penalty)
	m.Value, m.FinishedValue = &value, &finished
}

// difference is a less b in GPU-hours.
func difference(a, b area) float64 {
	return a.minus(b).gpuHours() - b.minus(a).gpuHours()
}
